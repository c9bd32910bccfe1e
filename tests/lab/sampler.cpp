#include "tests/lab/sampler.h"

#include <condition_variable>
#include <filesystem>

#include "metrics/proc_files.h"

namespace pinion::lab {
namespace {

constexpr std::size_t kExamples = 20;

// Whether the container's program has taken runc's place: its file is one of the image's. (runc
// cannot be told by its own: it runs from a clone without a name, as "exe" or "runc:[2:INIT]".)
bool runs_the_image(int pid) {
  std::error_code error;
  const auto exe = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error);
  return exe.filename() == "busybox" || exe.filename() == "pause";
}

}  // namespace

// What one look found, still to be confirmed. cpu -1: the owner's file itself is wrong.
struct Sampler::Claim {
  enum class Kind { kRunning, kExposed, kUnpinned, kBeforeExec };
  Kind kind = Kind::kRunning;
  Entry owner;
  topology::CpuId cpu = -1;
  Violation violation;
};

std::string to_text(const SamplerReport& report) {
  std::string text = std::to_string(report.sweeps) + " sweeps, " + std::to_string(report.looks) +
                     " looks at tasks: " + std::to_string(report.running) + " running, " +
                     std::to_string(report.exposed) + " exposed, " +
                     std::to_string(report.unpinned) + " unpinned; before exec " +
                     std::to_string(report.before_exec);
  for (const auto& example : report.examples) {
    text += "\n  owner " + example.owner + ", intruder " + example.intruder + ": " + example.what;
  }
  return text;
}

Sampler::Sampler(const CgroupTree& tree, Milliseconds interval)
    : tree_(tree),
      thread_([this, interval](const std::stop_token& stop) { run(stop, interval); }) {}

Sampler::~Sampler() = default;

void Sampler::add(const Watched& container) {
  const std::lock_guard lock(mutex_);
  entries_[container.id] = {.watched = container, .owns = false, .epoch = ++epoch_};
}

void Sampler::started(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;
  entry->second.owns = entry->second.watched.exclusive > 0;
  entry->second.epoch = ++epoch_;
}

void Sampler::changing(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;
  entry->second.owns = false;
  entry->second.epoch = ++epoch_;
}

void Sampler::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  entries_.erase(id);
}

SamplerReport Sampler::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

std::vector<Sampler::Entry> Sampler::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> result;
  for (const auto& [id, entry] : entries_) result.push_back(entry);
  return result;
}

void Sampler::run(const std::stop_token& stop, Milliseconds interval) {
  std::mutex mutex;
  std::condition_variable_any pause;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    sweep();
    pause.wait_for(lock, stop, interval, [] { return false; });
  }
}

void Sampler::sweep() {
  const auto all = entries();
  std::vector<Claim> claims;
  std::uint64_t looks = 0;
  const Owners owners = owners_of(all, claims);
  if (!owners.empty()) {
    for (const auto& entry : all) look_at(entry, owners, claims, looks);
  }
  std::vector<Claim> confirmed;
  for (const auto& claim : claims) {
    if (still_holds(claim)) confirmed.push_back(claim);
  }
  count(confirmed, looks);
}

Sampler::Owners Sampler::owners_of(const std::vector<Entry>& entries,
                                   std::vector<Claim>& claims) const {
  Owners owners;
  for (const auto& entry : entries) {
    if (!entry.owns) continue;
    const auto cpus = tree_.cpus(entry.watched.cgroup);
    if (!cpus) continue;  // it ended by itself
    if (cpus->count() != entry.watched.exclusive) {
      claims.push_back({.kind = Claim::Kind::kUnpinned,
                        .owner = entry,
                        .cpu = -1,
                        .violation = {.owner = entry.watched.id,
                                      .intruder = "-",
                                      .what = "its cpuset is " + cpus->to_string()}});
      continue;
    }
    for (const int cpu : *cpus) owners[cpu] = entry;
  }
  return owners;
}

void Sampler::look_at(const Entry& entry, const Owners& owners, std::vector<Claim>& claims,
                      std::uint64_t& looks) const {
  for (const int pid : tree_.processes(entry.watched.cgroup)) {
    // Asked first: what is read of a process after its exec is the program's.
    const bool before_exec = !runs_the_image(pid);
    const auto threads = metrics::list_threads("", pid);
    if (!threads) continue;
    for (const int tid : *threads) {
      const auto status = metrics::read_task_status("", pid, tid);
      const auto stat = metrics::read_task_stat("", pid, tid);
      if (!stat || !status || !status->cpus_allowed || stat->state == 'Z') continue;
      ++looks;
      for (const auto& [cpu, owner] : owners) {
        if (owner.watched.id == entry.watched.id) continue;
        const bool runs = stat->state == 'R' && stat->last_cpu == cpu;
        if (!runs && !status->cpus_allowed->contains(cpu)) continue;
        Claim claim{
            .kind = runs ? Claim::Kind::kRunning : Claim::Kind::kExposed,
            .owner = owner,
            .cpu = cpu,
            .violation = {.owner = owner.watched.id,
                          .intruder = entry.watched.id,
                          .what = (runs ? "runs on CPU " : "may run on CPU ") +
                                  std::to_string(cpu) + ": tid " + std::to_string(tid) + " (" +
                                  stat->comm + "), allowed " + status->cpus_allowed->to_string()}};
        if (before_exec) claim.kind = Claim::Kind::kBeforeExec;
        claims.push_back(std::move(claim));
      }
    }
  }
}

bool Sampler::still_holds(const Claim& claim) const {
  const auto cpus = tree_.cpus(claim.owner.watched.cgroup);
  if (!cpus) return false;
  const bool file =
      claim.cpu < 0 ? cpus->count() != claim.owner.watched.exclusive : cpus->contains(claim.cpu);
  if (!file) return false;
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(claim.owner.watched.id);
  return entry != entries_.end() && entry->second.owns && entry->second.epoch == claim.owner.epoch;
}

void Sampler::count(const std::vector<Claim>& claims, std::uint64_t looks) {
  const std::lock_guard lock(mutex_);
  ++report_.sweeps;
  report_.looks += looks;
  for (const auto& claim : claims) {
    if (claim.kind == Claim::Kind::kBeforeExec) {
      ++report_.before_exec;
      continue;
    }
    if (claim.kind == Claim::Kind::kRunning) ++report_.running;
    if (claim.kind == Claim::Kind::kExposed) ++report_.exposed;
    if (claim.kind == Claim::Kind::kUnpinned) ++report_.unpinned;
    const bool known = !report_.examples.empty() && report_.examples.back() == claim.violation;
    if (!known && report_.examples.size() < kExamples) report_.examples.push_back(claim.violation);
  }
}

}  // namespace pinion::lab
