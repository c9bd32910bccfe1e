#include "cluster/extender/program/startup_taint.h"

#include <utility>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::cluster {
namespace {

using kube::json_text;
using nlohmann::json;

constexpr std::chrono::milliseconds kTaintLimit{4000};

}  // namespace

// From the last to the first, so that the places of those before stay.
std::optional<json> without_startup_taint(const json& node) {
  json patch = json::array();
  const json& taints = kube::json_at(node, "spec", "taints");
  for (std::size_t i = taints.is_array() ? taints.size() : 0; i-- > 0;) {
    if (json_text(taints[i], "key") != kStartupTaint) continue;
    const std::string at = "/spec/taints/" + std::to_string(i);
    patch.push_back({{"op", "test"}, {"path", at + "/key"}, {"value", kStartupTaint}});
    patch.push_back({{"op", "remove"}, {"path", at}});
  }
  return patch.empty() ? std::nullopt : std::optional(std::move(patch));
}

StartupTaint::StartupTaint(kube::Api& api, agent::Log& log, std::function<bool()> may_act,
                           Options options)
    : api_(api), log_(log), may_act_(std::move(may_act)), options_(options) {
  thread_ = std::thread([this] { run(); });
}

StartupTaint::~StartupTaint() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancel_.cancel();
  changed_.notify_all();
  thread_.join();
}

void StartupTaint::seen(const json& node) {
  auto patch = without_startup_taint(node);
  const std::string name = json_text(node, "metadata", "name");
  if (!patch) return gone(name);
  const std::lock_guard lock(mutex_);
  Tainted& tainted = tainted_[name];
  if (tainted.patch == *patch) return;
  tainted = {.patch = *std::move(patch)};
  changed_.notify_one();
}

void StartupTaint::gone(const std::string& node) {
  const std::lock_guard lock(mutex_);
  tainted_.erase(node);
}

void StartupTaint::ready(const std::string& node, bool is_ready) {
  const std::lock_guard lock(mutex_);
  if (!is_ready) {
    ready_.erase(node);
    return;
  }
  ready_.insert(node);
  changed_.notify_one();
}

std::string StartupTaint::due() const {
  const auto now = Clock::now();
  for (const auto& [node, tainted] : tainted_) {
    if (tainted.next_try <= now && ready_.contains(node)) return node;
  }
  return {};
}

void StartupTaint::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::string node = due();
    if (node.empty()) {
      if (tainted_.empty()) {
        changed_.wait(lock);
      } else {
        changed_.wait_for(lock, options_.retry);
      }
      continue;
    }
    Tainted& tainted = tainted_[node];
    tainted.next_try = Clock::now() + options_.retry;
    const json patch = tainted.patch;
    lock.unlock();
    if (may_act_()) take_from(node, patch);
    lock.lock();
  }
}

// When it is done the watch tells of a node without the taint.
void StartupTaint::take_from(const std::string& node, const json& patch) {
  const auto done =
      api_.patch("/api/v1/nodes/" + kube::percent_encoded(node), kube::PatchKind::kJson, patch,
                 {.cancel = &cancel_, .whole = kTaintLimit});
  if (done) {
    log_.info("a node's agent is ready, its start-up taint is taken away", {{"node", node}});
  } else if (done.error().code != Errc::kNotFound) {
    log_.warn("a node's start-up taint cannot be taken away, trying again",
              {{"node", node}, {"why", done.error().text}});
  }
}

void TaintedNodes::on_object(kube::Change change, const json& object) {
  next_.on_object(change, object);
  if (change == kube::Change::kDeleted) {
    taint_.gone(json_text(object, "metadata", "name"));
  } else {
    taint_.seen(object);
  }
}

void ReadyAgents::connected(const std::string& node) {
  next_.connected(node);
  if (taint_ != nullptr) taint_->ready(node, true);
}

void ReadyAgents::lost(const std::string& node, const Error& why) {
  next_.lost(node, why);
  if (taint_ != nullptr) taint_->ready(node, false);
}

}  // namespace pinion::cluster
