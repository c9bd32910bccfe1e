#include "ctl/output.h"

#include <cerrno>
#include <cstdio>

namespace pinion::ctl {

Result<bool> print_to_reader(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return true;
  const int cause = errno;
  if (cause == EPIPE) return false;
  return sys_failure("write to standard output", cause);
}

Status print(std::string_view text) {
  const auto printed = print_to_reader(text);
  if (!printed) return failure(printed.error());
  return {};
}

int report(const Error& error) {
  std::fprintf(stderr, "pinionctl: %s\n", error.text.c_str());
  return kExitFailure;
}

int print_and_exit_code(std::string_view text) {
  const Status printed = print(text);
  return printed ? kExitOk : report(printed.error());
}

}  // namespace pinion::ctl
