// The product's own client (cluster/extender/kube) against a real API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "cluster/extender/kube/http.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/lease.h"
#include "cluster/extender/kube/path.h"
#include "cluster/extender/kube/watch_decoder.h"
#include "tests/e2e/cluster_test.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kConfigMaps = "/api/v1/namespaces/default/configmaps";

json config_map(const std::string& name, const std::string& value) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}}},
          {"data", {{"value", value}}}};
}

std::function<bool(const json&)> has_value(const std::string& value) {
  return [value](const json& object) { return kube::json_text(object, "data", "value") == value; };
}

class KubeClient : public ClusterTest<KubeClient> {
 protected:
  Status put(Admin& by, const std::string& name, const std::string& value) {
    const auto there = by.api().get(std::string(kConfigMaps) + "/" + name);
    const auto done = there
                          ? by.api().patch(std::string(kConfigMaps) + "/" + name,
                                           kube::PatchKind::kMerge, {{"data", {{"value", value}}}})
                          : by.api().create(kConfigMaps, config_map(name, value));
    if (!done) return failure(done.error());
    return {};
  }
  Status put(const std::string& name, const std::string& value) {
    return put(admin(), name, value);
  }
  static Status drop(Admin& by, const std::string& name) {
    return by.remove(std::string(kConfigMaps) + "/" + name);
  }
};

TEST_F(KubeClient, AWatchTellsOfAllThatIsAddedChangedAndDeleted) {
  ASSERT_TRUE(ok(put("before", "1")));
  Collection seen(api(), kConfigMaps);
  ASSERT_TRUE(seen.wait_for_lists(1));
  EXPECT_TRUE(has_value("1")(seen.now()["before"]));
  ASSERT_TRUE(ok(put("later", "1")));
  EXPECT_TRUE(seen.wait_for("later", has_value("1")));
  ASSERT_TRUE(ok(put("later", "2")));
  EXPECT_TRUE(seen.wait_for("later", has_value("2")));
  ASSERT_TRUE(ok(drop(admin(), "later")));
  EXPECT_TRUE(seen.wait_until_gone("later"));
  EXPECT_EQ(seen.lists(), 1U);
  EXPECT_THAT(seen.trouble(), IsEmpty());
}

// All of these tests then, as they speak to the same server.
TEST_F(KubeClient, RequestsAndStreamsAreHttp2) {
  const auto http = kube::Http::create(cluster().access());
  ASSERT_TRUE(ok(http));
  const kube::Cancel never;
  kube::HttpRequest request{.method = "GET", .target = "/version", .content_type = {}, .body = {}};
  for (int i = 0; i < 2; ++i) {
    const auto answer = (*http)->send(request, {}, never);
    ASSERT_TRUE(ok(answer));
    EXPECT_EQ(answer->status, 200);
    EXPECT_TRUE(answer->http2);
  }
  request.target = kube::with_query(kConfigMaps, {{"watch", "true"}, {"timeoutSeconds", "1"}});
  const auto stream =
      (*http)->stream(request, {}, never, [](std::string_view /*bytes*/) { return true; });
  ASSERT_TRUE(ok(stream));
  EXPECT_EQ(stream->status, 200);
  EXPECT_TRUE(stream->http2);
}

TEST_F(KubeClient, AListInPagesIsWhole) {
  for (int i = 0; i < 25; ++i) ASSERT_TRUE(ok(put("page-" + std::to_string(i), "x")));
  kube::WatchOptions options;
  options.path = kConfigMaps;
  options.page = 4;
  Collection seen(api(), options);
  ASSERT_TRUE(seen.wait_for_lists(1));
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(seen.now().contains("page-" + std::to_string(i))) << i;
}

// The server sends one two seconds before a watch's end, and each minute, if something has happened
// in the collection that this watch is not told of.
TEST_F(KubeClient, BookmarksAreUnderstood) {
  const auto list = api().list(kConfigMaps);
  ASSERT_TRUE(ok(list));
  const std::string before = kube::json_text(*list, "metadata", "resourceVersion");
  json selected = config_map("selected", "1");
  selected["metadata"]["labels"] = {{"selected", "yes"}};
  ASSERT_TRUE(ok(api().create(kConfigMaps, selected)));
  const std::string path = kube::with_query(kConfigMaps, {{"watch", "true"},
                                                          {"allowWatchBookmarks", "true"},
                                                          {"labelSelector", "selected=yes"},
                                                          {"resourceVersion", before},
                                                          {"timeoutSeconds", "10"}});
  kube::WatchDecoder decoder;
  const kube::Cancel never;
  std::vector<std::string> versions;
  Status decoded;
  const Status streamed =
      api().stream(path, milliseconds(20'000), never, [&](std::string_view bytes) {
        decoded = decoder.feed(bytes, [&](const kube::WatchEvent& event) -> Status {
          if (event.kind == kube::WatchEvent::Kind::kBookmark) {
            versions.emplace_back(event.object.version);
          } else {
            EXPECT_TRUE(ok(put("other", "1")));
          }
          return {};
        });
        return decoded.has_value();
      });
  EXPECT_TRUE(ok(streamed));
  EXPECT_TRUE(ok(decoded));
  ASSERT_FALSE(versions.empty());
  const auto other = api().get(std::string(kConfigMaps) + "/other");
  ASSERT_TRUE(ok(other));
  // Of other namespaces' maps there may be later ones.
  EXPECT_GE(std::stoull(versions.back()),
            std::stoull(kube::json_text(*other, "metadata", "resourceVersion")));
}

TEST_F(KubeClient, AWatchThatTheServerEndsGoesOnWithoutAList) {
  kube::WatchOptions options;
  options.path = kConfigMaps;
  options.watch_least = options.watch_most = std::chrono::seconds(2);
  Collection seen(api(), options);
  ASSERT_TRUE(seen.wait_for_lists(1));
  // Until three watches must have ended.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (int i = 0; std::chrono::steady_clock::now() < until; ++i) {
    ASSERT_TRUE(ok(put("often", std::to_string(i))));
    ASSERT_TRUE(seen.wait_for("often", has_value(std::to_string(i))));
  }
  EXPECT_EQ(seen.lists(), 1U);
  EXPECT_THAT(seen.trouble(), IsEmpty());
}

// Its history begins where the new server began, so the old position is answered with 410.
TEST_F(KubeClient, WhatHappenedBehindAWatchesBackIsToldAfterANewList) {
  ASSERT_TRUE(ok(put("doomed", "1")));
  ASSERT_TRUE(ok(put("changed", "1")));
  kube::WatchOptions options;
  options.path = kConfigMaps;
  // After its first failure it waits here until the server is back: after many it would give up its
  // position.
  std::atomic<bool> away = false;
  options.random = [&away] {
    away.wait(true);
    return 0.5;
  };
  Collection seen(api(), options);
  ASSERT_TRUE(seen.wait_for_lists(1));

  const int home = cluster().api_port();
  const auto change_elsewhere = [&] {
    cluster().kill_api_server();
    ASSERT_TRUE(ok(cluster().restart_api_server_at(free_port())));
    {
      Admin elsewhere(cluster().access());
      ASSERT_TRUE(ok(drop(elsewhere, "doomed")));
      ASSERT_TRUE(ok(put(elsewhere, "changed", "2")));
      ASSERT_TRUE(ok(put(elsewhere, "added", "1")));
    }
    cluster().kill_api_server();
    ASSERT_TRUE(ok(cluster().restart_api_server_at(home)));
  };
  away = true;
  change_elsewhere();
  away = false;
  away.notify_all();
  if (HasFatalFailure()) return;

  EXPECT_TRUE(seen.wait_until_gone("doomed"));
  EXPECT_TRUE(seen.wait_for("changed", has_value("2")));
  EXPECT_TRUE(seen.wait_for("added", has_value("1")));
  EXPECT_TRUE(seen.wait_for_lists(2));
  EXPECT_THAT(seen.trouble(), Contains(HasSubstr("too old resource version")));
  // And it goes on.
  ASSERT_TRUE(ok(put("added", "2")));
  EXPECT_TRUE(seen.wait_for("added", has_value("2")));
}

TEST_F(KubeClient, APodIsBoundOnceAndOnlyTheOneMeant) {
  const auto pod = admin().add_pod({.name = "bound-once"});
  ASSERT_TRUE(ok(pod));
  kube::PodRef other = *pod;
  other.uid = "00000000-0000-0000-0000-000000000000";
  const auto wrong = kube::bind_pod(api(), other, "a");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::kConflict) << wrong.error().text;
  EXPECT_EQ(node_of(*admin().pod("bound-once")), "");

  const auto first = kube::bind_pod(api(), *pod, "a");
  ASSERT_TRUE(ok(first));
  EXPECT_EQ(first->node, "a");
  EXPECT_FALSE(first->already);
  for (const char* node : {"a", "b"}) {
    const auto again = kube::bind_pod(api(), *pod, node);
    ASSERT_TRUE(ok(again));
    EXPECT_EQ(again->node, "a");
    EXPECT_TRUE(again->already);
  }
  EXPECT_EQ(node_of(*admin().pod("bound-once")), "a");
  ASSERT_TRUE(ok(admin().remove_pod("bound-once")));
  const auto late = kube::bind_pod(api(), *pod, "a");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kNotFound) << late.error().text;
}

TEST_F(KubeClient, OneGateOfAPodIsTakenOff) {
  const auto pod = admin().add_pod({.name = "gated", .gated = true, .gang_gate = true});
  ASSERT_TRUE(ok(pod));
  for (const char* time : {"once", "again"}) {
    ASSERT_TRUE(ok(kube::ungate_pod(api(), *pod, "pinion.dev/gang"))) << time;
    EXPECT_EQ(kube::json_at(*admin().pod("gated"), "spec", "schedulingGates"),
              json::array({{{"name", "example.com/wait"}}}))
        << time;
  }
  ASSERT_TRUE(ok(kube::ungate_pod(api(), *pod, "example.com/wait")));
  ASSERT_TRUE(ok(kube::ungate_pod(api(), *pod, "example.com/wait"))) << "the last is off already";
  kube::PodRef other = *pod;
  other.uid = "00000000-0000-0000-0000-000000000000";
  const Status wrong = kube::ungate_pod(api(), other, "pinion.dev/gang");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::kConflict) << wrong.error().text;
}

TEST_F(KubeClient, APodIsAnnotatedNominatedAndToldAbout) {
  const auto pod = admin().add_pod({.name = "noted", .annotations = {{"theirs", "stays"}}});
  ASSERT_TRUE(ok(pod));
  ASSERT_TRUE(ok(kube::annotate_pod(api(), *pod, {{"pinion.dev/a", "1"}, {"pinion.dev/b", "2"}})));
  ASSERT_TRUE(ok(kube::annotate_pod(api(), *pod, {{"pinion.dev/b", std::nullopt}})));
  ASSERT_TRUE(ok(kube::nominate_pod(api(), *pod, "somewhere")));
  auto now = admin().pod("noted");
  ASSERT_TRUE(ok(now));
  EXPECT_EQ(kube::json_at(*now, "metadata", "annotations"),
            json({{"theirs", "stays"}, {"pinion.dev/a", "1"}}));
  EXPECT_EQ(kube::json_text(*now, "status", "nominatedNodeName"), "somewhere");
  ASSERT_TRUE(ok(kube::nominate_pod(api(), *pod, "")));
  now = admin().pod("noted");
  ASSERT_TRUE(ok(now));
  EXPECT_EQ(kube::json_text(*now, "status", "nominatedNodeName"), "");

  kube::PodRef other = *pod;
  other.uid = "00000000-0000-0000-0000-000000000000";
  const Status wrong = kube::annotate_pod(api(), other, {{"pinion.dev/a", "3"}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::kConflict) << wrong.error().text;

  ASSERT_TRUE(ok(kube::report_on_pod(
      api(), {.controller = "pinion.dev/extender", .instance = "e2e"}, *pod,
      {.warning = true, .reason = "GangRefused", .action = "Planning", .note = "no hole"})));
  const auto events = api().list("/apis/events.k8s.io/v1/namespaces/default/events");
  ASSERT_TRUE(ok(events));
  EXPECT_THAT(events->dump(), HasSubstr("GangRefused"));
}

TEST_F(KubeClient, WhoIsNotKnownOrMayNotIsDenied) {
  kube::Access forged = cluster().access();
  forged.token = "forged";
  EXPECT_EQ(Admin(forged).pod("any").error().code, Errc::kDenied);
  EXPECT_EQ(Admin(cluster().access(kNobody)).pod("any").error().code, Errc::kDenied);
  kube::Access impostor = cluster().access();
  impostor.server_name = "another.test";
  EXPECT_EQ(Admin(impostor).pod("any").error().code, Errc::kDenied);
}

// One of several replicas.
class Candidate {
 public:
  Candidate(const kube::Access& access, const std::string& name) : admin_(access) {
    kube::LeaseOptions options;
    options.lease = {.name_space = "default", .name = "pinion"};
    options.identity = kube::unique_identity(name);
    options.timing = {.duration = std::chrono::seconds(4),
                      .renew_deadline = milliseconds(3000),
                      .retry = milliseconds(300)};
    auto lease = kube::Lease::start(admin_.api(), std::move(options));
    if (!lease) throw std::runtime_error(lease.error().text);
    lease_ = *std::move(lease);
  }

  [[nodiscard]] bool leading() const { return lease_->leading(); }
  bool comes_to(bool lead) {
    return lab::eventually(milliseconds(30'000), [&] { return leading() == lead; });
  }
  void stop() { lease_->stop(); }

 private:
  Admin admin_;
  std::unique_ptr<kube::Lease> lease_;
};

TEST_F(KubeClient, OneOfTwoCandidatesLeads) {
  Candidate first(cluster().access(), "first");
  ASSERT_TRUE(first.comes_to(true));
  Candidate second(cluster().access(), "second");
  // Without a server nobody can renew, so nobody leads for longer than the deadline.
  cluster().kill_api_server();
  EXPECT_TRUE(first.comes_to(false));
  ASSERT_TRUE(ok(cluster().restart_api_server()));
  bool first_leads = false;
  EXPECT_TRUE(lab::eventually(milliseconds(30'000), [&] {
    first_leads = first.leading();
    const bool second_leads = second.leading();
    EXPECT_FALSE(first_leads && second_leads && first.leading());
    return first_leads || second_leads;
  }));
  // Whoever leads gives the lease back, and the other need not wait for its end.
  Candidate& leader = first_leads ? first : second;
  Candidate& follower = first_leads ? second : first;
  leader.stop();
  EXPECT_FALSE(leader.leading());
  EXPECT_TRUE(follower.comes_to(true));
}

}  // namespace
}  // namespace pinion::e2e
