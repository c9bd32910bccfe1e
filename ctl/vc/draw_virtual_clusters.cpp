#include "ctl/vc/draw_virtual_clusters.h"

#include <nlohmann/json.hpp>

#include "base/cli/table.h"
#include "base/words.h"

namespace pinion::ctl {
namespace {

std::string full_name(const VirtualCluster& cluster) {
  return plain(cluster.name_space + "/" + cluster.name);
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : plain(text);
}

const char* state_of(const VirtualJob& job) {
  return job.runs ? "runs" : "waits";
}

}  // namespace

std::string draw_virtual_clusters(const std::vector<VirtualCluster>& clusters) {
  if (clusters.empty()) return "no virtual clusters\n";
  std::vector<Row> rows = {
      {"CLUSTER", "NODES", "READY", "RUNNING", "WAITING", "LENT", "WANTED", "CONTROLLER"}};
  for (const VirtualCluster& each : clusters) {
    rows.push_back({full_name(each), std::to_string(each.nodes), std::to_string(each.ready_nodes),
                    std::to_string(each.running()), std::to_string(each.waiting()),
                    std::to_string(each.cpus_lent()), std::to_string(each.cpus_wanted()),
                    or_dash(each.controller)});
  }
  return table(rows, {1, 2, 3, 4, 5, 6});
}

std::string draw_virtual_jobs(const std::vector<VirtualCluster>& clusters) {
  std::vector<Row> rows = {{"CLUSTER", "JOB", "STATE", "CPUS", "NODES", "WHY"}};
  for (const VirtualCluster& cluster : clusters) {
    for (const VirtualJob& job : cluster.jobs) {
      rows.push_back({full_name(cluster), std::to_string(job.id), state_of(job),
                      std::to_string(job.cpus), or_dash(joined(job.nodes, ",")), or_dash(job.why)});
    }
  }
  return rows.size() == 1 ? "no jobs with placeholders\n" : table(rows, {1, 3});
}

std::string virtual_clusters_json(const std::vector<VirtualCluster>& clusters) {
  auto all = nlohmann::ordered_json::array();
  for (const VirtualCluster& each : clusters) {
    auto jobs = nlohmann::ordered_json::array();
    for (const VirtualJob& job : each.jobs) {
      jobs.push_back({{"job", job.id},
                      {"state", state_of(job)},
                      {"cpus", job.cpus},
                      {"cpusLent", job.lent},
                      {"nodes", job.nodes},
                      {"why", job.why}});
    }
    all.push_back({{"namespace", each.name_space},
                   {"name", each.name},
                   {"controller", each.controller},
                   {"nodes", each.nodes},
                   {"readyNodes", each.ready_nodes},
                   {"jobsRunning", each.running()},
                   {"jobsWaiting", each.waiting()},
                   {"cpusLent", each.cpus_lent()},
                   {"cpusWanted", each.cpus_wanted()},
                   {"jobs", std::move(jobs)}});
  }
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pinion::ctl
