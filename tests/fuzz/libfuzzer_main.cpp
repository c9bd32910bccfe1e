// libFuzzer's side of a program of fuzz targets.
#include "tests/fuzz/target.h"

namespace {

pinion::fuzz::Target target;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** argv) {
  target = pinion::fuzz::chosen(**argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return target(data, size);
}
