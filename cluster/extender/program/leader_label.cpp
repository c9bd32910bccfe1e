#include "cluster/extender/program/leader_label.h"

#include <optional>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "policy/annotations.h"

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
    : api_(api), own_(std::move(own)), leading_(std::move(leading)), log_(log) {}

LeaderLabel::~LeaderLabel() {
  rounds_.stop();
  cancel_.cancel();
}

std::chrono::milliseconds LeaderLabel::look() {
  const bool leads = leading_();
  const auto now = SteadyClock::now();
  if (leads != told_ || now >= due_) {
    const Status done = tell(leads);
    if (!done && !trouble_) log_.warn("the leader's label", {{"why", done.error().text}});
    trouble_ = !done;
    told_ = leads;
    due_ = done ? SteadyClock::now() + kLabelAgain : now;
  }
  return trouble_ ? std::chrono::milliseconds(kLabelRetry) : kLabelLook;
}

Status LeaderLabel::tell(bool leads) {
  // First from others: two of the Service's endpoints would answer the scheduler by turns.
  if (leads) {
    if (Status done = take_from_others(); !done) return done;
  }
  return kube::label_pod(
      api_, own_, {{label::kLeader, leads ? std::optional<std::string>("true") : std::nullopt}},
      {.cancel = &cancel_, .whole = kLabelLimit});
}

Status LeaderLabel::take_from_others() {
  const kube::Call how{.cancel = &cancel_, .whole = kLabelLimit};
  const auto pods = api_.list(
      kube::with_query("/api/v1/namespaces/" + kube::percent_encoded(own_.name_space) + "/pods",
                       {{"labelSelector", std::string(label::kLeader) + "=true"}}),
      how);
  if (!pods) return failure(pods.error());
  for (const auto& pod : kube::json_at(*pods, "items")) {
    const std::string name = kube::json_text(pod, "metadata", "name");
    if (name == own_.name) continue;
    Status done = kube::label_pod(api_, {.name_space = own_.name_space, .name = name, .uid = {}},
                                  {{label::kLeader, {}}}, how);
    if (!done && done.error().code != Errc::kNotFound) return done;
  }
  return {};
}

}  // namespace pinion::cluster
