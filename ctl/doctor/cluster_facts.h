// What is read of a cluster.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::ctl::doctor {

struct ClusterNode {
  std::string name;
  bool linux = true;
  bool ready = false;  // as the API server has it

  bool operator==(const ClusterNode&) const = default;
};

// A pod of ours.
struct ClusterPod {
  std::string name_space;
  std::string name;
  std::string program;  // "pinion-agent", "pinion-extender"
  std::string node;     // empty: not scheduled
  bool ready = false;
  bool leads = false;    // of extenders
  int web_port = 10271;  // of extenders: probes, metrics
  std::string waiting;   // why its container does not run: "CrashLoopBackOff"; empty: it runs

  bool operator==(const ClusterPod&) const = default;
};

struct Webhook {
  std::string name;       // "pods.pinion.dev"
  std::string ca_bundle;  // PEM
  std::string failure_policy;

  bool operator==(const Webhook&) const = default;
};

// By name and labels as they are written: 'pinion_extender_nodes{state="stale"}'.
using Series = std::map<std::string, double>;

struct ClusterFacts {
  Result<std::vector<ClusterNode>> nodes = failure(Errc::kNotFound, "not read");
  Result<std::vector<ClusterPod>> pods = failure(Errc::kNotFound, "not read");
  Result<std::vector<Webhook>> webhooks = failure(Errc::kNotFound, "not read");
  // When each node's kubelet last said that it lives, by its own clock: seconds since 1970.
  Result<std::map<std::string, std::int64_t>> renewals = failure(Errc::kNotFound, "not read");
  std::optional<Result<Series>> leader;  // its metrics; nothing: nobody leads
  std::int64_t now = 0;                  // by our clock, when the renewals were read
};

}  // namespace pinion::ctl::doctor
