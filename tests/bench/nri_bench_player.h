// Plays a runtime to one plugin: standing containers, pod lives beside them, dropped connections;
// measures every answer and keeps a model of what the plugin said, which must never contradict
// itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/bench/nri_bench_process.h"
#include "tests/bench/nri_bench_runtime.h"
#include "topology/cpuset.h"

namespace pinion::bench {

// One answer.
struct Sample {
  double ms = 0;
  std::size_t bytes = 0;    // of the encoded response
  std::size_t updates = 0;  // entries in update[]
};

// What came of a number of pod lives beside the same standing containers.
struct Tally {
  int lives = 0;
  std::vector<Sample> creates;
  std::vector<Sample> stops;
  double cpu_ms = 0;  // of the plugin
  Memory memory;      // after the last life

  // What came of more of them, later.
  void add(const Tally& later);
};

// Whether the plugin pins: then its answers are checked. A floor must answer nothing at all.
enum class Role { kPins, kFloor };

class Player {
 public:
  static constexpr int kKinds = 24;  // of containers: by class and by number of CPUs

  // `cpus` is how many logical CPUs the plugin takes the machine to have, numbered from 0.
  Player(BenchRuntime runtime, PluginProcess process, Role role, int cpus);

  // The first connection, with no containers.
  Status begin();
  // Creates and starts containers until that many stand: one third exclusive of 1 to 8 CPUs while
  // less than three quarters of the CPUs are taken, the others burstable and best effort in turn.
  Status grow_to(int standing);
  // Whole lives of one pod with one container each, one after another, of that same mixture.
  Status live(int lives, Tally& tally);
  // Drops the connection and waits until the plugin has answered Synchronize with all containers.
  Result<Synchronized> drop();
  // Stops and removes all containers, then ends the plugin.
  Status end();

  [[nodiscard]] const PluginProcess& process() const { return process_; }
  [[nodiscard]] const BenchRuntime& runtime() const { return runtime_; }
  [[nodiscard]] int standing() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] int exclusive() const;
  [[nodiscard]] int refused() const { return refused_; }
  [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }
  // What the plugin said that cannot be right; the first few of them.
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Member {
    wire::PodSandbox pod;
    wire::Container container;
    int exclusive_cpus = 0;  // as requested; 0: shared
    topology::CpuSet cpus;
  };

  Status start(int pod_number, int kind, std::vector<Sample>* samples, std::string& id);
  Status stop(const std::string& id, std::vector<Sample>* samples);
  Result<Sample> create(Member& member, bool& accepted);
  Status tell(wire::Event event, const Member& member, bool about_pod);
  template <class Updates>
  void apply(const Updates& updates);
  void take(Member& member, const wire::LinuxCPU& told);
  void check();
  void violation(const std::string& text);

  BenchRuntime runtime_;
  PluginProcess process_;
  Role role_;
  topology::CpuSet all_;
  std::map<std::string, Member> members_;  // by container id
  int next_pod_ = 1;
  int taken_ = 0;  // CPUs of standing exclusive containers, whole cores of two
  int refused_ = 0;
  std::string last_refusal_;
  std::vector<std::string> violations_;
};

}  // namespace pinion::bench
