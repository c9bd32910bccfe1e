// An extender that is killed in the middle of a rescale is followed by one that goes on: nothing is
// lost, and nothing is held twice.
#include <atomic>
#include <functional>
#include <utility>

#include "cluster/extender/ccs/codec.h"
#include "cluster/extender/elastic/sent.h"
#include "cluster/extender/elastic/telling.h"
#include "cluster/extender/program/clocks.h"
#include "policy/annotations.h"
#include "tests/e2e/elastic_scene.h"
#include "tests/unit/extender_ccs/charm_program.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::e2e {
namespace {

namespace ccs = cluster::ccs;
using test_support::CharmProgram;
using testing::ElementsAre;

TEST_F(Elastic, AKilledExtenderGoesOnInTheMiddleOfARescale) {
  start_elastic(2);
  auto annotations = sizes(1, 4);
  annotations["pinion.dev/acknowledge"] = "annotation";
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = annotations});
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  add_job(
      {.name = "high", .cpus = 15, .workers = 2, .suspended = true, .annotations = sizes(2, 2, 9)});
  // Asked, and not answered yet.
  ASSERT_TRUE(lab::eventually(lab::Milliseconds(kPatience), [&] {
    return kube::json_text(job("low"), "metadata", "annotations", "pinion.dev/wanted-workers") ==
           "2";
  })) << job("low");
  extender().kill();
  ASSERT_TRUE(ok(admin().api().patch(
      std::string(kJobs) + "/low", kube::PatchKind::kMerge,
      {{"metadata", {{"annotations", {{"pinion.dev/acknowledged-workers", "2"}}}}}})));
  EXPECT_EQ(kube::json_integer(job("low"), "spec", "parallelism"), 4) << "nobody is there to act";
  ASSERT_TRUE(ok(extender().restart()));
  EXPECT_TRUE(runs_with("low", 2)) << job("low");
  EXPECT_TRUE(runs_with("high", 2)) << job("high");
  for (const char* name : {"low", "high"}) remove_job(name);
}

TEST_F(Elastic, AnExtenderKilledInAnyPhaseIsFollowedByOneThatGoesOn) {
  start_elastic(2);
  const int all = free_cpus();
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = sizes(1, 4)});
  ASSERT_TRUE(says("low", "/metadata/annotations/pinion.dev~1wanted-workers", "4"))
      << "its start is decided: " << job("low");
  kill_and_restart("low", "4");
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  const auto wide = places_of("low", 4);
  const std::map<int, std::string> first = {{0, wide.at(0)}, {1, wide.at(1)}};

  add_job(
      {.name = "high", .cpus = 15, .workers = 2, .suspended = true, .annotations = sizes(2, 2, 9)});
  ASSERT_TRUE(says("low", "/spec/parallelism", 2)) << "pods of its shrink end: " << job("low");
  kill_and_restart("low", "2");
  ASSERT_TRUE(says("high", "/spec/suspend", false)) << "its start is decided, too";
  kill_and_restart("high", "2");
  EXPECT_TRUE(runs_with("low", 2)) << job("low");
  EXPECT_TRUE(runs_with("high", 2)) << job("high");
  EXPECT_EQ(places_of("low", 2), first);
  places_of("high", 2);
  EXPECT_TRUE(has_free(all - 4 * 15));

  remove_job("high");
  ASSERT_TRUE(says("low", "/spec/parallelism", 4)) << "its expand is decided: " << job("low");
  kill_and_restart("low", "4");
  EXPECT_TRUE(runs_with("low", 4)) << job("low");
  const auto again = places_of("low", 4);
  EXPECT_EQ((std::map<int, std::string>{{0, again.at(0)}, {1, again.at(1)}}), first);
  EXPECT_TRUE(has_free(all - 4 * 15));
  remove_job("low");
}

// One job of four workers, which makes room for another one of two and grows back, and an
// application that is asked both times.
class AskedAndKilled : public Elastic {
 protected:
  void start_low(const std::string& channel) {
    start_elastic(2);
    all_ = free_cpus();
    auto annotations = sizes(1, 4);
    annotations[annotation::kAcknowledge] = channel;
    annotations[annotation::kPesPerWorker] = "1";
    add_job(
        {.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = annotations});
    ASSERT_TRUE(runs_with("low", 4)) << job("low");
    const auto wide = places_of("low", 4);
    first_ = {{0, wide.at(0)}, {1, wide.at(1)}};
  }
  void add_high() {
    add_job({.name = "high",
             .cpus = 15,
             .workers = 2,
             .suspended = true,
             .annotations = sizes(2, 2, 9)});
  }
  std::string said(const char* name) {
    return kube::json_text(job("low"), "metadata", "annotations", name);
  }
  void write(const char* name, const std::string& value) {
    ASSERT_TRUE(ok(admin().api().patch(std::string(kJobs) + "/low", kube::PatchKind::kMerge,
                                       {{"metadata", {{"annotations", {{name, value}}}}}})));
  }
  static bool comes(const std::function<bool()>& what) {
    return lab::eventually(lab::Milliseconds(kPatience), what);
  }
  // Nobody has acted yet: low has all that it had, and high waits.
  void low_is_still_wide() {
    const json low = job("low");
    EXPECT_EQ(kube::json_integer(low, "spec", "parallelism"), 4) << low;
    EXPECT_EQ(said(annotation::kWantedWorkers), "2") << low;
    EXPECT_EQ(kube::json_at(job("high"), "spec", "suspend"), true);
    EXPECT_TRUE(has_free(all_ - 4 * 15));
  }
  void low_has_made_room() {
    EXPECT_TRUE(runs_with("low", 2)) << job("low");
    EXPECT_TRUE(runs_with("high", 2)) << job("high");
    EXPECT_EQ(places_of("low", 2), first_);
    places_of("high", 2);
    EXPECT_TRUE(has_free(all_ - 4 * 15));
  }
  void low_is_wide_again() {
    EXPECT_TRUE(runs_with("low", 4)) << job("low");
    const auto again = places_of("low", 4);
    EXPECT_EQ((std::map<int, std::string>{{0, again.at(0)}, {1, again.at(1)}}), first_);
    EXPECT_TRUE(has_free(all_ - 4 * 15));
  }

  int all_ = 0;  // CPUs
  std::map<int, std::string> first_;
};

TEST_F(AskedAndKilled, OverHttp) {
  kube::FakeApiServer application;
  std::atomic<int> status = 202;
  std::atomic<int> asked = 0;
  application.on(std::string("POST ") + cluster::elastic::kQuestionPath,
                 [&](const auto&, auto& response) {
                   response.status = status;
                   ++asked;
                 });
  const auto is_asked_again = [&] {
    const int before = asked;
    return comes([&] { return asked > before; });
  };
  start_low("http:" + std::to_string(application.access().endpoint.port));
  EXPECT_EQ(asked, 0) << "a start is not asked for";

  add_high();
  ASSERT_TRUE(is_asked_again());
  kill_and_restart("low", "2");
  low_is_still_wide();
  ASSERT_TRUE(is_asked_again()) << "the next one asks, too";
  extender().kill();
  write(annotation::kAcknowledgedWorkers, "2");  // its answer came, and was all that was written
  low_is_still_wide();
  ASSERT_TRUE(ok(extender().restart()));
  ASSERT_TRUE(says("low", "/spec/parallelism", 2)) << "pods end: " << job("low");
  kill_and_restart("low", "2");
  low_has_made_room();

  remove_job("high");
  ASSERT_TRUE(says("low", "/spec/parallelism", 4)) << "its expand is decided: " << job("low");
  kill_and_restart("low", "4");
  ASSERT_TRUE(is_asked_again()) << "its new workers are ready";
  kill_and_restart("low", "4");
  ASSERT_TRUE(is_asked_again());
  EXPECT_EQ(said(annotation::kWantedWorkers), "4") << "it has not taken them yet";
  status = 200;
  low_is_wide_again();
  for (const auto& seen : application.seen()) {
    if (seen.method != "POST") continue;
    const json question = seen.json();
    const std::pair from_to{question["workers"], question["wantedWorkers"]};
    EXPECT_THAT(from_to, testing::AnyOf(std::pair<json, json>(4, 2), std::pair<json, json>(2, 4)));
  }
  remove_job("low");
}

TEST_F(AskedAndKilled, OverCcs) {
  CharmProgram program(4);
  const auto is_looked_at = [&] {
    const int before = program.looks();
    return comes([&] { return program.looks() >= before + 6; });
  };
  // As another extender notes it before it sends something.
  const auto note = [&](int before, int wanted, std::int64_t ms_ago) {
    std::string head;
    for (const auto& [pod, held] : nodes().held()) {
      if (pod.starts_with("low-0-")) head = held.uid + "/0";
    }
    write(annotation::kRescaleSent,
          cluster::elastic::sent_text({.before = before,
                                       .wanted = wanted,
                                       .at_ms = cluster::unix_ms() - ms_ago,
                                       .head = head}));
  };
  start_low("ccs:" + std::to_string(program.address().port));

  program.may_answer(false);
  program.may_act(false);
  add_high();
  ASSERT_TRUE(says("low", "/metadata/annotations/pinion.dev~1wanted-workers", "2")) << job("low");
  extender().kill();
  EXPECT_EQ(said(annotation::kRescaleSent), "") << "nothing is noted yet";
  note(4, 2, 0);  // and the extender dies before it sends that
  program.may_answer(true);
  ASSERT_TRUE(ok(extender().restart()));
  ASSERT_TRUE(is_looked_at());
  low_is_still_wide();
  EXPECT_THAT(program.asked(), testing::IsEmpty()) << "it may have been sent";
  extender().kill();
  note(4, 2, 180'000);  // so long ago that it has not arrived
  ASSERT_TRUE(ok(extender().restart()));
  ASSERT_TRUE(comes([&] { return !program.asked().empty(); })) << job("low");
  kill_and_restart("low", "2");
  ASSERT_TRUE(is_looked_at());
  low_is_still_wide();
  EXPECT_THAT(program.asked(), ElementsAre(ccs::bitmap(4, 2))) << "once";
  program.may_act(true);
  ASSERT_TRUE(says("low", "/spec/parallelism", 2)) << "pods end: " << job("low");
  kill_and_restart("low", "2");
  low_has_made_room();

  program.may_act(false);
  remove_job("high");
  ASSERT_TRUE(says("low", "/spec/parallelism", 4)) << "its expand is decided: " << job("low");
  kill_and_restart("low", "4");
  ASSERT_TRUE(comes([&] { return program.asked().size() == 2; })) << job("low");
  kill_and_restart("low", "4");
  ASSERT_TRUE(is_looked_at());
  EXPECT_EQ(said(annotation::kWantedWorkers), "4") << "it has not taken them yet";
  program.may_act(true);
  low_is_wide_again();
  EXPECT_THAT(program.asked(), ElementsAre(ccs::bitmap(4, 2), ccs::bitmap(2, 4)));
  EXPECT_EQ(program.pes(), 4);
  EXPECT_EQ(said(annotation::kRescaleSent), "");
  remove_job("low");
}

}  // namespace
}  // namespace pinion::e2e
