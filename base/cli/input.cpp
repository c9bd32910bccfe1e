#include "base/cli/input.h"

#include "base/whole_file.h"

namespace pinion {

constexpr std::size_t kMostMib = 64;

Result<std::string> read_text(const std::string& path) {
  if (path != "-") return read_file(path, kMostMib);
  const Fd input(dup(STDIN_FILENO));
  auto text = read_whole(input, "standard input", kMostMib << 20U);
  if (!text) return failure(std::move(text.error()));
  if (!*text) return failure(Errc::kInvalid, "standard input is larger than 64 MiB");
  return **std::move(text);
}

}  // namespace pinion
