// Applications are asked, and what they answer is written down.
#include "cluster/extender/program/elastic_asks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "cluster/extender/ccs/codec.h"
#include "cluster/extender/program/clocks.h"
#include "policy/annotations.h"
#include "tests/support/eventually.h"
#include "tests/unit/extender_ccs/charm_program.h"
#include "tests/unit/extender_elastic/sample_job.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;
using test_support::eventually;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kWave = "/apis/batch/v1/namespaces/default/jobs/wave";
constexpr const char* kHeads = "GET /api/v1/namespaces/default/pods";
constexpr const char* kAsked = "POST /pinion/workers";

// In the middle of a shrink from 8 to 4.
json shrinking(const std::string& channel, const std::string& name = "wave",
               std::int64_t since_ms = unix_ms()) {
  return test_support::make_job(
      {.name = name,
       .cpus = 1,
       .workers = 8,
       .annotations = {{annotation::kMinWorkers, "2"},
                       {annotation::kMaxWorkers, "8"},
                       {annotation::kAcknowledge, channel},
                       {annotation::kWantedWorkers, "4"},
                       {annotation::kPreviousWorkers, "8"},
                       {annotation::kRescaledAt, std::to_string(since_ms)}}});
}

// To the program in the pod that runs, so long ago.
std::string was_sent(int before, int wanted, std::int64_t ms_ago = 0,
                     const std::string& head = "head/2") {
  return elastic::sent_text(
      {.before = before, .wanted = wanted, .at_ms = unix_ms() - ms_ago, .head = head});
}

// With 8 workers, and what its program was sent for a rescale that was given up.
json given_up(const std::string& channel, const std::string& sent) {
  json job = shrinking(channel);
  json& annotations = job["metadata"]["annotations"];
  annotations.erase(annotation::kWantedWorkers);
  annotations.erase(annotation::kPreviousWorkers);
  annotations[annotation::kRescaleSent] = sent;
  return job;
}

std::optional<int> said_workers(const json& answer) {
  return answer.contains("workers") ? std::optional(answer["workers"].get<int>()) : std::nullopt;
}

class ElasticAsksTest : public testing::Test {
 protected:
  ElasticAsksTest() {
    json pods = json::parse(R"({"items":[
        {"metadata":{"uid":"old","ownerReferences":[{"uid":"uid-wave"}]},
         "status":{"phase":"Pending"}},
        {"metadata":{"uid":"ends","deletionTimestamp":"2026-11-25T15:22:48Z",
                     "ownerReferences":[{"uid":"uid-wave"}]},
         "status":{"phase":"Running","podIP":"192.0.2.1"}},
        {"metadata":{"uid":"other","ownerReferences":[{"uid":"of-before"}]},
         "status":{"phase":"Running","podIP":"192.0.2.1"}},
        {"metadata":{"uid":"head","ownerReferences":[{"uid":"uid-wave"}]},
         "status":{"phase":"Running","podIP":"127.0.0.1",
         "containerStatuses":[{"restartCount":3},{"restartCount":2}]}}]})");
    for (int i = 0; i < 20; ++i) {
      pods["items"][3]["metadata"]["ownerReferences"].push_back(
          {{"uid", "uid-slow" + std::to_string(i)}});
    }
    server_.on(kHeads, 200, pods);
  }

  void is_patched(int status = 200) {
    server_.on(std::string("PATCH ") + kWave, status,
               kube::status_object(status, "Conflict", "somebody was first"));
  }
  void is(const json& job) { server_.on(std::string("GET ") + kWave, 200, job); }
  [[nodiscard]] std::string http() const {
    return "http:" + std::to_string(application_.access().endpoint.port);
  }
  static elastic::ElasticObject read(const json& job) {
    const auto read = elastic::read_elastic(job, {});
    EXPECT_TRUE(read) << read.error().text;
    return *read;
  }
  // Until so many patches have come.
  std::vector<json> patches(std::size_t count) {
    std::vector<json> patches;
    for (std::size_t requests = 1; patches.size() < count; ++requests) {
      const auto seen = server_.wait_for(requests);
      if (seen.size() < requests) break;
      if (seen[requests - 1].method == "PATCH") patches.push_back(seen[requests - 1].json());
    }
    return patches;
  }
  // The same, and asks again meanwhile: a program's hold may pass on a busy machine.
  std::vector<json> patches(std::size_t count, ElasticAsks& asks, const json& job) {
    const auto patched = [&] {
      const auto seen = server_.seen();
      return static_cast<std::size_t>(std::count_if(
          seen.begin(), seen.end(), [](const auto& one) { return one.method == "PATCH"; }));
    };
    EXPECT_TRUE(eventually([&] {
      asks.ask(read(job));
      return patched() >= count;
    }));
    return patches(count);
  }
  static std::string annotation(const json& patch, const char* name) {
    return patch.at("metadata").at("annotations").value(name, "");
  }

  kube::FakeApiServer server_;
  kube::FakeApiServer application_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  policy::Defaults defaults_;
  std::function<bool()> leads_ = [] { return true; };
};

class ElasticAnswers : public ElasticAsksTest,
                       public testing::WithParamInterface<std::pair<int, const char*>> {};

TEST_P(ElasticAnswers, AreWrittenDown) {
  application_.on(kAsked, GetParam().first, json::object());
  const json wave = shrinking(http());
  is(wave);
  is_patched();
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  asks.ask(read(wave));
  EXPECT_EQ(annotation(patches(1).at(0), annotation::kAcknowledgedWorkers), GetParam().second);
  EXPECT_EQ(application_.seen().at(0).json(),
            json::parse(R"({"job":"wave","namespace":"default","workers":8,"wantedWorkers":4})"));
}

INSTANTIATE_TEST_SUITE_P(Status, ElasticAnswers,
                         testing::Values(std::pair{200, "4"}, std::pair{409, "8"}),
                         [](const auto& one) { return std::to_string(one.param.first); });

TEST_F(ElasticAsksTest, AnythingElseIsNoAnswerAndAskedAgain) {
  struct Case {
    const char* name;
    kube::FakeApiServer::Handler handler;
  };
  const Case cases[] = {
      {"not yet", [](const auto&, auto& response) { response.status = 202; }},
      {"broken", [](const auto&, auto& response) { response.status = 500; }},
      {"elsewhere",
       [](const auto&, auto& response) { response.set_redirect("/pinion/workers", 307); }},
      {"endless",
       [](const auto&, auto& response) {
         response.set_content(std::string(std::size_t{1} << 20, 'x'), "text/plain");
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    kube::FakeApiServer application;
    application.on(kAsked, c.handler);
    const json wave = shrinking("http:" + std::to_string(application.access().endpoint.port));
    is(wave);
    ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
    EXPECT_TRUE(eventually([&] {
      asks.ask(read(wave));
      return application.seen().size() >= 2;
    }));
    for (const auto& seen : server_.seen()) EXPECT_NE(seen.method, "PATCH");
  }
}

// Its address is the node's, and any port there might be the one that is named.
TEST_F(ElasticAsksTest, APodWithTheNetworkOfItsNodeIsNotAsked) {
  kube::FakeApiServer server;
  server.on(kHeads, 200, json::parse(R"({"items":[
        {"metadata":{"uid":"head","ownerReferences":[{"uid":"uid-wave"}]},
         "spec":{"hostNetwork":true},"status":{"phase":"Running","podIP":"127.0.0.1"}}]})"));
  application_.on(kAsked, 200, json::object());
  const json wave = shrinking(http());
  const auto api = *kube::Api::create(server.access());
  ElasticAsks asks(*api, log_, defaults_, {}, leads_);
  EXPECT_TRUE(eventually([&] {
    asks.ask(read(wave));
    return server.seen().size() >= 3;
  }));
  EXPECT_THAT(application_.seen(), IsEmpty());
}

TEST_F(ElasticAsksTest, ReadsHowFarItIs) {
  constexpr const char* kHowFar = "GET /pinion/progress";
  const auto read_of = [&](const kube::FakeApiServer& application) {
    json wave = shrinking("http:" + std::to_string(application.access().endpoint.port));
    wave["status"] = {{"ready", 8}};
    return read(wave);
  };
  application_.on(kHowFar, 200, {{"done", 120}, {"whole", 1000}});
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  const auto wave = read_of(application_);
  ASSERT_TRUE(eventually([&] {
    asks.look_at_progress(wave);
    return asks.told(wave.uid).has_value();
  }));
  EXPECT_EQ(asks.told(wave.uid)->said.progress, (elastic::Progress{.done = 120, .whole = 1000}));
  asks.look_at_progress(wave);
  EXPECT_EQ(application_.seen().size(), 1U) << "it was asked a moment ago";
  asks.forget_progress(wave.uid);
  EXPECT_FALSE(asks.told(wave.uid));

  kube::FakeApiServer odd;
  odd.on(kHowFar, 200, json::array());
  asks.look_at_progress(read_of(odd));
  ASSERT_EQ(odd.wait_for(1).size(), 1U);
  EXPECT_FALSE(asks.told(wave.uid));
}

// Its owner is written when that changes, however often it is said.
TEST_F(ElasticAsksTest, AWishIsNotedForTheNextLeaderWhenItChanges) {
  struct Case {
    const char* name;
    json says;
    const char* noted;    // before; empty: nothing
    const char* written;  // nullptr: nothing is
  };
  for (const Case& c :
       {Case{"new", {{"workers", 6}}, "", "6"}, Case{"another", {{"workers", 6}}, "4", "6"},
        Case{"the same", {{"workers", 6}}, "6", nullptr},
        Case{"taken back", {{"done", 1}}, "6", ""}, Case{"none", {{"done", 1}}, "", nullptr}}) {
    SCOPED_TRACE(c.name);
    kube::FakeApiServer server;
    server.on(kHeads, 200, json::parse(R"({"items":[{"metadata":{"uid":"head","ownerReferences":
        [{"uid":"uid-wave"}]},"status":{"phase":"Running","podIP":"127.0.0.1"}}]})"));
    kube::FakeApiServer application;
    application.on("GET /pinion/progress", 200, c.says);
    json wave = shrinking("http:" + std::to_string(application.access().endpoint.port));
    wave["status"] = {{"ready", 8}};
    if (*c.noted != '\0') wave["metadata"]["annotations"][annotation::kAskedWorkers] = c.noted;
    server.on(std::string("GET ") + kWave, 200, wave);
    server.on(std::string("PATCH ") + kWave, 200, wave);
    const auto api = *kube::Api::create(server.access());
    ElasticAsks asks(*api, log_, defaults_, {}, leads_);
    const auto job = read(wave);
    asks.look_at_progress(job);
    EXPECT_TRUE(asks.told(job.uid) || *c.noted == '\0') << "before it has answered";
    ASSERT_TRUE(eventually([&] {
      const auto told = asks.told(job.uid);
      return told && told->said.workers == said_workers(c.says) && !application.seen().empty();
    }));
    const auto seen = server.wait_for(c.written == nullptr ? 1 : 3);
    const auto patch = std::find_if(seen.begin(), seen.end(),
                                    [](const auto& one) { return one.method == "PATCH"; });
    if (c.written == nullptr) {
      EXPECT_EQ(patch, seen.end());
      continue;
    }
    ASSERT_NE(patch, seen.end());
    const json written = patch->json()["metadata"]["annotations"];
    ASSERT_EQ(written.size(), 1U) << "nothing else";
    const json& wish = written.at(annotation::kAskedWorkers);
    EXPECT_EQ(wish.is_null() ? "" : wish.get<std::string>(), c.written);
    EXPECT_EQ(patch->json()["metadata"]["resourceVersion"], "7");
  }
}

TEST_F(ElasticAsksTest, ThoseWhoseProgressIsSlowHoldUpNoQuestion) {
  kube::FakeApiServer slow;
  const auto gate = std::make_shared<std::promise<void>>();
  const auto opened = gate->get_future().share();
  slow.on("GET /pinion/progress", [opened](const auto&, auto& response) {
    opened.wait();
    response.status = 500;
  });
  application_.on(kAsked, 200, json::object());
  const json wave = shrinking(http());
  is(wave);
  is_patched();
  {
    ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
    for (int i = 0; i < 20; ++i) {
      json one = shrinking("http:" + std::to_string(slow.access().endpoint.port),
                           "slow" + std::to_string(i));
      one["status"] = {{"ready", 8}};
      asks.look_at_progress(read(one));
    }
    EXPECT_FALSE(slow.wait_for(1).empty());
    asks.ask(read(wave));
    EXPECT_EQ(application_.wait_for(1).size(), 1U);
    EXPECT_LE(slow.seen().size(), 2U) << "half of those for progress are left for others";
    EXPECT_EQ(annotation(patches(1).at(0), annotation::kAcknowledgedWorkers), "4");
  }
  gate->set_value();
}

TEST_F(ElasticAsksTest, NamespacesWhoseApplicationsAreSlowKeepNoOtherWaiting) {
  kube::FakeApiServer slow;
  std::mutex mutex;
  std::condition_variable changed;
  int ended = 0;  // of the slow ones, how many may
  slow.on(kAsked, [&](const auto&, auto& response) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ended > 0; });
    --ended;
    response.status = 500;
  });
  const auto end = [&](int count) {
    const std::lock_guard lock(mutex);
    ended += count;
    changed.notify_all();
  };
  application_.on(kAsked, 202, json::object());
  const auto job_of = [&](const std::string& name_space, const std::string& name,
                          const std::string& channel) {
    json job = shrinking(channel, name);
    job["metadata"]["namespace"] = name_space;
    job["metadata"]["uid"] = "uid-" + name_space + name;
    return read(job);
  };
  for (const char* name_space : {"one", "two", "three"}) {
    json pods = json::parse(R"({"items":[{"metadata":{"uid":"head","ownerReferences":[]},
        "status":{"phase":"Running","podIP":"127.0.0.1"}}]})");
    for (int i = 0; i < 20; ++i) {
      pods["items"][0]["metadata"]["ownerReferences"].push_back(
          {{"uid", std::string("uid-") + name_space + std::to_string(i)}});
    }
    server_.on(std::string("GET /api/v1/namespaces/") + name_space + "/pods", 200, pods);
  }
  const std::string never = "http:" + std::to_string(slow.access().endpoint.port);
  {
    ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
    for (int i = 0; i < 20; ++i) asks.ask(job_of("one", std::to_string(i), never));
    EXPECT_EQ(slow.wait_for(4).size(), 4U);
    for (int i = 0; i < 20; ++i) asks.ask(job_of("two", std::to_string(i), never));
    EXPECT_EQ(slow.wait_for(8).size(), 8U) << "half of the threads are left for others";
    asks.ask(job_of("three", "0", http()));
    end(1);
    EXPECT_EQ(application_.wait_for(1).size(), 1U);
    EXPECT_LE(slow.seen().size(), 9U) << "it was before those of one and two";
    end(40);
  }
}

TEST_F(ElasticAsksTest, AQuestionIsNotKeptWhileAnotherReplicaLeads) {
  application_.on(kAsked, 202, json::object());
  const std::vector<elastic::ElasticObject> jobs = {read(shrinking(http(), "slow0")),
                                                    read(shrinking(http(), "slow1"))};
  std::atomic<bool> leads = false;
  std::atomic<int> looked = 0;
  {
    ElasticAsks asks(*api_, log_, defaults_, {}, [&] {
      ++looked;
      return leads.load();
    });
    asks.ask(jobs[0]);
    EXPECT_TRUE(eventually([&] { return looked != 0; }));
    leads = true;
    asks.ask(jobs[1]);
    application_.wait_for(1);
  }
  ASSERT_EQ(application_.seen().size(), 1U);
  EXPECT_EQ(application_.seen()[0].json()["job"], "slow1");
}

TEST_F(ElasticAsksTest, AQuestionThatIsWithdrawnBeforeItsTurnIsNotAsked) {
  const auto gate = std::make_shared<std::promise<void>>();
  const auto opened = gate->get_future().share();
  application_.on(kAsked, [opened](const auto&, auto& response) {
    opened.wait();
    response.status = 202;
  });
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  for (int i = 0; i < 6; ++i) asks.ask(read(shrinking(http(), "slow" + std::to_string(i))));
  EXPECT_EQ(application_.wait_for(4).size(), 4U);
  asks.withdraw("uid-slow4");
  gate->set_value();
  const auto seen = application_.wait_for(5);
  ASSERT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen[4].json()["job"], "slow5");
}

TEST_F(ElasticAsksTest, IsTriedAgainWhereSomebodyWasFirst) {
  application_.on(kAsked, 200, json::object());
  const json wave = shrinking(http());
  json later = wave;
  later["metadata"]["resourceVersion"] = "8";
  is(wave);
  is(later);
  is_patched(409);
  is_patched();
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  asks.ask(read(wave));
  const auto both = patches(2);
  EXPECT_EQ(both.at(0)["metadata"]["resourceVersion"], "7");
  EXPECT_EQ(both.at(1)["metadata"]["resourceVersion"], "8");
}

TEST_F(ElasticAsksTest, ACharmProgramIsSentItsWishAfterThatIsWrittenDown) {
  test_support::CharmProgram program(8);
  const json wave = shrinking("ccs:" + std::to_string(program.address().port));
  is(wave);
  is_patched();
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  const auto both = patches(2, asks, wave);
  EXPECT_THAT(annotation(both.at(0), annotation::kRescaleSent),
              testing::MatchesRegex("8 4 [0-9]+ head/2"));
  EXPECT_EQ(annotation(both.at(1), annotation::kAcknowledgedWorkers), "4");
  EXPECT_THAT(program.asked(), ElementsAre(ccs::bitmap(8, 4)));
}

// It answers with its new number, and hangs: that is written down, and no acknowledgement is, until
// it goes on.
TEST_F(ElasticAsksTest, ACharmProgramHasToGoOnAfterItsRescale) {
  test_support::CharmProgram program(8);
  json wave = shrinking("ccs:" + std::to_string(program.address().port));
  std::mutex mutex;
  const auto is_now = [&] {
    const std::lock_guard lock(mutex);
    return wave;
  };
  server_.on(std::string("GET ") + kWave, [&](const auto&, auto& response) {
    response.set_content(is_now().dump(), "application/json");
  });
  server_.on(std::string("PATCH ") + kWave, [&](const auto& request, auto& response) {
    const std::lock_guard lock(mutex);
    wave.merge_patch(json::parse(request.body));
    response.set_content(wave.dump(), "application/json");
  });
  std::atomic<double> done = 120;
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_, [&](const elastic::ElasticObject&) {
    return elastic::WorkDone{.progress = {.done = done}};
  });
  const auto asked_until = [&](const std::function<bool()>& what) {
    return eventually([&] {
      asks.ask(read(is_now()));
      return what();
    });
  };
  ASSERT_TRUE(asked_until([&] { return read(is_now()).has_come(); }));
  const int looks = program.looks();
  EXPECT_TRUE(asked_until([&] { return program.looks() >= looks + 4; }));
  EXPECT_EQ(read(is_now()).acknowledged, std::nullopt);
  EXPECT_EQ(program.pes(), 4);
  const auto seen = server_.seen();
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(),
                          [](const auto& one) { return one.method == "PATCH"; }),
            2)
      << "what it was sent, and that it has come";
  done = 121;
  EXPECT_TRUE(asked_until([&] { return read(is_now()).acknowledged == 4; }));
  EXPECT_THAT(program.asked(), ElementsAre(ccs::bitmap(8, 4))) << "once";
}

TEST_F(ElasticAsksTest, NothingIsSentForAJobThatIsNotAskedAnyMore) {
  test_support::CharmProgram program(8);
  const json wave = shrinking("ccs:" + std::to_string(program.address().port));
  json over = wave;
  over["metadata"]["annotations"].erase(annotation::kWantedWorkers);
  is(over);
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  EXPECT_TRUE(eventually([&] {
    asks.ask(read(wave));
    const auto seen = server_.seen();
    return std::count_if(seen.begin(), seen.end(),
                         [](const auto& one) { return one.target == kWave; }) >= 2;
  }));
  EXPECT_THAT(program.asked(), IsEmpty());
}

// Programs that say nothing, or never act, and whose rescale is said to have begun just now or in a
// future that their users have written.
TEST_F(ElasticAsksTest, ProgramsThatDoNotActKeepNobodyFromBeingAsked) {
  constexpr std::int64_t kFiftyYears = 50LL * 365 * 86'400'000;
  struct Case {
    const char* name;
    std::int64_t since_ms;
    bool answers;
  };
  for (const Case& c :
       {Case{"silent", unix_ms(), false}, Case{"in 50 years", unix_ms() + kFiftyYears, true},
        Case{"never", 9'000'000'000'000, false}}) {
    SCOPED_TRACE(c.name);
    test_support::CharmProgram program(8, {.acts = false, .answers = c.answers});
    kube::FakeApiServer application;
    application.on(kAsked, 202, json::object());
    ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
    for (int i = 0; i < 8; ++i) {
      const std::string name = "slow" + std::to_string(i);
      const json job = shrinking("ccs:" + std::to_string(program.address().port), name, c.since_ms);
      server_.on("GET /apis/batch/v1/namespaces/default/jobs/" + name, 200, job);
      server_.on("PATCH /apis/batch/v1/namespaces/default/jobs/" + name, 200, job);
      asks.ask(read(job));
    }
    asks.ask(read(shrinking("http:" + std::to_string(application.access().endpoint.port))));
    ASSERT_FALSE(application.wait_for(1).empty());
  }
}

// Long after its rescale was given up.
TEST_F(ElasticAsksTest, ACharmProgramThatHasShrunkLateIsFoundOut) {
  test_support::CharmProgram program(4);
  const json wave = given_up("ccs:" + std::to_string(program.address().port), was_sent(8, 4));
  is(wave);
  is_patched();
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  asks.ask(read(wave));
  EXPECT_EQ(annotation(patches(1).at(0), annotation::kAcknowledgedWorkers), "4");
  EXPECT_THAT(program.asked(), IsEmpty());
}

TEST_F(ElasticAsksTest, WhatCannotBeActedOnAnyMoreIsForgotten) {
  struct Case {
    const char* name;
    int pes;
    std::string sent;
  };
  for (const Case& c : {Case{"it has as many as its pods are", 8, was_sent(6, 8)},
                        Case{"another pod", 8, was_sent(8, 4, 0, "gone/2")},
                        Case{"another life", 8, was_sent(8, 4, 0, "head/1")}}) {
    SCOPED_TRACE(c.name);
    kube::FakeApiServer server;
    server.on(kHeads, 200, json::parse(R"({"items":[{"metadata":
        {"uid":"head","ownerReferences":[{"uid":"uid-wave"}]},"status":{"phase":"Running","podIP":"127.0.0.1",
                  "containerStatuses":[{"restartCount":2}]}}]})"));
    test_support::CharmProgram program(c.pes);
    const json wave = given_up("ccs:" + std::to_string(program.address().port), c.sent);
    server.on(std::string("GET ") + kWave, 200, wave);
    server.on(std::string("PATCH ") + kWave, 200, wave);
    const auto api = *kube::Api::create(server.access());
    ElasticAsks asks(*api, log_, defaults_, {}, leads_);
    asks.ask(read(wave));
    const auto seen = server.wait_for(3);
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_EQ(seen[2].json()["metadata"]["annotations"].dump(),
              R"({"pinion.dev/rescale-sent":null})");
    EXPECT_THAT(program.asked(), IsEmpty());
  }
}

TEST_F(ElasticAsksTest, WhatIsOverdueIsSentOnceMore) {
  test_support::CharmProgram program(8);
  json wave = shrinking("ccs:" + std::to_string(program.address().port));
  wave["metadata"]["annotations"][annotation::kRescaleSent] = was_sent(8, 4, 200'000);
  wave["status"] = {{"active", 8}, {"ready", 8}};
  is(wave);
  is_patched();
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  EXPECT_EQ(annotation(patches(2, asks, wave).at(1), annotation::kAcknowledgedWorkers), "4");
  EXPECT_THAT(program.asked(), ElementsAre(ccs::bitmap(8, 4)));
}

TEST_F(ElasticAsksTest, WhatIsOverdueIsNotSentOnceMoreWhereItsHostsAreGone) {
  test_support::CharmProgram program(4);
  json wave = given_up("ccs:" + std::to_string(program.address().port), was_sent(4, 12, 200'000));
  wave["status"] = {{"active", 8}, {"ready", 8}};
  is(wave);
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  asks.ask(read(wave));
  EXPECT_TRUE(eventually([&] { return program.looks() >= 2; }));
  EXPECT_THAT(program.asked(), IsEmpty());
}

// It answers on the connection of the request, before it restarts.
TEST_F(ElasticAsksTest, ACharmProgramThatActsLateFindsWhoHasAskedIt) {
  test_support::CharmProgram program(8, {.looks_before_step = 6, .answers_at_step = true});
  const json wave = shrinking("ccs:" + std::to_string(program.address().port));
  is(wave);
  is_patched();
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  // As the watch had it before: the wish is not sent a second time.
  const auto patched = patches(2, asks, wave);
  EXPECT_TRUE(program.found_asker());
  EXPECT_EQ(annotation(patched.at(1), annotation::kAcknowledgedWorkers), "4");
  EXPECT_THAT(program.asked(), ElementsAre(ccs::bitmap(8, 4)));
}

TEST_F(ElasticAsksTest, WhatAnotherLeaderHasSentIsNotSentAgain) {
  test_support::CharmProgram program(8);
  const json wave = shrinking("ccs:" + std::to_string(program.address().port));
  json sent = wave;
  sent["metadata"]["annotations"][annotation::kRescaleSent] = was_sent(8, 4);
  is(sent);
  is_patched();
  ElasticAsks asks(*api_, log_, defaults_, {}, leads_);
  EXPECT_TRUE(eventually([&] {
    asks.ask(read(wave));
    const auto seen = server_.seen();
    return std::count_if(seen.begin(), seen.end(), [](const auto& one) {
             return one.method == "GET" && one.target == kWave;
           }) >= 2;
  }));
  for (const auto& seen : server_.seen()) EXPECT_NE(seen.method, "PATCH");
  EXPECT_THAT(program.asked(), IsEmpty());
}

}  // namespace
}  // namespace pinion::cluster
