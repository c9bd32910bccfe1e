#include "cluster/core/name_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace pinion::cluster {
namespace {

TEST(NameTable, AnEmptyOneFindsNothing) {
  NameTable table;
  EXPECT_EQ(table.find("a"), -1);
  table.erase("a");
  EXPECT_EQ(table.find(""), -1);
}

// Names come and go until slots have been shared and given back many times.
TEST(NameTable, AgreesWithAMap) {
  NameTable table;
  std::map<std::string, int> expected;
  std::vector<int> unused;
  for (int number = 0; number < 300; ++number) unused.push_back(number);
  std::mt19937 random(1);
  for (int step = 0; step < 20000; ++step) {
    const std::string name = "node-" + std::to_string(random() % 500);
    const auto known = expected.find(name);
    if (known != expected.end()) {
      unused.push_back(known->second);
      expected.erase(known);
      table.erase(name);
    } else if (!unused.empty()) {
      expected[name] = unused.back();
      table.insert(name, unused.back());
      unused.pop_back();
    }
    if (step % 100 != 0) continue;
    for (int i = 0; i < 500; ++i) {
      const std::string any = "node-" + std::to_string(i);
      const auto number = expected.find(any);
      ASSERT_EQ(table.find(any), number == expected.end() ? -1 : number->second) << step;
    }
  }
}

}  // namespace
}  // namespace pinion::cluster
