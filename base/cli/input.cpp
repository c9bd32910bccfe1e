#include "base/cli/input.h"

#include <fstream>
#include <iostream>
#include <iterator>

namespace pinion {

Result<std::string> read_text(const std::string& path) {
  if (path == "-") return std::string{std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return sys_failure("read " + path);
  return text;
}

}  // namespace pinion
