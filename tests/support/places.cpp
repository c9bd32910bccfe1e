#include "tests/support/places.h"

namespace pinion::test_support {

std::string in_checkout(const std::string& path) {
  return PINION_SOURCE_DIR "/" + path;
}

std::string built_program(const std::string& name) {
  return PINION_PROGRAM_DIR "/" + name;
}

}  // namespace pinion::test_support
