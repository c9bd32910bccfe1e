// Its one case is skipped, and it fails outside of it: see whole_run.cpp.
#include <gtest/gtest.h>

namespace {

class Suite : public testing::Test {
 protected:
  static void SetUpTestSuite() { ADD_FAILURE(); }
};

TEST_F(Suite, IsSkipped) {
  GTEST_SKIP();
}

}  // namespace
