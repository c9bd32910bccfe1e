#include "metrics/perf/event_table.h"

#include <linux/perf_event.h>

namespace pinion::metrics::perf {
namespace {

constexpr Encoding software(std::uint64_t config) {
  return {PERF_TYPE_SOFTWARE, config, 0};
}
constexpr Encoding generic(std::uint64_t config) {
  return {PERF_TYPE_HARDWARE, config, 0};
}
constexpr Encoding raw(std::uint64_t config) {
  return {PERF_TYPE_RAW, config, 0};
}

// The kernel counts these itself: PERF_COUNT_SW_* of linux/perf_event.h.
Code software_code(Event event) {
  switch (event) {
    case Event::kContextSwitches:
      return {software(PERF_COUNT_SW_CONTEXT_SWITCHES), "software event context-switches"};
    case Event::kMigrations:
      return {software(PERF_COUNT_SW_CPU_MIGRATIONS), "software event cpu-migrations"};
    case Event::kPageFaults:
      return {software(PERF_COUNT_SW_PAGE_FAULTS), "software event page-faults"};
    default:
      // Not cpu-clock: both count only while the cgroup's tasks run, but cpu-clock is read when
      // the event itself is switched on and off, task-clock when the whole context is, which
      // loses some 0.3 us less at each switch (measured on kernel 6.18). README.md has how near
      // it comes to what the scheduler accounts.
      return {software(PERF_COUNT_SW_TASK_CLOCK), "software event task-clock"};
  }
}

// Three figures of memory, by CPU. Every `detail` says where it differs from "every miss of L3".
struct MemoryCodes {
  Code l3_misses;
  Code local_dram;
  Code remote_dram;
};

// --- AMD.
// The generic cache-misses is no L3 figure on Zen: the kernel maps it to L2 misses (raw 0x0964,
// arch/x86/events/amd/core.c), and the L3 has a PMU of its own, which counts for a whole complex
// and not for a cgroup. What a core knows is where the lines that filled its data cache came from.

// Zen 1 and 2. PMCx043 "Demand Data Cache Fills by Data Source": kernel pmu-events
// amdzen2/memory.json ls_refills_from_sys.ls_mabresp_{rmt_cache 0x10, lcl_dram 0x08,
// rmt_dram 0x40}; for Zen 1 AMD's register reference 56255 (models 00h-2Fh) has PMCx043 with the
// same masks, though the kernel's amdzen1 list leaves it out (LIKWID has it, too). There is no
// event for any fill before Zen 3; prefetches have PMCx059 and PMCx05A of their own. Mask 0x02 is
// L3 hits and the other CCX of the same die in one, so it is left out.
constexpr MemoryCodes kZen12 = {
    {raw(amd_config(0x043, 0x58)),
     "PMCx043 mask 0x58: demand fills from DRAM or from another die; prefetches and fills from "
     "another CCX of the same die are not in it"},
    {raw(amd_config(0x043, 0x08)), "PMCx043 mask 0x08: demand fills from this die's DRAM"},
    {raw(amd_config(0x043, 0x40)), "PMCx043 mask 0x40: demand fills from another die's DRAM"}};

// Zen 3. PMCx044 "Any Data Cache Fills by Data Source": kernel pmu-events amdzen3/memory.json
// ls_any_fills_from_sys.{ext_cache_local 0x04, mem_io_local 0x08, ext_cache_remote 0x10,
// mem_io_remote 0x40}.
constexpr MemoryCodes kZen3 = {
    {raw(amd_config(0x044, 0x5c)),
     "PMCx044 mask 0x5c: data cache fills from beyond the CCX, prefetches included"},
    {raw(amd_config(0x044, 0x08)), "PMCx044 mask 0x08: data cache fills from this node's memory"},
    {raw(amd_config(0x044, 0x40)), "PMCx044 mask 0x40: data cache fills from another node"}};

// Zen 4 and 5: the same, with mask 0x80 for extension memory (CXL). Kernel pmu-events
// amdzen4/cache.json and amdzen5/load-store.json: ls_any_fills_from_sys.{near_cache 0x04,
// dram_io_near 0x08, far_cache 0x10, dram_io_far 0x40, alternate_memories 0x80}.
constexpr MemoryCodes kZen45 = {
    {raw(amd_config(0x044, 0xdc)),
     "PMCx044 mask 0xdc: data cache fills from beyond the CCX, prefetches included"},
    {raw(amd_config(0x044, 0x08)), "PMCx044 mask 0x08: data cache fills from this node's memory"},
    {raw(amd_config(0x044, 0x40)), "PMCx044 mask 0x40: data cache fills from another node"}};

constexpr MemoryCodes kOtherAmd = {
    {std::nullopt, "codes of this AMD model are not known; its generic cache-misses are of L2"},
    {std::nullopt, "codes of this AMD model are not known"},
    {std::nullopt, "codes of this AMD model are not known"}};

// --- Intel.
// The generic cache-misses is the architectural event "LLC Misses", raw 0x412e (Intel SDM vol. 3,
// pre-defined architectural events; LONGEST_LAT_CACHE.MISS in pmu-events of each model): requests
// of this core that missed L3, prefetches into L1 and L2 included, those into L3 not.
constexpr Code kIntelL3 = {generic(PERF_COUNT_HW_CACHE_MISSES),
                           "generic cache-misses (LONGEST_LAT_CACHE.MISS): requests of the core "
                           "that missed L3, without prefetches into L3"};

// MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM 0xd3/0x01 and .REMOTE_DRAM 0xd3/0x02: Intel SDM vol. 3,
// events of the Xeon Scalable generations; kernel pmu-events {skylakex, cascadelakex,
// cooperlakex, icelakex, sapphirerapids, emeraldrapids, graniterapids}/cache.json. Retired loads
// only: stores, prefetches and what a prefetch brought in time are missing, so the two compare
// with each other, not with L3 misses. Needs one of the counters 0-3.
constexpr Encoding kIntelLocal = raw(intel_config(0xd3, 0x01));
constexpr Encoding kIntelRemote = raw(intel_config(0xd3, 0x02));

// Persistent memory (masks of 0xd1 and 0xd3 of their own) is in neither.
constexpr MemoryCodes kSkylakeToIceLake = {
    kIntelL3,
    {kIntelLocal, "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM: retired loads; Optane is not in it"},
    {kIntelRemote, "MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM: retired loads; Optane is not in it"}};

// graniterapids/cache.json has REMOTE_CXL_MEM 0xd3/0x10 and LOCAL_CXL_MEM 0xd1/0x80 apart.
constexpr MemoryCodes kRapids = {
    kIntelL3,
    {kIntelLocal, "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM: retired loads; CXL memory is not in it"},
    {kIntelRemote, "MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM: retired loads; CXL memory is not in it"}};

constexpr MemoryCodes kOtherIntel = {kIntelL3,
                                     {std::nullopt, "codes of this Intel model are not known"},
                                     {std::nullopt, "codes of this Intel model are not known"}};

// --- Arm.
// The generic cache-misses is L1 refills there (drivers/perf/arm_pmuv3.c). LL_CACHE_MISS_RD is
// common event 0x0037 of the Arm Architecture Reference Manual, chapter on PMU events; a core need
// not have it, and which cache is the last level is the vendor's choice.
constexpr MemoryCodes kArm = {
    {raw(0x37), "LL_CACHE_MISS_RD: reads that missed the last level cache"},
    {std::nullopt, "Arm has no common event for it"},
    {std::nullopt, "Arm has no common event for it"}};

constexpr MemoryCodes kUnknown = {
    {generic(PERF_COUNT_HW_CACHE_MISSES),
     "generic cache-misses: which cache that is, the kernel decides for this CPU"},
    {std::nullopt, "codes of this CPU are not known"},
    {std::nullopt, "codes of this CPU are not known"}};

const MemoryCodes& memory_codes(Core core) {
  switch (core) {
    case Core::kZen1:
    case Core::kZen2:
      return kZen12;
    case Core::kZen3:
      return kZen3;
    case Core::kZen4:
    case Core::kZen5:
      return kZen45;
    case Core::kOtherAmd:
      return kOtherAmd;
    case Core::kSkylakeServer:
    case Core::kIceLakeServer:
      return kSkylakeToIceLake;
    case Core::kSapphireRapids:
    case Core::kGraniteRapids:
      return kRapids;
    case Core::kOtherIntel:
      return kOtherIntel;
    case Core::kArm:
      return kArm;
    case Core::kUnknown:
      break;
  }
  return kUnknown;
}

}  // namespace

Code code_of(Core core, Event event) {
  switch (event) {
    case Event::kCycles:
      return {generic(PERF_COUNT_HW_CPU_CYCLES), "generic cpu-cycles"};
    case Event::kInstructions:
      return {generic(PERF_COUNT_HW_INSTRUCTIONS), "generic instructions, retired"};
    case Event::kL3Misses:
      return memory_codes(core).l3_misses;
    case Event::kLocalDram:
      return memory_codes(core).local_dram;
    case Event::kRemoteDram:
      return memory_codes(core).remote_dram;
    default:
      return software_code(event);
  }
}

}  // namespace pinion::metrics::perf
