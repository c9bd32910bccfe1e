#include "cluster/extender/program/hostfiles.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "cluster/extender/jobs/annotations.h"
#include "cluster/extender/jobs/hostfile.h"
#include "cluster/extender/jobs/job_object.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::cluster {
namespace {

// Jobs that are remembered; then all are forgotten, and found to be done when their pods change.
constexpr std::size_t kMostKnown = 100'000;
constexpr std::chrono::seconds kAgain{2};

std::string text_of(const wire::PodSpecView& pod, const char* annotation) {
  const auto found = pod.annotations.find(annotation);
  return found == pod.annotations.end() ? std::string() : found->second;
}

}  // namespace

Hostfiles::Hostfiles(kube::Api& api, agent::Log& log, std::function<bool()> may_act)
    : api_(api), log_(log), may_act_(std::move(may_act)), thread_([this] { run(); }) {}

Hostfiles::~Hostfiles() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancel_.cancel();
  changed_.notify_all();
  thread_.join();
}

void Hostfiles::seen(const wire::PodSpecView& pod) {
  const std::string hostfile = text_of(pod, jobs::kHostfile);
  if (hostfile.empty() || hostfile == "none") return;
  const auto path = jobs::owner_path(text_of(pod, jobs::kOwner), pod.name_space);
  if (!path) return;
  const Job job{.name_space = pod.name_space,
                .path = *path,
                .made_by = pod.controller ? pod.controller->uid : std::string()};
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown) {
    known_.clear();
    jobs_.clear();
  }
  if (!known_.insert(job).second) return;
  jobs_.push_back(job);
  changed_.notify_one();
}

void Hostfiles::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const Job job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    const bool ours = may_act_();
    const Status made = ours ? make(job) : Status();
    lock.lock();
    if (made && ours) continue;
    const bool again = !ours || made.error().code == Errc::kUnavailable;
    if (!made && !stopping_) {
      log_.warn(
          "a hostfile is not made",
          {{"job", job.path}, {"why", made.error().text}, {"again", again ? "true" : "false"}});
    }
    if (!again) continue;
    jobs_.push_back(job);
    changed_.wait_for(lock, kAgain, [&] { return stopping_; });
  }
}

Status Hostfiles::make(const Job& job) {
  const kube::Call how{.cancel = &cancel_};
  const auto object = api_.get(job.path, how);
  if (!object && object.error().code == Errc::kNotFound) return {};  // gone, and its pods with it
  if (!object) return failure(object.error());
  const auto map = jobs::hostfile_config_map(*object);
  if (!map) return failure(map.error());
  if (!*map) return {};
  const std::string maps =
      "/api/v1/namespaces/" + kube::percent_encoded(job.name_space) + "/configmaps";
  const std::string name = kube::json_text(**map, "metadata", "name");
  const auto made = api_.create(maps, **map, how);
  if (made) {
    log_.info("a hostfile is made", {{"job", job.path}, {"config_map", name}});
    return {};
  }
  if (made.error().code != Errc::kConflict) return failure(made.error());
  return look_at_existing(maps + "/" + kube::percent_encoded(name), **map);
}

Status Hostfiles::look_at_existing(const std::string& path, const nlohmann::json& wanted) {
  const auto there = api_.get(path, {.cancel = &cancel_, .whole = {}});
  if (!there) {
    const bool gone = there.error().code == Errc::kNotFound;
    return failure(gone ? Errc::kUnavailable : there.error().code, there.error().text);
  }
  const auto owner = [](const nlohmann::json& map, const char* field) {
    const auto& owners = kube::json_at(map, "metadata", "ownerReferences");
    return owners.is_array() && !owners.empty() ? kube::json_text(owners.front(), field)
                                                : std::string();
  };
  if (owner(*there, "uid") == owner(wanted, "uid")) return {};
  const bool of_the_last = owner(*there, "kind") == owner(wanted, "kind") &&
                           owner(*there, "name") == owner(wanted, "name");
  if (of_the_last) {
    return failure(Errc::kUnavailable, path + " of a job of that name that is gone is still there");
  }
  return failure(Errc::kExhausted,
                 path + " is not Pinion's, and the job's pods mount what it holds: rename one");
}

}  // namespace pinion::cluster
