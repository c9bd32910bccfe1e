// The body of preempt takes any bytes; what is accepted has a uid for each victim, and its answer
// reads back as the same victims.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cluster/extender/wire/answers.h"
#include "cluster/extender/wire/reader.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_preempt {
PINION_FUZZ_TARGET(extender_preempt) {
  namespace wire = pinion::cluster::wire;
  wire::Reader reader;
  const auto ask = reader.preempt(std::string(reinterpret_cast<const char*>(data), size));
  if (!ask) {
    if (ask.error().text.empty()) std::abort();
    return 0;
  }
  for (const wire::Victims& victims : ask->nodes) {
    for (const std::string& uid : victims.uids) {
      if (uid.empty()) std::abort();
    }
  }
  std::string answer = to_json(wire::PreemptAnswer{ask->nodes});
  answer.insert(1, R"("Pod":{"metadata":{"name":"p","namespace":"n","uid":"u"}},)");
  const auto again = reader.preempt(answer);
  if (!again || again->nodes != ask->nodes) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::extender_preempt
