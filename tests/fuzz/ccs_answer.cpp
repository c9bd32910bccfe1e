// Answers of a program over CCS.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cluster/extender/ccs/codec.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::ccs_answer {
PINION_FUZZ_TARGET(ccs_answer) {
  using namespace pinion::cluster::ccs;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto answer = answer_in(bytes);
  if (!answer || !*answer) return 0;
  const auto pes = pes_in(**answer);
  if (pes && (*pes < 0 || *pes > kMostPes)) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::ccs_answer
