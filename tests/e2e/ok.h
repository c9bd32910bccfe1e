// For ASSERT_TRUE(ok(result)): the failure shows the error.
#pragma once

#include <gtest/gtest.h>

#include "base/error.h"

namespace pinion::e2e {

template <class T>
testing::AssertionResult ok(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().text;
}

}  // namespace pinion::e2e
