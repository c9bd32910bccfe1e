// Watches, from outside and all the while, that no task of one container runs on a core that
// another has to itself. Trusts nobody's word: reads the cgroups' files and /proc only.
//
// A claim is counted only when it was true before and after the look: the owner's program had
// started (its StartContainer had returned) and nobody had yet begun to stop or resize it, and its
// file named the core both times. In between the task must be off that core, without exception, but
// for one: before its exec a starting container is still runc's, and is counted apart.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/lab/cgroup_tree.h"
#include "tests/lab/files.h"

namespace pinion::lab {

struct Watched {
  std::string id;
  std::string cgroup;  // path
  int exclusive = 0;   // CPUs it has to itself; 0: a shared container
};

struct Violation {
  std::string owner;
  std::string intruder;
  std::string what;  // "runs on CPU 3: tid 77 (busybox), allowed 0-3"

  bool operator==(const Violation&) const = default;
};

struct SamplerReport {
  std::uint64_t sweeps = 0;
  std::uint64_t looks = 0;        // at tasks, while some core had an owner
  std::uint64_t running = 0;      // a task in state R, of another, last ran on an owned core
  std::uint64_t exposed = 0;      // a task's allowed CPUs contain an owned core of another
  std::uint64_t unpinned = 0;     // an owner's file names another number of CPUs than it was to get
  std::uint64_t before_exec = 0;  // as `running` and `exposed`, but still runc's process
  std::vector<Violation> examples;  // the first few of running, exposed and unpinned

  [[nodiscard]] std::uint64_t violations() const { return running + exposed + unpinned; }
};

std::string to_text(const SamplerReport& report);

class Sampler {
 public:
  Sampler(const CgroupTree& tree, Milliseconds interval);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void add(const Watched& container);    // as soon as its id is known
  void started(const std::string& id);   // StartContainer has returned
  void changing(const std::string& id);  // before a stop or resize; `started` ends a resize
  void remove(const std::string& id);    // after its removal
  [[nodiscard]] SamplerReport report() const;

 private:
  struct Entry {
    Watched watched;
    bool owns = false;        // started, not changing
    std::uint64_t epoch = 0;  // of the last change of `owns`
  };
  struct Claim;
  using Owners = std::map<topology::CpuId, Entry>;

  void run(const std::stop_token& stop, Milliseconds interval);
  void sweep();
  [[nodiscard]] std::vector<Entry> entries() const;
  Owners owners_of(const std::vector<Entry>& entries, std::vector<Claim>& claims) const;
  void look_at(const Entry& entry, const Owners& owners, std::vector<Claim>& claims,
               std::uint64_t& looks) const;
  [[nodiscard]] bool still_holds(const Claim& claim) const;
  void count(const std::vector<Claim>& claims, std::uint64_t looks);

  CgroupTree tree_;
  mutable std::mutex mutex_;  // of entries_, epoch_ and report_
  std::map<std::string, Entry> entries_;
  std::uint64_t epoch_ = 0;
  SamplerReport report_;
  std::jthread thread_;
};

}  // namespace pinion::lab
