// pinionctl as a program: what it prints and how it ends.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/places.h"

namespace pinion::ctl {

inline const std::string kPinionctl = test_support::built_program("pinionctl");

struct Outcome {
  int exit_code = -1;  // -1: ended by a signal
  std::string out;
  std::string err;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// `rest` is the shell's text behind the program's name; what it prints goes through files in
// `folder`.
inline Outcome run_pinionctl(const std::filesystem::path& folder, const std::string& rest) {
  const std::string out = (folder / "out").string();
  const std::string err = (folder / "err").string();
  const std::string command = "'" + kPinionctl + "' " + rest;
  const int status = std::system(("{ " + command + " ; } >'" + out + "' 2>'" + err + "'").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

}  // namespace pinion::ctl
