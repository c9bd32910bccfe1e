// A node with several NUMA nodes: the fixture of the tests that run in the guest machine. One
// containerd serves all cases, because starting it is slow there; each case has an agent of its
// own. Containers do not spin: the guest has more CPUs than the host.
#pragma once

#include "tests/integration/exercise.h"
#include "tests/integration/node.h"
#include "tests/lab/numa_maps.h"

namespace pinion::guest {

using integration::CpuSet;
using integration::Milliseconds;
using integration::ok;
using integration::Running;
using topology::NodeSet;

// $PINION_CONTAINERD, else both.
std::vector<std::string> containerds();

// A container that waits for commands, and the pipes to it.
struct Rank {
  Running running;
  integration::Exercise exercise;
};

class GuestTest : public integration::NodeTest {
 public:
  static void TearDownTestSuite();

 protected:
  void SetUp() override;
  Result<std::shared_ptr<lab::ContainerdLab>> open_lab(const lab::LabOptions& options) override;
  Status close_lab() override;  // removes the case's pods

  // Of one core's CPUs times `cores`, Guaranteed, with these annotations (without the prefix).
  using Wishes = std::map<std::string, std::string>;
  Result<Rank> start_rank(const std::string& name, int cores, const Wishes& wishes = {});
  // The error text of one that must not start; "" when it did.
  std::string refusal_of(const std::string& name, int cores, const Wishes& wishes = {});
  // Shared, sleeping.
  Result<Running> start_shared(const std::string& name);

  [[nodiscard]] NodeSet mems(const Rank& rank) const;
  // The NUMA node that holds all of these CPUs, or nullptr.
  [[nodiscard]] const topology::Node* node_of(const CpuSet& cpus) const;
  [[nodiscard]] const topology::Cache* l3_of(const CpuSet& cpus) const;
  [[nodiscard]] std::vector<const topology::Node*> nodes_with_cpus() const;
  [[nodiscard]] int largest_node() const;  // in cores

  // The rank takes 8 MiB more, and all of its memory lies on its cpuset's nodes.
  testing::AssertionResult memory_is_local(const Rank& rank) const;
  // All of its anonymous memory, at least those 8 MiB, lies on these nodes.
  testing::AssertionResult pages_are_on(const Rank& rank, const NodeSet& nodes) const;

 private:
  Result<Running> start(const lab::PodSpec& spec);
  lab::PodSpec spec_of(const std::string& name, int cores, const Wishes& wishes) const;

  std::vector<Running> running_;
};

}  // namespace pinion::guest
