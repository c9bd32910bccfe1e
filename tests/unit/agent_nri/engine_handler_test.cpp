#include "agent/nri/engine_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "agent/nri/translate.h"
#include "tests/support/fake_runtime/samples.h"

namespace pinion::agent {
namespace {

using nri::Outcome;
using test_support::make_container;
using test_support::make_pod;
using testing::HasSubstr;

class Recording : public EngineHandler {
 public:
  engine::Reply handle(engine::Event event) override {
    events.push_back(std::move(event));
    return reply;
  }

  engine::Reply reply;
  std::vector<engine::Event> events;
};

TEST(EngineHandler, OfWhatIsListedOnlyWhatIsKeptIsCounted) {
  Recording handler;
  const auto with = [&](const std::string& name) {
    return handler.list_pod(make_pod({.annotations = {{name, std::string(5000, 'x')}}}));
  };
  EXPECT_LT(with("example.com/a"), 2000U);
  EXPECT_GT(with("pinion.dev/a"), 5000U);
  auto container = make_container({});
  const std::size_t small = handler.list_container(container);
  EXPECT_GT(small, 200U);
  const std::string environment = test_support::text_field(7, std::string(100'000, 'x'));
  ASSERT_TRUE(container.ParseFromString(container.SerializeAsString() + environment));
  EXPECT_EQ(handler.list_container(container), small);
}

TEST(EngineHandler, WhatIsListedIsOneSynchronize) {
  Recording handler;
  handler.list_container(make_container({.pod = 7}));
  handler.forget_listed();
  handler.list_pod(make_pod({.number = 1, .annotations = {}}));
  handler.list_pod(make_pod({.number = 2, .annotations = {}}));
  handler.list_container(make_container({.pod = 2}));
  handler.reply.updates = {{.id = "a", .cpuset = {.cpus = {0}, .mems = {}}},
                           {.id = "b", .cpuset = {}}};
  wire::SynchronizeResponse response;
  const Outcome outcome = handler.synchronize(response);
  EXPECT_EQ(outcome.kind, Outcome::Kind::kAnswered);
  EXPECT_EQ(outcome.updates.sent, 1U);
  EXPECT_EQ(outcome.updates.dropped, 1U);
  EXPECT_EQ(response.update_size(), 1);
  ASSERT_EQ(handler.events.size(), 1U);
  const auto& all = std::get<engine::Synchronize>(handler.events[0]);
  ASSERT_EQ(all.pods.size(), 2U);
  ASSERT_EQ(all.containers.size(), 1U);
  EXPECT_EQ(all.pods[1], to_pod(make_pod({.number = 2, .annotations = {}})));
  EXPECT_EQ(all.containers[0], to_container(make_container({.pod = 2})));
  EXPECT_TRUE(all.files.empty());

  (void)handler.synchronize(response);
  EXPECT_TRUE(std::get<engine::Synchronize>(handler.events.at(1)).pods.empty());
}

TEST(EngineHandler, TheEnginesCpusetIsTheAnswer) {
  Recording handler;
  handler.reply.own = engine::Cpuset{.cpus = {2, 3}, .mems = {0}};
  wire::CreateContainerRequest request;
  *request.mutable_pod() = make_pod({.annotations = {{"pinion.dev/align", "l3"}}});
  *request.mutable_container() = make_container({.cpus = 2});
  wire::CreateContainerResponse response;
  EXPECT_EQ(handler.create_container(request, response).kind, Outcome::Kind::kAnswered);
  EXPECT_EQ(response.adjust().linux().resources().cpu().cpus(), "2-3");
  const auto& create = std::get<engine::CreateContainer>(handler.events.at(0));
  EXPECT_EQ(create.pod, to_pod(request.pod()));
  EXPECT_EQ(create.container, to_container(request.container()));

  wire::UpdateContainerRequest update;
  *update.mutable_container() = request.container();
  update.mutable_linux_resources()->mutable_cpu()->mutable_quota()->set_value(200000);
  wire::UpdateContainerResponse updated;
  EXPECT_EQ(handler.update_container(update, updated).updates.sent, 1U);
  EXPECT_EQ(updated.update(0).container_id(), request.container().id());
  EXPECT_EQ(std::get<engine::UpdateContainer>(handler.events.at(1)).wanted.quota, 200000);

  wire::StopContainerRequest stop;
  *stop.mutable_container() = request.container();
  wire::StopContainerResponse stopped;
  EXPECT_EQ(handler.stop_container(stop, stopped).updates.sent, 0U);
  EXPECT_EQ(std::get<engine::StopContainer>(handler.events.at(2)).container.id,
            request.container().id());
}

TEST(EngineHandler, ARefusalHasTheEnginesWordsAndCarriesNoUpdates) {
  Recording handler;
  handler.reply = {.refusal = "no cores",
                   .own = {},
                   .updates = {{.id = "a", .cpuset = {.cpus = {0}, .mems = {}}}}};
  wire::CreateContainerRequest request;
  *request.mutable_container() = make_container({});
  wire::CreateContainerResponse response;
  wire::SynchronizeResponse synchronized;
  for (const Outcome& outcome :
       {handler.create_container(request, response), handler.synchronize(synchronized),
        handler.tell(wire::START_CONTAINER, make_pod({.annotations = {}}), make_container({}))}) {
    EXPECT_EQ(outcome.kind, Outcome::Kind::kRefused);
    EXPECT_EQ(outcome.text, "no cores");
    EXPECT_EQ(outcome.updates.sent, 0U);
    EXPECT_EQ(outcome.updates.dropped, 1U);
  }
}

TEST(EngineHandler, EventsCarryNoUpdates) {
  Recording handler;
  handler.reply.updates = {{.id = "a", .cpuset = {.cpus = {0}, .mems = {}}}};
  const Outcome outcome =
      handler.tell(wire::START_CONTAINER, make_pod({.annotations = {}}), make_container({}));
  EXPECT_EQ(outcome.kind, Outcome::Kind::kAnswered);
  EXPECT_EQ(outcome.updates.sent, 0U);
  EXPECT_EQ(outcome.updates.dropped, 1U);
}

TEST(EngineHandler, WhatMakesNoSenseReachesNoEngine) {
  Recording handler;
  wire::CreateContainerResponse response;
  const Outcome nameless = handler.create_container(wire::CreateContainerRequest(), response);
  EXPECT_EQ(nameless.kind, Outcome::Kind::kInvalid);
  EXPECT_THAT(nameless.text, HasSubstr("names no container"));
  EXPECT_EQ(handler.tell(wire::START_CONTAINER, {}, {}).kind, Outcome::Kind::kInvalid);
  for (const int number : {0, 4, 12, 14, 77}) {
    SCOPED_TRACE(number);
    EXPECT_EQ(handler.tell(static_cast<wire::Event>(number), {}, make_container({})).kind,
              Outcome::Kind::kIgnored);
  }
  EXPECT_TRUE(handler.events.empty());
}

}  // namespace
}  // namespace pinion::agent
