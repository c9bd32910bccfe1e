// A pod of the API server: any JSON is one of our placeholders or none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cluster/slurm/decide.h"
#include "cluster/slurm/pod_json.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::slurm_pod {
PINION_FUZZ_TARGET(slurm_pod) {
  using namespace pinion::slurm;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const nlohmann::json pod = nlohmann::json::parse(text, nullptr, false);
  const auto read = placeholder_of({}, pod);
  if (!read) return 0;
  // What comes into a script's hands is a list of CPUs.
  if (read->cpu_list.find_first_not_of("0123456789,-") != std::string::npos) std::abort();
  View view;
  view.placeholders = {*read};
  // No job has it.
  const std::size_t removed = read->leaving ? 0 : 1;
  if (decide({}, view).size() != removed) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::slurm_pod
