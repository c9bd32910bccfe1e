#include "ctl/common/report.h"

namespace pinion::ctl {

int report(const Error& error) {
  return exit_code_of(failure(error), "pinionctl");
}

int print_and_exit_code(std::string_view text) {
  return exit_code_of(print(text), "pinionctl");
}

}  // namespace pinion::ctl
