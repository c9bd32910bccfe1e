#include "extender/service/placing.h"

#include "extender/service/pod_of.h"

namespace pinion::extender {
namespace {

constexpr const char* kStops = "Pinion's extender is being stopped";

std::vector<std::string_view> names_of(const wire::FilterAsk& ask) {
  std::vector<std::string_view> names;
  names.reserve(ask.nodes.size());
  for (const auto& node : ask.nodes) names.push_back(node.name);
  return names;
}

wire::FilterAnswer answer_of(const FilterAnswer& verdicts) {
  wire::FilterAnswer answer;
  for (const auto& text : verdicts.texts) answer.reasons.push_back(text.text);
  for (std::size_t node = 0; node < verdicts.verdict.size(); ++node) {
    const std::size_t verdict = verdicts.verdict[node];
    if (verdict == 0) {
      answer.nodes.push_back(node);
      continue;
    }
    auto& refusals = verdicts.texts.at(verdict - 1).hopeless ? answer.unresolvable : answer.failed;
    refusals.push_back({.node = node, .reason = verdict - 1});
  }
  return answer;
}

}  // namespace

Placing::Placing(Cluster& cluster, const engine::Defaults& defaults, const DeskLimits& limits,
                 Clock clock)
    : cluster_(cluster), clock_(std::move(clock)), desk_(defaults, limits) {}

void Placing::settle(std::unique_lock<std::mutex>& lock) {
  const Effects effects = desk_.take_effects();
  for (const Answered& answered : effects.answered) {
    const auto held = held_.find(answered.ticket);
    if (held == held_.end()) continue;
    held->second.answer = answered;
    held->second.answered.notify_one();
  }
  lock.unlock();
  for (const Nomination& nomination : effects.nominations) {
    cluster_.nominate(nomination.pod, nomination.node);
  }
  for (const PodRef& pod : effects.wake) cluster_.wake(pod);
}

wire::FilterAnswer Placing::filter(const wire::FilterAsk& ask) {
  const Pod pod = pod_of(ask.pod);
  const auto names = names_of(ask);
  return answer_of(
      tell([&](Desk& desk, std::int64_t now) { return desk.filter(pod, names, now); }));
}

wire::PrioritizeAnswer Placing::prioritize(const wire::FilterAsk& ask) {
  const auto names = names_of(ask);
  const auto scores = look([&](const Desk& desk) { return desk.scores(ask.pod.uid, names); });
  return {.scores = std::vector<std::int64_t>(scores.begin(), scores.end())};
}

bool Placing::wait(std::unique_lock<std::mutex>& lock, Ticket ticket, std::string& why) {
  const auto held = held_.find(ticket);
  held->second.answered.wait(lock, [&] { return held->second.answer.has_value(); });
  const Answered answer = *held->second.answer;
  held_.erase(held);
  why = answer.text;
  return answer.go;
}

wire::BindAnswer Placing::bind(const wire::BindAsk& ask) {
  const PodRef pod{.name_space = ask.pod_namespace, .name = ask.pod_name, .uid = ask.pod_uid};
  std::unique_lock lock(mutex_);
  if (stopping_) return {.error = kStops};
  const Ticket ticket = ++tickets_;
  held_[ticket];  // before anybody can answer
  const auto answer = desk_.bind(ask.pod_uid, ask.node, ticket, clock_());
  settle(lock);
  lock.lock();
  if (answer.kind == BindAnswer::Kind::kHold) {
    std::string why;
    if (!wait(lock, ticket, why)) return {.error = why};
  } else {
    held_.erase(ticket);
    if (answer.kind == BindAnswer::Kind::kRefuse) return {.error = answer.text};
  }
  lock.unlock();
  const Status bound = cluster_.bind(pod, ask.node);
  tell([&](Desk& desk, std::int64_t now) {
    desk.bound(ask.pod_uid, bound.has_value(), now);
    return 0;
  });
  return {.error = bound ? std::string() : bound.error().text};
}

wire::PreemptAnswer Placing::preempt(const wire::PreemptAsk& ask) {
  std::vector<Eviction> proposals;
  for (const auto& node : ask.nodes) proposals.push_back({node.node, node.uids});
  const auto kept =
      look([&](const Desk& desk) { return desk.preempt(pod_of(ask.pod), std::move(proposals)); });
  wire::PreemptAnswer answer;
  auto next = kept.begin();  // in the same order
  for (const auto& node : ask.nodes) {
    if (next == kept.end() || next->node != node.node) continue;
    answer.nodes.push_back(node);
    ++next;
  }
  return answer;
}

void Placing::stopping() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  desk_.refuse_held(kStops);
  settle(lock);
}

void Placing::tick() {
  tell([](Desk& desk, std::int64_t now) {
    desk.tick(now);
    return 0;
  });
}

}  // namespace pinion::extender
