// The kernel's files behind the knobs: interrupts in /proc/irq, workqueues in /sys, RCU's threads.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/noise/knob.h"
#include "topology/cpuset.h"

namespace pinion::noise {

using topology::CpuSet;

struct Roots {
  std::string proc = "/proc";
  std::string sys = "/sys";
};

// How the kernel is changed; a test puts its own in their place.
struct Writers {
  std::function<Status(const std::string& path, const std::string& text)> file;
  std::function<Status(int pid, const CpuSet& cpus)> thread;
};
// The real ones. That for threads refuses (kUnavailable) where `proc` numbers processes otherwise
// than this process's own namespace.
[[nodiscard]] Writers kernel_writers(const Roots& roots);

class KnobFiles {
 public:
  KnobFiles(Roots roots, Writers writers);

  // Those that there are now.
  [[nodiscard]] std::set<Knob> list(Kind kind);

  // Errors: kNotFound for a knob that has vanished, and for a thread that the last list() did not
  // find; others of the system; kInvalid for a text that is no set of CPUs.
  [[nodiscard]] Result<CpuSet> read(const Knob& knob) const;
  [[nodiscard]] Status write(const Knob& knob, const CpuSet& cpus) const;

  // Where an interrupt fires, empty for one that is not in use; nothing for other knobs, and where
  // the kernel does not say.
  [[nodiscard]] std::optional<CpuSet> effective(const Knob& knob) const;

  [[nodiscard]] Result<CpuSet> online() const;
  [[nodiscard]] std::string boot() const;  // its id; "" where there is none
  [[nodiscard]] bool irqbalance_runs() const;

 private:
  [[nodiscard]] std::set<Knob> list_irqs() const;
  [[nodiscard]] std::set<Knob> list_threads();
  [[nodiscard]] std::string path_of(const Knob& knob) const;

  Roots roots_;
  Writers writers_;
  std::map<std::string, int, std::less<>> threads_;  // pids by name, as of the last list()
};

}  // namespace pinion::noise
