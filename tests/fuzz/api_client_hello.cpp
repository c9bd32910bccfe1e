// The door's look at the first bytes of a TLS connection takes any bytes, asks for no fewer than it
// was given the header of, and never changes its mind when more of them come.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "agent/api/client_hello.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::api_client_hello {
PINION_FUZZ_TARGET(api_client_hello) {
  using namespace pinion::agent::api;
  constexpr std::size_t most = 5 + 16384;
  bool garbage = false;
  std::size_t wanted = 0;
  for (std::size_t n = 0; n <= size && n <= kRecordHeader + 2; ++n) {
    const auto answer = client_hello_size({data, n});
    if (garbage && answer) std::abort();
    garbage = !answer;
    if (!answer) continue;
    if (*answer < kRecordHeader || *answer > most) std::abort();
    if (n < kRecordHeader && *answer != kRecordHeader) std::abort();
    if (n > kRecordHeader && *answer != wanted) std::abort();
    wanted = *answer;
  }
  return 0;
}

}  // namespace pinion::fuzz::api_client_hello
