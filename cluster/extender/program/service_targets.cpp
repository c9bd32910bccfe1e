#include "cluster/extender/program/service_targets.h"

#include <nlohmann/json.hpp>

#include "cluster/extender/kube/endpoint.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/program/call_limit.h"
#include "cluster/extender/targets/prometheus.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using targets::Reading;
using targets::ServicePod;
using targets::Step;

constexpr std::size_t kMostServices = 2'000;
constexpr int kServiceThreads = 4;  // so many resizes and questions are under way at most
constexpr std::size_t kLongestAnswer = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kPrometheusLimit{3'000};

std::int64_t now_ms() {
  return std::chrono::steady_clock::now().time_since_epoch() / 1ms;
}

std::string name_of(const kube::PodRef& pod) {
  return pod.name_space + "/" + pod.name;
}

}  // namespace

Result<std::unique_ptr<kube::Api>> ServiceTargets::prometheus_at(const std::string& url) {
  auto endpoint = kube::parse_endpoint(url);
  if (!endpoint) return failure(endpoint.error());
  kube::Access access;
  access.source = "servicesPrometheus";
  access.endpoint = *std::move(endpoint);
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
              .first_pause = options_.look,
              .longest_pause = options_.look,
              .threads = kServiceThreads},
             asks_.may_act, [this](const std::string& uid, const Noted& noted) {
               return look(uid, noted.pod, noted.service);
             }) {}

ServiceTargets::~ServiceTargets() {
  cancel_.cancel();
}

void ServiceTargets::seen(kube::Change change, const json& pod) {
  const std::string uid = kube::json_text(pod, "metadata", "uid");
  if (change == kube::Change::kDeleted || !targets::is_service(pod)) return gone(uid);
  Noted noted{.pod = {.name_space = kube::json_text(pod, "metadata", "namespace"),
                      .name = kube::json_text(pod, "metadata", "name"),
                      .uid = uid},
              .service = targets::read_service(pod)};
  {
    const std::lock_guard lock(mutex_);
    auto& care = cared_[uid];
    if (care == nullptr) care = std::make_shared<Care>();
  }
  if (queue_.update(uid, noted)) return;
  if (!queue_.add(uid, std::move(noted))) {
    log_.warn("too many services with a target, one is left alone", {{"uid", uid}});
    gone(uid);
  }
}

void ServiceTargets::gone(const std::string& uid) {
  queue_.erase(uid);
  const std::lock_guard lock(mutex_);
  cared_.erase(uid);
}

ServiceFigures ServiceTargets::figures() const {
  const std::lock_guard lock(mutex_);
  ServiceFigures figures = figures_;
  for (const auto& [uid, care] : cared_) {
    ++figures.services;
    if (!care->refused.empty()) ++figures.refused;
    if (care->performance < 0 || care->pod.name.empty()) continue;
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
    const std::string why = service ? "" : service.error().text;
    care->pod = pod;
    if (std::exchange(care->refused, why) == why && !service) return Worked::kAgain;
  }
  if (!service) {
    log_.warn("a service's target makes no sense, it is left alone",
              {{"pod", name_of(pod)}, {"why", service.error().text}});
    tell(pod, targets::refusal_event(service.error()));
  } else if (service->running && !service->node.empty()) {
    look(*care, *service);
  }
  return Worked::kAgain;
}

void ServiceTargets::look(Care& care, const ServicePod& service) {
  const Reading reading = read(service);
  const Step step = care.controller.look(service, reading, asks_.room(service.node), now_ms());
  {
    const std::lock_guard lock(mutex_);
    ++figures_.looks[std::string(to_string(step.reason))];
    care.performance = step.performance.value_or(-1);
    care.limit_milli = service.present_limit();
  }
  if (step.limit_milli && !resize(care, service, step)) return;
  tell(service.pod, step.event);
}

// False: it was not, and its owner was told so.
bool ServiceTargets::resize(Care& care, const ServicePod& service, const Step& step) {
  if (!asks_.may_act()) return false;
  const Status done =
      kube::resize_pod(api_, service.pod, service.container,
                       {.limit_milli = *step.limit_milli, .request_milli = step.request_milli},
                       {.cancel = &cancel_, .whole = kLeadersCallLimit});
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
  const bool gone = done.error().code == Errc::kNotFound || done.error().code == Errc::kConflict;
  const auto event = care.controller.refused(done.error().text, now_ms());
  if (!gone) tell(service.pod, event);
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
  if (!answer) return failure(answer.error());
  return targets::read_value(*answer);
}

void ServiceTargets::tell(const kube::PodRef& pod, const std::optional<kube::PodEvent>& event) {
  if (!event || !asks_.may_act()) return;
  const Status told = kube::report_on_pod(api_, options_.reporter, pod, *event,
                                          {.cancel = &cancel_, .whole = kLeadersCallLimit});
  if (!told && told.error().code != Errc::kNotFound) {
    log_.warn("an event", {{"pod", name_of(pod)}, {"why", told.error().text}});
  }
}

void ServicePods::on_object(kube::Change change, const json& object) {
  next_.on_object(change, object);
  services_.seen(change, object);
}

}  // namespace pinion::cluster
