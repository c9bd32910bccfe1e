// What `sinfo --json` prints, in later versions `scontrol show nodes --json`.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/slurm/node.h"

namespace pinion::slurm {

// As read_jobs(). A node without a name is left out; one whose state is not known is out of
// service.
Result<std::vector<Node>> read_nodes(std::string_view text);

}  // namespace pinion::slurm
