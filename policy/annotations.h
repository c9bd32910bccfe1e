// Names on Kubernetes' objects that Pinion reads and writes, each once for the agent, the extender,
// the Slurm bridge and pinionctl. What the values mean is said where they are read.
#pragma once

#include <array>
#include <string_view>

namespace pinion {

// The scheduling gate that keeps the pods of a gang from kube-scheduler until they have a plan.
inline constexpr const char* kGangGate = "pinion.dev/gang";

namespace annotation {

inline constexpr std::string_view kPrefix = "pinion.dev/";

// --- of pods, by their user; the agent reads NAME.CONTAINER too, for one container

inline constexpr const char* kCpus = "pinion.dev/cpus";
inline constexpr const char* kAlign = "pinion.dev/align";
inline constexpr const char* kStrength = "pinion.dev/strength";
inline constexpr const char* kSmt = "pinion.dev/smt";
inline constexpr const char* kMemory = "pinion.dev/memory";
inline constexpr const char* kIsolation = "pinion.dev/isolation";
inline constexpr const char* kNearDevice = "pinion.dev/near-device";
inline constexpr const char* kLendTo = "pinion.dev/lend-to";
inline constexpr const char* kBorrow = "pinion.dev/borrow";

// --- of pods, by their user or else by the webhook; of a job object, by its user

inline constexpr const char* kJob = "pinion.dev/job";  // default: the job object's name
// cpu | memory | network; auto: what was learnt of earlier runs, which the webhook writes here.
inline constexpr const char* kProfile = "pinion.dev/profile";
inline constexpr const char* kAutoProfile = "auto";
inline constexpr const char* kPlacement = "pinion.dev/placement";
inline constexpr const char* kClass = "pinion.dev/class";  // hpc | service
inline constexpr const char* kGangSize = "pinion.dev/gang-size";
inline constexpr const char* kTaskGroups = "pinion.dev/task-groups";  // how many
inline constexpr const char* kTaskGroup = "pinion.dev/task-group";    // the group's name
inline constexpr const char* kHostfile = "pinion.dev/hostfile";       // "none", or a ConfigMap

// --- of a job object, by its user

inline constexpr const char* kTasks = "pinion.dev/tasks";  // MPI processes: makes the job ours
inline constexpr const char* kCpusPerTask = "pinion.dev/cpus-per-task";      // default 1
inline constexpr const char* kMemoryPerTask = "pinion.dev/memory-per-task";  // a quantity
inline constexpr const char* kPolicy = "pinion.dev/policy";                  // how it is cut
inline constexpr const char* kNodes = "pinion.dev/nodes";             // how many it may use at most
inline constexpr const char* kWorkerRole = "pinion.dev/worker-role";  // which of its tasks works

// --- of an elastic job object, by its user or its application

inline constexpr const char* kMinWorkers = "pinion.dev/min-workers";  // default: what is stated
inline constexpr const char* kMaxWorkers = "pinion.dev/max-workers";  // default: what is stated
// So many and no other number, as long as it stands there.
inline constexpr const char* kRequestedWorkers = "pinion.dev/requested-workers";
inline constexpr const char* kPriority = "pinion.dev/priority";  // higher goes first; 0
// Seconds, at least, between its start, shrinks and expands; default 180.
inline constexpr const char* kRescaleGapSeconds = "pinion.dev/rescale-gap-seconds";
inline constexpr const char* kAcknowledge = "pinion.dev/acknowledge";  // how it is asked
// What is wanted: it is ready for that. What was before: it declines.
inline constexpr const char* kAcknowledgedWorkers = "pinion.dev/acknowledged-workers";
// PEs that a Charm++ program has in each worker; default: the worker's CPUs.
inline constexpr const char* kPesPerWorker = "pinion.dev/pes-per-worker";
// How fast it is with how many workers, in any unit: "1:1 2:1.9 4:3.4".
inline constexpr const char* kSpeedUp = "pinion.dev/speed-up";
// Seconds in which it does not work, for each shrink and expand.
inline constexpr const char* kRescaleCostSeconds = "pinion.dev/rescale-cost-seconds";
inline constexpr const char* kRunSeconds = "pinion.dev/run-seconds";
// By its application: what is done, in a unit of its own, or "DONE/WHOLE".
inline constexpr const char* kProgress = "pinion.dev/progress";

// --- of a pod that is a service with a target, by its user

inline constexpr const char* kServiceMetric = "pinion.dev/service-metric";  // PromQL, one number
inline constexpr const char* kServiceTarget = "pinion.dev/service-target";  // a number above 0
inline constexpr const char* kServiceDirection =
    "pinion.dev/service-direction";                                   // at-least | at-most
inline constexpr const char* kServiceCpu = "pinion.dev/service-cpu";  // "500m..8"
// Which one, where it has several.
inline constexpr const char* kServiceContainer = "pinion.dev/service-container";
inline constexpr const char* kServiceSettle = "pinion.dev/service-settle";  // "20s"
inline constexpr const char* kServicePolicy = "pinion.dev/service-policy";  // ours | paper

// --- ours, on pods

inline constexpr const char* kPlanned = "pinion.dev/planned";  // with the binding: the CPUs
inline constexpr const char* kWoken =
    "pinion.dev/woken";  // its change wakes kube-scheduler's queue
// The uid of the job object, where the pod's owners do not lead there.
inline constexpr const char* kOwnerUid = "pinion.dev/owner-uid";
inline constexpr const char* kSlurmIndex =
    "pinion.dev/slurm-index";  // among its job's placeholders
inline constexpr const char* kSlurmPartition =
    "pinion.dev/slurm-partition";  // that it was made for
inline constexpr const char* kSlurmNodes =
    "pinion.dev/slurm-nodes";  // a hash of the nodes that it may go to

// --- ours, on job objects and their templates

inline constexpr const char* kProfileWhy = "pinion.dev/profile-why";  // what `auto` came to
inline constexpr const char* kDecided = "pinion.dev/decided";  // on the job: for what, and what
inline constexpr const char* kRole = "pinion.dev/role";        // on all templates
inline constexpr const char* kOwner = "pinion.dev/owner";      // the same: the job object
// "true" on the workers' templates: each pod is to be in the job's PodGroup of scheduling.k8s.io.
inline constexpr const char* kPodGroup = "pinion.dev/pod-group";
// While a rescale is under way.
inline constexpr const char* kWantedWorkers = "pinion.dev/wanted-workers";
inline constexpr const char* kPreviousWorkers = "pinion.dev/previous-workers";  // 0: it starts
inline constexpr const char* kRescaledAt = "pinion.dev/rescaled-at";            // ms since 1970
inline constexpr const char* kDeclinedUntil = "pinion.dev/declined-until";      // ms since 1970
inline constexpr const char* kRescaleHistory = "pinion.dev/rescale-history";    // the last steps
// What a Charm++ program was sent and may still act on; set before.
inline constexpr const char* kRescaleSent = "pinion.dev/rescale-sent";
// How fast it was with how many workers, and how long its rescales took.
inline constexpr const char* kSpeedSeen = "pinion.dev/speed-seen";
inline constexpr const char* kWorkDone = "pinion.dev/work-done";  // of run-seconds, by then
// With so many workers its application wishes to run, as it has said over HTTP.
inline constexpr const char* kAskedWorkers = "pinion.dev/asked-workers";

// All of them: of others under our prefix the agent warns.
inline constexpr std::array<std::string_view, 62> kAll{kCpus,
                                                       kAlign,
                                                       kStrength,
                                                       kSmt,
                                                       kMemory,
                                                       kIsolation,
                                                       kNearDevice,
                                                       kLendTo,
                                                       kBorrow,
                                                       kJob,
                                                       kProfile,
                                                       kPlacement,
                                                       kClass,
                                                       kGangSize,
                                                       kTaskGroups,
                                                       kTaskGroup,
                                                       kHostfile,
                                                       kTasks,
                                                       kCpusPerTask,
                                                       kMemoryPerTask,
                                                       kPolicy,
                                                       kNodes,
                                                       kWorkerRole,
                                                       kMinWorkers,
                                                       kMaxWorkers,
                                                       kRequestedWorkers,
                                                       kPriority,
                                                       kRescaleGapSeconds,
                                                       kAcknowledge,
                                                       kAcknowledgedWorkers,
                                                       kPesPerWorker,
                                                       kSpeedUp,
                                                       kRescaleCostSeconds,
                                                       kRunSeconds,
                                                       kProgress,
                                                       kServiceMetric,
                                                       kServiceTarget,
                                                       kServiceDirection,
                                                       kServiceCpu,
                                                       kServiceContainer,
                                                       kServiceSettle,
                                                       kServicePolicy,
                                                       kPlanned,
                                                       kWoken,
                                                       kOwnerUid,
                                                       kSlurmIndex,
                                                       kSlurmPartition,
                                                       kSlurmNodes,
                                                       kDecided,
                                                       kRole,
                                                       kOwner,
                                                       kWantedWorkers,
                                                       kPreviousWorkers,
                                                       kRescaledAt,
                                                       kDeclinedUntil,
                                                       kRescaleHistory,
                                                       kRescaleSent,
                                                       kSpeedSeen,
                                                       kWorkDone,
                                                       kAskedWorkers,
                                                       kProfileWhy,
                                                       kPodGroup};

}  // namespace annotation

namespace label {

inline constexpr const char* kElastic = "pinion.dev/elastic";  // of a job: "malleable", "moldable"
inline constexpr const char* kLeader = "pinion.dev/leader";    // of the extender's pod that decides
inline constexpr const char* kSlurmCluster = "pinion.dev/slurm-cluster";  // of placeholders
inline constexpr const char* kSlurmJob = "pinion.dev/slurm-job";
inline constexpr const char* kSlurmAttempt = "pinion.dev/slurm-attempt";

}  // namespace label
}  // namespace pinion
