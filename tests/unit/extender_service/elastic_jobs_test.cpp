// What the controller of elastic jobs says is carried out, and what comes of it is seen.
#include "cluster/extender/program/elastic_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "cluster/extender/program/clocks.h"
#include "tests/support/eventually.h"
#include "tests/unit/extender_elastic/sample_job.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test_support::eventually;
using test_support::make_job;
using testing::IsEmpty;

constexpr const char* kMapsOfJobs = "/api/v1/namespaces/default/configmaps";

std::string path_of(const std::string& job) {
  return "/apis/batch/v1/namespaces/default/jobs/" + job;
}

json refusal(int status) {
  return kube::status_object(status, "No", "not like this");
}

// Its pods mount the ConfigMap that tells its size.
json told(json job) {
  job["spec"]["template"]["spec"]["volumes"] = {
      {{"name", "size"}, {"configMap", {{"name", "wave-elastic"}}}}};
  return job;
}

json waits(const std::string& name = "wave") {
  return make_job({.name = name, .suspended = true});
}

// All its pods are ready after this patch.
json runs_after(const json& patch) {
  json job = waits();
  job.merge_patch(patch);
  job["metadata"]["resourceVersion"] = "9";
  job["status"] = {{"active", 8}, {"ready", 8}};
  return job;
}

class ElasticJobsTest : public testing::Test {
 protected:
  // These jobs are all that there are.
  void start(const std::vector<json>& jobs, ElasticPolicy policy = ElasticPolicy::kElastic) {
    std::unique_lock made(made_);
    elastic_ =
        std::make_unique<ElasticJobs>(*api_, log_, elastic::Controller(policy), defaults_,
                                      ElasticJobs::Asks{.may_act =
                                                            [this] {
                                                              ++asked_;
                                                              return leads_.load();
                                                            },
                                                        .free = [this] { return free_.load(); },
                                                        .on_fleet = on_fleet_},
                                      ElasticJobs::Pace{.look = 1ms, .tell_again = 1ms}, most_);
    made.unlock();
    for (const json& job : jobs) sees(kube::Change::kAdded, job);
    for (std::size_t i = 0; i < elastic::kCollections.size(); ++i) elastic_->feed(i).on_synced(1);
  }
  // Also by the API server's threads, of which ThreadSanitizer does not see that a request comes
  // after what made it.
  void sees(kube::Change change, const json& job) {
    std::unique_lock made(made_);
    auto& feed = elastic_->feed(0);
    made.unlock();
    feed.on_object(change, job);
  }
  void is_patched(const std::string& job, kube::FakeApiServer::Handler handler) {
    server_.on("PATCH " + path_of(job), std::move(handler));
  }
  // As the API server answers, with the next version.
  static void answer_with(const json& job, const httplib::Request& request,
                          httplib::Response& response) {
    json now = job;
    now.merge_patch(json::parse(request.body));
    now["metadata"]["resourceVersion"] = "8";
    response.set_content(now.dump(), "application/json");
  }
  // Until there is one more for the target than `known`; the last of them.
  json patch_of(const std::string& job, std::size_t known = 0) {
    for (std::size_t requests = 1;; ++requests) {
      const auto seen = server_.wait_for(requests);
      if (seen.size() < requests) return json::object();
      const auto& last = seen[requests - 1];
      if (last.method != "PATCH" || last.target != path_of(job)) continue;
      if (known-- == 0) return last.json();
    }
  }
  void wait_until_done(const std::string& step) {
    EXPECT_TRUE(eventually([&] { return elastic_->figures().steps[step] != 0; }));
  }

  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  policy::Defaults defaults_;
  std::atomic<bool> leads_ = true;
  std::atomic<int> asked_ = 0;           // whether it leads
  std::atomic<std::int64_t> free_ = 32;  // CPUs
  decltype(ElasticJobs::Asks::on_fleet) on_fleet_;
  ElasticJobs::Most most_;
  std::mutex made_;
  std::unique_ptr<ElasticJobs> elastic_;  // after what handlers use
};

TEST_F(ElasticJobsTest, AJobThatMayNotBeChangedIsInNobodysWay) {
  server_.on("PATCH " + path_of("a"), 422, refusal(422));
  server_.on("PATCH " + path_of("b"), 200, waits("b"));
  start({waits("a"), waits("b")});
  patch_of("a");
  asked_ = 0;
  EXPECT_TRUE(eventually([&] { return asked_ >= 5; }));  // the next round is over
  const auto seen = server_.seen();
  ASSERT_GE(seen.size(), 2U) << "a was decided for";
  EXPECT_EQ(seen[1].target, path_of("b"));
  EXPECT_EQ(seen[1].json()["spec"]["suspend"], false);
}

// The CPUs of a job that ends become free one after the other.
TEST_F(ElasticJobsTest, AJobThatKeepsItsSizeStartsWithAllThatAnotherGivesBack) {
  server_.on("PATCH " + path_of("wave"), 200, waits());
  free_ = 4;
  start({make_job({.change = "moldable", .suspended = true})});
  for (const std::int64_t free : {8, 12, 28}) {
    free_ = free;
    const std::string why = "more than " + std::to_string(free / 4) + " workers";
    EXPECT_TRUE(eventually([&] {
      return elastic_->rows().at(0).why.find(why) != std::string::npos;
    })) << elastic_->rows().at(0).why;
  }
  free_ = 32;
  EXPECT_EQ(patch_of("wave")["spec"]["parallelism"], 8);
}

// Of two that are alike the one shrinks whose last workers have a NUMA node of their own.
TEST_F(ElasticJobsTest, WhereWorkersAreDecidesWhoShrinks) {
  const auto runs = [](const std::string& name) {
    json job = make_job({.name = name, .workers = 8});
    job["status"] = {{"active", 8}, {"ready", 8}};
    return job;
  };
  free_ = 0;
  std::atomic<std::size_t> asked_for = 0;
  on_fleet_ = [&](const std::vector<elastic::ElasticObject>& jobs) {
    asked_for = jobs.size();
    return std::map<std::string, elastic::OnFleet>{{"uid-b", {.frees_whole = {0, 0, 0, 16}}}};
  };
  server_.on("PATCH " + path_of("b"), 200, runs("b"));
  json urgent = make_job({.name = "urgent",
                          .suspended = true,
                          .annotations = {{"pinion.dev/min-workers", "4"},
                                          {"pinion.dev/max-workers", "4"},
                                          {"pinion.dev/priority", "5"}}});
  start({runs("a"), runs("b"), urgent}, ElasticPolicy::kOurs);
  json patch = patch_of("b");
  EXPECT_EQ(patch["metadata"]["annotations"]["pinion.dev/wanted-workers"], "4");
  EXPECT_EQ(server_.seen().at(0).target, path_of("b")) << "nobody else was asked to";
  EXPECT_EQ(asked_for, 3U);
  elastic_.reset();  // before what it asks
}

// Its user takes what was written on it away again.
TEST_F(ElasticJobsTest, APauseHoldsWhateverTheJobSays) {
  json runs = make_job({.workers = 8});
  runs["status"] = {{"active", 8}, {"ready", 8}};
  runs["metadata"]["annotations"]["pinion.dev/acknowledge"] = "annotation";
  runs["metadata"]["annotations"]["pinion.dev/requested-workers"] = "4";
  is_patched("wave", [runs](const httplib::Request& request, httplib::Response& response) {
    json now = runs;
    now.merge_patch(json::parse(request.body));
    const bool asks = now["metadata"]["annotations"].contains("pinion.dev/wanted-workers");
    now["metadata"]["resourceVersion"] = asks ? "8" : "9";
    if (asks) now["metadata"]["annotations"]["pinion.dev/acknowledged-workers"] = "8";
    now["metadata"]["annotations"].erase("pinion.dev/declined-until");
    response.set_content(now.dump(), "application/json");
  });
  start({runs});
  EXPECT_EQ(patch_of("wave")["metadata"]["annotations"]["pinion.dev/wanted-workers"], "4");
  wait_until_done("declined");
  asked_ = 0;
  EXPECT_TRUE(eventually([&] { return asked_ >= 20; }));
  EXPECT_EQ(server_.seen().size(), 2U) << "it is not asked again at once";
}

TEST_F(ElasticJobsTest, AnApplicationThatAsksForMoreGetsIt) {
  kube::FakeApiServer application;
  application.on("GET /pinion/progress", 200, {{"done", 1}, {"workers", 6}});
  server_.on("GET /api/v1/namespaces/default/pods", 200, json::parse(R"({"items":[{"metadata":
      {"uid":"head","ownerReferences":[{"uid":"uid-wave"}]},
      "status":{"phase":"Running","podIP":"127.0.0.1"}}]})"));
  json runs = make_job({.workers = 4});
  runs["status"] = {{"active", 4}, {"ready", 4}};
  runs["metadata"]["annotations"]["pinion.dev/acknowledge"] =
      "http:" + std::to_string(application.access().endpoint.port);
  runs["metadata"]["annotations"]["pinion.dev/speed-up"] = "1:1 8:1";  // else the policy gives it
  is_patched("wave",
             [runs](const auto& request, auto& response) { answer_with(runs, request, response); });
  start({runs}, ElasticPolicy::kOurs);
  const json patch = patch_of("wave");
  EXPECT_EQ(patch["metadata"]["annotations"]["pinion.dev/wanted-workers"], "6");
  EXPECT_THAT(patch["metadata"]["annotations"]["pinion.dev/rescale-history"].get<std::string>(),
              testing::HasSubstr("as its application wishes"));
  EXPECT_TRUE(eventually([&] { return elastic_->rows().at(0).asked == 6; }));
}

// The last leader has noted it, and died. Until the application says something else, it holds.
TEST_F(ElasticJobsTest, ANewLeaderDoesNotStepPastAWishThatStands) {
  kube::FakeApiServer application;
  std::atomic<bool> answers = false;
  application.on("GET /pinion/progress", [&](const auto&, auto& response) {
    response.status = answers ? 200 : 500;
    response.set_content(R"({"done": 1})", "application/json");
  });
  server_.on("GET /api/v1/namespaces/default/pods", 200, json::parse(R"({"items":[{"metadata":
      {"uid":"head","ownerReferences":[{"uid":"uid-wave"}]},
      "status":{"phase":"Running","podIP":"127.0.0.1"}}]})"));
  json runs = make_job({.workers = 4});
  runs["status"] = {{"active", 4}, {"ready", 4}};
  runs["metadata"]["annotations"]["pinion.dev/acknowledge"] =
      "http:" + std::to_string(application.access().endpoint.port);
  const auto noted = [&](const char* wish) {
    json job = runs;
    job["metadata"]["annotations"]["pinion.dev/asked-workers"] = wish;
    return job;
  };
  is_patched("wave",
             [runs](const auto& request, auto& response) { answer_with(runs, request, response); });
  for (const ElasticPolicy policy : {ElasticPolicy::kElastic, ElasticPolicy::kOurs}) {
    start({noted("4")}, policy);
    EXPECT_FALSE(application.wait_for(1).empty());
    asked_ = 0;
    EXPECT_TRUE(eventually([&] { return asked_ >= 20; }));
    EXPECT_EQ(elastic_->rows().at(0).asked, 4);
    for (const auto& seen : server_.seen()) EXPECT_NE(seen.method, "PATCH") << seen.body;
    elastic_.reset();
  }
  // One that makes no sense is none, and so is one that the application has taken back.
  start({noted("many")});
  EXPECT_EQ(patch_of("wave")["metadata"]["annotations"]["pinion.dev/wanted-workers"], "8");
  elastic_.reset();
  answers = true;
  start({noted("4")});
  const json patch = patch_of("wave", 1);
  EXPECT_EQ(patch["metadata"]["annotations"]["pinion.dev/wanted-workers"], "8");
  EXPECT_TRUE(patch["metadata"]["annotations"]["pinion.dev/asked-workers"].is_null());
  elastic_.reset();  // before the application
}

TEST_F(ElasticJobsTest, AJobWithoutHolesWaitsAndSaysSo) {
  std::atomic<std::int64_t> at_best = 8;
  on_fleet_ = [&](const auto&) {
    return std::map<std::string, elastic::OnFleet>{
        {"uid-a", {.room = 1, .room_at_best = at_best.load()}}};
  };
  auto shape = test_support::JobShape{.name = "a", .suspended = true};
  shape.annotations = {{"pinion.dev/min-workers", "2"}, {"pinion.dev/max-workers", "2"}};
  start({make_job(shape)}, ElasticPolicy::kOurs);
  const auto waits_with = [this](const std::string& why) {
    std::string last;
    while (last != why) last = elastic_->rows().at(0).why;
  };
  waits_with(
      "needs 8 CPUs, 32 CPUs are free, but too few of them in one place; no other job may shrink "
      "for it");
  at_best = 1;
  waits_with(
      "needs 2 workers of 4 CPUs; at most 1 would find theirs in one place if no elastic job ran");
  elastic_.reset();  // before what it asks
}

TEST_F(ElasticJobsTest, AJobThatWaitsShowsWhyWhileThisReplicaDecides) {
  auto shape = test_support::JobShape{.suspended = true};
  shape.annotations = {{"pinion.dev/min-workers", "9"}, {"pinion.dev/max-workers", "9"}};
  start({make_job(shape)});
  const auto why = [this] { return elastic_->rows().at(0).why; };
  EXPECT_TRUE(eventually([&] { return !why().empty(); }));
  EXPECT_EQ(why(), "needs 36 CPUs, and only 32 CPUs are there");
  leads_ = false;
  EXPECT_TRUE(eventually([&] { return why().empty(); }));
}

TEST_F(ElasticJobsTest, FiguresAreOfEachJobAndOfWhatRescalesTook) {
  json wave = make_job({.workers = 8});
  wave["metadata"]["annotations"]["pinion.dev/wanted-workers"] = "8";
  wave["metadata"]["annotations"]["pinion.dev/previous-workers"] = "4";
  wave["metadata"]["annotations"]["pinion.dev/rescaled-at"] = std::to_string(unix_ms() - 5000);
  wave["status"] = {{"active", 8}, {"ready", 8}};
  json never = waits("never");
  never["metadata"]["annotations"] = {{"pinion.dev/min-workers", "9"},
                                      {"pinion.dev/max-workers", "9"}};
  json wrong = waits("wrong");
  wrong["metadata"]["labels"]["pinion.dev/elastic"] = "yes";
  is_patched("wave",
             [wave](const auto& request, auto& response) { answer_with(wave, request, response); });
  start({wave, never, wrong});
  wait_until_done("done");
  ElasticFigures figures = elastic_->figures();
  EXPECT_EQ(figures.rescales["expand"].count, 1U);
  EXPECT_GE(figures.rescales["expand"].seconds, 5);
  EXPECT_EQ(figures.jobs,
            (std::map<std::string, std::uint64_t>{{"waits", 1}, {"runs", 1}, {"refused", 1}}));
  ASSERT_EQ(figures.rows.size(), 2U);
  const auto& row = figures.rows[1];
  EXPECT_EQ(std::tie(row.name_space, row.kind, row.name, row.running, row.wanted),
            std::make_tuple("default", "Job", "wave", 8, 8));
  leads_ = false;
  figures = elastic_->figures();
  EXPECT_TRUE(figures.rows.empty());
  EXPECT_EQ(figures.jobs["runs"], 1U) << "these every replica tells";
}

// The pods of a start come at once, and mount it.
TEST_F(ElasticJobsTest, AStartIsToldBeforeTheNextLook) {
  free_ = 24;
  const json job = told(waits());
  std::atomic<bool> patched = false;
  is_patched("wave", [&](const auto& request, auto& response) {
    answer_with(job, request, response);
    patched = true;
  });
  server_.on(std::string("POST ") + kMapsOfJobs, 201, json::object());
  std::atomic<bool> is_told = false;
  on_fleet_ = [&](const auto&) {  // in each look, before it tells sizes
    if (patched) {
      is_told = eventually([&] {
        const auto seen = server_.seen();
        return std::any_of(seen.begin(), seen.end(), [](const auto& one) {
          return one.method == "POST" && one.json()["data"]["wanted-workers"] == "6\n";
        });
      });
    }
    return std::map<std::string, elastic::OnFleet>();
  };
  start({job});
  EXPECT_TRUE(eventually([&] { return is_told.load(); }));
  elastic_.reset();  // its looks use what is of this test
}

TEST_F(ElasticJobsTest, AConfigMapThatSomebodyDeletesIsMadeAgain) {
  server_.on(std::string("POST ") + kMapsOfJobs, 201, json::object());
  start({told(make_job({.change = "rigid"}))});
  const auto seen = server_.wait_for(2);
  for (const auto& one : seen) {
    EXPECT_EQ(one.method, "POST");
    EXPECT_EQ(one.json()["data"]["wanted-workers"], "4\n");
  }
}

// Of one namespace no more than its share, those first that were made first; those that run always.
TEST_F(ElasticJobsTest, JobsThatAreTooManyWaitUntilOthersAreGone) {
  most_ = {.all = 4, .of_namespace = 2};
  std::map<std::string, json> jobs;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "other"}) {
    const bool runs = *name == 'f';
    json job = make_job(
        {.name = name,
         .workers = runs ? 9 : 4,
         .suspended = !runs,
         .annotations = {{"pinion.dev/min-workers", "9"}, {"pinion.dev/max-workers", "9"}}});
    if (job["metadata"]["name"] == "other") job["metadata"]["namespace"] = "theirs";
    if (*name == 'd') job["metadata"]["creationTimestamp"] = "2026-11-24T14:00:00Z";
    jobs[name] = job;
  }
  const auto become = [this](const std::vector<std::string>& names, std::size_t left) {
    EXPECT_TRUE(eventually([&] {
      std::vector<std::string> shown;
      for (const auto& row : elastic_->rows()) shown.push_back(row.name);
      return shown == names && elastic_->figures().jobs["left"] == left;
    }));
  };
  server_.on("GET " + path_of("c"), 404, refusal(404));
  server_.on("GET " + path_of("d"), 200, jobs["d"]);
  server_.on("GET " + path_of("e"), 200, jobs["e"]);
  start({jobs["a"], jobs["b"], jobs["c"], jobs["d"], jobs["e"], jobs["f"], jobs["other"]});
  become({"default/a", "default/b", "default/f", "theirs/other"}, 3);
  sees(kube::Change::kDeleted, jobs["a"]);
  become({"default/b", "default/d", "default/f", "theirs/other"}, 1);
  jobs["b"]["spec"] = jobs["f"]["spec"];  // it has started, and counts no more
  sees(kube::Change::kModified, jobs["b"]);
  become({"default/b", "default/d", "default/e", "default/f", "theirs/other"}, 0);
}

TEST_F(ElasticJobsTest, AnAnswerDoesNotBringBackAJobThatIsGone) {
  is_patched("wave", [this](const auto& request, auto& response) {
    sees(kube::Change::kDeleted, waits());
    answer_with(waits(), request, response);
  });
  start({waits()});
  wait_until_done("start");
  EXPECT_THAT(elastic_->rows(), IsEmpty());
}

TEST_F(ElasticJobsTest, AnAnswerDoesNotTakeThePlaceOfWhatIsNewer) {
  is_patched("wave", [this](const auto& request, auto& response) {
    sees(kube::Change::kModified, runs_after(json::parse(request.body)));
    answer_with(waits(), request, response);
  });
  server_.on("PATCH " + path_of("wave"), 200, waits());
  start({waits()});
  EXPECT_EQ(patch_of("wave", 0)["metadata"]["resourceVersion"], "7");
  EXPECT_EQ(patch_of("wave", 1)["metadata"]["resourceVersion"], "9") << "its pods are ready";
}

TEST_F(ElasticJobsTest, WhatHasAnotherVersionIsReadAgain) {
  server_.on("PATCH " + path_of("wave"), 409, refusal(409));
  json newer = waits();
  newer["metadata"]["resourceVersion"] = "9";
  server_.on("GET " + path_of("wave"), 200, newer);
  start({waits()});
  std::string version;
  for (std::size_t patches = 0; version != "9" && patches < 20; ++patches) {
    version = patch_of("wave", patches)["metadata"]["resourceVersion"];
  }
  EXPECT_EQ(version, "9");
}

TEST_F(ElasticJobsTest, AJobThatIsNotThereIsForgotten) {
  server_.on("PATCH " + path_of("wave"), 404, refusal(404));
  start({waits()});
  patch_of("wave");
  EXPECT_TRUE(eventually([&] { return elastic_->rows().empty(); }));
}

TEST_F(ElasticJobsTest, NoStepIsTakenAfterTheLeadIsLost) {
  is_patched("a", [this](const auto& request, auto& response) {
    leads_ = false;
    asked_ = 0;
    answer_with(waits("a"), request, response);
  });
  start({waits("a"), waits("b")});
  server_.wait_for(1);
  EXPECT_TRUE(eventually([&] { return !leads_ && asked_ >= 5; }));  // that round is over
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(ElasticJobsTest, NoConfigMapIsChangedAfterTheLeadIsLost) {
  server_.on(std::string("POST ") + kMapsOfJobs, [this](const auto&, auto& response) {
    leads_ = false;
    response.status = 409;
    response.set_content(refusal(409).dump(), "application/json");
  });
  json map = {{"metadata", {{"ownerReferences", {{{"uid", "uid-wave"}}}}}}, {"data", {{"k", "v"}}}};
  server_.on(std::string("GET ") + kMapsOfJobs + "/wave-elastic", 200, map);
  start({told(make_job({.change = "rigid"}))});
  server_.wait_for(2);
  elastic_.reset();  // what it had begun is over
  for (const auto& seen : server_.seen()) EXPECT_NE(seen.method, "PATCH") << seen.target;
}

}  // namespace
}  // namespace pinion::cluster
