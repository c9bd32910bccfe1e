#include "cluster/extender/program/service_targets.h"

#include <nlohmann/json.hpp>

#include "base/whole_file.h"
#include "cluster/extender/kube/election.h"
#include "cluster/extender/kube/endpoint.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/targets/prometheus.h"
#include "policy/annotations.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using targets::NodeRoom;
using targets::Reading;
using targets::ServicePod;
using targets::Step;

constexpr std::size_t kMostServices = 2'000;
constexpr std::size_t kMostOfNamespace = 500;
// So many services are looked at, each with a question or a resize under way, at one time; and of
// one namespace, whose queries may all be slow.
constexpr int kServiceThreads = 8;
constexpr int kThreadsOfNamespace = 2;
constexpr std::size_t kLongestAnswer = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kPrometheusLimit{3'000};
constexpr std::int64_t kSlowMs = 1'000;  // a query that takes so long is asked once a minute
constexpr std::int64_t kSlowRestMs = 60'000;
constexpr std::int64_t kUntilKnownMs = 5'000;  // a resize, to the fleet
constexpr std::int64_t kMostAgainMs = 10'000;
constexpr std::int64_t kSeldomMs = 60'000;  // log lines that could be many

std::int64_t now_ms() {
  return std::chrono::steady_clock::now().time_since_epoch() / 1ms;
}

std::string name_of(const kube::PodRef& pod) {
  return pod.name_space + "/" + pod.name;
}

}  // namespace

Result<std::unique_ptr<kube::Api>> ServiceTargets::reach(const Prometheus& prometheus) {
  auto endpoint = kube::parse_endpoint(prometheus.url);
  if (!endpoint) return failure(endpoint.error());
  kube::Access access;
  access.source = "servicesPrometheus";
  access.endpoint = *std::move(endpoint);
  access.token_file = prometheus.token_file;
  if (!prometheus.ca.empty()) {
    auto ca = read_file(prometheus.ca, 1);
    if (!ca) return failure(ca.error());
    access.ca = *std::move(ca);
  }
  return kube::Api::create(
      std::move(access),
      {.connect = 2s, .whole = kPrometheusLimit, .answer_bytes = kLongestAnswer});
}

// Each service is looked at again and again, which is work that is never done.
ServiceTargets::ServiceTargets(kube::Api& api, std::unique_ptr<kube::Api> prometheus, Log& log,
                               Asks asks, Options options)
    : api_(api),
      prometheus_(std::move(prometheus)),
      log_(log),
      asks_(std::move(asks)),
      options_(std::move(options)),
      queue_({.most = kMostServices,
              .most_of_one_group = kMostOfNamespace,
              .first_pause = options_.look,
              .longest_pause = options_.look,
              .threads = kServiceThreads,
              .group_of = [](const Noted& noted) { return noted.pod.name_space; },
              .most_of_group = kThreadsOfNamespace},
             asks_.may_act, [this](const std::string& uid, const Noted& noted) {
               return look(uid, noted.pod, noted.service);
             }) {}

ServiceTargets::~ServiceTargets() {
  cancel_.cancel();
}

// A service is read once more, by itself: more of it counts than of other pods, and its queries as
// they were written.
void ServiceTargets::seen(kube::Change change, const kube::RawObject& object,
                          const Result<wire::PodSpecView>& pod) {
  const std::string uid(object.uid);
  const bool service = change != kube::Change::kDeleted && pod && !pod->node_name.empty() &&
                       pod->phase != "Succeeded" && pod->phase != "Failed" &&
                       pod->annotations.contains(annotation::kServiceMetric);
  const json whole = service ? json::parse(object.json, nullptr, false) : json();
  if (!targets::is_service(whole)) return gone(uid);
  Noted noted{.pod = {.name_space = pod->name_space, .name = pod->name, .uid = uid},
              .service = targets::read_service(whole)};
  if (queue_.update(uid, noted)) return;
  {
    const std::lock_guard lock(mutex_);
    if (cared_.emplace(uid, std::make_shared<Care>()).second) cared_[uid]->pod = noted.pod;
  }
  const kube::PodRef ref = noted.pod;
  if (queue_.add(uid, std::move(noted))) return;
  gone(uid);
  if (seldom(crowd_said_ms_)) {
    log_.warn("too many services with a target, some are left alone",
              {{"pod", name_of(ref)},
               {"most", std::to_string(kMostServices)},
               {"of one namespace", std::to_string(kMostOfNamespace)}});
  }
}

void ServiceTargets::gone(const std::string& uid) {
  queue_.erase(uid);
  const std::lock_guard lock(mutex_);
  cared_.erase(uid);
}

// Whether a line that could come often is due again; it then counts as said.
bool ServiceTargets::seldom(std::int64_t& said_ms) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = now_ms();
  if (said_ms != 0 && now - said_ms < kSeldomMs) return false;
  said_ms = now;
  return true;
}

ServiceFigures ServiceTargets::figures() const {
  const std::lock_guard lock(mutex_);
  ServiceFigures figures = figures_;
  for (const auto& [uid, care] : cared_) {
    ++figures.services;
    if (!care->refused.empty()) ++figures.refused;
    if (care->performance < 0 || !care->refused.empty()) continue;
    figures.rows.push_back({.name_space = care->pod.name_space,
                            .pod = care->pod.name,
                            .performance = care->performance,
                            .cpus = static_cast<double>(care->limit_milli) / 1000});
  }
  return figures;
}

Worked ServiceTargets::look(const std::string& uid, const kube::PodRef& pod,
                            const Service& service) {
  std::shared_ptr<Care> care;
  {
    const std::lock_guard lock(mutex_);
    const auto known = cared_.find(uid);
    if (known == cared_.end()) return Worked::kDone;
    care = known->second;
    care->refused = service ? "" : service.error().text;
    if (now_ms() < care->rests_until_ms) return Worked::kAgain;
  }
  if (service && service->running) {
    look(*care, *service);
  } else if (!service) {
    tell(pod, care->controller.senseless(service.error(), now_ms()));
  }
  return Worked::kAgain;
}

void ServiceTargets::look(Care& care, const ServicePod& service) {
  const std::int64_t began = now_ms();
  const Reading reading = read(service);
  const std::int64_t now = now_ms();
  NodeRoom room = asks_.room(service.node);
  room.most_milli = most();
  {
    const std::lock_guard lock(mutex_);
    if (now - began > kSlowMs) care.rests_until_ms = now + kSlowRestMs;
    Turn& turn = turns_[service.node];
    if (turn.taken) return;  // at the next look
    turn.taken = true;
    if (now < turn.until_ms) {
      room.spare_milli -= turn.request_milli;
    } else {
      turn = {.taken = true};
    }
  }
  const std::int64_t more = resize_in(room, care, service, reading);
  const std::lock_guard lock(mutex_);
  Turn& turn = turns_[service.node];
  turn.taken = false;
  if (more > 0) {
    turn.until_ms = now_ms() + kUntilKnownMs;
    turn.request_milli += more;
  } else if (now_ms() >= turn.until_ms) {
    turns_.erase(service.node);
  }
}

// By how much more of the node it requests from now on.
std::int64_t ServiceTargets::resize_in(const NodeRoom& room, Care& care, const ServicePod& service,
                                       const Reading& reading) {
  const Step step = care.controller.look(service, reading, room, now_ms());
  {
    const std::lock_guard lock(mutex_);
    ++figures_.looks[std::string(to_string(step.reason))];
    care.performance = step.performance.value_or(-1);
    care.limit_milli = service.present_limit();
  }
  const bool made = step.limit_milli && resize(care, service, step);
  // What became of a resize is not told where there was none.
  if (made || !step.limit_milli || step.reason == ServiceReason::kFull)
    tell(service.pod, step.event);
  return made ? step.request_milli - service.request_milli : 0;
}

std::int64_t ServiceTargets::most() {
  {
    const std::lock_guard lock(mutex_);
    if (most_at_ms_ != 0 && now_ms() - most_at_ms_ < kMostAgainMs) return most_milli_;
    most_at_ms_ = now_ms();
  }
  const std::int64_t found = asks_.most();
  const std::lock_guard lock(mutex_);
  return most_milli_ = found;
}

// False: it was not, or nobody knows.
bool ServiceTargets::resize(Care& care, const ServicePod& service, const Step& step) {
  if (!asks_.may_act()) return false;
  const Status done = kube::resize_pod(
      api_, service.pod, service.container,
      {.limit_milli = *step.limit_milli, .request_milli = step.request_milli},
      service.resource_version, {.cancel = &cancel_, .whole = kube::kLeadersCallLimit});
  {
    const std::lock_guard lock(mutex_);
    ++(done ? figures_.resized : figures_.not_resized);
  }
  std::vector<std::pair<std::string, std::string>> fields{
      {"pod", name_of(service.pod)},
      {"from", std::to_string(service.present_limit()) + "m"},
      {"to", std::to_string(*step.limit_milli) + "m"},
      {"reason", std::string(to_string(step.reason))}};
  if (done) {
    log_.info("a service is resized", std::move(fields));
    return true;
  }
  fields.emplace_back("why", done.error().text);
  log_.warn("a service is not resized", std::move(fields));
  const Errc code = done.error().code;
  if (code == Errc::kConflict || code == Errc::kUnavailable) {
    care.controller.not_made();  // or nobody knows: the next look sees it
  } else {
    tell(service.pod, care.controller.refused(done.error().text, now_ms()));
  }
  return false;
}

Reading ServiceTargets::read(const ServicePod& service) {
  Reading reading;
  const auto metric = ask(service.metric);
  if (metric) {
    reading.metric = *metric;
  } else {
    reading.trouble = metric.error().text;
  }
  if (const auto used = ask(service.use)) reading.used_cpus = *used;
  return reading;
}

Result<std::optional<double>> ServiceTargets::ask(const std::string& promql) {
  const auto answer = prometheus_->get(targets::query_path(promql),
                                       {.cancel = &cancel_, .whole = kPrometheusLimit});
  if (answer) return targets::read_value(*answer);
  // What it says may name others' series: that is not for an Event.
  const Errc code = answer.error().code;
  if (code == Errc::kInvalid || code == Errc::kExhausted) {
    return failure(Errc::kInvalid, "Prometheus refuses the query, try it there");
  }
  // Silence, a certificate or token that is not taken, a wrong path: the operator's business.
  if (seldom(silence_said_ms_)) {
    log_.warn("Prometheus cannot be asked, services keep their CPUs",
              {{"why", answer.error().text}});
  }
  return failure(Errc::kUnavailable, "Prometheus cannot be asked");
}

void ServiceTargets::tell(const kube::PodRef& pod, const std::optional<kube::PodEvent>& event) {
  if (!event || !asks_.may_act()) return;
  const Status told = kube::report_on_pod(api_, options_.reporter, pod, *event,
                                          {.cancel = &cancel_, .whole = kube::kLeadersCallLimit});
  if (!told && told.error().code != Errc::kNotFound) {
    log_.warn("an event", {{"pod", name_of(pod)}, {"why", told.error().text}});
  }
}

}  // namespace pinion::cluster
