#include "ctl/doctor/kubectl.h"

#include "base/process/run_program.h"

namespace pinion::ctl::doctor {

Result<std::string> run_kubectl(const std::string& program,
                                const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto end = run_program(std::move(argv));
  if (!end) return failure(std::move(end.error()));
  if (end->status == 0) return std::move(end->out);
  const bool forbidden = end->errors.find("Forbidden") != std::string::npos ||
                         end->errors.find("forbidden") != std::string::npos;
  return failure(forbidden ? Errc::kDenied : Errc::kUnavailable,
                 program + ": " + (end->errors.empty() ? "failed" : end->errors));
}

}  // namespace pinion::ctl::doctor
