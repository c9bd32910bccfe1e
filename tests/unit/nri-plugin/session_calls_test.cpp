// Calls after the handshake: what the handler is told, what the runtime is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session_rig.h"

namespace pinion::nri {
namespace {

using test_support::make_container;
using test_support::make_pod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

wire::CreateContainerRequest create_request() {
  wire::CreateContainerRequest request;
  *request.mutable_pod() = make_pod({.annotations = {{"pinion.dev/align", "l3"}}});
  *request.mutable_container() = make_container({.cpus = 2});
  return request;
}

wire::EventRequest event_request() {
  wire::EventRequest request;
  *request.mutable_pod() = make_pod({.annotations = {}});
  *request.mutable_container() = make_container({.pid = 99});
  return request;
}

struct Synchronized : Rig {
  Synchronized() {
    EXPECT_TRUE(handshake());
    handler.told.clear();
    runtime.forget_results();
    runtime.reader().take_frame_sizes();
  }
  template <class Response>
  Response call(std::string_view method, const google::protobuf::MessageLite& request) {
    Response message;
    EXPECT_TRUE(feed(runtime.call(method, request)));
    EXPECT_EQ(runtime.broken(), "");
    EXPECT_NE(runtime.result(), nullptr);
    if (runtime.result() == nullptr) return message;
    EXPECT_EQ(runtime.result()->code, 0) << runtime.result()->text;
    EXPECT_TRUE(message.ParseFromString(runtime.result()->payload));
    return message;
  }
};

TEST(SessionCalls, CreateContainer) {
  Synchronized rig;
  rig.handler.reply = {.cpus = "2-3", .mems = "0"};
  const auto request = create_request();
  const auto response = rig.call<wire::CreateContainerResponse>("CreateContainer", request);
  ASSERT_EQ(rig.handler.told.size(), 1U);
  const Told& told = rig.handler.told[0];
  EXPECT_EQ(told.method, "CreateContainer");
  EXPECT_EQ(told.pods[0].uid(), request.pod().uid());
  EXPECT_EQ(told.pods[0].annotations().at("pinion.dev/align"), "l3");
  EXPECT_EQ(told.containers[0].SerializeAsString(), request.container().SerializeAsString());
  EXPECT_EQ(response.adjust().linux().resources().cpu().cpus(), "2-3");
  EXPECT_EQ(response.adjust().linux().resources().cpu().mems(), "0");
  EXPECT_EQ(rig.counters.calls_of(Method::kCreateContainer), 1U);
  EXPECT_EQ(rig.counters.errors_of(Method::kCreateContainer), 0U);
}

TEST(SessionCalls, ReplyWithNothingIsAnEmptyAnswer) {
  Synchronized rig;
  rig.call<wire::CreateContainerResponse>("CreateContainer", create_request());
  EXPECT_EQ(rig.runtime.result()->payload, "");
}

TEST(SessionCalls, UpdateContainer) {
  Synchronized rig;
  rig.handler.reply = {.updates = 1};
  wire::UpdateContainerRequest request;
  *request.mutable_pod() = make_pod({.annotations = {}});
  *request.mutable_container() = make_container({});
  request.mutable_linux_resources()->mutable_cpu()->mutable_quota()->set_value(200000);
  const auto response = rig.call<wire::UpdateContainerResponse>("UpdateContainer", request);
  const Told& told = rig.handler.told.at(0);
  EXPECT_EQ(told.method, "UpdateContainer");
  EXPECT_EQ(told.wanted.cpu().quota().value(), 200000);
  EXPECT_FALSE(told.wanted.cpu().has_shares());
  ASSERT_EQ(response.update_size(), 1);
  EXPECT_EQ(response.update(0).linux().resources().cpu().cpus(), "0");
}

TEST(SessionCalls, StopContainer) {
  Synchronized rig;
  rig.handler.reply = {.updates = 2};
  wire::StopContainerRequest request;
  *request.mutable_container() = make_container({});
  const auto response = rig.call<wire::StopContainerResponse>("StopContainer", request);
  EXPECT_EQ(response.update_size(), 2);
  EXPECT_EQ(rig.handler.told.at(0).method, "StopContainer");
  EXPECT_EQ(rig.handler.told.at(0).containers[0].id(), request.container().id());
}

TEST(SessionCalls, EventsOfOlderRuntimesAndOfNewerOnes) {
  struct Case {
    const char* method;
    wire::Event number;
  };
  const Case cases[] = {{"RunPodSandbox", wire::RUN_POD_SANDBOX},
                        {"StopPodSandbox", wire::STOP_POD_SANDBOX},
                        {"RemovePodSandbox", wire::REMOVE_POD_SANDBOX},
                        {"PostCreateContainer", wire::POST_CREATE_CONTAINER},
                        {"StartContainer", wire::START_CONTAINER},
                        {"PostStartContainer", wire::POST_START_CONTAINER},
                        {"PostUpdateContainer", wire::POST_UPDATE_CONTAINER},
                        {"RemoveContainer", wire::REMOVE_CONTAINER}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.method);
    Synchronized rig;
    const auto request = event_request();
    rig.call<wire::Empty>(c.method, request);
    wire::StateChangeEvent change;
    change.set_event(c.number);
    *change.mutable_pod() = request.pod();
    *change.mutable_container() = request.container();
    rig.call<wire::Empty>("StateChange", change);
    ASSERT_EQ(rig.handler.told.size(), 2U);
    for (const Told& told : rig.handler.told) {
      EXPECT_EQ(told.event, c.number);
      EXPECT_EQ(told.pods[0].id(), request.pod().id());
      EXPECT_EQ(told.containers[0].id(), request.container().id());
      EXPECT_EQ(told.containers[0].pid(), 99U);
    }
    EXPECT_EQ(rig.counters.calls_of(Method::kStateChange), 1U);
    EXPECT_EQ(rig.counters.calls_of(*to_method(c.method)), 1U);
  }
}

TEST(SessionCalls, EventsThatTheHandlerDoesNotKnowAreIgnored) {
  Synchronized rig;
  rig.handler.reply = {.kind = Outcome::Kind::kIgnored};
  for (const int number : {0, 4, 12, 14, 77}) {
    wire::StateChangeEvent change;
    change.set_event(static_cast<wire::Event>(number));
    *change.mutable_container() = make_container({});
    rig.call<wire::Empty>("StateChange", change);
  }
  EXPECT_EQ(rig.counters.ignored_messages, 5U);
}

TEST(SessionCalls, RefusalIsAnErrorStatusWithTheHandlersWords) {
  Synchronized rig;
  rig.handler.reply = {.kind = Outcome::Kind::kRefused,
                       .text = "not enough free CPUs in any NUMA node: need 6, largest free 4",
                       .updates = 3};
  wire::StateChangeEvent change;
  change.set_event(wire::START_CONTAINER);
  *change.mutable_container() = make_container({});
  wire::UpdateContainerRequest update;
  *update.mutable_container() = make_container({});
  const wire::CreateContainerRequest create = create_request();
  const std::pair<std::string, const google::protobuf::MessageLite&> calls[] = {
      {"CreateContainer", create}, {"UpdateContainer", update}, {"StateChange", change}};
  for (const auto& [method, request] : calls) {
    SCOPED_TRACE(method);
    ASSERT_TRUE(rig.feed(rig.runtime.call(method, request)));
    ASSERT_NE(rig.runtime.result(), nullptr);
    EXPECT_EQ(rig.runtime.result()->code, 9);
    EXPECT_EQ(rig.runtime.result()->text,
              "pinion: not enough free CPUs in any NUMA node: need 6, largest free 4");
    EXPECT_EQ(rig.runtime.result()->payload, "");
  }
  EXPECT_EQ(rig.counters.refusals, 3U);
  EXPECT_EQ(rig.counters.errors_of(Method::kCreateContainer), 1U);
  EXPECT_EQ(rig.counters.updates_dropped, 9U);
  EXPECT_EQ(rig.counters.updates_out, 0U);
}

// A runtime cannot read a status that is not UTF-8, and would start the container unpinned.
TEST(SessionCalls, RefusalsTextIsAlwaysValidUtf8AndShort) {
  struct Case {
    const char* name;
    std::string text;
    std::string want;
  };
  const Case cases[] = {
      {"valid", "größer \xe2\x82\xac \xf0\x9f\x98\x80", "größer \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"cut character", "gr\xc3", "gr\xEF\xBF\xBD"},
      {"zero byte", std::string("a\0b", 3),
       "a\xEF\xBF\xBD"
       "b"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Synchronized rig;
    rig.handler.reply = {.kind = Outcome::Kind::kRefused, .text = c.text};
    ASSERT_TRUE(rig.feed(rig.runtime.call("CreateContainer", create_request())));
    ASSERT_NE(rig.runtime.result(), nullptr);
    EXPECT_EQ(rig.runtime.result()->text, "pinion: " + c.want);
  }
  Synchronized rig;
  rig.handler.reply = {.kind = Outcome::Kind::kRefused, .text = std::string(9000000, 'x')};
  ASSERT_TRUE(rig.feed(rig.runtime.call("CreateContainer", create_request())));
  EXPECT_EQ(rig.runtime.result()->text.size(), 4096U + 8U);
}

TEST(SessionCalls, UpdatesInAnAnswerThatCannotCarryThemAreCounted) {
  Synchronized rig;
  rig.handler.reply = {.updates = 4};
  rig.call<wire::Empty>("StartContainer", event_request());
  EXPECT_EQ(rig.counters.updates_dropped, 4U);
}

TEST(SessionCalls, ShutdownIsAnswered) {
  Synchronized rig;
  rig.call<wire::Empty>("Shutdown", wire::Empty());
  EXPECT_EQ(rig.handler.warnings.size(), 1U);
}

TEST(SessionAnswers, LargeOnesAreExactlyTwoFrames) {
  struct Case {
    int updates;
    std::size_t frames;
  };
  // An entry takes about 80 bytes.
  for (const Case& c : {Case{1, 1}, Case{48, 1}, Case{60, 2}, Case{1000, 2}, Case{20000, 2}}) {
    SCOPED_TRACE(c.updates);
    Synchronized rig;
    rig.handler.reply = {.updates = c.updates};
    const auto response =
        rig.call<wire::CreateContainerResponse>("CreateContainer", create_request());
    EXPECT_EQ(response.update_size(), c.updates);
    const auto frames = rig.runtime.reader().take_frame_sizes();
    ASSERT_EQ(frames.size(), c.frames);
    if (c.frames == 2) {
      EXPECT_EQ(frames[0], 4096U);
    }
    if (c.updates == 20000) {
      EXPECT_GT(frames[1], 1000000U);
    }
  }
}

TEST(SessionAnswers, AboveFourMegabytesIsAnErrorNotABrokenFrame) {
  Synchronized rig;
  rig.handler.reply = {.updates = 60000};
  ASSERT_TRUE(rig.feed(rig.runtime.call("CreateContainer", create_request())));
  ASSERT_NE(rig.runtime.result(), nullptr);
  EXPECT_EQ(rig.runtime.broken(), "");
  EXPECT_EQ(rig.runtime.result()->code, 8);
  EXPECT_THAT(rig.runtime.result()->text, HasSubstr("above the protocol's limit"));
  EXPECT_THAT(rig.handler.warnings, ElementsAre(HasSubstr("above the protocol's limit")));
  rig.handler.reply = {};
  rig.call<wire::CreateContainerResponse>("CreateContainer", create_request());
}

TEST(SessionAnswers, SeveralCallsInOneReadAreAnsweredInOrder) {
  Synchronized rig;
  std::string bytes;
  for (int i = 0; i < 50; ++i) bytes += rig.runtime.call("StartContainer", event_request());
  ASSERT_TRUE(rig.feed(bytes));
  EXPECT_EQ(rig.runtime.results(), 50U);
  EXPECT_EQ(rig.handler.told.size(), 50U);
  EXPECT_EQ(rig.counters.frames_out, 3U + 50U);  // RegisterPlugin and the handshake's two answers
}

TEST(SessionAnswers, OneFrameWithSeveralMessagesAndOneMessageOverManyFrames) {
  Synchronized rig;
  const std::string body = test_support::envelope(test_support::kPluginService, "StartContainer",
                                                  event_request().SerializeAsString());
  // The ttrpc messages of streams 101, 103 and 105 without their mux frames.
  std::string messages;
  for (const std::uint32_t stream : {101U, 103U, 105U}) {
    append_header(messages, {.stream = stream, .type = MessageType::kRequest, .flags = 0},
                  body.size());
    messages += body;
  }
  ASSERT_TRUE(rig.feed(test_support::frame(1, messages)));
  EXPECT_EQ(rig.handler.told.size(), 3U);
  messages[7] = 107;  // the stream ids of the second round
  messages[10 + body.size() + 7] = 109;
  messages[2 * (10 + body.size()) + 7] = 111;
  std::string crumbs;
  for (const char byte : messages) {
    crumbs += test_support::frame(1, {&byte, 1}) + test_support::frame(9, "between");
  }
  ASSERT_TRUE(rig.feed(crumbs, 11));
  EXPECT_EQ(rig.handler.told.size(), 6U);
  EXPECT_EQ(rig.runtime.results(), 6U);
  for (const std::uint32_t stream : {101U, 103U, 105U, 107U, 109U, 111U}) {
    ASSERT_NE(rig.runtime.result(stream), nullptr);
    EXPECT_EQ(rig.runtime.result(stream)->code, 0);
  }
}

}  // namespace
}  // namespace pinion::nri
