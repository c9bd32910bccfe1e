#include "agent/systemd/cpu_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::systemd {
namespace {

using testing::ElementsAreArray;
using topology::CpuSet;
using Bytes = std::vector<std::uint8_t>;

struct Case {
  const char* list;
  Bytes bytes;
};

TEST(CpuBytes, BitNOfByteMIsCpu8MPlusN) {
  for (const Case& one : {Case{"", {}}, Case{"0", {0x01}}, Case{"7", {0x80}}, Case{"8", {0, 0x01}},
                          Case{"0-3,8", {0x0f, 0x01}}, Case{"0-15", {0xff, 0xff}},
                          Case{"1,3,5,7", {0xaa}}, Case{"63", {0, 0, 0, 0, 0, 0, 0, 0x80}}}) {
    SCOPED_TRACE(one.list);
    const auto cpus = CpuSet::parse(one.list);
    ASSERT_TRUE(cpus);
    EXPECT_THAT(to_cpu_bytes(*cpus), ElementsAreArray(one.bytes));
    const auto read = parse_cpu_bytes(one.bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->to_string(), one.list);
  }
}

TEST(CpuBytes, ZeroBytesAtTheEndSayNothing) {
  const auto read = parse_cpu_bytes(Bytes{0x05, 0, 0, 0, 0, 0, 0, 0});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to_string(), "0,2");
  EXPECT_TRUE(parse_cpu_bytes(Bytes(8)).value().empty());
  EXPECT_TRUE(parse_cpu_bytes(Bytes(10'000)).value().empty()) << "also past the largest machine";
}

TEST(CpuBytes, TheLastCpuFitsAndNoLaterOne) {
  const Bytes last = to_cpu_bytes(CpuSet{CpuSet::kCapacity - 1});
  EXPECT_EQ(last.size(), CpuSet::kCapacity / 8U);
  EXPECT_EQ(parse_cpu_bytes(last).value().first(), CpuSet::kCapacity - 1);
  Bytes later = last;
  later.push_back(1);
  const auto read = parse_cpu_bytes(later);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kInvalid);
  EXPECT_THAT(read.error().text, testing::HasSubstr("CPU 4096"));
}

}  // namespace
}  // namespace pinion::systemd
