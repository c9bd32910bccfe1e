#include "cluster/extender/program/leader_label.h"

#include <chrono>
#include <optional>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLabelLook = 200ms;
constexpr std::chrono::seconds kLabelRetry = 1s;
// A leader that did not know yet that it is none any more may have set its own again.
constexpr std::chrono::seconds kLabelAgain = 30s;
constexpr std::chrono::milliseconds kLabelLimit{4s};

}  // namespace

LeaderLabel::LeaderLabel(kube::Api& api, kube::PodRef own, std::function<bool()> leading, Log& log)
    : api_(api), own_(std::move(own)), leading_(std::move(leading)), log_(log) {
  thread_ = std::thread([this] { run(); });
}

LeaderLabel::~LeaderLabel() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancel_.cancel();
  changed_.notify_all();
  thread_.join();
}

void LeaderLabel::run() {
  bool told = false;
  SteadyClock::time_point due{};  // at once: an earlier process of this pod may have left a label
  bool trouble = false;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const bool leads = leading_();
    const auto now = SteadyClock::now();
    if (leads != told || now >= due) {
      const Status done = tell(leads);
      if (!done && !trouble) log_.warn("the leader's label", {{"why", done.error().text}});
      trouble = !done;
      told = leads;
      due = done ? SteadyClock::now() + kLabelAgain : now;
    }
    lock.lock();
    changed_.wait_for(lock, trouble ? std::chrono::milliseconds(kLabelRetry) : kLabelLook,
                      [this] { return stopping_; });
  }
}

Status LeaderLabel::tell(bool leads) {
  // First from others: two of the Service's endpoints would answer the scheduler by turns.
  if (leads) {
    if (Status done = take_from_others(); !done) return done;
  }
  return kube::label_pod(
      api_, own_, {{kLeaderLabel, leads ? std::optional<std::string>("true") : std::nullopt}},
      {.cancel = &cancel_, .whole = kLabelLimit});
}

Status LeaderLabel::take_from_others() {
  const kube::Call how{.cancel = &cancel_, .whole = kLabelLimit};
  const auto pods = api_.list(
      kube::with_query("/api/v1/namespaces/" + kube::percent_encoded(own_.name_space) + "/pods",
                       {{"labelSelector", std::string(kLeaderLabel) + "=true"}}),
      how);
  if (!pods) return failure(pods.error());
  for (const auto& pod : kube::json_at(*pods, "items")) {
    const std::string name = kube::json_text(pod, "metadata", "name");
    if (name == own_.name) continue;
    Status done = kube::label_pod(api_, {.name_space = own_.name_space, .name = name, .uid = {}},
                                  {{kLeaderLabel, {}}}, how);
    if (!done && done.error().code != Errc::kNotFound) return done;
  }
  return {};
}

}  // namespace pinion::cluster
