#include "tests/e2e/collection.h"

#include <utility>

#include "cluster/extender/kube/json_read.h"
#include "tests/lab/files.h"

namespace pinion::e2e {

using nlohmann::json;

namespace {

kube::WatchOptions options_for(const std::string& path) {
  kube::WatchOptions options;
  options.path = path;
  options.backoff_first = std::chrono::milliseconds(20);
  options.backoff_longest = std::chrono::milliseconds(200);
  return options;
}

}  // namespace

Collection::Collection(kube::Api& api, kube::WatchOptions options)
    : watch_(api, std::move(options), *this) {}

Collection::Collection(kube::Api& api, const std::string& path)
    : Collection(api, options_for(path)) {}

bool Collection::wait(const std::function<bool(const Objects&)>& condition,
                      std::chrono::milliseconds limit) {
  return wait_until([&] { return condition(objects_); }, limit);
}

bool Collection::wait_for_lists(std::uint64_t lists) {
  return wait_until([&] { return lists_ >= lists; }, kPatience);
}

bool Collection::wait_for_trouble(std::size_t times) {
  return wait_until([&] { return trouble_.size() >= times; }, kPatience);
}

bool Collection::wait_for(const std::string& name,
                          const std::function<bool(const json&)>& condition,
                          std::chrono::milliseconds limit) {
  return wait(
      [&](const Objects& objects) {
        const auto found = objects.find(name);
        return found != objects.end() && condition(found->second);
      },
      limit);
}

bool Collection::wait_until_gone(const std::string& name) {
  return wait([&](const Objects& objects) { return !objects.contains(name); });
}

bool Collection::wait_until(const std::function<bool()>& condition,
                            std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, lab::patient(limit), condition);
}

Collection::Objects Collection::now() const {
  const std::lock_guard lock(mutex_);
  return objects_;
}

std::vector<std::string> Collection::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::uint64_t Collection::lists() const {
  const std::lock_guard lock(mutex_);
  return lists_;
}

void Collection::on_object(kube::Change change, const json& object) {
  const std::lock_guard lock(mutex_);
  const std::string name = kube::json_text(object, "metadata", "name");
  if (change == kube::Change::kDeleted) {
    objects_.erase(name);
  } else {
    objects_[name] = object;
  }
  changed_.notify_all();
}

void Collection::on_synced(std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  lists_ = generation;
  changed_.notify_all();
}

void Collection::on_trouble(const Error& error, std::chrono::milliseconds /*pause*/) {
  const std::lock_guard lock(mutex_);
  trouble_.push_back(error.text);
  changed_.notify_all();
}

std::string node_of(const json& pod) {
  return kube::json_text(pod, "spec", "nodeName");
}

std::string why_unscheduled(const json& pod) {
  for (const json& condition : kube::json_at(pod, "status", "conditions")) {
    if (kube::json_text(condition, "type") == "PodScheduled" &&
        kube::json_text(condition, "status") == "False") {
      return kube::json_text(condition, "message");
    }
  }
  return {};
}

}  // namespace pinion::e2e
