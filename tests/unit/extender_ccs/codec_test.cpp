#include "cluster/extender/ccs/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::cluster::ccs {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

TEST(CcsCodec, ARequestHasAHeaderOf40Bytes) {
  EXPECT_EQ(request("ccs_getinfo"), "\0\0\0\0\0\0\0\0ccs_getinfo"s + std::string(21, '\0'));
  EXPECT_EQ(request("set_bitmap", "ab"),
            "\0\0\0\2\0\0\0\0set_bitmap"s + std::string(22, '\0') + "ab");
}

TEST(CcsCodec, TheBitmapSaysWhoStaysAndHowManyThereAreToBe) {
  EXPECT_EQ(bitmap(4, 2), "\1\1\0\0\2\0\0\0\0"s) << "a shrink drops the last";
  EXPECT_EQ(bitmap(2, 4), "\1\1\4\0\0\0\0"s) << "an expand keeps all";
  EXPECT_EQ(bitmap(1, 600), "\1\x58\2\0\0\0"s);
}

TEST(CcsCodec, AnAnswerIsThereWhenItsLengthIs) {
  EXPECT_FALSE(*answer_in("\0\0\0"s));
  EXPECT_FALSE(*answer_in("\0\0\0\2a"s));
  EXPECT_EQ(**answer_in("\0\0\0\2abc"s), "ab");
  EXPECT_EQ(**answer_in("\0\0\0\0"s), "") << "set_bitmap's";
  EXPECT_FALSE(answer_in("\xff\xff\xff\xff"s));
}

TEST(CcsCodec, PesAreCountedOverAllNodes) {
  EXPECT_EQ(*pes_in("\0\0\0\2\0\0\0\3\0\0\0\4"s), 7);
  EXPECT_EQ(*pes_in("\0\0\0\0"s), 0);
  struct Case {
    const char* name;
    std::string info;
    const char* why;
  };
  for (const Case& c : {Case{"empty", "", "no number of nodes"},
                        Case{"a node is missing", "\0\0\0\2\0\0\0\3"s, "for each node"},
                        Case{"more than said", "\0\0\0\1\0\0\0\3x"s, "for each node"},
                        Case{"too many", "\0\0\0\1\xff\xff\xff\xff"s, "too many"}}) {
    SCOPED_TRACE(c.name);
    const auto pes = pes_in(c.info);
    ASSERT_FALSE(pes);
    EXPECT_THAT(pes.error().text, HasSubstr(c.why));
  }
}

}  // namespace
}  // namespace pinion::cluster::ccs
