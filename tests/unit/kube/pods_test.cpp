#include "cluster/extender/kube/pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "cluster/extender/kube/path.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::kube {
namespace {

using nlohmann::json;

constexpr const char* kPath = "/api/v1/namespaces/n/pods/p";

class Pods : public testing::Test {
 protected:
  Result<Bound> bind_to(const std::string& node) { return bind_pod(*api_, pod_, node); }
  void refuse_binding(const std::string& message) {
    server_.on(std::string("POST ") + kPath + "/binding", 409,
               status_object(409, "Conflict", message));
  }
  void lose_answers() {
    const std::string path = kPath;
    for (const std::string& call : {"POST " + path + "/binding", "GET " + path}) {
      server_.on(call, 503, status_object(503, "ServiceUnavailable", "ends"));
    }
  }
  void refuse_patch() {
    server_.on(std::string("PATCH ") + kPath, 422, status_object(422, "Invalid", "no"));
  }
  void pod_is(const std::string& uid, const json& spec) {
    server_.on(std::string("GET ") + kPath, 200, {{"metadata", {{"uid", uid}}}, {"spec", spec}});
  }

  FakeApiServer server_;
  std::unique_ptr<Api> api_ = *Api::create(server_.access());
  PodRef pod_{.name_space = "n", .name = "p", .uid = "u1"};
};

TEST_F(Pods, AreBoundAsTheServerWantsIt) {
  server_.on(std::string("POST ") + kPath + "/binding", 201, status_object(201, "", ""));
  const auto bound = bind_to("node-1");
  ASSERT_TRUE(bound) << bound.error().text;
  EXPECT_EQ(bound->node, "node-1");
  EXPECT_FALSE(bound->already);
  EXPECT_EQ(server_.seen().at(0).json(),
            json({{"apiVersion", "v1"},
                  {"kind", "Binding"},
                  {"metadata", {{"name", "p"}, {"namespace", "n"}, {"uid", "u1"}}},
                  {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "node-1"}}}}));
}

TEST_F(Pods, ThatAreBoundAlreadySayWhere) {
  refuse_binding("pod p is already assigned to node \"node-2\"");
  pod_is("u1", {{"nodeName", "node-2"}});
  const auto same = bind_to("node-2");
  ASSERT_TRUE(same) << same.error().text;
  EXPECT_TRUE(same->already);
  EXPECT_EQ(same->node, "node-2");
  const auto other = bind_to("node-1");
  ASSERT_TRUE(other) << other.error().text;
  EXPECT_TRUE(other->already);
  EXPECT_EQ(other->node, "node-2");
}

TEST_F(Pods, AreLookedForAgainWhereTheAnswerToTheLookIsLostToo) {
  lose_answers();
  pod_is("u1", {{"nodeName", "node-1"}});
  const auto bound = bind_to("node-1");
  ASSERT_TRUE(bound) << bound.error().text;
  EXPECT_EQ(bound->node, "node-1");
  EXPECT_TRUE(bound->already);
  EXPECT_EQ(server_.seen().size(), 3U);
}

TEST_F(Pods, AreNotLookedForForEver) {
  lose_answers();
  const auto unknown = bind_to("node-1");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::kUnavailable);
}

TEST_F(Pods, OfTheSameNameAreNotMistaken) {
  refuse_binding("Precondition failed: UID in precondition: u1");
  pod_is("u2", {{"nodeName", "node-1"}});
  const auto refused = bind_to("node-1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
}

TEST_F(Pods, ThatAreNotBoundAndRefusedAreAConflict) {
  refuse_binding("pod p is being deleted, cannot be assigned to a host");
  pod_is("u1", json::object());
  const auto refused = bind_to("node-1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_THAT(refused.error().text, testing::HasSubstr("is being deleted"));
}

TEST_F(Pods, ThatAreGoneAreNotFound) {
  const auto refused = bind_to("node-1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNotFound);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(Pods, AreAnnotated) {
  server_.on(std::string("PATCH ") + kPath, 200, json::object());
  const auto done = annotate_pod(*api_, pod_, {{"pinion.dev/job", "wind"}, {"old", std::nullopt}});
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(server_.seen().at(0).content_type, "application/merge-patch+json");
  EXPECT_EQ(
      server_.seen().at(0).json(),
      json({{"metadata",
             {{"uid", "u1"}, {"annotations", {{"pinion.dev/job", "wind"}, {"old", nullptr}}}}}}));
  pod_.uid.clear();
  ASSERT_TRUE(annotate_pod(*api_, pod_, {{"a", "b"}}));
  EXPECT_EQ(server_.seen().at(1).json(), json({{"metadata", {{"annotations", {{"a", "b"}}}}}}));
}

TEST_F(Pods, AreLabelled) {
  server_.on(std::string("PATCH ") + kPath, 200, json::object());
  ASSERT_TRUE(label_pod(*api_, pod_, {{"pinion.dev/leader", "true"}, {"old", std::nullopt}}));
  EXPECT_EQ(
      server_.seen().at(0).json(),
      json({{"metadata",
             {{"uid", "u1"}, {"labels", {{"pinion.dev/leader", "true"}, {"old", nullptr}}}}}}));
}

// As a real server says it: the patch would change the uid.
TEST_F(Pods, WhoseNameIsAnothersByNowAreAConflictToAPatch) {
  refuse_patch();
  pod_is("u2", json::object());
  const Status done = annotate_pod(*api_, pod_, {{"a", "b"}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kConflict);
}

TEST_F(Pods, KnowAPatchThatIsItselfWrong) {
  refuse_patch();
  pod_is("u1", json::object());
  const Status done = annotate_pod(*api_, pod_, {{"a", "b"}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kInvalid);
}

TEST_F(Pods, AreNominated) {
  server_.on(std::string("PATCH ") + kPath + "/status", 200, json::object());
  ASSERT_TRUE(nominate_pod(*api_, pod_, "node-1"));
  ASSERT_TRUE(nominate_pod(*api_, pod_, ""));
  EXPECT_EQ(server_.seen().at(0).json(),
            json({{"metadata", {{"uid", "u1"}}}, {"status", {{"nominatedNodeName", "node-1"}}}}));
  EXPECT_EQ(server_.seen().at(1).json().at("status"), json({{"nominatedNodeName", nullptr}}));
}

TEST_F(Pods, AreLetThroughAGate) {
  server_.on(std::string("PATCH ") + kPath, 200, json::object());
  ASSERT_TRUE(ungate_pod(*api_, pod_, "pinion.dev/gang"));
  EXPECT_EQ(server_.seen().at(0).content_type, "application/strategic-merge-patch+json");
  const json off = {{"$patch", "delete"}, {"name", "pinion.dev/gang"}};
  EXPECT_EQ(
      server_.seen().at(0).json(),
      json({{"metadata", {{"uid", "u1"}}}, {"spec", {{"schedulingGates", json::array({off})}}}}));
}

TEST_F(Pods, AreEvicted) {
  server_.on(std::string("POST ") + kPath + "/eviction", 201, json::object());
  ASSERT_TRUE(evict_pod(*api_, pod_));
  EXPECT_EQ(server_.seen().at(0).json(),
            json({{"apiVersion", "policy/v1"},
                  {"kind", "Eviction"},
                  {"metadata", {{"name", "p"}, {"namespace", "n"}}},
                  {"deleteOptions", {{"preconditions", {{"uid", "u1"}}}}}}));
}

TEST_F(Pods, AreNotEvictedAgainstABudget) {
  server_.on(std::string("POST ") + kPath + "/eviction", 429,
             status_object(429, "TooManyRequests", "the pod's disruption budget forbids it"));
  const Status done = evict_pod(*api_, pod_);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kUnavailable);
}

TEST_F(Pods, AreDeletedIfTheyAreThoseThatAreMeant) {
  server_.on(std::string("DELETE ") + kPath, 200, json::object());
  ASSERT_TRUE(delete_pod(*api_, pod_));
  EXPECT_EQ(
      server_.seen().at(0).json(),
      json({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", "u1"}}}}));
}

TEST_F(Pods, ThatAreGoneAreDeletedAlready) {
  for (const int status : {404, 409, 503}) {
    server_.on(std::string("DELETE ") + kPath, status, status_object(status, "Why", "gone"));
  }
  EXPECT_TRUE(delete_pod(*api_, pod_));
  EXPECT_TRUE(delete_pod(*api_, pod_));
  EXPECT_FALSE(delete_pod(*api_, pod_));
}

TEST_F(Pods, AreReportedAbout) {
  server_.on("POST /apis/events.k8s.io/v1/namespaces/n/events", 201, json::object());
  const std::string note = std::string(1023, 'x') + "\xc3\xa4";  // one byte too many
  const auto done =
      report_on_pod(*api_, {.controller = "c", .instance = "i"}, pod_,
                    {.warning = true, .reason = "GangRefused", .action = "Planning", .note = note});
  ASSERT_TRUE(done) << done.error().text;
  json event = server_.seen().at(0).json();
  EXPECT_THAT(event.at("eventTime").get<std::string>(),
              testing::MatchesRegex(R"([0-9-]{10}T[0-9:]{8}\.[0-9]{6}Z)"));
  event.erase("eventTime");
  EXPECT_EQ(event, json({{"apiVersion", "events.k8s.io/v1"},
                         {"kind", "Event"},
                         {"metadata", {{"generateName", "p-"}, {"namespace", "n"}}},
                         {"reportingController", "c"},
                         {"reportingInstance", "i"},
                         {"type", "Warning"},
                         {"reason", "GangRefused"},
                         {"action", "Planning"},
                         {"note", std::string(1023, 'x')},
                         {"regarding",
                          {{"apiVersion", "v1"},
                           {"kind", "Pod"},
                           {"namespace", "n"},
                           {"name", "p"},
                           {"uid", "u1"}}}}));
}

TEST(MicroTime, HasSixDigits) {
  using std::chrono::microseconds;
  const std::chrono::system_clock::time_point epoch{};
  EXPECT_EQ(micro_time(epoch), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(micro_time(epoch + microseconds(1'709'208'000'000'123)), "2024-02-29T12:00:00.000123Z");
}

TEST(Paths, AreEncoded) {
  EXPECT_EQ(pod_path("a/b", "c d", "status"), "/api/v1/namespaces/a%2Fb/pods/c%20d/status");
  EXPECT_EQ(with_query("/a", {{"x", "1"}, {"none", ""}, {"y", "k=v,\xc3\xa4"}}),
            "/a?x=1&y=k%3Dv%2C%C3%A4");
  EXPECT_EQ(with_query("/a?b=c", {{"x", "1"}}), "/a?b=c&x=1");
  EXPECT_EQ(with_query("/a", {{"x", ""}}), "/a");
}

}  // namespace
}  // namespace pinion::kube
