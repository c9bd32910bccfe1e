// A real elastic MPI program, each rank in a pod of its own with a core of its own: it grows and
// shrinks, its pins follow, and its result is that of a run that was never resized.
#include <signal.h>

#include <algorithm>
#include <future>

#include "tests/guest/guest_node.h"
#include "tests/guest/wave_job.h"

namespace pinion::guest {
namespace {

constexpr Milliseconds kSoon{5000};
constexpr Milliseconds kStarted{8000};       // mpirun and its ranks
constexpr std::chrono::seconds kGrace{600};  // longer than any case takes

class Guest_ElasticMpi : public GuestTest {
 protected:
  struct Worker {
    Running running;
    CpuSet cpus;    // as it was made
    int first = 0;  // the process that its container began with
  };

  void SetUp() override {
    GuestTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (machine().ranks < WaveJob::kMaxWorkers) GTEST_SKIP() << "too few cores";
    static int count = 0;
    const auto folder = node().dir() + "/wave-" + std::to_string(++count);
    job_ = std::make_unique<WaveJob>(folder, machine().width);
  }
  Status close_lab() override {
    Status done;
    while (done && !workers_.empty()) done = remove_last();
    Status others = GuestTest::close_lab();
    return done ? others : done;
  }

  // As the Job controller, the next index and the last one.
  Status add() {
    auto running = run(job_->worker(static_cast<int>(workers_.size())));
    if (!running) return failure(running.error());
    const CpuSet cpus = file(*running);
    workers_.push_back({.running = *running, .cpus = cpus, .first = first_of(*running)});
    return {};
  }
  Status remove_last() {
    Status done = remove(workers_.back().running);
    workers_.pop_back();
    return done;
  }

  [[nodiscard]] int first_of(const Running& running) const {
    const auto processes = node().cgroups().processes(running.cgroup);
    return processes.empty() ? 0 : *std::min_element(processes.begin(), processes.end());
  }
  [[nodiscard]] int ranks_in(const Running& running) const {
    int ranks = 0;
    for (const int pid : node().cgroups().processes(running.cgroup)) {
      const auto name = lab::read_file("/proc/" + std::to_string(pid) + "/comm");
      ranks += name && *name == "elastic-wave\n" ? 1 : 0;
    }
    return ranks;
  }

  // For messages: where the program is, what it has said, and what each worker runs.
  [[nodiscard]] std::string state() const {
    const auto now = job_->progress();
    std::string text = "it is at step " + std::to_string(now ? now->step : -1) + " with " +
                       std::to_string(now ? now->ranks : 0) + " ranks";
    for (const Worker& worker : workers_) {
      text += "\n" + worker.running.cgroup + ":";
      for (const int pid : node().cgroups().processes(worker.running.cgroup)) {
        const std::string folder = "/proc/" + std::to_string(pid);
        for (const char* file : {"/comm", "/wchan"}) {
          const auto read = lab::read_file(folder + file);
          text += " " + (read ? read->substr(0, read->find('\n')) : "?");
        }
      }
    }
    return text + "\n" + job_->output();
  }

  // The program goes on with so many ranks.
  testing::AssertionResult computes_with(int ranks) const {
    std::int64_t begun = -1;
    const bool goes_on = lab::eventually(kStarted, [&] {
      const auto now = job_->progress();
      if (!now || now->ranks != ranks) return false;
      if (begun < 0) begun = now->step;
      return now->step > begun;
    });
    if (goes_on) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "not " << ranks << " ranks: " << state();
  }

  // Each worker is the one that it was, runs this many ranks, and all of it on the core that it
  // was given first, which nobody else has.
  void expect_workers(int with_ranks) {
    CpuSet all;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      SCOPED_TRACE("worker " + std::to_string(i));
      const Worker& worker = workers_[i];
      EXPECT_EQ(worker.cpus.count(), machine().width);
      EXPECT_FALSE(worker.cpus.intersects(all));
      all |= worker.cpus;
      EXPECT_EQ(file(worker.running), worker.cpus);
      EXPECT_EQ(first_of(worker.running), worker.first);
      EXPECT_EQ(ranks_in(worker.running), static_cast<int>(i) < with_ranks ? 1 : 0);
      EXPECT_TRUE(tasks_allowed(worker.running, worker.cpus));
    }
    EXPECT_NE(node_of(all), nullptr) << "not beside each other: " << all.to_string();
    EXPECT_TRUE(no_drift());
  }

  std::unique_ptr<WaveJob> job_;
  std::vector<Worker> workers_;
};

TEST_P(Guest_ElasticMpi, ItsPinsFollowAndItsResultIsThatOfASerialRun) {
  ASSERT_TRUE(ok(start_agent()));
  // Has all that the job may not come to have, in the node with the reserved core.
  ASSERT_TRUE(ok(start_rank("other", machine().ranks - WaveJob::kMaxWorkers, {{"job", "other"}})));
  job_->has(2, 2);
  job_->tell();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ok(add()));
  ASSERT_TRUE(computes_with(2));
  expect_workers(2);

  // It expands. The program hears of the new workers when they are ready.
  job_->is_resized(2, 4);
  job_->has(4, 2);
  job_->tell();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ok(add()));
  EXPECT_FALSE(job_->is_to_be_asked());
  EXPECT_EQ(job_->told("hosts"), "wave-0.wave\nwave-1.wave\n");
  EXPECT_TRUE(computes_with(2));
  expect_workers(2);
  job_->has(4, 4);
  job_->tell();
  ASSERT_EQ(job_->ask(), 4) << state();
  job_->is_done();
  ASSERT_TRUE(computes_with(4));
  expect_workers(4);

  // It shrinks, and meanwhile the agent is killed.
  job_->is_resized(4, 3);
  job_->tell();
  agent().kill();
  ASSERT_EQ(job_->ask(), 3) << state();
  ASSERT_TRUE(computes_with(3));
  ASSERT_TRUE(ok(start_agent()));
  expect_workers(3);

  // Its last worker is told to end and takes its time, and another job waits for its core.
  job_->has(3, 4);
  const Worker last = workers_.back();
  auto stopped = std::async(std::launch::async,
                            [&] { return node().cri().stop_container(last.running.id, kGrace); });
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return job_->has_sigterm(3); }));
  const auto why = refusal_of("urgent", 1);
  EXPECT_NE(why.find("not enough free CPUs"), std::string::npos) << why;
  expect_workers(3);
  EXPECT_EQ(::kill(last.first, SIGKILL), 0);
  ASSERT_TRUE(ok(stopped.get()));
  ASSERT_TRUE(ok(remove_last()));
  const auto urgent = start_rank("urgent", 1, {{"job", "urgent"}});
  ASSERT_TRUE(ok(urgent));
  EXPECT_EQ(file(urgent->running), last.cpus);
  job_->is_done();
  ASSERT_TRUE(computes_with(3));
  expect_workers(3);

  ASSERT_TRUE(ok(node().cri().stop_container(workers_.front().running.id, kGrace)));
  const auto ended = node().cri().container_status(workers_.front().running.id);
  ASSERT_TRUE(ok(ended));
  EXPECT_EQ(ended->exit_code, 143) << "its work is not done";
  const auto result = job_->result();
  ASSERT_TRUE(result);
  EXPECT_GT(result->step, 0);
  EXPECT_TRUE(*result == test_support::wave_after(result->step, WaveJob::kPoints))
      << "after " << result->step << " steps";
}

INSTANTIATE_TEST_SUITE_P(Each, Guest_ElasticMpi, testing::ValuesIn(containerds()),
                         [](const auto& param) { return param.param == "1.7" ? "v17" : "v21"; });

}  // namespace
}  // namespace pinion::guest
