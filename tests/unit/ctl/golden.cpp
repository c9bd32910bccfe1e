#include "tests/unit/ctl/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/places.h"

namespace pinion::ctl {

void expect_golden(const std::string& name, const std::string& got) {
  const std::filesystem::path path = test_support::in_checkout("tests/unit/ctl/golden/" + name);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << got;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(got, expected) << "UPDATE_GOLDEN=1 rewrites " << path;
}

}  // namespace pinion::ctl
