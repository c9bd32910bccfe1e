// Options that several commands have.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace pinion::sim {

// A number below 0 is refused: CLI11 would take it for a very large one.
CLI::Option* add_seed_option(CLI::App& command, std::uint64_t& seed, const std::string& what);

// One that names a file.
CLI::Option* add_file_option(CLI::App& command, const std::string& option, std::string& path,
                             const std::string& type, const std::string& what);

// As CLI::Range, which takes "nan" for a number of any range.
class NumberRange : public CLI::Range {
 public:
  NumberRange(double least, double most);
};

struct NamedFile {
  const char* option;
  const std::string& path;  // empty: not given
};

// Refuses to write over what is read, and two outputs to one file, whatever its names: with
// CLI::ValidationError.
void refuse_shared_files(std::initializer_list<NamedFile> inputs,
                         std::initializer_list<NamedFile> outputs);

}  // namespace pinion::sim
