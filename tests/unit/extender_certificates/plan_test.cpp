#include "cluster/extender/certificates/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509v3.h>

#include "base/x509/pem.h"

namespace pinion::cluster::certificates {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kStartS = 1'790'000'000;
constexpr std::int64_t kHourS = 3'600;

const Wanted kExtender{.subject = {.common_name = "pinion-extender",
                                   .names = {"pinion-extender.ns.svc", "10.96.0.77"}}};
const Wanted kScheduler{
    .subject = {.common_name = "pinion-scheduler", .names = {"pinion-scheduler"}}, .lasting = true};

Data must(const Result<Step>& step) {
  EXPECT_TRUE(step) << step.error().text;
  return step ? step->data : Data();
}

x509::Validity validity(const Data& data) {
  const auto read = x509::read_certificates(data.at(kCertificate));
  return read ? read->front().validity : x509::Validity();
}

std::string why(const Result<Step>& step) {
  return step ? step->why : "error: " + step.error().text;
}

// As OpenSSL checks it for who trusts these authorities at that time: the chain as it is sent.
bool trusted(const Data& end, const std::string& authorities, std::int64_t now_s) {
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                      &X509_STORE_free);
  const x509::BioHandle roots = x509::bio_of(authorities);
  while (const x509::X509Handle root = x509::next_certificate(roots)) {
    X509_STORE_add_cert(store.get(), root.get());
  }
  const x509::BioHandle chain = x509::bio_of(end.at(kCertificate));
  const x509::X509Handle first = x509::next_certificate(chain);
  const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> others(
      sk_X509_new_null(), [](STACK_OF(X509) * all) { sk_X509_pop_free(all, X509_free); });
  while (x509::X509Handle one = x509::next_certificate(chain)) {
    sk_X509_push(others.get(), one.release());
  }
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(
      X509_STORE_CTX_new(), &X509_STORE_CTX_free);
  X509_STORE_CTX_init(context.get(), store.get(), first.get(), others.get());
  X509_STORE_CTX_set_time(context.get(), 0, now_s);
  X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_SERVER);
  return X509_verify_cert(context.get()) == 1;
}

TEST(Certificates, AreMadeWhereThereAreNone) {
  const Data ca = must(authority(std::nullopt, kStartS));
  EXPECT_EQ(ca.at(kAuthorities), ca.at(kCertificate));
  EXPECT_EQ(validity(ca).to_s, kStartS + kAuthorityS);
  const Data own = must(certificate(std::nullopt, ca, kExtender, kStartS));
  const auto read = x509::read_certificates(own.at(kCertificate));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().subject, "/CN=pinion-extender");
  EXPECT_THAT(read->front().names, ElementsAre("pinion-extender.ns.svc", "10.96.0.77"));
  EXPECT_EQ(own.at(kAuthorities), ca.at(kCertificate));
  EXPECT_TRUE(trusted(own, ca.at(kAuthorities), kStartS));
  EXPECT_TRUE(x509::check_pair({.certificate = own.at(kCertificate), .key = own.at(kKey)}));
}

TEST(Certificates, StayAsTheyAreForTwoThirdsOfTheirLife) {
  const Data ca = must(authority(std::nullopt, kStartS));
  const Data own = must(certificate(std::nullopt, ca, kExtender, kStartS));
  EXPECT_EQ(why(authority(ca, kStartS + kAuthorityS * 2 / 3 - kHourS)), "");
  EXPECT_EQ(must(authority(ca, kStartS + kDayS)), ca);
  EXPECT_EQ(why(certificate(own, ca, kExtender, kStartS + 59 * kDayS)), "");
  EXPECT_EQ(must(certificate(own, ca, kExtender, kStartS + 59 * kDayS)), own);
  const auto later = certificate(own, ca, kExtender, kStartS + 61 * kDayS);
  EXPECT_THAT(why(later), HasSubstr("a third"));
  EXPECT_EQ(validity(must(later)).to_s, kStartS + 61 * kDayS + kEndS);
}

TEST(Certificates, OfTheSchedulerLastAsLongAsTheirAuthority) {
  const Data ca = must(authority(std::nullopt, kStartS));
  const Data lasting = must(certificate(std::nullopt, ca, kScheduler, kStartS));
  EXPECT_EQ(validity(lasting).to_s, validity(ca).to_s);
  // As long as its authority stays: another one would end at the same time.
  EXPECT_EQ(why(certificate(lasting, ca, kScheduler, kStartS + kAuthorityS * 9 / 10)), "");
}

TEST(Certificates, OfOtherNamesAreMadeAnew) {
  const Data ca = must(authority(std::nullopt, kStartS));
  const Data own = must(certificate(std::nullopt, ca, kExtender, kStartS));
  Wanted other = kExtender;
  std::swap(other.subject.names[0], other.subject.names[1]);
  EXPECT_EQ(why(certificate(own, ca, other, kStartS)), "") << "in another order";
  other.subject.names.emplace_back("more.svc");
  EXPECT_EQ(why(certificate(own, ca, other, kStartS)), "it has other names");
}

TEST(Certificates, ThatCannotBeUsedAreMadeAnew) {
  const Data ca = must(authority(std::nullopt, kStartS));
  const Data own = must(certificate(std::nullopt, ca, kExtender, kStartS));
  Data broken = own;
  broken[kKey] = must(certificate(std::nullopt, ca, kExtender, kStartS)).at(kKey);
  EXPECT_THAT(why(certificate(broken, ca, kExtender, kStartS)), HasSubstr("not of"));
  EXPECT_THAT(why(certificate(Data(), ca, kExtender, kStartS)), Not(IsEmpty()));
  const auto early = certificate(own, ca, kExtender, kStartS - kDayS);
  EXPECT_EQ(why(early), "it begins in the future");
  Data untrusting = own;
  untrusting.erase(kAuthorities);
  const auto mended = certificate(untrusting, ca, kExtender, kStartS);
  EXPECT_EQ(why(mended), "other authorities are trusted");
  EXPECT_EQ(must(mended), own) << "the same certificate";
}

TEST(Certificates, OfAnAuthorityThatHasGoneAreMadeAnew) {
  const Data old_ca = must(authority(std::nullopt, kStartS));
  const Data own = must(certificate(std::nullopt, old_ca, kExtender, kStartS));
  const Data ca = must(authority(std::nullopt, kStartS + kDayS));
  const auto next = certificate(own, ca, kExtender, kStartS + kDayS);
  EXPECT_EQ(why(next), "it is of another authority");
  EXPECT_FALSE(trusted(must(next), old_ca.at(kAuthorities), kStartS + kDayS));
}

TEST(Certificates, ANewAuthorityIsTrustedByWhoKnowsTheOldOneAlone) {
  const Data old_ca = must(authority(std::nullopt, kStartS));
  const Data old_end = must(certificate(std::nullopt, old_ca, kExtender, kStartS));
  const std::int64_t now_s = kStartS + kAuthorityS * 2 / 3 + kDayS;
  const auto step = authority(old_ca, now_s);
  EXPECT_THAT(why(step), HasSubstr("a third"));
  const Data ca = must(step);
  EXPECT_EQ(ca.at(kAuthorities), ca.at(kCertificate) + old_ca.at(kCertificate));
  const Data end = must(certificate(old_end, ca, kExtender, now_s));
  EXPECT_TRUE(trusted(end, old_ca.at(kAuthorities), now_s)) << "by who has not been told yet";
  EXPECT_TRUE(trusted(end, ca.at(kAuthorities), now_s));
  EXPECT_TRUE(trusted(end, ca.at(kCertificate), now_s)) << "by who knows the new one alone";
  EXPECT_TRUE(trusted(must(certificate(std::nullopt, old_ca, kScheduler, kStartS)),
                      ca.at(kAuthorities), now_s))
      << "and what the old one has signed";
  // Nothing more happens, until the old one has ended.
  EXPECT_EQ(must(authority(ca, now_s + kDayS)), ca);
  const std::int64_t after_s = kStartS + kAuthorityS + kDayS;
  const Data alone = must(authority(ca, after_s));
  EXPECT_EQ(alone.at(kAuthorities), ca.at(kCertificate));
  EXPECT_TRUE(
      trusted(must(certificate(end, alone, kExtender, after_s)), alone.at(kAuthorities), after_s));
}

TEST(Certificates, AnAuthorityThatHasEndedIsFollowedByOneOfItsOwn) {
  const Data old_ca = must(authority(std::nullopt, kStartS));
  const auto step = authority(old_ca, kStartS + kAuthorityS);
  EXPECT_EQ(why(step), "it has ended");
  EXPECT_EQ(must(step).at(kAuthorities), must(step).at(kCertificate));
}

TEST(Certificates, WhatSomebodyHasPutInTheAuthoritysPlaceIsNotReplaced) {
  const Data ca = must(authority(std::nullopt, kStartS));
  EXPECT_THAT(why(authority(Data(), kStartS)), HasSubstr("error"));
  EXPECT_THAT(why(authority(ca, kStartS - kDayS)), HasSubstr("is the clock right"));
  EXPECT_THAT(why(authority(must(certificate(std::nullopt, ca, kExtender, kStartS)), kStartS)),
              HasSubstr("may sign no others"));
  // One of somebody's own is taken.
  const auto own =
      x509::make_authority("own", {.from_s = kStartS - kHourS, .to_s = kStartS + kEndS});
  ASSERT_TRUE(own);
  const auto taken = authority(Data{{kCertificate, own->certificate}, {kKey, own->key}}, kStartS);
  EXPECT_EQ(must(taken).at(kCertificate), own->certificate);
  EXPECT_EQ(must(taken).at(kAuthorities), own->certificate);
  const Data end = must(certificate(std::nullopt, must(taken), kScheduler, kStartS));
  EXPECT_EQ(validity(end).to_s, kStartS + kEndS);
}

}  // namespace
}  // namespace pinion::cluster::certificates
