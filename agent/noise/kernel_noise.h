// Keeps the kernel's own work off exclusive CPUs, and puts everything back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/noise/affinity_plan.h"
#include "agent/noise/figures.h"
#include "agent/noise/knob_files.h"
#include "agent/noise/originals.h"

namespace pinion::noise {

// In the agent's state directory.
inline constexpr const char* kSavedName = "kernel-noise";

struct Options {
  Roots roots;
  std::string saved_file;  // what is to be restored; there only while something is
  std::set<Kind> kinds;    // what is kept off; others found in the file are restored
};

// What one call of apply() did.
struct Pass {
  Figures figures;                   // counters since the object was made
  std::vector<std::string> written;  // "irq 24"
  std::vector<std::string> kept;     // on exclusive CPUs, because the kernel will have them there
  std::vector<std::string> failed;   // "irq 24: why"; tried again by the next call
};

class KernelNoise {
 public:
  explicit KernelNoise(const Options& options);
  KernelNoise(Options options, Writers writers);

  // Looks at everything and writes what is not as it should be: nothing configured on `exclusive`,
  // or, where that is empty, everything as it was found. The originals are in the saved file before
  // the first write; where that cannot be, nothing is written. What an agent before this one has
  // saved, and not restored, counts as the originals, unless the machine was booted since.
  Pass apply(const CpuSet& exclusive);

  // Something is to be restored some day.
  [[nodiscard]] bool holds() const { return !entries_.empty(); }
  [[nodiscard]] bool irqbalance_runs() const { return files_.irqbalance_runs(); }

 private:
  struct Entry {
    CpuSet original;
    std::optional<CpuSet> last;     // as in Affinity
    std::optional<CpuSet> refused;  // what the kernel would not have last
  };
  using Entries = std::map<Knob, Entry>;

  void load(Pass& pass);
  // Takes in what is new and drops what has vanished.
  void find(const CpuSet& exclusive, Pass& pass);
  void adopt(const std::set<Knob>& found, const CpuSet& exclusive, Pass& pass);
  void reconcile_all(const CpuSet& exclusive, const CpuSet& online, Pass& pass);
  // True when the entry is of no use any more: everything is as before.
  bool reconcile(const Knob& knob, Entry& entry, const CpuSet& exclusive, const CpuSet& online,
                 Pass& pass);
  bool write(const Knob& knob, Entry& entry, const Plan& plan, Pass& pass);
  // Makes the saved file say what entries_ does; false where that cannot be.
  bool save(Pass& pass);
  void fail(Pass& pass, std::string what);

  Options options_;
  KnobFiles files_;
  bool loaded_ = false;
  Entries entries_;
  bool unsaved_ = false;  // the saved file says something else than entries_
  Figures figures_;
};

// What a stopped or killed agent has left: everything as it was, once. Without a saved file nothing
// is touched. Precondition: no agent runs.
[[nodiscard]] Pass restore(const Roots& roots, const std::string& saved_file);

}  // namespace pinion::noise
