#include "cluster/extender/elastic/elastic_job.h"

#include <algorithm>
#include <charconv>

#include "base/rfc3339.h"
#include "cluster/extender/elastic/actuator.h"
#include "cluster/extender/elastic/telling.h"
#include "cluster/extender/jobs/entitlement.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/scheduling/demand.h"
#include "policy/annotations.h"

namespace pinion::cluster::elastic {
namespace {

using kube::json_at;
using kube::json_integer;
using kube::json_text;
using nlohmann::json;

constexpr std::int64_t kMostWorkers = kMaxGang;

// The annotations' numbers; the first that is none is kept.
class Numbers {
 public:
  explicit Numbers(const json& job) : at_(json_at(job, "metadata", "annotations")) {}

  std::optional<std::int64_t> find(const char* name, std::int64_t least, std::int64_t most) {
    const std::string text = json_text(at_, name);
    if (text.empty()) return std::nullopt;
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && value >= least && value <= most) return value;
    if (error_.empty()) {
      error_ = std::string("annotation ") + name + ": not a number from " + std::to_string(least) +
               " to " + std::to_string(most);
    }
    return std::nullopt;
  }
  std::optional<int> workers(const char* name) {
    const auto value = find(name, 0, kMostWorkers);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  }

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  const json& at_;
  std::string error_;
};

std::optional<Change> change_of(const std::string& word) {
  for (const Change change : {Change::kRigid, Change::kMoldable, Change::kMalleable}) {
    if (word == to_string(change)) return change;
  }
  return std::nullopt;
}

std::int64_t cpus_of(const Demand& demand) {
  std::int64_t cpus = 0;
  for (const topology::Request& request : demand.requests) cpus += request.cpus;
  return cpus;
}

// Where a list of tasks says how many pods of a template there are, else one; -1: no such number.
std::int64_t pods_of(const json& object, const jobs::PodTemplate& one) {
  const json& part = object.at(one.at.parent_pointer());
  const std::int64_t pods = part.contains("replicas") ? json_integer(part, "replicas") : 1;
  return pods <= kMostWorkers ? pods : -1;
}

Status read_pods(const json& object, const jobs::JobObject& job, const policy::Defaults& defaults,
                 ElasticObject& elastic) {
  for (const jobs::PodTemplate& one : job.templates) {
    const json& pod = object.at(one.at);
    const Demand demand = jobs::demand_of_template(pod, defaults);
    elastic.is_told = elastic.is_told || mounts_size(pod, elastic.name);
    if (!one.member) {
      const std::int64_t pods = pods_of(object, one);
      if (pods < 0) {
        return failure(Errc::kInvalid, "the number of its pods of " + one.role +
                                           " is to be from 0 to " + std::to_string(kMostWorkers));
      }
      elastic.other_cpus += pods * cpus_of(demand);
      continue;
    }
    elastic.cpus = cpus_of(demand);
    if (elastic.cpus == 0) {
      return failure(Errc::kInvalid, "its workers get no cores of their own: " +
                                         jobs::why_not_entitled(pod, defaults));
    }
    elastic.request =
        *std::max_element(demand.requests.begin(), demand.requests.end(),
                          [](const auto& a, const auto& b) { return a.cpus < b.cpus; });
  }
  return {};
}

// What its user and its application have written on it.
Status read_wishes(const json& object, ElasticObject& elastic) {
  constexpr std::int64_t most_ms = 9'000'000'000'000;  // in the year 2255, with nanoseconds as 2262
  constexpr int most_pes = 200;                        // of a worker
  constexpr std::int64_t week = 604'800;
  Numbers numbers(object);
  elastic.min_workers = numbers.workers(annotation::kMinWorkers).value_or(elastic.stated);
  elastic.max_workers = numbers.workers(annotation::kMaxWorkers).value_or(elastic.stated);
  if (elastic.change == Change::kRigid) elastic.min_workers = elastic.max_workers = elastic.stated;
  elastic.priority = static_cast<std::int32_t>(
      numbers.find(annotation::kPriority, -1'000'000'000, 1'000'000'000).value_or(0));
  elastic.gap_ms = 1000 * numbers.find(annotation::kRescaleGapSeconds, 0, week).value_or(180);
  elastic.pes_per_worker =
      static_cast<int>(numbers.find(annotation::kPesPerWorker, 1, most_pes)
                           .value_or(std::min<std::int64_t>(elastic.cpus, most_pes + 1)));
  if (const auto cost = numbers.find(annotation::kRescaleCostSeconds, 0, 3'600)) {
    elastic.rescale_cost_s = static_cast<double>(*cost);
  }
  constexpr std::int64_t year = 31'536'000;
  if (const auto run = numbers.find(annotation::kRunSeconds, 1, year)) {
    elastic.run_s = static_cast<double>(*run);
  }
  elastic.done_s = static_cast<double>(numbers.find(annotation::kWorkDone, 0, year).value_or(0));
  elastic.requested = numbers.workers(annotation::kRequestedWorkers);
  elastic.wanted = numbers.workers(annotation::kWantedWorkers);
  elastic.before = numbers.workers(annotation::kPreviousWorkers).value_or(0);
  elastic.acknowledged = numbers.workers(annotation::kAcknowledgedWorkers);
  elastic.rescaled_ms = numbers.find(annotation::kRescaledAt, 0, most_ms).value_or(0);
  elastic.declined_until_ms = numbers.find(annotation::kDeclinedUntil, 0, most_ms).value_or(0);
  elastic.history =
      read_history(json_text(object, "metadata", "annotations", annotation::kRescaleHistory));
  if (!numbers.error().empty()) return failure(Errc::kInvalid, numbers.error());
  if (elastic.min_workers < 1 || elastic.min_workers > elastic.max_workers) {
    return failure(Errc::kInvalid, std::string(annotation::kMinWorkers) + " is to be from 1 to " +
                                       annotation::kMaxWorkers + ", and is " +
                                       std::to_string(elastic.min_workers) + " of " +
                                       std::to_string(elastic.max_workers));
  }
  const auto speed_up =
      read_speed_up(json_text(object, "metadata", "annotations", annotation::kSpeedUp));
  if (!speed_up) {
    return failure(Errc::kInvalid, std::string("annotation ") + annotation::kSpeedUp + ": " +
                                       speed_up.error().text);
  }
  elastic.speed_up = *speed_up;
  elastic.progress =
      read_progress(json_text(object, "metadata", "annotations", annotation::kProgress));
  elastic.seen =
      read_speed_seen(json_text(object, "metadata", "annotations", annotation::kSpeedSeen));
  const auto channel =
      read_channel(json_text(object, "metadata", "annotations", annotation::kAcknowledge));
  if (!channel) {
    return failure(Errc::kInvalid, std::string("annotation ") + annotation::kAcknowledge +
                                       ": use annotation, http:PORT or ccs:PORT");
  }
  elastic.channel = *channel;
  if (channel->kind == Channel::Kind::kHttp) {
    // Where somebody has written anything else there, nothing is noted.
    const auto noted = Numbers(object).find(annotation::kAskedWorkers, 1, kLargestSize);
    if (noted) elastic.noted = static_cast<int>(*noted);
  }
  if (channel->kind != Channel::Kind::kCcs) return {};
  elastic.sent = read_sent(json_text(object, "metadata", "annotations", annotation::kRescaleSent));
  if (elastic.pes_per_worker > most_pes) {
    return failure(Errc::kInvalid, "its workers have " + std::to_string(elastic.cpus) +
                                       " CPUs: " + annotation::kPesPerWorker +
                                       " is to say how many PEs each has, at most " +
                                       std::to_string(most_pes));
  }
  return {};
}

}  // namespace

std::optional<Channel> read_channel(std::string_view word) {
  if (word.empty()) return Channel();
  if (word == "annotation") return Channel{.kind = Channel::Kind::kAnnotation, .port = 0};
  const auto colon = word.find(':');
  const std::string_view kind = word.substr(0, colon);
  if (colon == std::string_view::npos || (kind != "http" && kind != "ccs")) return std::nullopt;
  const std::string_view digits = word.substr(colon + 1);
  int port = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || port < 1 ||
      port > 65535) {
    return std::nullopt;
  }
  return Channel{.kind = kind == "http" ? Channel::Kind::kHttp : Channel::Kind::kCcs, .port = port};
}

std::string_view to_string(Change change) {
  switch (change) {
    case Change::kRigid:
      return "rigid";
    case Change::kMoldable:
      return "moldable";
    case Change::kMalleable:
      break;
  }
  return "malleable";
}

std::optional<int> ElasticObject::wish() const {
  const std::optional<int>& said = requested ? requested : asked;
  return said ? std::optional(std::clamp(*said, min_workers, max_workers)) : std::nullopt;
}

std::string_view state_of(const ElasticObject& job) {
  if (job.wanted) return job.before == 0 ? "starts" : job.grows() ? "expands" : "shrinks";
  if (job.suspended) return "waits";
  return job.succeeded > 0 ? "ends" : "runs";
}

Result<ElasticObject> read_elastic(const json& object, const policy::Defaults& defaults) {
  ElasticObject elastic;
  elastic.name = json_text(object, "metadata", "name");
  elastic.name_space = json_text(object, "metadata", "namespace");
  const auto invalid = [&](const std::string& why) {
    return failure(Errc::kInvalid, elastic.name_space + "/" + elastic.name + ": " + why);
  };
  const auto change = change_of(json_text(object, "metadata", "labels", label::kElastic));
  if (!change) {
    return invalid(std::string("label ") + label::kElastic + ": use malleable, moldable or rigid");
  }
  if (!jobs::kind_of(object)) return invalid("of a kind that is not known");
  jobs::JobRequest request;
  request.worker_role = json_text(object, "metadata", "annotations", annotation::kWorkerRole);
  const auto job = jobs::read_job(object, {}, request);
  if (!job) return invalid(job.error().text);
  elastic.kind = job->kind;
  elastic.change = *change;
  elastic.uid = json_text(object, "metadata", "uid");
  elastic.version = json_text(object, "metadata", "resourceVersion");
  elastic.submitted_ms = rfc3339_ms(json_text(object, "metadata", "creationTimestamp")).value_or(0);
  elastic.owner = {{"apiVersion", json_text(object, "apiVersion")},
                   {"kind", json_text(object, "kind")},
                   {"name", elastic.name},
                   {"uid", elastic.uid}};
  if (Status good = read_size(object, *job, elastic); !good) return invalid(good.error().text);
  const auto path = jobs::owner_path(jobs::owner_text(object, *job), elastic.name_space);
  if (!path) return invalid("its name or version makes no path");
  elastic.path = *path;
  if (!json_text(object, "metadata", "deletionTimestamp").empty()) elastic.over = true;
  Status good = read_pods(object, *job, defaults, elastic);
  if (good) good = read_wishes(object, elastic);
  if (!good) return invalid(good.error().text);
  if (elastic.is_told) elastic.host = jobs::host_name_of(object, *job);
  return elastic;
}

Result<ElasticObject> read_or_leave_alone(const json& object, const policy::Defaults& defaults) {
  auto elastic = read_elastic(object, defaults);
  if (elastic) return elastic;
  json without = object;
  json said = json::object();
  for (const char* name : {annotation::kWorkerRole, annotation::kWantedWorkers,
                           annotation::kPreviousWorkers, annotation::kRescaledAt}) {
    const std::string value = json_text(object, "metadata", "annotations", name);
    if (!value.empty()) said[name] = value;
  }
  without["metadata"]["annotations"] = std::move(said);
  auto size = read_elastic(without, defaults);
  if (!size || size->suspended) return elastic;
  size->left_alone = elastic.error().text;
  return size;
}

}  // namespace pinion::cluster::elastic
