#include "base/cli/output.h"

#include <cerrno>
#include <cstdio>

namespace pinion {

Result<bool> print_to_reader(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  // Of a stream that is buffered by lines, as stdbuf makes it, only the last of these may say it.
  if (written && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  const int cause = errno;
  if (cause == EPIPE) return false;
  return sys_failure("write to standard output", cause);
}

int exit_code_of(const Status& done, const char* program) {
  if (done) return kExitOk;
  std::fprintf(stderr, "%s: %s\n", program, done.error().text.c_str());
  return kExitFailure;
}

Status print(std::string_view text) {
  const auto printed = print_to_reader(text);
  if (!printed) return failure(printed.error());
  return {};
}

}  // namespace pinion
