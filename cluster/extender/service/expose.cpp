#include "cluster/extender/service/expose.h"

#include <algorithm>
#include <array>

namespace pinion::cluster {
namespace {

using prometheus::series;
using prometheus::Series;
using prometheus::Type;
using prometheus::Writer;

// In the order in which they are written.
enum Id : std::size_t {
  kBuild,
  kLeading,
  kReady,
  kAgents,
  kAgentFailures,
  kNodes,
  kFreeCpus,
  kPromises,
  kPromisesLost,
  kPods,
  kGangs,
  kPlans,
  kFilters,
  kBinds,
  kWoken,
  kNominated,
  kOpened,
  kHopeless,
  kApiFailures,
  kEvicted,
  kElasticSteps,
  kElasticRescales,
  kElasticSeconds,
  kElasticJobs,
  kElasticWorkers,
  kServices,
  kServiceLooks,
  kServiceResizes,
  kServicePerformance,
  kServiceCpus,
  kFilterSeconds,
  kPrioritizeSeconds,
  kHttpCalls,
  kHttpRunning,
  kConnections,
  kTurnedAway,
  kHandshakes,
  kCertificateEnds,
};

const Series& series(Id id) {
  return extender_series()[id];
}

void scheduler(Writer& writer, const ExtenderFigures& all) {
  const SchedulingFigures& figures = all.scheduler;
  writer.parts(series(kNodes), "state",
               {{"live", figures.nodes - figures.stale}, {"stale", figures.stale}});
  writer.single(series(kFreeCpus), figures.free_cpus);
  writer.single(series(kPromises), figures.promises);
  writer.single(series(kPromisesLost), all.promises_lost);
  writer.parts(
      series(kPods), "state",
      {{"waiting", figures.waiting}, {"gated", figures.gated}, {"placed", figures.placed}});
  writer.single(series(kGangs), figures.gangs);
  writer.parts(series(kPlans), "result",
               {{"planned", figures.plans.planned},
                {"refused", figures.plans.refused},
                {"whole", figures.plans.whole},
                {"given_up", figures.plans.given_up}});
}

void placing(Writer& writer, const PlacingFigures& figures) {
  writer.parts(
      series(kFilters), "result",
      {{"offered", figures.offered}, {"refused", figures.refused}, {"other", figures.others}});
  writer.parts(series(kBinds), "result",
               {{"bound", figures.bound}, {"refused", figures.not_bound}});
  writer.single(series(kWoken), figures.woken);
  writer.single(series(kNominated), figures.nominated);
  writer.single(series(kOpened), figures.opened);
  writer.single(series(kHopeless), figures.hopeless);
}

constexpr std::array kRescales{"start", "shrink", "expand"};

std::uint64_t counted(const std::map<std::string, std::uint64_t>& counts, const char* what) {
  const auto found = counts.find(what);
  return found == counts.end() ? 0 : found->second;
}

void elastic_jobs(Writer& writer, const ElasticFigures& figures) {
  writer.family(series(kElasticSteps));
  for (const char* step : {"start", "shrink", "expand", "resize", "done", "declined"}) {
    writer.sample({}, {{"step", step}}, counted(figures.steps, step));
  }
  const auto rescales = [&](const char* step) {
    const auto found = figures.rescales.find(step);
    return found == figures.rescales.end() ? ElasticFigures::Rescales() : found->second;
  };
  writer.family(series(kElasticRescales));
  for (const char* step : kRescales) writer.sample({}, {{"step", step}}, rescales(step).count);
  writer.family(series(kElasticSeconds));
  for (const char* step : kRescales) writer.sample({}, {{"step", step}}, rescales(step).seconds);
  writer.family(series(kElasticJobs));
  for (const char* state : {"waits", "starts", "runs", "shrinks", "expands", "ends", "refused"}) {
    writer.sample({}, {{"state", state}}, counted(figures.jobs, state));
  }
  writer.family(series(kElasticWorkers));
  for (const auto& row : figures.rows) {
    const prometheus::Labels job{
        {"namespace", row.name_space}, {"kind", row.kind}, {"name", row.name}};
    const auto number = [](int workers) { return static_cast<std::uint64_t>(workers); };
    writer.sample(job, {{"state", "running"}}, number(row.running));
    writer.sample(job, {{"state", "wanted"}}, number(row.wanted));
  }
}

void services(Writer& writer, const ServiceFigures& figures) {
  writer.parts(series(kServices), "state",
               {{"cared_for", figures.services - figures.refused}, {"refused", figures.refused}});
  writer.family(series(kServiceLooks));
  for (const char* reason : {"on_target", "short", "spare", "load", "bounds", "settling", "idle",
                             "no_metric", "impossible", "full"}) {
    writer.sample({}, {{"reason", reason}}, counted(figures.looks, reason));
  }
  writer.parts(series(kServiceResizes), "result",
               {{"done", figures.resized}, {"refused", figures.not_resized}});
  writer.family(series(kServicePerformance));
  for (const auto& row : figures.rows) {
    writer.sample({{"namespace", row.name_space}, {"pod", row.pod}}, row.performance);
  }
  writer.family(series(kServiceCpus));
  for (const auto& row : figures.rows) {
    writer.sample({{"namespace", row.name_space}, {"pod", row.pod}}, row.cpus);
  }
}

void server(Writer& writer, const ServerFigures& figures) {
  writer.family(series(kHttpCalls));
  for (std::size_t verb = 0; verb < kVerbs; ++verb) {
    const VerbFigures& one = figures.verbs[verb];
    for (const auto& part : {Writer::Part{"answered", one.answered},
                             {"malformed", one.malformed},
                             {"refused", one.refused},
                             {"failed", one.failed}}) {
      writer.sample({}, {{"verb", kVerbNames[verb]}, {"result", part.label_value}}, part.value);
    }
  }
  writer.family(series(kHttpRunning));
  for (std::size_t verb = 0; verb < kVerbs; ++verb) {
    writer.sample({}, {{"verb", kVerbNames[verb]}}, figures.verbs[verb].now);
  }
  writer.single(series(kConnections), figures.connections);
  writer.single(series(kTurnedAway), figures.turned_away);
  writer.single(series(kHandshakes), figures.handshakes_refused);
  writer.family(series(kCertificateEnds));
  for (const auto& [whose, end_s] :
       {std::pair("own", figures.own_end_s), std::pair("scheduler", figures.client_end_s)}) {
    if (end_s != 0) writer.sample({}, {{"certificate", whose}}, static_cast<double>(end_s));
  }
}

// CPUs that could be given away: where none is reserved, the last one is everybody else's.
std::uint64_t free_cpus(const topology::Holes& holes) {
  return static_cast<std::uint64_t>(std::max(0, holes.free - (holes.guarded ? 1 : 0)));
}

}  // namespace

const std::vector<Series>& extender_series() {
  static const std::vector<Series> all = {
      series(Type::kInfo, "pinion_extender_build_info", "", "version", "The running program."),
      series(Type::kGauge, "pinion_extender_leading", "", "",
             "1 in the replica that decides, else 0."),
      series(Type::kGauge, "pinion_extender_ready", "", "", "1 while questions are answered."),
      series(Type::kGauge, "pinion_extender_agents_connected", "agents", "",
             "Agents whose stream is up."),
      series(Type::kCounter, "pinion_extender_agent_failures_total", "failures", "",
             "Streams from agents that ended or could not be opened."),
      series(Type::kGauge, "pinion_extender_nodes", "nodes", "state",
             "Nodes that have an agent; stale: silent for too long, nothing is placed there."),
      series(Type::kGauge, "pinion_extender_free_cpus", "cpus", "",
             "CPUs on live nodes that could be given away: not held exclusively, not reserved, and "
             "of a "
             "node without reserved ones not the last."),
      series(Type::kGauge, "pinion_extender_promises", "promises", "",
             "Containers whose cores are promised and not reported by their agent yet."),
      series(Type::kCounter, "pinion_extender_promises_lost_total", "promises", "",
             "Promises for which an agent's report left no room."),
      series(
          Type::kGauge, "pinion_extender_pods", "pods", "state",
          "Pods with whole CPUs; waiting: refused and not placed since; gated: their gang has no "
          "plan yet."),
      series(Type::kGauge, "pinion_extender_gangs", "gangs", "", "Gangs that have pods."),
      series(Type::kCounter, "pinion_extender_gang_plans_total", "plans", "result",
             "Plans for gangs; whole: all members were bound together."),
      series(Type::kCounter, "pinion_extender_filters_total", "pods", "result",
             "Answers to filter; other: pods without whole CPUs, passed untouched."),
      series(Type::kCounter, "pinion_extender_binds_total", "pods", "result", "Answers to bind."),
      series(Type::kCounter, "pinion_extender_woken_total", "pods", "",
             "Refused pods for which the scheduler was asked to try again."),
      series(Type::kCounter, "pinion_extender_nominated_total", "pods", "",
             "Pods whose planned node the scheduler had not offered."),
      series(Type::kCounter, "pinion_extender_opened_total", "pods", "",
             "Pods of gangs whose scheduling gate was to be taken off."),
      series(Type::kCounter, "pinion_extender_never_fit_total", "pods", "",
             "Events NeverFits: gangs and single pods that fit not even the idle fleet."),
      series(
          Type::kCounter, "pinion_extender_api_failures_total", "calls", "",
          "Wakings, nominations, openings of gates and events that the API server did not take."),
      series(Type::kCounter, "pinion_extender_evicted_total", "pods", "",
             "Pods that were evicted because their agent refused them (refusedTime)."),
      series(Type::kCounter, "pinion_extender_elastic_steps_total", "steps", "step",
             "Steps of elastic jobs: start, shrink, expand, resize, done, declined."),
      series(Type::kCounter, "pinion_extender_elastic_rescales_total", "rescales", "step",
             "Rescales of elastic jobs that have come to their end: start, shrink, expand."),
      series(Type::kCounter, "pinion_extender_elastic_rescale_seconds_total", "seconds", "step",
             "How long these took, from the decision until pods were ready or gone."),
      series(Type::kGauge, "pinion_extender_elastic_jobs", "jobs", "state",
             "Elastic jobs; refused: their label or an annotation makes no sense, they are left "
             "alone; left: there are too many, they wait until others have started."),
      series(
          Type::kGauge, "pinion_extender_elastic_workers", "workers", "namespace kind name state",
          "Workers of each elastic job, of 2,000 at most and by the replica that decides; wanted: "
          "it is to have so many, 0 while it waits."),
      series(Type::kGauge, "pinion_extender_services", "services", "state",
             "Pods with a target (servicesPrometheus); refused: what their owner wrote makes no "
             "sense, an Event says why."),
      series(Type::kCounter, "pinion_extender_service_looks_total", "looks", "reason",
             "Looks at services, by what came of them: docs/services.md."),
      series(Type::kCounter, "pinion_extender_service_resizes_total", "resizes", "result",
             "Resizes of services; refused: by the API server."),
      series(Type::kGauge, "pinion_extender_service_performance", "", "namespace pod",
             "How well a target is kept: 1 exactly, less: too badly."),
      series(Type::kGauge, "pinion_extender_service_cpus", "cpus", "namespace pod",
             "CPUs that a service with a target may use."),
      series(Type::kHistogram, "pinion_extender_filter_duration_seconds", "seconds", "",
             "Time to decide a filter, without reading and writing its JSON."),
      series(Type::kHistogram, "pinion_extender_prioritize_duration_seconds", "seconds", "",
             "The same of prioritize."),
      series(Type::kCounter, "pinion_extender_http_calls_total", "calls", "verb result",
             "Calls that ask for a decision; failed: a defect of the extender."),
      series(Type::kGauge, "pinion_extender_http_calls_running", "calls", "verb",
             "Calls that have no answer yet; of bind: held for their gang."),
      series(Type::kGauge, "pinion_extender_http_connections", "connections", "", "Open now."),
      series(Type::kCounter, "pinion_extender_http_turned_away_total", "connections", "",
             "Connections beyond the limit, or closed to make room."),
      series(Type::kCounter, "pinion_extender_http_handshakes_refused_total", "connections", "",
             "Handshakes of TLS that failed, as of a caller without a right certificate."),
      series(
          Type::kGauge, "pinion_extender_certificate_expiry_timestamp_seconds", "seconds",
          "certificate",
          "When it ends, in seconds since 1970: own, the extender's; scheduler, the one that the "
          "scheduler has shown last."),
  };
  return all;
}

SchedulingFigures scheduling_figures(const PodScheduler& scheduler) {
  SchedulingFigures figures;
  const Fleet& fleet = scheduler.fleet();
  for (const auto& [name, index] : fleet.by_name()) {
    const FleetNode& node = fleet.node(index);
    ++figures.nodes;
    figures.stale += node.stale ? 1U : 0U;
    if (!node.stale) figures.free_cpus += free_cpus(node.holes);
  }
  figures.placed = scheduler.placed();
  figures.waiting = scheduler.waiting().size();
  figures.gated = scheduler.gated();
  figures.gangs = scheduler.gangs().size();
  figures.promises = fleet.promises();
  figures.plans = scheduler.gang_counters();
  return figures;
}

std::string expose(const ExtenderFigures& figures, prometheus::Format format) {
  Writer writer(format);
  writer.family(series(kBuild));
  writer.sample({}, {{"version", figures.version}}, std::uint64_t{1});
  writer.single(series(kLeading), std::uint64_t{figures.leading ? 1U : 0U});
  writer.single(series(kReady), std::uint64_t{figures.ready ? 1U : 0U});
  writer.single(series(kAgents), figures.agents_connected);
  writer.single(series(kAgentFailures), figures.agent_failures);
  scheduler(writer, figures);
  placing(writer, figures.placing);
  writer.single(series(kApiFailures), figures.api_failures);
  writer.single(series(kEvicted), figures.evicted);
  elastic_jobs(writer, figures.elastic);
  services(writer, figures.services);
  writer.family(series(kFilterSeconds));
  writer.histogram({}, figures.placing.filter);
  writer.family(series(kPrioritizeSeconds));
  writer.histogram({}, figures.placing.prioritize);
  server(writer, figures.server);
  return writer.finish();
}

}  // namespace pinion::cluster
