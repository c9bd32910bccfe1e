#include "agent/noise/originals.h"

#include <gtest/gtest.h>

namespace pinion::noise {
namespace {

using topology::CpuSet;

constexpr const char* kText =
    "pinion-kernel-noise 1\n"
    "boot 0f3c8a52-77aa\n"
    "irq 24 0-7\n"
    "irq 9 1,3\n"
    "irq default 0-7\n"
    "workqueue unbound 0-7\n"
    "workqueue writeback 0-3\n"
    "rcu rcuog/0 0-7\n"
    "rcu rcuop/12 0-7\n"
    "end\n";

TEST(Originals, AreTheSameAfterAWayThroughTheFile) {
  const auto originals = decode(kText);
  ASSERT_TRUE(originals) << originals.error().text;
  EXPECT_EQ(originals->boot, "0f3c8a52-77aa");
  EXPECT_EQ(originals->cpus.size(), 7U);
  EXPECT_EQ(originals->cpus.at({Kind::kIrq, "9"}), (CpuSet{1, 3}));
  EXPECT_EQ(encode(*originals), kText);
  EXPECT_EQ(decode(encode({}))->cpus.size(), 0U);
}

// A crash between any two bytes of the file: never half of it.
TEST(Originals, EveryBeginningIsAnError) {
  const std::string text = kText;
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(decode(text.substr(0, length))) << length;
  }
}

struct OriginalsCase {
  const char* name;
  std::string text;
  const char* error;
};

TEST(Originals, WhatIsWrongIsSaidWithItsLine) {
  const std::string head = "pinion-kernel-noise 1\nboot 1\n";
  const OriginalsCase cases[] = {
      {"version", "pinion-kernel-noise 2\nboot 1\nend\n", "line 1: expected"},
      {"boot", "pinion-kernel-noise 1\nboot ../x\nend\n", "line 2: expected"},
      {"kind", head + "nmi 3 0\nend\n", "line 3: unknown kind"},
      {"path", head + "irq ../../x 0\nend\n", "line 3: no name of that kind"},
      {"thread", head + "rcu bash 0\nend\n", "line 3: no name of that kind"},
      {"workqueue", head + "workqueue other 0\nend\n", "line 3: no name of that kind"},
      {"empty set", head + "irq 3 \nend\n", "line 3: no CPUs"},
      {"set", head + "irq 3 0-\nend\n", "line 3: not a list of numbers such as '0-3,8'"},
      {"CPU", head + "irq 3 9999\nend\n", "line 3: id 9999"},
      {"twice", head + "irq 3 0\nirq 3 1\nend\n", "line 4: twice"},
      {"more", head + "end\nirq 3 0\n", "text after the last line"},
  };
  for (const OriginalsCase& one : cases) {
    SCOPED_TRACE(one.name);
    const auto originals = decode(one.text);
    ASSERT_FALSE(originals);
    EXPECT_EQ(originals.error().text.rfind(one.error, 0), 0U) << originals.error().text;
  }
}

TEST(Originals, MoreThanAMachineHasAreRefused) {
  Originals many;
  for (std::size_t i = 0; i <= kMostKnobs; ++i) {
    many.cpus[{Kind::kIrq, std::to_string(i)}] = CpuSet{0};
  }
  EXPECT_FALSE(decode(encode(many)));
  many.cpus.erase(many.cpus.begin());
  EXPECT_TRUE(decode(encode(many)));
}

}  // namespace
}  // namespace pinion::noise
