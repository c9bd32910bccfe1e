// A job's plan as text: what was decided and why, each worker with its node and CPUs, and the
// machines that they go to.
#pragma once

#include <cstddef>
#include <string>

#include "cluster/extender/jobs/job_plan.h"
#include "ctl/common/text.h"

namespace pinion::ctl {

std::string draw_job_plan(const cluster::jobs::JobPlan& plan);

struct PictureSize {
  std::size_t width = kPageWidth;  // columns
  std::size_t height = 60;         // lines, at least 4
  bool color = false;
};

// Of each node that gets workers its NUMA nodes, one below the other, with a letter for each CPU:
// one for each worker, in a colour for each task group. What finds no room is counted in the last
// line. Empty for a plan without places.
std::string draw_job_picture(const cluster::jobs::JobPlan& plan, const PictureSize& size);

}  // namespace pinion::ctl
