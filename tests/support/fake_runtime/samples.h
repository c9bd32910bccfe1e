// Pods and containers as a runtime sends them: with what Pinion reads, and (bulk) with mounts,
// environment, labels and the rest that it does not, in the size that a kubelet's containers have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "proto/nri.pb.h"

namespace pinion::test_support {

namespace wire = ::nri::pkg::api::v1alpha1;

struct PodSample {
  int number = 1;                  // all names and ids derive from it
  std::string qos = "guaranteed";  // or "burstable", "besteffort": the cgroup parent says so
  std::map<std::string, std::string> annotations = {};
  bool bulk = true;  // 2 to 3 kB more
};
wire::PodSandbox make_pod(const PodSample& sample);

struct ContainerSample {
  int pod = 1;     // the number of its PodSample
  int number = 0;  // within the pod
  std::string qos = "guaranteed";
  int cpus = 1;  // its request: 1024 shares each; its limit too when guaranteed
  std::int64_t memory = std::int64_t{1} << 30;  // its limit; 0: none
  std::string cpuset_cpus = "";                 // the runtime's record
  std::string cpuset_mems = "";
  wire::ContainerState state = wire::CONTAINER_UNKNOWN;
  std::uint32_t pid = 0;
  bool bulk = true;  // 4 to 5 kB more
};
wire::Container make_container(const ContainerSample& sample);

// A protobuf field with a text, as bytes: for fields that our nri.proto leaves out.
std::string text_field(int number, std::string_view text);

}  // namespace pinion::test_support
