#include "tests/guest/guest_node.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace pinion::guest {
namespace {

constexpr long kPages = 2048;

// By version. Kept from case to case, closed by TearDownTestSuite().
std::map<std::string, std::shared_ptr<lab::ContainerdLab>>& labs() {
  static std::map<std::string, std::shared_ptr<lab::ContainerdLab>> all;
  return all;
}

// The kernel patches its own code when the first event of such a kind is opened and when the last
// one is closed, and a CPU that QEMU emulates may still run what stood there meanwhile: the kernel
// panics ("Oops: int3"). So one of each is open from before the first agent until the end.
void hold_counters() {
  [[maybe_unused]] static const bool held = [] {
    for (const unsigned event : {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CONTEXT_SWITCHES,
                                 PERF_COUNT_SW_CPU_MIGRATIONS}) {
      perf_event_attr attr{};
      attr.type = PERF_TYPE_SOFTWARE;
      attr.size = sizeof(attr);
      attr.config = event;
      attr.disabled = 1;
      (void)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return true;
  }();
}

}  // namespace

std::vector<std::string> containerds() {
  const char* one = std::getenv("PINION_CONTAINERD");
  if (one != nullptr && *one != '\0') return {one};
  return {"1.7", "2.1"};
}

void GuestTest::TearDownTestSuite() {
  for (const auto& [version, lab] : labs()) EXPECT_TRUE(ok(lab->close())) << "left behind";
  labs().clear();
}

void GuestTest::SetUp() {
  if (std::getenv("PINION_GUEST") == nullptr) GTEST_SKIP() << "not in a guest of scripts/guest.sh";
  hold_counters();
  NodeTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  if (nodes_with_cpus().size() < 2) GTEST_SKIP() << "one NUMA node only";
}

Result<std::shared_ptr<lab::ContainerdLab>> GuestTest::open_lab(const lab::LabOptions& options) {
  auto& lab = labs()[options.containerd];
  if (lab) return lab;
  auto started = lab::ContainerdLab::start(options);
  if (!started) return failure(started.error());
  lab = std::move(*started);
  return lab;
}

Status GuestTest::close_lab() {
  Status done;
  for (const auto& running : running_) {
    if (Status removed = remove(running); !removed) done = removed;
  }
  return done;
}

lab::PodSpec GuestTest::spec_of(const std::string& name, int cores, const Wishes& wishes) const {
  auto spec = lab::guaranteed_pod(name, cores * machine().width, {});
  for (const auto& [key, value] : wishes) spec.annotations["pinion.dev/" + key] = value;
  return spec;
}

Result<Running> GuestTest::start(const lab::PodSpec& spec) {
  auto running = run(spec);
  if (running) running_.push_back(*running);
  return running;
}

Result<Rank> GuestTest::start_rank(const std::string& name, int cores, const Wishes& wishes) {
  // The labs of all cases are one, so a pod's name and folder must not come twice.
  static int count = 0;
  auto spec = spec_of(name + "-" + std::to_string(++count), cores, wishes);
  auto exercise = integration::Exercise::prepare(node(), spec);
  if (!exercise) return failure(exercise.error());
  auto running = start(spec);
  if (!running) return failure(running.error());
  return Rank{.running = *running, .exercise = std::move(*exercise)};
}

std::string GuestTest::refusal_of(const std::string& name, int cores, const Wishes& wishes) {
  const auto rank = start_rank(name, cores, wishes);
  return rank ? std::string() : rank.error().text;
}

Result<Running> GuestTest::start_shared(const std::string& name) {
  return start(lab::burstable_pod(name, 200, {}));
}

NodeSet GuestTest::mems(const Rank& rank) const {
  const auto nodes = node().cgroups().mems(rank.running.cgroup);
  return nodes ? *nodes : NodeSet();
}

const topology::Node* GuestTest::node_of(const CpuSet& cpus) const {
  for (const auto* node : nodes_with_cpus()) {
    if (!cpus.empty() && cpus.is_subset_of(node->cpus)) return node;
  }
  return nullptr;
}

const topology::Cache* GuestTest::l3_of(const CpuSet& cpus) const {
  for (const auto& l3 : machine().topology.l3s) {
    if (!cpus.empty() && cpus.is_subset_of(l3.cpus)) return &l3;
  }
  return nullptr;
}

std::vector<const topology::Node*> GuestTest::nodes_with_cpus() const {
  std::vector<const topology::Node*> found;
  for (const auto& node : machine().topology.nodes) {
    if (!node.cpus.empty()) found.push_back(&node);
  }
  return found;
}

int GuestTest::largest_node() const {
  int most = 0;
  for (const auto* node : nodes_with_cpus()) most = std::max(most, node->cpus.count());
  return most / machine().width;
}

testing::AssertionResult GuestTest::memory_is_local(const Rank& rank) const {
  const auto did = rank.exercise.tell("hold " + std::to_string(kPages));
  if (!did) return testing::AssertionFailure() << did.error().text;
  return pages_are_on(rank, mems(rank));
}

testing::AssertionResult GuestTest::pages_are_on(const Rank& rank, const NodeSet& nodes) const {
  const auto pids = node().cgroups().processes(rank.running.cgroup);
  if (pids.size() != 1) return testing::AssertionFailure() << pids.size() << " processes";
  const auto pages = lab::anonymous_pages(pids.front());
  if (!pages) return testing::AssertionFailure() << pages.error().text;
  long all = 0;
  for (const auto& [node, count] : *pages) {
    if (!nodes.contains(node)) {
      return testing::AssertionFailure()
             << count << " pages on node " << node << ", its nodes are " << nodes.to_string();
    }
    all += count;
  }
  if (all >= kPages) return testing::AssertionSuccess();
  return testing::AssertionFailure() << all << " pages, expected " << kPages;
}

}  // namespace pinion::guest
