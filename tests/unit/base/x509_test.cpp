#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/x509/issue.h"

namespace pinion::x509 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string made(const std::string& common_name, const Validity& validity) {
  const auto pair = make_authority(common_name, validity);
  EXPECT_TRUE(pair) << pair.error().text;
  return pair ? pair->certificate : "";
}

TEST(Certificates, OfABundleAreAllRead) {
  const auto found = read_certificates(made("agent", {.from_s = 1000, .to_s = 2000}) +
                                       "-----BEGIN OTHER-----\nAAAA\n-----END OTHER-----\n" +
                                       made("ca\x1b", {.from_s = 500, .to_s = 5'000'000'000}));
  ASSERT_TRUE(found) << found.error().text;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->at(0).subject, "/CN=agent");
  EXPECT_EQ(found->at(0).validity, (Validity{.from_s = 1000, .to_s = 2000}));
  EXPECT_EQ(found->at(1).subject, "/CN=ca\\x1B");
  EXPECT_EQ(found->at(1).validity, (Validity{.from_s = 500, .to_s = 5'000'000'000}));
  EXPECT_TRUE(found->at(1).authority);
}

TEST(Certificates, WhatIsNoneIsSaid) {
  EXPECT_FALSE(read_certificates(""));
  EXPECT_FALSE(read_certificates("text"));
  EXPECT_FALSE(read_certificates(made("a", {.from_s = 1, .to_s = 2}) +
                                 "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
}

TEST(Certificates, HaveTheNamesThatWereAskedFor) {
  const auto authority = make_authority("ca", {.from_s = 0, .to_s = 1000});
  ASSERT_TRUE(authority);
  const auto end = issue(*authority, {.common_name = "a", .names = {"a.svc", "::1", "10.0.0.1"}},
                         {.from_s = 0, .to_s = 1000});
  ASSERT_TRUE(end) << end.error().text;
  EXPECT_TRUE(check_pair(*end));
  EXPECT_TRUE(signed_by(end->certificate, authority->certificate));
  EXPECT_FALSE(signed_by(authority->certificate, end->certificate));
  const auto read = read_certificates(end->certificate);
  ASSERT_TRUE(read);
  EXPECT_THAT(read->front().names, ElementsAre("a.svc", "::1", "10.0.0.1"));
  EXPECT_FALSE(read->front().authority);
}

TEST(Certificates, AreNotMadeForWhatIsNoName) {
  const auto authority = make_authority("ca", {.from_s = 0, .to_s = 1000});
  ASSERT_TRUE(authority);
  for (const char* name : {"", ".svc", "a,IP:10.0.0.1", "a b", "*.svc", "a\n"}) {
    EXPECT_FALSE(sound_name(name)) << name;
    const auto end = issue(*authority, {.common_name = "a", .names = {name}}, {});
    ASSERT_FALSE(end) << name;
    EXPECT_THAT(end.error().text, HasSubstr("neither a DNS name nor an address"));
  }
  EXPECT_FALSE(issue(*authority, {.common_name = "", .names = {}}, {}));
  EXPECT_FALSE(issue({.certificate = authority->certificate, .key = "text"},
                     {.common_name = "a", .names = {}}, {}));
}

}  // namespace
}  // namespace pinion::x509
