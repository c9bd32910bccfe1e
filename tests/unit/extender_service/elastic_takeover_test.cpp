// The leader is killed after each single change of the cluster, its own patches and what the job
// controllers, the kubelets and the application do, and another one begins with nothing but what
// the API server has: jobs start, make room and grow back as if nobody had been killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cluster/extender/ccs/codec.h"
#include "cluster/extender/elastic/telling.h"
#include "cluster/extender/program/elastic_jobs.h"
#include "policy/annotations.h"
#include "tests/unit/extender_ccs/charm_program.h"
#include "tests/unit/extender_elastic/sample_job.h"
#include "tests/unit/extender_jobs/reviews.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using elastic::ElasticObject;
using nlohmann::json;

constexpr const char* kHeadsOf = "GET /api/v1/namespaces/default/pods";
constexpr std::size_t kAtOnce = 16;           // lives that are played side by side
constexpr std::chrono::seconds kLongest{60};  // of one wait, on a busy machine
constexpr int kRoundsCalls = 8;  // looks at the lead in a round that is under way and a whole one

struct Actuated {
  const char* name;
  const char* body;            // of the elastic job, as an API server had it; nullptr: sample_job.h
  std::size_t collection;      // of elastic::kCollections
  const char* suspend;         // a merge patch, so that the policy starts it
  std::string acknowledges{};  // "annotation", "http" or "ccs"; empty: it is not asked
  bool progresses = false;     // its program says how far it is
  int wishes = 0;              // its application runs with so many workers rather than all; 0: no
};

void PrintTo(const Actuated& kind, std::ostream* out) {
  *out << kind.name;
}

// One cluster with an elastic job, "low", of 2 to 8 workers of 4 CPUs. As soon as it has all 8, or
// as many as it wishes, "high" comes, which is urgent and needs 16 CPUs, and goes again once it
// runs.
class Life {
 public:
  // The leader dies with that change; 0: never. `log`: a process has one.
  Life(const Actuated& kind, std::size_t dies_at, Log& log)
      : kind_(kind), dies_at_(dies_at), log_(log) {
    add_low();
    server_.on(kHeadsOf, 200, json::parse(R"({"items":[{"metadata":
        {"uid":"head","ownerReferences":[{"uid":"uid-low"}]},"status":
        {"phase":"Running","podIP":"127.0.0.1","containerStatuses":[{"restartCount":0}]}}]})"));
    application_.on(std::string("POST ") + elastic::kQuestionPath, 200, json::object());
    if (kind_.wishes > 0) {
      application_.on(std::string("GET ") + elastic::kProgressPath, 200,
                      {{"workers", kind_.wishes}});
    }
  }

  struct Told {
    std::string end;                   // of both jobs
    std::vector<std::string> changes;  // of the cluster, in order
    int begun = 0;                     // starts, shrinks and expands
    std::vector<std::string> sent{};   // to a Charm++ program
  };
  Told live() {
    lead();
    while (!over() && !testing::Test::HasFailure()) {
      rest();
      if (is_dead()) {
        wait_until_sent();
        leader_.reset();
        revive();
        lead();
      } else if (!tell_leader() && !wait_for_answer() && !advance_one() && !goes_on()) {
        const std::lock_guard lock(mutex_);
        ADD_FAILURE() << "nothing goes on after: " << testing::PrintToString(told_.changes);
      }
    }
    leader_.reset();
    told_.sent = charm_.asked();
    return told_;
  }

 private:
  struct Job {
    std::size_t collection = 0;
    json object;
    int active = 0;  // workers' pods
    int ready = 0;
    int terminating = 0;
    bool told = true;  // the leader knows this version

    [[nodiscard]] ElasticObject read() const {
      const auto read = elastic::read_elastic(object, {});
      EXPECT_TRUE(read) << read.error().text;
      return read ? *read : ElasticObject();
    }
    // CPUs that its pods have.
    [[nodiscard]] std::int64_t held() const {
      const ElasticObject job = read();
      return (active + terminating) * job.cpus + (active > 0 ? job.other_cpus : 0);
    }
  };

  void add_low() {
    test_support::JobShape shape{.name = "low", .suspended = true};
    json low = kind_.body == nullptr ? test_support::make_job(shape)
                                     : jobs::captured_object(kind_.body, kind_.suspend);
    json& metadata = low["metadata"];
    metadata["name"] = "low";
    metadata["namespace"] = "default";
    metadata["uid"] = "uid-low";
    metadata["resourceVersion"] = "1";
    metadata["labels"][label::kElastic] = "malleable";
    json& annotations = metadata["annotations"];
    annotations[annotation::kMinWorkers] = "2";
    annotations[annotation::kMaxWorkers] = "8";
    annotations[annotation::kRescaleGapSeconds] = "0";
    annotations[annotation::kPesPerWorker] = "1";
    const std::string how = kind_.acknowledges;
    if (how == "annotation") annotations[annotation::kAcknowledge] = how;
    if (how == "http") {
      annotations[annotation::kAcknowledge] =
          "http:" + std::to_string(application_.access().endpoint.port);
    }
    if (how == "ccs") {
      annotations[annotation::kAcknowledge] = "ccs:" + std::to_string(charm_.address().port);
    }
    if (kind_.progresses) annotations[annotation::kProgress] = "1";
    add("low", kind_.collection, low);
    cpus_ = 32 + jobs_.at("low").read().other_cpus;
  }

  void add(const std::string& name, std::size_t collection, const json& object) {
    jobs_[name] = {.collection = collection, .object = object, .told = false};
    const std::string path = jobs_[name].read().path;
    server_.on("GET " + path, [this, name](const auto&, auto& response) {
      const std::lock_guard lock(mutex_);
      const auto job = jobs_.find(name);
      if (job == jobs_.end()) return refuse(404, response);
      response.set_content(job->second.object.dump(), "application/json");
    });
    server_.on("PATCH " + path, [this, name](const auto& request, auto& response) {
      patch(name, json::parse(request.body), response);
    });
  }

  static void refuse(int status, httplib::Response& response) {
    response.status = status;
    response.set_content(kube::status_object(status, "No", "not so").dump(), "application/json");
  }
  // As an API server: for the version that it has. Whoever is dead sends nothing.
  void patch(const std::string& name, const json& what, httplib::Response& response) {
    const std::lock_guard lock(mutex_);
    if (dead_) return refuse(503, response);
    if (!jobs_.contains(name)) return refuse(404, response);
    Job& job = jobs_.at(name);
    if (what["metadata"]["resourceVersion"] != job.object["metadata"]["resourceVersion"]) {
      return refuse(409, response);
    }
    const ElasticObject before = job.read();
    job.object.merge_patch(what);
    const ElasticObject now = job.read();
    if (now.wanted && !before.wanted) ++told_.begun;
    if (before.noted) {
      EXPECT_LE(now.workers(), std::max(before.workers(), *before.noted))
          << "past its wish after: " << testing::PrintToString(told_.changes);
    }
    if (now.sent && now.sent->came_ms == 0 &&
        what["metadata"]["annotations"].contains(annotation::kRescaleSent)) {
      ++announced_;
    }
    changed(job, "patch of " + name + ": " + what["metadata"]["annotations"].dump());
    response.set_content(job.object.dump(), "application/json");
  }

  // Under the lock, as all below it.
  void changed(Job& job, const std::string& how) {
    told_.changes.push_back(how);
    job.object["metadata"]["resourceVersion"] = std::to_string(told_.changes.size() + 1);
    job.told = false;
    std::int64_t held = 0;
    for (const auto& [name, each] : jobs_) held += each.held();
    EXPECT_LE(held, cpus_) << "held twice after: " << testing::PrintToString(told_.changes);
    const ElasticObject now = job.read();
    EXPECT_GE(now.stated, now.min_workers) << how;
    EXPECT_LE(now.stated, now.max_workers) << how;
    dead_ = dead_ || told_.changes.size() == dies_at_;
  }

  // The status as the job's own controller writes it.
  void set_pods(const std::string& name, int active, int ready, int terminating,
                const std::string& how) {
    Job& job = jobs_.at(name);
    job.active = active;
    job.ready = ready;
    job.terminating = terminating;
    json& status = job.object["status"];
    switch (job.read().kind) {
      case jobs::JobKind::kMpiJob:
        status["replicaStatuses"]["Worker"]["active"] = ready;
        break;
      case jobs::JobKind::kVolcanoJob:
        status["state"]["phase"] = "Running";
        status["taskStatusCount"]["mpiworker"]["phase"] = {{"Running", ready},
                                                           {"Pending", active - ready}};
        break;
      default:
        status = {{"active", active}, {"ready", ready}, {"terminating", terminating}};
    }
    changed(job, name + "'s pods " + how);
  }

  // The next thing that others do; false: nothing.
  bool advance() {
    for (auto& [name, job] : jobs_) {
      const ElasticObject now = job.read();
      const int wanted = now.suspended ? 0 : now.stated;
      if (job.active > wanted) {
        const int ending = job.terminating + job.active - wanted;
        set_pods(name, wanted, std::min(job.ready, wanted), ending, "are told to end");
      } else if (job.active < wanted) {
        set_pods(name, wanted, job.ready, job.terminating, "are made");
      } else if (job.ready < job.active) {
        set_pods(name, job.active, job.active, job.terminating, "are ready");
      } else if (job.terminating > 0) {
        set_pods(name, job.active, job.ready, 0, "are gone");
      } else if (kind_.acknowledges == "annotation" && now.wanted && !now.grows() &&
                 !now.acknowledged) {
        job.object["metadata"]["annotations"][annotation::kAcknowledgedWorkers] =
            std::to_string(*now.wanted);
        changed(job, name + " acknowledges");
      } else if (now.has_come()) {
        ++progress_;
        job.object["metadata"]["annotations"][annotation::kProgress] = std::to_string(progress_);
        changed(job, name + " goes on");
      } else {
        continue;
      }
      return true;
    }
    return go_on();
  }

  // What the users do.
  bool go_on() {
    if (came_ && !gone_ && is_at_rest("high", 4)) {
      told_.end = "low " + std::to_string(jobs_.at("low").ready) + ", high 4";
      gone_ = true;
      high_ = jobs_.at("high").object;
      jobs_.erase("high");
      changed(jobs_.at("low"), "high ends");
      return true;
    }
    if (came_ || !is_at_rest("low", most())) return false;
    came_ = true;
    add("high", 0,
        test_support::make_job({.name = "high",
                                .suspended = true,
                                .annotations = {{annotation::kMinWorkers, "4"},
                                                {annotation::kMaxWorkers, "4"},
                                                {annotation::kPriority, "5"}}}));
    changed(jobs_.at("high"), "high comes");
    return true;
  }
  bool is_at_rest(const std::string& name, int workers) {
    const Job& job = jobs_.at(name);
    const bool no_rescale = !jobs_.at("low").read().wanted && !job.read().wanted;
    return no_rescale && job.ready == workers && job.active == workers && job.terminating == 0;
  }
  bool over() {
    const std::lock_guard lock(mutex_);
    if (!gone_ || !is_at_rest("low", most())) return false;
    told_.end += ", low " + std::to_string(most());
    return true;
  }
  [[nodiscard]] int most() const { return kind_.wishes > 0 ? kind_.wishes : 8; }

  std::int64_t free() {
    const std::lock_guard lock(mutex_);
    std::int64_t free = cpus_;
    for (const auto& [name, job] : jobs_) free -= job.held();
    return free;
  }

  // A new process: it knows what the API server lists.
  void lead() {
    leader_ = std::make_unique<ElasticJobs>(
        *api_, log_, elastic::Controller(ElasticPolicy::kElastic), defaults_,
        ElasticJobs::Asks{.may_act =
                              [this] {
                                ++asked_;
                                const std::lock_guard lock(mutex_);
                                return !dead_;
                              },
                          .free = [this] { return free(); }},
        ElasticJobs::Pace{.look = 1ms, .tell_again = 1min}, ElasticJobs::Most());
    {
      const std::lock_guard lock(mutex_);
      for (auto& [name, job] : jobs_) job.told = false;
    }
    tell_leader();
    for (std::size_t i = 0; i < elastic::kCollections.size(); ++i) leader_->feed(i).on_synced(1);
  }

  // The watch brings what has changed; false: nothing has.
  bool tell_leader() {
    std::vector<std::pair<std::size_t, json>> news;
    std::optional<json> ended;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [name, job] : jobs_) {
        if (!std::exchange(job.told, true)) news.emplace_back(job.collection, job.object);
      }
      ended = std::exchange(high_, std::nullopt);
    }
    for (const auto& [collection, object] : news) {
      leader_->feed(collection).on_object(kube::Change::kModified, object);
    }
    if (ended) leader_->feed(0).on_object(kube::Change::kDeleted, *ended);
    return !news.empty() || ended;
  }

  bool is_dead() {
    const std::lock_guard lock(mutex_);
    return dead_;
  }
  void revive() {
    const std::lock_guard lock(mutex_);
    dead_ = false;
    high_.reset();
  }
  // Who dies between the note that something is about to be sent and sending it is not played: the
  // next leader then waits for three minutes.
  void wait_until_sent() {
    const auto sent = [this] {
      const std::lock_guard lock(mutex_);
      return charm_.asked().size() >= announced_;
    };
    EXPECT_TRUE(comes(sent)) << "it was noted and not sent";
  }
  static bool comes(const std::function<bool()>& what) {
    const auto until = std::chrono::steady_clock::now() + kLongest;
    while (!what()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

  std::size_t changes() {
    const std::lock_guard lock(mutex_);
    return told_.changes.size();
  }

  // Until the leader has looked at all that it knows and has changed nothing.
  void rest() {
    for (std::size_t before = changes() + 1; before != changes();) {
      before = changes();
      const int since = asked_;
      EXPECT_TRUE(comes([&] { return asked_ >= since + kRoundsCalls; })) << "it does not look";
    }
  }

  bool advance_one() {
    const std::lock_guard lock(mutex_);
    return advance();
  }

  // A leader that saw CPUs become free waits whether more do (core/settling.h).
  bool goes_on() {
    const std::size_t before = changes();
    return comes([&] { return changes() != before; });
  }

  // Where the application is being asked, or is to say what it wishes: until the answer is written
  // down. False: it is not.
  bool wait_for_answer() {
    const std::size_t before = changes();
    bool came = false;
    {
      const std::lock_guard lock(mutex_);
      const ElasticObject low = jobs_.at("low").read();
      const bool is_to_wish =
          kind_.wishes > 0 && elastic::is_to_tell_progress(low) && low.noted != kind_.wishes;
      if (!elastic::is_to_be_asked(low) && !is_to_wish) return false;
      came = low.has_come();
    }
    if (came) {  // until the leader has looked at it again with what it has done
      EXPECT_TRUE(comes([&] { return changes() != before || charm_.looks() >= looks_ + 4; }));
      looks_ = charm_.looks();
      return changes() != before;
    }
    EXPECT_TRUE(comes([&] { return changes() != before; })) << "the application was not asked";
    return true;
  }

  const Actuated kind_;
  const std::size_t dies_at_;
  Log& log_;
  std::int64_t cpus_ = 0;
  std::mutex mutex_;
  std::map<std::string, Job> jobs_;  // these are under it
  std::optional<json> high_;         // it was deleted, which the leader does not know yet
  bool came_ = false;                // "high"
  bool gone_ = false;
  bool dead_ = false;
  std::size_t announced_ = 0;  // of what a Charm++ program is sent
  int progress_ = 1;           // that it has said
  int looks_ = 0;              // at it, when it went on last
  Told told_;
  std::atomic<int> asked_ = 0;  // whether it leads
  test_support::CharmProgram charm_{8};
  kube::FakeApiServer application_;
  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  policy::Defaults defaults_;
  std::unique_ptr<ElasticJobs> leader_;  // last: it uses all above
};

class ElasticTakeover : public testing::TestWithParam<Actuated> {};

TEST_P(ElasticTakeover, InEachPhaseTheNextLeaderGoesOn) {
  Log log("error", LogFormat::kText);
  const Life::Told whole = Life(GetParam(), 0, log).live();
  const int most = GetParam().wishes > 0 ? GetParam().wishes : 8;
  EXPECT_EQ(whole.end, "low 4, high 4, low " + std::to_string(most));
  EXPECT_GE(whole.begun, 4) << "a start, a shrink, another start and an expand";
  if (GetParam().acknowledges == "ccs") {
    EXPECT_THAT(whole.sent, testing::ElementsAre(ccs::bitmap(8, 4), ccs::bitmap(4, 8)));
  }
  for (std::size_t first = 1; first <= whole.changes.size(); first += kAtOnce) {
    std::map<std::size_t, std::future<Life::Told>> lives;
    for (std::size_t at = first; at < first + kAtOnce && at <= whole.changes.size(); ++at) {
      lives.emplace(at, std::async(std::launch::async,
                                   [at, &log] { return Life(GetParam(), at, log).live(); }));
    }
    for (auto& [at, life] : lives) {
      SCOPED_TRACE("killed with change " + std::to_string(at) + ": " + whole.changes[at - 1]);
      const Life::Told told = life.get();
      EXPECT_EQ(told.end, whole.end);
      EXPECT_EQ(told.begun, whole.begun) << testing::PrintToString(told.changes);
      // The next leader does not know how far it was when it came. A wish is noted with a step, or
      // before.
      if (!GetParam().progresses && GetParam().wishes == 0) {
        EXPECT_EQ(told.changes.size(), whole.changes.size())
            << testing::PrintToString(told.changes);
      }
      EXPECT_EQ(told.sent, whole.sent);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ElasticTakeover,
    testing::Values(Actuated{"IndexedJob", nullptr, 0, "{}"},
                    Actuated{"ByAnnotation", nullptr, 0, "{}", "annotation"},
                    Actuated{"ByHttp", nullptr, 0, "{}", "http"},
                    Actuated{"ByHttpWithAWish", nullptr, 0, "{}", "http", false, 6},
                    Actuated{"Charm", nullptr, 0, "{}", "ccs"},
                    Actuated{"CharmThatProgresses", nullptr, 0, "{}", "ccs", true},
                    Actuated{"MpiJob", "mpijob_create", 1,
                             R"({"spec":{"runPolicy":{"suspend":true}}})"},
                    Actuated{"MpiJobByHttp", "mpijob_create", 1,
                             R"({"spec":{"runPolicy":{"suspend":true}}})", "http"},
                    Actuated{"VolcanoJob", "vcjob_create", 2, "{}"}),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace pinion::cluster
