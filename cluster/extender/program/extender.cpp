#include "cluster/extender/program/extender.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <functional>
#include <set>
#include <string_view>

#include "agent/client/tls.h"
#include "base/version.h"
#include "cluster/extender/admission/dry_plan.h"
#include "cluster/extender/elastic/workers.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "cluster/extender/program/agents_file.h"
#include "cluster/extender/program/clocks.h"
#include "cluster/extender/program/server_name.h"
#include "cluster/extender/service/expose.h"
#include "cluster/extender/service/node_topology.h"
#include "cluster/extender/service/views.h"
#include "extender/page.h"
#include "metrics/prometheus/negotiate.h"
#include "policy/annotations.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

// Agents that are away when we start are not waited for longer.
constexpr std::chrono::seconds kAgentsWait = 10s;
// Nobody tells when all that is waited for before the first decision is there, nor when the lease
// runs out by the clock: both are looked at.
constexpr std::chrono::milliseconds kLookWhileClosed = 200ms;
constexpr std::chrono::milliseconds kLookAtLease = 1s;
constexpr std::chrono::seconds kEvictAgain = 10s;

std::int64_t steady_ms() {
  return SteadyClock::now().time_since_epoch() / 1ms;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "pinion-extender";
}

PodSchedulerLimits limits_of(const Config& config) {
  PodSchedulerLimits limits;
  limits.epoch_ms = unix_ms() - steady_ms();
  limits.hold_ms = config.hold_time.count();
  limits.scheduler.keep_ms = config.keep_time.count();
  limits.scheduler.confirm_ms = config.confirm_time.count();
  limits.scheduler.silent_ms = config.agent_silence.count();
  limits.scheduler.head_after_ms = config.reserve_after.count();
  limits.scheduler.head_ms = config.reserve_time.count();
  limits.scheduler.order = config.queue;
  limits.scheduler.placement = placement_of(config.placement).value_or(PlacementPolicy::kHoles);
  limits.scheduler.service_placement = placement_of(config.service_placement);  // not by-class
  limits.scheduler.colocation = {.jobs_share = config.jobs_share_nodes,
                                 .services_beside = config.services_beside_jobs,
                                 .apart = config.one_member_per_node};
  return limits;
}

kube::Reporter reporter_of(const Config& config) {
  return {.instance = config.pod_name.empty() ? host_name() : config.pod_name};
}

AgentOptions agent_options(const Config& config) {
  AgentOptions options;
  options.tls = {.certificate = config.agent_cert, .key = config.agent_key, .ca = config.agent_ca};
  return options;
}

jobs::Options job_options(const Config& config, const policy::Defaults& defaults,
                          const LearntProfiles* learnt, std::function<bool()> pod_groups) {
  jobs::Options options{.scheduler = config.scheduler_name,
                        .managed_resource = config.managed_resource,
                        .gates = config.scheduling_gates,
                        .pod_groups = config.pod_groups ? std::move(pod_groups) : nullptr,
                        .policy = policy_of(config.policy).value_or(Policy::kNone),
                        .defaults = defaults};
  if (learnt == nullptr) return options;
  options.learnt = [learnt](const std::string& name_space, const std::string& job) {
    return learnt->of(name_space, job);
  };
  return options;
}

// Under the lock that the scheduler's calls take as well.
jobs::LookAtFleet fleet_of(const Placing& placing) {
  return [&placing](const std::function<void(const jobs::LockedFleet&)>& see) {
    placing.look([&](const PodScheduler& scheduler) {
      see({.fleet = scheduler.fleet(),
           .allowed = [&](const NodeDemand& where) { return scheduler.nodes().allowed(where); }});
    });
  };
}

// Of the nodes whose agents are heard.
std::vector<nlohmann::json> topologies_of(const Placing& placing,
                                          const policy::Defaults& defaults) {
  return placing.look([&](const PodScheduler& scheduler) {
    std::vector<nlohmann::json> objects;
    for (const auto& [name, index] : scheduler.fleet().by_name()) {
      const FleetNode& node = scheduler.fleet().node(index);
      if (!node.stale) objects.push_back(node_topology(node, defaults));
    }
    return objects;
  });
}

// Of the CPUs that no container has for itself.
std::int64_t shared_milli(const FleetNode& node) {
  topology::CpuSet cpus = node.topology().online - node.topology().isolated;
  cpus -= node.ledger.exclusive();
  if (node.ledger.strict()) cpus -= node.ledger.reserved();
  return std::int64_t{1000} * cpus.count();
}

// What its pods' requests and its ranks' cores leave of the node. Nothing of one that no agent
// speaks for: whose cores they are is not known there.
targets::NodeRoom service_room(const PodScheduler& scheduler, const std::string& node) {
  const auto known = scheduler.fleet().by_name().find(node);
  if (known == scheduler.fleet().by_name().end()) return {.live = false};
  const FleetNode& one = scheduler.fleet().node(known->second);
  if (one.stale) return {.live = false};
  return {.spare_milli = one.spare.milli_cpus, .shared_milli = shared_milli(one)};
}

std::int64_t most_for_a_service(const PodScheduler& scheduler) {
  std::int64_t most = 0;
  for (const auto& [name, index] : scheduler.fleet().by_name()) {
    const FleetNode& one = scheduler.fleet().node(index);
    most = std::max(most, std::min(one.capacity.milli_cpus, shared_milli(one)));
  }
  return most;
}

// What became of each job, with why.
admission::Webhook::Seen journal_of(Log& log) {
  return [&log](const admission::Review& review, const jobs::Mutation& mutation) {
    std::vector<std::pair<std::string, std::string>> fields{
        {"kind", kube::json_text(review.object, "kind")},
        {"name", review.name_space + "/" + kube::json_text(review.object, "metadata", "name")}};
    if (mutation.kind == jobs::Mutation::Kind::kRefused) {
      fields.emplace_back("why", mutation.text);
      return log.info("a job is refused", std::move(fields));
    }
    if (!mutation.cut) return;
    for (const jobs::Row& row : mutation.cut->rows) {
      fields.emplace_back(row.what, row.why.empty() ? row.value : row.value + " (" + row.why + ")");
    }
    log.info("a job is cut", std::move(fields));
  };
}

}  // namespace

Extender::Extender(const Config& config, const policy::Defaults& defaults,
                   std::unique_ptr<kube::Api> api, const std::string& own_namespace, Log& log)
    : log_(log),
      api_(std::move(api)),
      elects_(config.leader_elect),
      hurry_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      cluster_(
          *api_, log, [this] { return leading(); }, reporter_of(config)),
      refused_(
          *api_, log, [this] { return leading(); },
          {.after = config.refused_time, .retry = kEvictAgain, .reporter = reporter_of(config)}),
      placing_(
          cluster_, defaults, limits_of(config), steady_ms,
          [&log](const Note& note) { log.write(note); },
          [this] { eventfd_write(hurry_.get(), 1); }),
      jobs_(*api_, log,
            {.may_act = [this] { return leading(); },
             .sized = [this](const std::string& gang, int members) { resize(gang, members); },
             .started =
                 [this](const std::string& gang) {
                   return placing_.look([&](const PodScheduler& scheduler) {
                     const Job* job = scheduler.book().find(gang);
                     return job != nullptr && job->started;
                   });
                 },
             .lacks_members =
                 [this](const std::string& gang) {
                   return placing_.look([&](const PodScheduler& scheduler) {
                     const Job* job = scheduler.book().find(gang);
                     return job != nullptr && !job->complete();
                   });
                 }}),
      gate_(placing_, [this] { return closed(); }),
      learnt_(config.learn_profiles ? std::make_unique<LearntProfiles>(
                                          *api_, log, [this] { return leading(); },
                                          LearntProfiles::Options{.name_space = own_namespace})
                                    : nullptr),
      job_options_(job_options(config, defaults, learnt_.get(),
                               [this] { return native_pod_groups_.served(); })),
      webhook_(job_options_, fleet_of(placing_), journal_of(log)),
      agent_feed_(placing_, learnt_.get(), log),
      taint_(config.startup_taint
                 ? std::make_unique<StartupTaint>(*api_, log, [this] { return leading(); })
                 : nullptr),
      ready_agents_(agent_feed_, taint_.get()),
      agents_(ready_agents_, agent_options(config)),
      pods_(
          placing_, jobs_, refused_,
          [this](kube::Change change, const kube::RawObject& object, const PodFeed::View& pod) {
            if (services_) services_->seen(change, object, pod);
          },
          log),
      nodes_(
          placing_,
          [this](kube::Change change, const nlohmann::json& node) {
            if (taint_) taint_->seen(change, node);
          },
          log),
      pod_groups_(PodGroupApi::kSigs, placing_, log),
      native_pod_groups_(PodGroupApi::kNative, placing_, log),
      topologies_(config.node_resource_topology
                      ? std::make_unique<NodeTopologies>(
                            *api_, log, [this] { return leading(); },
                            [this, defaults] { return topologies_of(placing_, defaults); })
                      : nullptr) {}

Result<std::unique_ptr<Extender>> Extender::start(const Config& config, Log& log) {
  const auto defaults = agent_defaults(config);
  if (!defaults) return failure(defaults.error().within("agentConfig"));
  const auto access = kube::read_access(config.kubeconfig, config.kube_context);
  if (!access) return failure(access.error());
  auto api = kube::Api::create(*access);
  if (!api) return failure(api.error());
  log.info("the API server", {{"from", access->source}});
  std::unique_ptr<Extender> extender(
      new Extender(config, *defaults, *std::move(api), own_namespace(config, *access), log));
  if (!extender->hurry_.valid()) return sys_failure("make eventfd");
  Status done = extender->follow_agents(config);
  if (done) done = extender->keep_targets(config);
  extender->size_jobs(config);  // before the server's threads ask about them
  // Before anything is asked of the cluster, so that a port that is taken changes nothing.
  if (done) done = extender->listen(config);
  if (done) done = extender->elect(config, *access);
  if (!done) return failure(done.error());
  extender->watch_all(config, *access);
  return extender;
}

Extender::~Extender() {
  server_.reset();
  web_.reset();
  topologies_.reset();
  label_.reset();
  watches_.clear();
  elastic_.reset();
  services_.reset();
  agents_.stop();
  learnt_.reset();  // writes, while we still lead
  if (lease_) lease_->stop();
}

Status Extender::follow_agents(const Config& config) {
  // Read again for the streams; here only to say at once what is wrong with them.
  if (const auto tls = agent_options(config).tls; !tls.empty()) {
    if (const auto texts = agent::api::read_tls(tls); !texts) {
      return failure(texts.error().within("agentCert, agentKey, agentCA"));
    }
  }
  if (config.agents.empty()) {
    agent_pods_ = std::make_unique<AgentPodFeed>(
        AgentPodFeed::Interface{.port = config.agent_port, .server_name = config.agent_server_name},
        [this](const auto& agents) { follow(agents); }, log_);
    return {};
  }
  auto agents = read_agents(config.agents);
  if (!agents) return failure(agents.error().within("agents"));
  if (names_pod(config.agent_server_name)) {
    return failure(Errc::kInvalid, "agentServerName: agents of a fixed list have no {pod}");
  }
  for (AgentAddress& agent : *agents) {
    agent.server_name = server_name(config.agent_server_name, agent.node, "");
  }
  if (Status done = agents_.follow(*agents); !done) return failure(done.error().within("agents"));
  followed_ = agents->size();
  agents_known_ = true;
  return {};
}

void Extender::size_jobs(const Config& config) {
  const auto policy = elastic_policy_of(config.elastic);
  if (!policy) return;
  const auto free = [this] {
    return static_cast<std::int64_t>(placing_.look(scheduling_figures).free_cpus);
  };
  const auto on_fleet = [this](const std::vector<elastic::ElasticObject>& jobs) {
    // Where all are matters to one that waits, and to one that grows where its own are.
    std::set<std::string_view> name_spaces;
    const bool waits =
        std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return job.workers() == 0; });
    for (const elastic::ElasticObject& job : jobs) {
      if (waits || job.grows()) name_spaces.insert(job.name_space);
    }
    return placing_.look([&](const PodScheduler& scheduler) {
      std::vector<elastic::PodCpus> pods;
      scheduler.visit_held([&](const PodRef& pod) { return name_spaces.contains(pod.name_space); },
                           [&](const PodRef& pod, NodeIndex node, const topology::CpuSet& cpus) {
                             pods.push_back({.name_space = pod.name_space,
                                             .name = pod.name,
                                             .held = {.node = node, .cpus = cpus}});
                           });
      return elastic::on_fleet(scheduler.fleet(), jobs, pods);
    });
  };
  ElasticJobs::Asks asks{.may_act = [this] { return closed().empty(); },
                         .free = free,
                         .counted =
                             [this](const std::string& name_space, const std::string& job) {
                               return learnt_ ? learnt_->under_way(name_space, job)
                                              : std::optional<RunFigures>();
                             },
                         .on_fleet = on_fleet};
  elastic_ = std::make_unique<ElasticJobs>(
      *api_, log_, elastic::Controller(*policy, knobs_of(config)), job_options_.defaults,
      std::move(asks), ElasticJobs::Pace(), ElasticJobs::Most());
}

Status Extender::keep_targets(const Config& config) {
  if (config.services_prometheus.empty()) return {};
  auto prometheus = ServiceTargets::reach({.url = config.services_prometheus,
                                           .ca = config.services_prometheus_ca,
                                           .token_file = config.services_prometheus_token_file});
  if (!prometheus) return failure(prometheus.error().within("servicesPrometheus"));
  services_ = std::make_unique<ServiceTargets>(
      *api_, *std::move(prometheus), log_,
      ServiceTargets::Asks{.may_act = [this] { return closed().empty(); },
                           .room =
                               [this](const std::string& node) {
                                 return placing_.look([&](const PodScheduler& scheduler) {
                                   return service_room(scheduler, node);
                                 });
                               },
                           .most = [this] { return placing_.look(most_for_a_service); }},
      ServiceTargets::Options{.reporter = reporter_of(config)});
  return {};
}

void Extender::follow(const std::vector<AgentAddress>& agents) {
  if (Status done = agents_.follow(agents); !done) {
    log_.warn("the agents cannot be followed", {{"why", done.error().text}});
    return;
  }
  if (followed_.exchange(agents.size()) != agents.size()) {
    log_.info("agents", {{"found", std::to_string(agents.size())}});
  }
  agents_known_ = true;
}

void Extender::watch_all(const Config& config, const kube::Access& access) {
  const auto watch = [this](kube::WatchOptions options, kube::WatchHandler& handler) {
    watches_.push_back(std::make_unique<kube::Watch>(*api_, std::move(options), handler));
  };
  // Pods that have finished hold nothing: leaving the selection is told as a deletion.
  watch({.path = "/api/v1/pods",
         .label_selector = {},
         .field_selector = "status.phase!=Succeeded,status.phase!=Failed"},
        pods_);
  watch({.path = "/api/v1/nodes", .label_selector = {}, .field_selector = {}}, nodes_);
  for (std::size_t i = 0; elastic_ && i < elastic::kCollections.size(); ++i) {
    watch({.path = elastic::kCollections[i].path,
           .label_selector = label::kElastic,
           .field_selector = {}},
          elastic_->feed(i));
  }
  watch({.path = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups",
         .label_selector = {},
         .field_selector = {}},
        pod_groups_);
  watch({.path = "/apis/scheduling.k8s.io/v1beta1/podgroups",
         .label_selector = {},
         .field_selector = {}},
        native_pod_groups_);
  if (agent_pods_ == nullptr) return;
  // In other namespaces anybody may give a pod the label.
  const std::string& name_space =
      config.agent_namespace.empty() ? access.default_namespace : config.agent_namespace;
  log_.info("agents are looked for", {{"namespace", name_space}, {"pods", config.agent_selector}});
  watch({.path = "/api/v1/namespaces/" + kube::percent_encoded(name_space) + "/pods",
         .label_selector = config.agent_selector,
         .field_selector = "status.phase=Running"},
        *agent_pods_);
}

Status Extender::elect(const Config& config, const kube::Access& access) {
  if (!elects_) return {};
  auto api = kube::Api::create(access);
  if (!api) return failure(api.error());
  lease_api_ = *std::move(api);
  kube::LeaseOptions options;
  options.lease = {.name_space = own_namespace(config, access), .name = config.lease_name};
  options.identity = kube::unique_identity(host_name());
  options.on_change = [this](bool leading) {
    if (leading) led_ = true;
    log_.info(leading ? "we lead" : "we do not lead any more");
    eventfd_write(hurry_.get(), 1);
  };
  options.on_trouble = [this](const Error& error) {
    log_.warn("the lease", {{"why", error.text}});
  };
  auto lease = kube::Lease::start(*lease_api_, std::move(options));
  if (!lease) return failure(lease.error().within("leaseName"));
  lease_ = *std::move(lease);
  vote_ = lease_.get();
  if (config.pod_name.empty()) return {};
  label_ = std::make_unique<LeaderLabel>(
      *api_,
      kube::PodRef{.name_space = access.default_namespace, .name = config.pod_name, .uid = {}},
      [this] { return leading(); }, log_);
  return {};
}

Status Extender::listen(const Config& config) {
  const TlsFiles files{
      .certificate = config.tls_cert, .key = config.tls_key, .client_ca = config.tls_client_ca};
  TlsFiles schedulers = files;
  schedulers.clients_only = !config.tls_cert.empty();
  schedulers.client_names = settings::parts_of(config.tls_client_names, ',');
  const auto options = [&](const std::string& address, const TlsFiles& tls) {
    return ServerOptions{.listen = address, .prefix = config.path_prefix, .tls = tls};
  };
  const auto refused = [this](std::string_view why) {
    log_.info("a call is refused", {{"why", std::string(why)}});
  };
  auto server =
      Server::start(options(config.listen, schedulers), {.scheduler = &gate_, .refused = refused});
  if (!server) return failure(server.error().within("listen"));
  auto web = Server::start(options(config.web_listen, files),
                           {.pages = this, .admission = &webhook_, .refused = refused});
  if (!web) return failure(web.error().within("webListen"));
  server_ = *std::move(server);
  web_ = *std::move(web);
  return {};
}

void Extender::resize(const std::string& gang, int members) {
  placing_.tell([&](PodScheduler& scheduler, std::int64_t now_ms) {
    scheduler.resize(gang, members, now_ms);
    return 0;
  });
}

bool Extender::leading() const {
  const kube::Lease* vote = vote_;
  return vote == nullptr ? !elects_ : vote->leading();
}

// Once is enough: of an agent that is lost later, its node's silence tells.
bool Extender::agents_heard() const {
  if (agents_heard_) return true;
  if (!agents_known_) return false;
  agents_heard_ = agents_.connected() >= followed_ || SteadyClock::now() - started_ > kAgentsWait;
  return agents_heard_;
}

std::string Extender::closed() const {
  std::string why = unprepared();
  if (why.empty() && !open_) why = "gangs that are bound in part are being looked at";
  return why;
}

// What is missing before the first decision.
std::string Extender::unprepared() const {
  if (!leading()) return "another replica leads";
  return uninformed();
}

// What is not known yet of the cluster.
std::string Extender::uninformed() const {
  if (!pods_.synced()) return "the API server has not told all pods yet";
  if (!nodes_.synced()) return "the API server has not told all nodes yet";
  if (!pod_groups_.complete() || !native_pod_groups_.complete()) {
    return "the API server has not told all PodGroups yet";
  }
  if (!agents_heard()) return "the agents have not told of their nodes yet";
  return {};
}

std::chrono::milliseconds Extender::tick() {
  eventfd_t hurried = 0;
  (void)eventfd_read(hurry_.get(), &hurried);
  if (!open_ && unprepared().empty()) {
    placing_.tell([](PodScheduler& scheduler, std::int64_t now_ms) {
      scheduler.complete_gangs(now_ms);
      return 0;
    });
    open_ = true;
  }
  return placing_.tick(open_ ? kLookAtLease : kLookWhileClosed);
}

Page Extender::metrics(std::string_view accept) {
  const auto format = prometheus::negotiate_format(accept);
  ExtenderFigures figures;
  figures.scheduler = placing_.look(scheduling_figures);
  figures.placing = placing_.figures();
  if (server_) figures.server = server_->figures();
  if (web_) figures.server += web_->figures();
  figures.agents_connected = agents_.connected();
  figures.agent_failures = agents_.failures();
  figures.promises_lost = agent_feed_.lost_promises();
  figures.api_failures = cluster_.failed();
  figures.evicted = refused_.evicted();
  if (elastic_) figures.elastic = elastic_->figures();
  if (services_) figures.services = services_->figures();
  figures.leading = leading();
  figures.ready = closed().empty();
  figures.version = kVersion;
  return {.status = 200,
          .type = std::string(prometheus::content_type(format)),
          .body = expose(figures, format)};
}

Page Extender::fleet() {
  return {.body = fleet_json(placing_.look(fleet_rows), steady_ms())};
}

Page Extender::jobs(std::string_view name_space) {
  auto elastic = elastic_ ? elastic_->rows() : std::vector<ElasticRow>();
  auto learnt = learnt_ ? learnt_->rows() : std::vector<ProfileRow>();
  return {.body = jobs_json(of_namespace(name_space, placing_.look(job_rows)), steady_ms(),
                            of_namespace(name_space, std::move(elastic)),
                            of_namespace(name_space, std::move(learnt)))};
}

// Only who leads knows what is promised.
Page Extender::plan(std::string_view job) {
  const auto complaint = [](int status, const std::string& text) {
    return Page{.status = status, .type = "text/plain; charset=utf-8", .body = text + "\n"};
  };
  if (const auto why = closed(); !why.empty()) {
    return complaint(503, "Pinion's extender cannot plan now: " + why);
  }
  auto document = admission::dry_plan(job, job_options_, fleet_of(placing_));
  if (!document) return complaint(400, document.error().text);
  return {.body = *std::move(document)};
}

Page Extender::home() {
  return {.type = "text/html; charset=utf-8", .body = std::string(kPage)};
}

}  // namespace pinion::cluster
