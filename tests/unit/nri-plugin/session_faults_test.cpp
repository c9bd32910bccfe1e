// A runtime that misbehaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "session_rig.h"

namespace pinion::nri {
namespace {

using test_support::frame;
using test_support::frame_message;
using test_support::make_container;
using test_support::make_pod;
using testing::HasSubstr;
using testing::IsEmpty;

wire::CreateContainerRequest faulty_create() {
  wire::CreateContainerRequest request;
  *request.mutable_pod() = make_pod({.annotations = {}});
  *request.mutable_container() = make_container({});
  return request;
}

TEST(SessionFaults, UnknownMethodsAndServicesAreUnimplemented) {
  Rig rig;
  ASSERT_TRUE(rig.handshake());
  const std::pair<std::string, std::string> cases[] = {
      {std::string(test_support::kPluginService), "UpdatePodSandbox"},
      {std::string(test_support::kPluginService), "ValidateContainerAdjustment"},
      {std::string(test_support::kPluginService), ""},
      {std::string(test_support::kPluginService), std::string(100000, 'm')},
      {"nri.pkg.api.v1beta1.Plugin", "CreateContainer"},
      {"", "CreateContainer"}};
  for (const auto& [service, method] : cases) {
    SCOPED_TRACE(service + "/" + method.substr(0, 40));
    ASSERT_TRUE(rig.feed(rig.runtime.call_raw(method, "", service)));
    ASSERT_NE(rig.runtime.result(), nullptr);
    EXPECT_EQ(rig.runtime.result()->code, 12);
    EXPECT_LT(rig.runtime.result()->text.size(), 5000U);
  }
  EXPECT_EQ(rig.counters.unknown_methods, 6U);
  EXPECT_EQ(rig.handler.told.size(), 1U);
}

TEST(SessionFaults, UnknownFieldsAreIgnored) {
  Rig rig;
  ASSERT_TRUE(rig.handshake());
  const std::string more = test_support::text_field(2000, "from the future") + "\x98\x7d\x05";
  ASSERT_TRUE(rig.feed(
      rig.runtime.call_raw("CreateContainer", faulty_create().SerializeAsString() + more)));
  ASSERT_NE(rig.runtime.result(), nullptr);
  EXPECT_EQ(rig.runtime.result()->code, 0) << rig.runtime.result()->text;
  EXPECT_EQ(rig.handler.told.size(), 2U);
}

TEST(SessionFaults, UndecodablePayloadsAreInvalidArguments) {
  Rig rig;
  ASSERT_TRUE(rig.handshake());
  rig.handler.told.clear();
  const std::string cut = faulty_create().SerializeAsString();
  for (const std::string& payload : {cut.substr(0, cut.size() - 1), std::string("\xff\xff\xff"),
                                     test_support::text_field(2, "\x0a\x02\xff\xfe")}) {
    for (std::size_t i = 0; i < kMethods; ++i) {
      const std::string method(to_string(static_cast<Method>(i)));
      SCOPED_TRACE(method);
      ASSERT_TRUE(rig.feed(rig.runtime.call_raw(method, payload)));
      ASSERT_NE(rig.runtime.result(), nullptr);
      EXPECT_EQ(rig.runtime.broken(), "");
      if (rig.runtime.result()->code == 0) continue;  // its message has no field 1 or 2 to be wrong
      EXPECT_EQ(rig.runtime.result()->code, 3);
      EXPECT_THAT(rig.runtime.result()->text, HasSubstr("pinion: "));
    }
  }
  EXPECT_GE(rig.counters.errors_of(Method::kCreateContainer), 3U);
}

TEST(SessionFaults, RequestThatTheHandlerCallsInvalid) {
  Rig rig;
  ASSERT_TRUE(rig.handshake());
  rig.handler.reply = {.kind = Outcome::Kind::kInvalid, .text = "names no container"};
  ASSERT_TRUE(rig.feed(rig.runtime.call("CreateContainer", wire::CreateContainerRequest())));
  EXPECT_EQ(rig.runtime.result()->code, 3);
  EXPECT_EQ(rig.runtime.result()->text, "pinion: names no container");
}

TEST(SessionFaults, WrongStreamIdsAreAnsweredAndLeadToNoEvent) {
  Rig rig;
  ASSERT_TRUE(rig.handshake());
  rig.handler.told.clear();
  const std::string body = test_support::envelope(test_support::kPluginService, "CreateContainer",
                                                  faulty_create().SerializeAsString());
  const std::uint32_t used = rig.runtime.stream();
  for (const std::uint32_t stream : {0U, 2U, 1000U, 1U, used}) {
    SCOPED_TRACE(stream);
    rig.runtime.forget_results();
    ASSERT_TRUE(rig.feed(frame_message(1, stream, 1, body)));
    ASSERT_EQ(rig.runtime.results(), 1U);
    if (stream != 0) {
      EXPECT_EQ(rig.runtime.result(stream)->code, 3);
    }
  }
  EXPECT_THAT(rig.handler.told, IsEmpty());
  ASSERT_TRUE(rig.feed(frame_message(1, 0xffffffff, 1, body)));
  EXPECT_EQ(rig.handler.told.size(), 1U);
}

TEST(SessionFaults, BrokenEnvelopeIsAnswered) {
  Rig rig;
  ASSERT_TRUE(rig.handshake());
  ASSERT_TRUE(rig.feed(frame_message(1, 101, 1, "\xff\xff")));
  ASSERT_NE(rig.runtime.result(101), nullptr);
  EXPECT_EQ(rig.runtime.result(101)->code, 3);
  ASSERT_TRUE(rig.feed(frame_message(1, 103, 1, "")));
  ASSERT_NE(rig.runtime.result(103), nullptr);
  EXPECT_EQ(rig.runtime.result(103)->code, 12);
}

TEST(SessionFaults, StrayMessagesAreSkipped) {
  Rig rig;
  ASSERT_TRUE(rig.handshake());
  const std::uint64_t before = rig.counters.ignored_messages;
  ASSERT_TRUE(rig.feed(frame_message(1, 201, 2, "")));   // a response where calls come
  ASSERT_TRUE(rig.feed(frame_message(1, 201, 3, "x")));  // stream data
  ASSERT_TRUE(rig.feed(frame_message(1, 201, 0, "x")));  // types that do not exist
  ASSERT_TRUE(rig.feed(frame_message(1, 201, 200, "x")));
  ASSERT_TRUE(rig.feed(frame_message(2, 1, 1, "x")));  // a call where answers come
  ASSERT_TRUE(rig.feed(frame_message(2, 1, 2, "x")));  // a second answer
  ASSERT_TRUE(rig.feed(frame(3, "some other service")));
  EXPECT_EQ(rig.counters.ignored_messages, before + 7);
  ASSERT_TRUE(rig.feed(rig.runtime.call("CreateContainer", faulty_create())));
  EXPECT_EQ(rig.runtime.result()->code, 0);
}

TEST(SessionFaults, AnswersBeforeTheQuestionAreSkipped) {
  Rig rig;
  ASSERT_TRUE(rig.feed(frame_message(2, 1, 2, "")));
  EXPECT_EQ(rig.session.phase(), Phase::kNew);
  rig.session.start(rig.now);
  ASSERT_TRUE(rig.feed(frame_message(2, 3, 2, "")));
  EXPECT_EQ(rig.session.phase(), Phase::kRegistering);
}

TEST(SessionFaults, UnreadableAnswerToTheRegistrationEndsTheSession) {
  Rig rig;
  rig.session.start(rig.now);
  const Status status = rig.feed(frame_message(2, 1, 2, "\xff\xff"));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kInvalid);
}

TEST(SessionFaults, OversizedLengthsEndTheSession) {
  const std::string cases[] = {
      std::string("\0\0\0\1\x7f\xff\xff\xff", 8),
      frame(1, std::string("\4\0\0\1\0\0\0\7\1\0", 10)),
      frame(2, std::string("\xff\xff\xff\xff\0\0\0\1\2\0", 10)),
      frame(0, "x"),
  };
  for (const std::string& bytes : cases) {
    Rig rig;
    ASSERT_TRUE(rig.handshake());
    const Status status = rig.feed(bytes);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::kInvalid);
  }
}

TEST(SessionFaults, GarbageNeverCrashesAndNeverReachesTheHandler) {
  std::mt19937 random(20260101);
  for (int round = 0; round < 500; ++round) {
    Rig rig;
    rig.session.start(rig.now);
    std::string garbage(1 + random() % 300, '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    // Half of them with a plausible mux header, so that ttrpc sees garbage too.
    if (round % 2 == 0) garbage = frame(1 + random() % 2, garbage);
    (void)rig.feed(garbage, 1 + random() % 50);
    EXPECT_THAT(rig.handler.told, IsEmpty());
    EXPECT_THAT(rig.handler.runtimes, IsEmpty());
  }
}

// Cut anywhere, the session neither crashes nor reports more than what came whole.
TEST(SessionFaults, EndOfFileAtEveryByteOfTheHandshakeAndOfACall) {
  Rig whole;
  whole.session.start(whole.now);
  whole.drain();
  std::string bytes = whole.runtime.handshake();
  bytes += whole.runtime.call("CreateContainer", faulty_create());
  ASSERT_TRUE(whole.feed(bytes));
  ASSERT_EQ(whole.handler.told.size(), 2U);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Rig rig;
    rig.session.start(rig.now);
    ASSERT_TRUE(rig.feed(std::string_view(bytes).substr(0, size)));
    EXPECT_LT(rig.handler.told.size(), 2U);
    EXPECT_LE(rig.session.phase(), Phase::kSynchronized);
  }
}

TEST(SessionFaults, SlowReaderIsGivenUpAtTheLimit) {
  SessionOptions options;
  options.max_pending_output = 100000;
  Rig rig(options);
  ASSERT_TRUE(rig.handshake());
  rig.handler.reply = {.updates = 500};
  Status status;
  int calls = 0;
  while (status && calls < 100) {
    const std::string call = rig.runtime.call("CreateContainer", faulty_create());
    status = rig.session.receive(as_bytes(call), rig.now);  // and the runtime reads nothing
    ++calls;
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kExhausted);
  EXPECT_THAT(status.error().text, HasSubstr("the limit is 100000"));
  EXPECT_EQ(calls, 3);  // 40 kB each
}

TEST(SessionFaults, OutputTakenInCrumbsStaysWhole) {
  Rig rig;
  ASSERT_TRUE(rig.handshake());
  rig.handler.reply = {.updates = 5000};
  for (int i = 0; i < 3; ++i) {
    const std::string call = rig.runtime.call("CreateContainer", faulty_create());
    ASSERT_TRUE(rig.session.receive(as_bytes(call), rig.now));
  }
  std::string taken;
  while (!rig.session.output().empty()) {
    const std::string_view piece = rig.session.output().substr(0, 777);
    taken += piece;
    rig.session.consume_output(piece.size());
  }
  const std::uint32_t last = rig.runtime.stream();
  rig.runtime.receive(taken);
  EXPECT_EQ(rig.runtime.broken(), "");
  for (const std::uint32_t stream : {last - 4, last - 2, last}) {
    wire::CreateContainerResponse response;
    ASSERT_NE(rig.runtime.result(stream), nullptr);
    ASSERT_TRUE(response.ParseFromString(rig.runtime.result(stream)->payload));
    EXPECT_EQ(response.update_size(), 5000);
  }
}

}  // namespace
}  // namespace pinion::nri
