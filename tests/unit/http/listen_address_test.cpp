#include "base/net/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pinion::net {
namespace {

using testing::HasSubstr;

struct GoodCase {
  const char* name;
  const char* text;
  bool loopback;
};

class GoodAddress : public testing::TestWithParam<GoodCase> {};

TEST_P(GoodAddress, IsReadAndWrittenBack) {
  const auto address = parse_listen_address(GetParam().text);
  ASSERT_TRUE(address) << address.error().text;
  EXPECT_EQ(address->to_string(), GetParam().text);
  EXPECT_EQ(address->loopback(), GetParam().loopback);
}

INSTANTIATE_TEST_SUITE_P(Texts, GoodAddress,
                         testing::Values(GoodCase{"v4_loopback", "127.0.0.1:9464", true},
                                         GoodCase{"v4_other_loopback", "127.9.9.9:1", true},
                                         GoodCase{"v4_any", "0.0.0.0:0", false},
                                         GoodCase{"v4_private", "10.1.2.3:65535", false},
                                         GoodCase{"v6_loopback", "[::1]:0", true},
                                         GoodCase{"v6_any", "[::]:80", false},
                                         GoodCase{"v6", "[2001:db8::1]:80", false}),
                         [](const auto& one) { return one.param.name; });

struct BadCase {
  const char* name;
  const char* text;
  const char* why;
};

class BadAddress : public testing::TestWithParam<BadCase> {};

TEST_P(BadAddress, IsRefusedWithItsTextAndAReason) {
  const auto address = parse_listen_address(GetParam().text);
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, Errc::kInvalid);
  EXPECT_THAT(address.error().text, HasSubstr("'" + std::string(GetParam().text) + "'"));
  EXPECT_THAT(address.error().text, HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(Texts, BadAddress,
                         testing::Values(BadCase{"empty", "", "no port"},
                                         BadCase{"no_port", "127.0.0.1", "no port"},
                                         BadCase{"port_only", ":9464", "no address"},
                                         BadCase{"empty_port", "127.0.0.1:", "port"},
                                         BadCase{"large_port", "127.0.0.1:65536", "port"},
                                         BadCase{"signed_port", "127.0.0.1:+1", "port"},
                                         BadCase{"port_and_more", "127.0.0.1:80x", "port"},
                                         BadCase{"name", "localhost:80", "neither"},
                                         BadCase{"short_v4", "127.1:80", "neither"},
                                         BadCase{"v6_without_brackets", "::1:80", "neither"},
                                         BadCase{"v4_in_brackets", "[127.0.0.1]:80", "brackets"},
                                         BadCase{"open_bracket", "[::1:80", "neither"},
                                         BadCase{"empty_brackets", "[]:80", "brackets"}),
                         [](const auto& one) { return one.param.name; });

TEST(ListenOn, ChoosesAFreePort) {
  const auto listener = listen_on("127.0.0.1:0");
  ASSERT_TRUE(listener) << listener.error().text;
  EXPECT_NE(listener->address.to_string(), "127.0.0.1:0");
}

TEST(ListenOn, NamesTheAddressThatIsInUse) {
  const auto first = listen_on("127.0.0.1:0");
  ASSERT_TRUE(first);
  const std::string taken = first->address.to_string();
  const auto second = listen_on(taken);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().text, "listen on " + taken + ": Address already in use");
}

TEST(ListenOn, NamesTheAddressThatIsNotOfThisMachine) {
  const auto listener = listen_on("192.0.2.1:0");  // RFC 5737: nobody's
  ASSERT_FALSE(listener);
  EXPECT_THAT(listener.error().text, HasSubstr("listen on 192.0.2.1:0: "));
}

}  // namespace
}  // namespace pinion::net
