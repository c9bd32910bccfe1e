// The annotations of jobs: what a user writes on the job object, and what is written on the job
// and on every pod template, as no controller passes a job's own annotations on to its pods.
#pragma once

namespace pinion::cluster::jobs {

// --- on the job, by its user

inline constexpr const char* kTasks = "pinion.dev/tasks";  // MPI processes: makes the job ours
inline constexpr const char* kCpusPerTask = "pinion.dev/cpus-per-task";      // default 1
inline constexpr const char* kMemoryPerTask = "pinion.dev/memory-per-task";  // a quantity
inline constexpr const char* kPolicy = "pinion.dev/policy";    // none, scale, granularity, auto
inline constexpr const char* kProfile = "pinion.dev/profile";  // cpu, memory, network
inline constexpr const char* kNodes = "pinion.dev/nodes";      // how many it may use at most
inline constexpr const char* kWorkerRole = "pinion.dev/worker-role";  // which of its tasks works

// --- on the job by its user, or else on the templates

inline constexpr const char* kJob = "pinion.dev/job";                 // default: the job's name
inline constexpr const char* kTaskGroups = "pinion.dev/task-groups";  // how many
inline constexpr const char* kHostfile = "pinion.dev/hostfile";       // "none", or a ConfigMap

// --- written

inline constexpr const char* kDecided = "pinion.dev/decided";     // on the job: for what, and what
inline constexpr const char* kGangSize = "pinion.dev/gang-size";  // on templates of workers
// JobSet's exclusive placement, and how it does without making pods one after another.
inline constexpr const char* kExclusiveTopology = "alpha.jobset.sigs.k8s.io/exclusive-topology";
inline constexpr const char* kNodeSelectorStrategy = "alpha.jobset.sigs.k8s.io/node-selector";
inline constexpr const char* kRole = "pinion.dev/role";             // on all templates
inline constexpr const char* kOwner = "pinion.dev/owner";           // the same: the job object
inline constexpr const char* kTaskGroup = "pinion.dev/task-group";  // on pods: the group's name
inline constexpr const char* kAlign = "pinion.dev/align";
inline constexpr const char* kSmt = "pinion.dev/smt";

inline constexpr const char* kWorker = "worker";  // the role of those in the gang

}  // namespace pinion::cluster::jobs
