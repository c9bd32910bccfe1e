// What `sinfo --json` prints: any JSON is a list of nodes or is refused, and each of them is one
// that a job may have or is not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cluster/slurm/node_json.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::slurm_nodes {
namespace {

using namespace pinion::slurm;

void check(const Job& job, const std::vector<Node>& nodes) {
  const std::string partition = job.partitions.empty() ? "" : job.partitions.front();
  const Choice choice = choose_nodes(job, partition, nodes);
  if (!std::is_sorted(choice.nodes.begin(), choice.nodes.end())) std::abort();
  if (choice.nodes.size() > nodes.size()) std::abort();
  if (choice.nodes.size() < nodes.size() && choice.others.empty()) std::abort();
}

}  // namespace

PINION_FUZZ_TARGET(slurm_nodes) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // The text is as good as any other for a constraint.
  (void)fits(text, {"a", "b"});
  const auto nodes = read_nodes(text);
  if (!nodes) {
    if (nodes.error().text.empty()) std::abort();
    return 0;
  }
  for (const Node& node : *nodes) {
    if (node.name.empty()) std::abort();
    Job job;
    check(job, *nodes);
    job.excluded = {node.name};
    job.partitions = node.partitions;
    for (const std::string& feature : node.features) {
      job.constraint += (job.constraint.empty() ? "" : "|") + feature;
    }
    check(job, *nodes);
  }
  return 0;
}

}  // namespace pinion::fuzz::slurm_nodes
