#include <gtest/gtest.h>

#include "tests/lab/guard.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  pinion::lab::clean_up_on_signals();
  return RUN_ALL_TESTS();
}
