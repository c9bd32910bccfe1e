#include "cluster/extender/service/views.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

namespace pinion::cluster {
namespace {

using nlohmann::json;

std::vector<NodeRow::Numa> numa_rows(const FleetNode& node) {
  const topology::Topology& machine = node.topology();
  std::vector<NodeRow::Numa> rows;
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const topology::Node& numa = machine.nodes[i];
    if (numa.cpus.empty()) continue;
    const topology::CpuSet allocatable = numa.cpus - node.ledger.reserved();
    const auto promised = node.ledger.promised(static_cast<topology::Index>(i));
    rows.push_back({.id = numa.id,
                    .cpus = allocatable.count(),
                    .free = (allocatable - node.ledger.exclusive()).count(),
                    .memory = numa.memory,
                    .free_memory = numa.memory - std::min(numa.memory, promised)});
  }
  return rows;
}

JobRow job_row(const Job& gang, int held) {
  JobRow row;
  row.name = gang.called();
  row.size = gang.spec.size;
  row.members = static_cast<int>(gang.members.size());
  row.bound = gang.fixed();
  row.held = held;
  row.kept = gang.count(Member::State::kReserved) - held;
  return row;
}

// Notes how many are left out.
template <class Row>
std::span<const Row> shown(const std::vector<Row>& rows, const char* list, json& not_shown) {
  const std::size_t count = std::min(rows.size(), kMostRowsShown);
  if (count < rows.size()) not_shown[list] = rows.size() - count;
  return {rows.data(), count};
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::vector<NodeRow> fleet_rows(const PodScheduler& scheduler) {
  std::vector<NodeRow> rows;
  rows.reserve(scheduler.fleet().by_name().size());
  for (const auto& [name, index] : scheduler.fleet().by_name()) {
    const FleetNode& node = scheduler.fleet().node(index);
    rows.push_back(
        {.name = name,
         .numa = numa_rows(node),
         .containers = static_cast<int>(node.ledger.claims().size()),
         .largest_numa = node.holes.largest(topology::Align::kNuma, topology::Smt::kPreferFull),
         .largest_l3 = node.holes.largest(topology::Align::kL3, topology::Smt::kPreferFull),
         .stale = node.stale,
         .heard_ms = node.heard_ms});
  }
  return rows;
}

std::vector<JobRow> job_rows(const PodScheduler& scheduler) {
  std::map<std::string, JobRow> rows;
  std::map<std::string, JobRow*> by_member;
  for (const Job* gang : scheduler.gangs()) {
    JobRow& row = rows[gang->id] = job_row(*gang, scheduler.held(gang->id));
    row.why = scheduler.why_gated(*gang);
    if (!row.why.empty()) row.since_ms = gang->submitted_ms;
    for (const auto& [uid, member] : gang->members) by_member[uid] = &row;
  }
  for (const auto& [uid, waiting] : scheduler.waiting()) {
    const auto gang = by_member.find(uid);
    const std::string name = waiting.pod.name_space + "/" + waiting.pod.name;
    JobRow& row = gang != by_member.end() ? *gang->second : rows[name];
    if (row.name.empty()) {
      row.name = name;
      row.size = row.members = 1;
    }
    if (!row.why.empty() && row.since_ms <= waiting.since_ms) continue;
    row.why = waiting.why;
    row.since_ms = waiting.since_ms;
  }
  std::vector<JobRow> all;
  all.reserve(rows.size());
  for (auto& [name, row] : rows) all.push_back(std::move(row));
  return all;
}

std::string fleet_json(const std::vector<NodeRow>& rows, std::int64_t now_ms) {
  json nodes = json::array();
  for (const NodeRow& row : rows) {
    json numa = json::array();
    for (const NodeRow::Numa& node : row.numa) {
      numa.push_back({{"id", node.id},
                      {"cpus", node.cpus},
                      {"freeCpus", node.free},
                      {"memoryBytes", node.memory},
                      {"freeMemoryBytes", node.free_memory}});
    }
    nodes.push_back({{"name", row.name},
                     {"numa", std::move(numa)},
                     {"containers", row.containers},
                     {"largestInNuma", row.largest_numa},
                     {"largestInL3", row.largest_l3},
                     {"stale", row.stale},
                     {"heardMsAgo", now_ms - row.heard_ms}});
  }
  return dumped({{"nodes", std::move(nodes)}});
}

static json speed_json(const ElasticRow::Speed& speed) {
  json object = json::object();
  if (!speed.measure.empty()) object["measure"] = speed.measure;
  for (const auto& [workers, rate] : speed.rates) {
    object["rates"].push_back({{"workers", workers}, {"perSecond", rate}});
  }
  if (speed.shrink_s) object["shrinkSeconds"] = *speed.shrink_s;
  if (speed.expand_s) object["expandSeconds"] = *speed.expand_s;
  return object;
}

std::string jobs_json(const std::vector<JobRow>& rows, std::int64_t now_ms,
                      const std::vector<ElasticRow>& elastic,
                      const std::vector<ProfileRow>& profiles) {
  json not_shown = json::object();
  json jobs = json::array();
  for (const JobRow& row : shown(rows, "jobs", not_shown)) {
    json job = {{"name", row.name}, {"size", row.size}, {"members", row.members},
                {"kept", row.kept}, {"held", row.held}, {"bound", row.bound}};
    if (!row.why.empty()) {
      job["why"] = row.why;
      job["waitingMs"] = now_ms - row.since_ms;
    }
    jobs.push_back(std::move(job));
  }
  json sizes = json::array();
  for (const ElasticRow& row : shown(elastic, "elastic", not_shown)) {
    json job = {{"name", row.name},        {"kind", row.kind},       {"change", row.change},
                {"state", row.state},      {"workers", row.workers}, {"readyWorkers", row.ready},
                {"minWorkers", row.least}, {"maxWorkers", row.most}};
    if (row.wanted) job["wantedWorkers"] = *row.wanted;
    if (row.requested) job["requestedWorkers"] = *row.requested;
    if (row.asked) job["askedWorkers"] = *row.asked;
    if (!row.why.empty()) job["why"] = row.why;
    for (const auto& [at, what, why] : row.history) {
      job["history"].push_back({{"at", at}, {"step", what}, {"why", why}});
    }
    if (row.speed != ElasticRow::Speed()) job["speed"] = speed_json(row.speed);
    sizes.push_back(std::move(job));
  }
  json learnt = json::array();
  for (const ProfileRow& row : shown(profiles, "profiles", not_shown)) {
    json job = {{"name", row.name}, {"runs", row.runs}, {"last", row.last}, {"why", row.why}};
    if (!row.profile.empty()) job["profile"] = row.profile;
    learnt.push_back(std::move(job));
  }
  json all = {
      {"jobs", std::move(jobs)}, {"elastic", std::move(sizes)}, {"profiles", std::move(learnt)}};
  if (!not_shown.empty()) all["notShown"] = std::move(not_shown);
  return dumped(all);
}

}  // namespace pinion::cluster
