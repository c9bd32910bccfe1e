// The handshake, and its clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session_rig.h"

namespace pinion::nri {
namespace {

using std::chrono::milliseconds;
using test_support::make_container;
using test_support::make_pod;
using testing::HasSubstr;
using testing::IsEmpty;

wire::SynchronizeRequest population(int from, int to, bool more) {
  wire::SynchronizeRequest request;
  for (int i = from; i < to; ++i) {
    *request.add_pods() = make_pod({.number = i, .annotations = {}});
    *request.add_containers() = make_container({.pod = i});
  }
  request.set_more(more);
  return request;
}

template <class Response>
Response response(const Rig& rig) {
  Response message;
  EXPECT_NE(rig.runtime.result(), nullptr);
  if (rig.runtime.result() == nullptr) return message;
  EXPECT_EQ(rig.runtime.result()->code, 0) << rig.runtime.result()->text;
  EXPECT_TRUE(message.ParseFromString(rig.runtime.result()->payload));
  return message;
}

TEST(SessionHandshake, InTheUsualOrder) {
  Rig rig;
  EXPECT_EQ(rig.session.phase(), Phase::kNew);
  EXPECT_EQ(rig.session.output(), "");
  rig.session.start(rig.now);
  EXPECT_EQ(rig.session.phase(), Phase::kRegistering);
  rig.drain();
  ASSERT_TRUE(rig.runtime.registration());
  EXPECT_EQ(rig.runtime.registration()->plugin_name(), "pinion");
  EXPECT_EQ(rig.runtime.registration()->plugin_idx(), "10");

  ASSERT_TRUE(rig.feed(rig.runtime.register_answer()));
  EXPECT_EQ(rig.session.phase(), Phase::kRegistered);
  EXPECT_FALSE(rig.session.runtime());

  ASSERT_TRUE(rig.feed(rig.runtime.configure("v1.7.24", 700)));
  EXPECT_EQ(rig.session.phase(), Phase::kConfigured);
  EXPECT_EQ(response<wire::ConfigureResponse>(rig).events(), 0x7ff);
  ASSERT_EQ(rig.handler.runtimes.size(), 1U);
  EXPECT_EQ(rig.handler.runtimes[0], rig.session.runtime());
  EXPECT_EQ(rig.session.runtime()->name, "containerd");
  EXPECT_EQ(rig.session.runtime()->version, "v1.7.24");
  EXPECT_EQ(rig.session.runtime()->request_timeout, milliseconds(700));
  EXPECT_EQ(rig.session.runtime()->registration_timeout, milliseconds(5000));

  ASSERT_TRUE(rig.feed(rig.runtime.synchronize(population(1, 4, false))));
  EXPECT_EQ(rig.session.phase(), Phase::kSynchronized);
  EXPECT_FALSE(response<wire::SynchronizeResponse>(rig).more());
  ASSERT_EQ(rig.handler.told.size(), 1U);
  const Told& all = rig.handler.told[0];
  EXPECT_EQ(all.method, "Synchronize");
  ASSERT_EQ(all.pods.size(), 3U);
  ASSERT_EQ(all.containers.size(), 3U);
  EXPECT_EQ(all.pods[2].uid(), make_pod({.number = 3, .annotations = {}}).uid());
  EXPECT_EQ(all.containers[2].id(), make_container({.pod = 3}).id());

  EXPECT_TRUE(rig.session.tick(rig.now));
  EXPECT_EQ(rig.session.deadline(), std::nullopt);
  EXPECT_EQ(rig.runtime.broken(), "");
  EXPECT_EQ(rig.counters.synchronized, 1U);
  EXPECT_EQ(rig.counters.calls_of(Method::kConfigure), 1U);
  EXPECT_EQ(rig.counters.calls_of(Method::kSynchronize), 1U);
}

TEST(SessionHandshake, ConfigureAndSynchronizeBeforeTheRegistrationsAnswer) {
  Rig rig;
  rig.session.start(rig.now);
  rig.drain();
  ASSERT_TRUE(rig.feed(rig.runtime.configure()));
  EXPECT_EQ(rig.session.phase(), Phase::kConfigured);
  ASSERT_TRUE(rig.feed(rig.runtime.synchronize({})));
  EXPECT_EQ(rig.session.phase(), Phase::kSynchronized);
  EXPECT_TRUE(rig.session.deadline());
  ASSERT_TRUE(rig.feed(rig.runtime.register_answer()));
  EXPECT_EQ(rig.session.phase(), Phase::kSynchronized);
  EXPECT_TRUE(rig.session.tick(rig.now));
  EXPECT_FALSE(rig.session.deadline());
}

TEST(SessionHandshake, WholeInOneReadAndByteByByte) {
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{1} << 20}) {
    SCOPED_TRACE(step);
    Rig rig;
    rig.session.start(rig.now);
    rig.drain();
    const std::string bytes = rig.runtime.handshake(population(0, 2, false));
    ASSERT_TRUE(rig.feed(bytes, step));
    EXPECT_EQ(rig.session.phase(), Phase::kSynchronized);
    EXPECT_EQ(rig.runtime.results(), 2U);
    EXPECT_EQ(rig.runtime.broken(), "");
    EXPECT_EQ(rig.counters.bytes_in, bytes.size());
  }
}

TEST(SessionHandshake, RefusedRegistrationEndsTheSession) {
  Rig rig;
  rig.session.start(rig.now);
  rig.drain();
  const Status status = rig.feed(rig.runtime.register_answer(2, "invalid plugin index"));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kDenied);
  EXPECT_THAT(status.error().text, HasSubstr("10-pinion: invalid plugin index"));
}

TEST(SessionHandshake, RuntimeWithoutTimeouts) {
  Rig rig;
  rig.session.start(rig.now);
  rig.drain();
  ASSERT_TRUE(rig.feed(rig.runtime.configure("v1.7.24", 0)));
  EXPECT_EQ(rig.session.runtime()->request_timeout, milliseconds(0));
}

TEST(SessionSynchronize, TwoThousandContainersInPartsAreOneEvent) {
  Rig rig;
  ASSERT_TRUE(rig.begin());
  constexpr int kParts = 5;
  for (int part = 0; part < kParts; ++part) {
    const bool more = part + 1 < kParts;
    const auto request = population(400 * part, 400 * (part + 1), more);
    const std::string bytes = rig.runtime.synchronize(request);
    EXPECT_GT(bytes.size(), 1000000U);
    ASSERT_TRUE(rig.feed(bytes, 65536));
    EXPECT_EQ(response<wire::SynchronizeResponse>(rig).more(), more);
    EXPECT_EQ(rig.handler.told.size(), more ? 0U : 1U);
    EXPECT_EQ(rig.session.phase(), more ? Phase::kConfigured : Phase::kSynchronized);
  }
  const Told& all = rig.handler.told.at(0);
  ASSERT_EQ(all.containers.size(), 2000U);
  EXPECT_EQ(all.pods.size(), 2000U);
  EXPECT_EQ(all.containers[1999].id(), make_container({.pod = 1999}).id());
  EXPECT_TRUE(rig.session.tick(rig.now));
}

TEST(SessionSynchronize, UpdatesGoOnlyIntoTheLastAnswer) {
  Rig rig;
  rig.handler.reply = {.updates = 3};
  ASSERT_TRUE(rig.begin());
  ASSERT_TRUE(rig.feed(rig.runtime.synchronize(population(0, 2, true))));
  EXPECT_EQ(response<wire::SynchronizeResponse>(rig).update_size(), 0);
  ASSERT_TRUE(rig.feed(rig.runtime.synchronize({})));
  EXPECT_EQ(response<wire::SynchronizeResponse>(rig).update_size(), 3);
  EXPECT_EQ(rig.counters.updates_out, 3U);
}

TEST(SessionSynchronize, TotalOfAllPartsIsBounded) {
  SessionOptions options;
  options.max_listed_bytes = 100000;
  Rig rig(options);
  ASSERT_TRUE(rig.begin());
  ASSERT_TRUE(rig.feed(rig.runtime.synchronize(population(0, 10, true))));
  EXPECT_TRUE(response<wire::SynchronizeResponse>(rig).more());
  ASSERT_TRUE(rig.feed(rig.runtime.synchronize(population(10, 20, true))));
  ASSERT_NE(rig.runtime.result(), nullptr);
  EXPECT_EQ(rig.runtime.result()->code, 8);
  EXPECT_THAT(rig.runtime.result()->text, HasSubstr("more than 100000 bytes"));
  EXPECT_THAT(rig.handler.warnings, testing::ElementsAre(HasSubstr("more than 100000 bytes")));
  EXPECT_THAT(rig.handler.told, IsEmpty());
  EXPECT_EQ(rig.session.phase(), Phase::kConfigured);
}

TEST(SessionSynchronize, EndlessEmptyPartsAreBounded) {
  SessionOptions options;
  options.max_listed_bytes = 100;
  Rig rig(options);
  ASSERT_TRUE(rig.begin());
  wire::SynchronizeRequest empty;
  empty.set_more(true);
  int answered = 0;
  while (answered < 200) {
    ASSERT_TRUE(rig.feed(rig.runtime.synchronize(empty)));
    if (rig.runtime.result()->code != 0) break;
    ++answered;
  }
  EXPECT_GT(answered, 10);
  EXPECT_LT(answered, 101);
}

TEST(SessionWatchdog, SilenceInEveryPhaseOfTheHandshake) {
  SessionOptions options;
  options.handshake_timeout = milliseconds(1000);
  struct Case {
    const char* phase;
    std::function<void(Rig&)> until;
  };
  const Case cases[] = {
      {"registering", [](Rig&) {}},
      {"registered", [](Rig& rig) { EXPECT_TRUE(rig.feed(rig.runtime.register_answer())); }},
      {"configured", [](Rig& rig) { EXPECT_TRUE(rig.feed(rig.runtime.configure())); }},
      {"synchronized", [](Rig& rig) { EXPECT_TRUE(rig.feed(rig.runtime.synchronize({}))); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.phase);
    Rig rig(options);
    rig.session.start(rig.now);
    rig.drain();
    rig.pass(milliseconds(700));
    c.until(rig);
    const milliseconds until(std::string_view(c.phase) == "registering" ? 300 : 1000);
    ASSERT_TRUE(rig.session.tick(rig.now));
    EXPECT_EQ(rig.session.deadline(), rig.now + until);
    rig.pass(until - milliseconds(1));
    EXPECT_TRUE(rig.session.tick(rig.now));
    rig.pass(milliseconds(1));
    const Status status = rig.session.tick(rig.now);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::kUnavailable);
    EXPECT_THAT(status.error().text, HasSubstr("silent for 1000 ms"));
    EXPECT_THAT(status.error().text, HasSubstr(c.phase));
  }
}

TEST(SessionWatchdog, UnrelatedBytesDoNotKeepASilentHandshakeAlive) {
  SessionOptions options;
  options.handshake_timeout = milliseconds(1000);
  Rig rig(options);
  rig.session.start(rig.now);
  for (int i = 0; i < 9; ++i) {
    rig.pass(milliseconds(100));
    ASSERT_TRUE(rig.feed(test_support::frame(77, "noise")));
    ASSERT_TRUE(rig.session.tick(rig.now));
  }
  rig.pass(milliseconds(100));
  EXPECT_FALSE(rig.session.tick(rig.now));
}

TEST(SessionWatchdog, IdleAfterTheHandshakeIsFine) {
  Rig rig;
  ASSERT_TRUE(rig.handshake());
  rig.pass(std::chrono::hours(1000));
  EXPECT_TRUE(rig.session.tick(rig.now));
}

// Some runtimes then say "connected" and never send an event again.
TEST(SessionWatchdog, SynchronizeAnsweredTooLateEndsTheSession) {
  struct Case {
    const char* name;
    int told;
    int took;
    bool good;
  };
  const Case cases[] = {{"in time", 700, 700, true},
                        {"too late", 700, 701, false},
                        {"default limit, in time", 0, 2000, true},
                        {"default limit, too late", 0, 2001, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Rig rig;
    rig.session.start(rig.now);
    rig.drain();
    ASSERT_TRUE(rig.feed(rig.runtime.register_answer()));
    ASSERT_TRUE(rig.feed(rig.runtime.configure("v1.7.24", c.told)));
    ASSERT_TRUE(rig.feed(rig.runtime.synchronize(population(0, 1, true))));
    ASSERT_TRUE(rig.session.tick(rig.now));
    rig.pass(milliseconds(c.took));  // all parts together have this long
    ASSERT_TRUE(rig.feed(rig.runtime.synchronize({})));
    const Status status = rig.session.tick(rig.now);
    EXPECT_EQ(status.has_value(), c.good);
    if (!status) {
      EXPECT_THAT(status.error().text, HasSubstr("waits only"));
    }
    if (status) {
      EXPECT_TRUE(rig.session.tick(rig.now + std::chrono::hours(1)));
    }
  }
}

TEST(SessionOptionsTest, NamesAndIndicesThatRuntimesRefuse) {
  struct Case {
    const char* name;
    const char* index;
    bool good;
  };
  const Case cases[] = {{"pinion", "10", true},   {"A-b_c.d+9", "00", true}, {"", "10", false},
                        {"pin ion", "10", false}, {"pinion/", "10", false},  {"pinion", "1", false},
                        {"pinion", "100", false}, {"pinion", "1a", false},   {"pinion", "", false}};
  for (const Case& c : cases) {
    SessionOptions options;
    options.name = c.name;
    options.index = c.index;
    EXPECT_EQ(validate(options).has_value(), c.good) << c.name << " " << c.index;
  }
}

}  // namespace
}  // namespace pinion::nri
