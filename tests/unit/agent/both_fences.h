// Cases that hold with a fence that writes files and with one that has none; engine_test.cpp says
// which.
#pragma once

#include <gtest/gtest.h>

#include "agent/engine/engine.h"

namespace pinion::engine {

class BothFences : public testing::TestWithParam<FenceKind> {};

}  // namespace pinion::engine
