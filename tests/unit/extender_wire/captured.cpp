#include "tests/unit/extender_wire/captured.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/support/places.h"

namespace pinion::cluster::wire {

std::string captured(const std::string& name) {
  std::ifstream file(test_support::in_checkout("tests/unit/extender_wire/data/" + name + ".json"),
                     std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

}  // namespace pinion::cluster::wire
