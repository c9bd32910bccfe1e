#include "ctl/common/report.h"

#include <cstdio>

namespace pinion::ctl {

int report(const Error& error) {
  std::fprintf(stderr, "pinionctl: %s\n", error.text.c_str());
  return kExitFailure;
}

int print_and_exit_code(std::string_view text) {
  const Status printed = print(text);
  return printed ? kExitOk : report(printed.error());
}

}  // namespace pinion::ctl
