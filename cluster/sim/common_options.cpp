#include "cluster/sim/common_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace pinion::sim {
namespace {

// A device is never the same file: what is written to it is not what is read.
bool same_file(const std::string& one, const std::string& other) {
  std::error_code error;  // one is not there
  return std::filesystem::equivalent(one, other, error);
}

bool same_output(const std::string& one, const std::string& other) {
  const auto normal = [](const std::string& path) {
    return std::filesystem::path(path).lexically_normal();
  };
  return normal(one) == normal(other) || same_file(one, other);
}

}  // namespace

CLI::Option* add_seed_option(CLI::App& command, std::uint64_t& seed, const std::string& what) {
  return command.add_option("--seed", seed, what)->check([](const std::string& text) {
    return text.starts_with('-') ? text + " is below 0" : std::string();
  });
}

CLI::Option* add_file_option(CLI::App& command, const std::string& option, std::string& path,
                             const std::string& type, const std::string& what) {
  return command.add_option(option, path, what)
      ->type_name(type)
      ->check([](const std::string& text) {
        return text.empty() ? "the name of a file is missing" : "";
      });
}

NumberRange::NumberRange(double least, double most) : CLI::Range(least, most) {
  func_ = [in_range = func_](std::string& text) {
    const bool number = !std::isnan(std::strtod(text.c_str(), nullptr));
    return number ? in_range(text) : text + " is no number";
  };
}

void refuse_shared_files(std::initializer_list<NamedFile> inputs,
                         std::initializer_list<NamedFile> outputs) {
  for (const NamedFile* output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.empty()) continue;
    const auto refuse = [&](const NamedFile& other, const std::string& does) {
      throw CLI::ValidationError(output->option, output->path + " is already what " + other.option +
                                                     " " + does + ": name another file");
    };
    for (const NamedFile& input : inputs) {
      const std::string& read = input.path == "-" ? "/dev/stdin" : input.path;
      if (output->path != "-" && same_file(output->path, read)) refuse(input, "reads");
    }
    for (const NamedFile* other = outputs.begin(); other != output; ++other) {
      if (same_output(output->path, other->path)) refuse(*other, "writes");
    }
  }
}

}  // namespace pinion::sim
