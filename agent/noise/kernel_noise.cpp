#include "agent/noise/kernel_noise.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/whole_file.h"

namespace pinion::noise {
namespace {

// Interrupts that the kernel spreads itself (managed ones of queues, timers, per-CPU ones) answer
// so.
bool refused_by_kernel(const Knob& knob, const Error& error) {
  return knob.is_irq() && (error.sys_errno == EIO || error.sys_errno == EPERM);
}

// Between the list and the look.
bool vanished(const Error& error) {
  return error.code == Errc::kNotFound;
}

}  // namespace

KernelNoise::KernelNoise(const Options& options)
    : KernelNoise(options, kernel_writers(options.roots)) {}

KernelNoise::KernelNoise(Options options, Writers writers)
    : options_(std::move(options)), files_(options_.roots, std::move(writers)) {}

void KernelNoise::fail(Pass& pass, std::string what) {
  ++figures_.errors;
  pass.failed.push_back(std::move(what));
}

void KernelNoise::load(Pass& pass) {
  if (std::exchange(loaded_, true)) return;
  const std::string& path = options_.saved_file;
  if (access(path.c_str(), F_OK) != 0) return;
  const auto text = read_plain_file(path, kLongestFile);
  const auto saved = text ? decode(*text) : failure(text.error());
  if (!saved) {
    // Set aside and not removed: an operator may still read it.
    fail(pass, "what " + path + " says cannot be restored, it is now " + path +
                   ".broken: " + saved.error().text);
    (void)std::rename(path.c_str(), (path + ".broken").c_str());
    return;
  }
  unsaved_ = true;  // unless something of it is still to be restored
  if (saved->boot != files_.boot()) return;
  for (const auto& [knob, cpus] : saved->cpus) entries_[knob].original = cpus;
  unsaved_ = entries_.empty();
}

void KernelNoise::adopt(const std::set<Knob>& found, const CpuSet& exclusive, Pass& pass) {
  const auto known_default = entries_.find({.kind = Kind::kIrq, .name = std::string(kDefaultIrq)});
  std::optional<CpuSet> now_default;
  if (known_default != entries_.end()) {
    if (const auto now = files_.read(known_default->first)) now_default = *now;
  }
  for (const Knob& knob : found) {
    if (entries_.contains(knob)) continue;
    const auto now = files_.read(knob);
    if (!now) {
      if (!vanished(now.error())) fail(pass, to_string(knob) + ": " + now.error().text);
      continue;
    }
    // A cpuset partition has the kernel take its threads off those CPUs, and put them back: what
    // they say then is not what they had, and nothing is left to do. All interrupts are taken in,
    // to tell those that are new.
    if (now->empty() || (knob.kind != Kind::kIrq && !now->intersects(exclusive))) continue;
    if (entries_.size() >= kMostKnobs) {
      fail(pass, to_string(knob) + ": more than " + std::to_string(kMostKnobs) + " of them");
      break;
    }
    // A new interrupt has the default, which may be narrower now than it was.
    const bool by_default = knob.is_irq() && now_default == *now;
    entries_[knob].original = by_default ? known_default->second.original : *now;
    unsaved_ = true;
  }
}

void KernelNoise::find(const CpuSet& exclusive, Pass& pass) {
  for (const auto& [word, kind] : kKindWords) {
    const auto any = entries_.lower_bound({.kind = kind, .name = {}});
    const bool held = any != entries_.end() && any->first.kind == kind;
    if (!held && (exclusive.empty() || !options_.kinds.contains(kind))) continue;
    const std::set<Knob> found = files_.list(kind);
    const auto gone = std::erase_if(entries_, [&, of = kind](const auto& entry) {
      return entry.first.kind == of && !found.contains(entry.first);
    });
    unsaved_ = unsaved_ || gone > 0;
    adopt(found, exclusive, pass);
  }
}

bool KernelNoise::save(Pass& pass) {
  if (!unsaved_) return true;
  if (entries_.empty()) {
    (void)::unlink(options_.saved_file.c_str());
    unsaved_ = false;
    return true;
  }
  Originals originals{.boot = files_.boot(), .cpus = {}};
  for (const auto& [knob, entry] : entries_) originals.cpus[knob] = entry.original;
  const auto saved = replace_file(options_.saved_file, encode(originals), true);
  if (!saved) fail(pass, "nothing is changed without a way back: " + saved.error().text);
  unsaved_ = !saved;
  return !unsaved_;
}

// True when it is as it should be now, or the kernel will not have it so.
bool KernelNoise::write(const Knob& knob, Entry& entry, const Plan& plan, Pass& pass) {
  if (entry.refused == plan.cpus) return true;
  entry.refused.reset();
  const auto written = files_.write(knob, plan.cpus);
  if (!written) {
    if (refused_by_kernel(knob, written.error())) {
      entry.refused = plan.cpus;
      return true;
    }
    if (vanished(written.error())) return true;
    fail(pass, to_string(knob) + ": " + written.error().text);
    return false;
  }
  entry.last = plan.cpus;
  if (plan.step == Step::kCorrect) ++figures_.corrections;
  pass.written.push_back(to_string(knob));
  return true;
}

bool KernelNoise::reconcile(const Knob& knob, Entry& entry, const CpuSet& exclusive,
                            const CpuSet& online, Pass& pass) {
  const auto current = files_.read(knob);
  if (!current) {
    if (vanished(current.error())) return true;
    fail(pass, to_string(knob) + ": " + current.error().text);
    return false;
  }
  Affinity affinity{.original = entry.original, .current = *current, .last = entry.last};
  const Plan step = plan(affinity, exclusive, online);
  bool right = true;
  if (step.step == Step::kWrite || step.step == Step::kCorrect) {
    right = write(knob, entry, step, pass);
    if (entry.last == step.cpus) affinity.current = step.cpus;
  } else if (step.step == Step::kLeave) {
    entry.last = step.cpus;
  }
  if (exclusive.empty()) return right;
  if (!knob.is_irq() || !entry.original.intersects(exclusive)) return false;
  if (!affinity.current.intersects(exclusive)) {
    ++figures_.irqs_moved;
    return false;
  }
  affinity.effective = files_.effective(knob);
  if (!disturbs(affinity, exclusive)) return false;
  ++figures_.irqs_kept;
  pass.kept.push_back(knob.name);
  return false;
}

void KernelNoise::reconcile_all(const CpuSet& exclusive, const CpuSet& online, Pass& pass) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const bool wanted = options_.kinds.contains(at->first.kind);
    if (reconcile(at->first, at->second, wanted ? exclusive : CpuSet(), online, pass)) {
      at = entries_.erase(at);
      unsaved_ = true;
    } else {
      ++at;
    }
  }
}

Pass KernelNoise::apply(const CpuSet& exclusive) {
  Pass pass;
  load(pass);
  figures_.irqs_moved = figures_.irqs_kept = 0;
  find(exclusive, pass);
  if (save(pass) && holds()) {
    if (const auto online = files_.online()) {
      reconcile_all(exclusive, *online, pass);
      (void)save(pass);  // without what is as before; a failure is told, and tried again
    } else {
      fail(pass, online.error().text);
    }
  }
  pass.figures = figures_;
  return pass;
}

Pass restore(const Roots& roots, const std::string& saved_file) {
  return KernelNoise({.roots = roots, .saved_file = saved_file, .kinds = {}}).apply({});
}

}  // namespace pinion::noise
