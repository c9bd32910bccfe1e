#include "cluster/extender/program/startup_taint.h"

#include <algorithm>
#include <utility>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::cluster {
namespace {

using kube::json_text;
using nlohmann::json;

constexpr std::chrono::milliseconds kTaintLimit{4000};
constexpr std::chrono::milliseconds kLongestTaintPause{60'000};
constexpr std::size_t kMostTainted = 20'000;

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

StartupTaint::StartupTaint(kube::Api& api, Log& log, std::function<bool()> may_act,
                           const Options& options)
    : api_(api),
      log_(log),
      queue_({.most = kMostTainted,
              .first_pause = options.retry,
              .longest_pause = std::max(options.retry, kLongestTaintPause)},
             std::move(may_act), [this](const std::string& node, const json& patch) {
               return take_from(node, patch);
             }) {}

StartupTaint::~StartupTaint() {
  cancel_.cancel();
}

void StartupTaint::seen(kube::Change change, const json& node) {
  auto patch = change == kube::Change::kDeleted ? std::nullopt : without_startup_taint(node);
  const std::string name = json_text(node, "metadata", "name");
  const std::lock_guard lock(mutex_);
  if (!patch) {
    tainted_.erase(name);
    queue_.erase(name);
    return;
  }
  json& known = tainted_[name];
  if (known == *patch) return;
  known = *std::move(patch);
  if (ready_.contains(name)) queue_.add(name, known);
}

void StartupTaint::ready(const std::string& node, bool is_ready) {
  const std::lock_guard lock(mutex_);
  if (!is_ready) {
    ready_.erase(node);
    queue_.erase(node);
    return;
  }
  ready_.insert(node);
  const auto tainted = tainted_.find(node);
  if (tainted != tainted_.end()) queue_.add(node, tainted->second);
}

// When it is done the watch tells of a node without the taint.
Worked StartupTaint::take_from(const std::string& node, const json& patch) {
  const auto done =
      api_.patch("/api/v1/nodes/" + kube::percent_encoded(node), kube::PatchKind::kJson, patch,
                 {.cancel = &cancel_, .whole = kTaintLimit});
  if (done) {
    log_.info("a node's agent is ready, its start-up taint is taken away", {{"node", node}});
    return Worked::kDone;
  }
  if (done.error().code == Errc::kNotFound) return Worked::kDone;
  log_.warn("a node's start-up taint cannot be taken away, trying again",
            {{"node", node}, {"why", done.error().text}});
  return Worked::kAgain;
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
