// What a pod asks of Pinion, read with the agent's own rules, so that both say the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/core/placement.h"
#include "cluster/extender/scheduling/pod.h"
#include "cluster/extender/scheduling/pod_groups.h"
#include "topology/allocate.h"

namespace pinion::cluster {

struct Demand {
  enum class Kind {
    kNone,     // no exclusive cores: the scheduler's own business
    kSingle,   // a pod by itself
    kMember,   // one of a gang of `size`
    kRefused,  // its annotations contradict themselves or its resources: `text`
    kWaiting,  // its PodGroup is not there yet: `text`
  };
  Kind kind = Kind::kNone;
  // One for each container that stays and gets cores, with claim_id() as its id.
  std::vector<topology::Request> requests;
  // Ids of containers that run on CPUs of requests[host]. Init containers that get cores run there
  // one at a time, so it is as large as the largest of them; where only they get cores, it is that
  // one itself. Containers that share the cores of their pod (spec.resources) run there together:
  // which of them its agent names as having these may change.
  std::vector<std::string> guests;
  std::size_t host = 0;
  std::string gang;     // gang_of(), or of a PodGroup what gang_of_group() says
  std::string job;      // as its user calls it; of a gang without one its PodGroup
  int size = 0;         // members of the gang that start together, 1 .. kMaxGang
  bool native = false;  // kube-scheduler itself keeps the gang together (PodGroupApi::kNative)
  // Task groups into which the gang is cut, 1 .. size; 0: members say themselves which one they
  // are of, if any (pinion.dev/task-group).
  int groups = 0;
  int nodes = 0;  // that its job may use at most (pinion.dev/nodes); 0: any number
  std::optional<PlacementPolicy> placement;  // its own (pinion.dev/placement)
  bool service = false;                      // as is_service() says
  bool classed = false;                      // it says so itself, or that it is none
  std::string text;
};

// As each member's bind call is held open until the last one has come (PodSchedulerLimits::held).
inline constexpr int kMaxGang = 1000;
inline constexpr int kMaxNodes = 1'000'000;  // of pinion.dev/nodes

// Under which the fleet knows a container of a pod, before and after it exists.
[[nodiscard]] std::string claim_id(std::string_view pod_uid, std::string_view container);

// The uid in an id of a container.
[[nodiscard]] std::string_view pod_of_claim(std::string_view id);

// Of the pod's PodGroup.
[[nodiscard]] std::string group_key(const Pod& pod);
// The gang that the pods of this job are: "NAMESPACE/JOB UID", with the owner's uid where it is
// known, so that a job that is made again under its name is another one.
[[nodiscard]] std::string gang_of(const Pod& pod, const std::string& job);
// "NAMESPACE/JOB", and "JOB", of such a gang.
[[nodiscard]] std::string called(const std::string& gang);
[[nodiscard]] std::string job_of_gang(const std::string& gang);
// The gang that the pods of this PodGroup are.
[[nodiscard]] std::string gang_of_group(const std::string& group_key);
// Whether the gang is called so.
[[nodiscard]] bool is_of_group(const std::string& gang);

// Makes it one of `size` that start together. Precondition: it asks for cores.
void become_member(Demand& demand, std::string gang, int size);

// Whether the pod is a service: by its class (pinion.dev/class), else by its having a target
// (pinion.dev/service-metric). A class that is none counts as absent: demand_of() refuses it.
[[nodiscard]] bool is_service(const Pod& pod);
// Whether it states its class.
[[nodiscard]] bool states_class(const Pod& pod);

// A gang is a job (pinion.dev/job) whose pods say how many they are: pinion.dev/gang-size. Into how
// many task groups it is cut, they may say too: pinion.dev/task-groups. Of pods that do not say how
// many they are, their PodGroup does, where `groups` knows of such; a gang of kNative is one
// whatever its pods say, as kube-scheduler treats it as one.
[[nodiscard]] Demand demand_of(const Pod& pod, const policy::Defaults& defaults,
                               const PodGroups& groups = {});

}  // namespace pinion::cluster
