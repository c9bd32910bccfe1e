#include "cluster/extender/service/placing.h"

#include <algorithm>
#include <utility>

#include "cluster/extender/pods/pod_of.h"

namespace pinion::cluster {
namespace {

constexpr const char* kStops = "Pinion's extender is being stopped";

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

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

using Level = Note::Level;
using Fields = std::vector<std::pair<std::string, std::string>>;

Note note_of(Level level, std::string text, const PodRef& pod, Fields fields) {
  fields.insert(fields.begin(), {"pod", pod.name_space + "/" + pod.name});
  return {.level = level, .text = std::move(text), .fields = std::move(fields)};
}

Note note_of(const GangNews& news) {
  Note note{.level = Level::kInfo,
            .text = "a gang is planned",
            .fields = {{"gang", called(news.gang)},
                       {"places", std::to_string(news.places)},
                       {"nodes", std::to_string(news.nodes)}}};
  if (news.kind == GangNews::Kind::kLetGo) note.text = "a gang is whole and starts";
  if (news.kind == GangNews::Kind::kGivenUp) {
    note.text = "a gang's plan is given up";
    note.fields.emplace_back("why", news.why);
  }
  return note;
}

}  // namespace

Placing::Placing(Cluster& cluster, const policy::Defaults& defaults,
                 const PodSchedulerLimits& limits, Clock clock, Journal journal, Hurry hurry)
    : cluster_(cluster),
      clock_(std::move(clock)),
      journal_(std::move(journal)),
      hurry_(std::move(hurry)),
      pod_scheduler_(defaults, limits) {}

void Placing::carry_out(std::unique_lock<std::mutex>& lock) {
  const Effects effects = pod_scheduler_.take_effects();
  for (const Answered& answered : effects.answered) {
    const auto held = held_.find(answered.call_id);
    if (held == held_.end()) continue;
    held->second.answer = answered;
    held->second.answered.notify_one();
  }
  figures_.nominated += effects.nominations.size();
  figures_.opened += effects.openings.size();
  figures_.woken += effects.wake.size();
  figures_.hopeless += effects.hopeless.size();
  const std::int64_t due_ms = pod_scheduler_.next_ms().value_or(kNeverDue);
  const bool sooner = due_ms < tick_ms_;
  if (sooner) tick_ms_ = due_ms;
  lock.unlock();
  if (sooner) hurry_();
  for (const Nomination& nomination : effects.nominations) {
    cluster_.nominate(nomination.pod, nomination.node);
    journal_(note_of(Level::kInfo, "nominated", nomination.pod,
                     {{"node", nomination.node}, {"why", nomination.why}}));
  }
  for (const GangNews& news : effects.news) journal_(note_of(news));
  for (const Opening& opening : effects.openings) cluster_.open(opening);
  for (const Explanation& hopeless : effects.hopeless) {
    cluster_.warn(hopeless.pod, hopeless.why);
    journal_(note_of(Level::kInfo, "cannot start on these nodes", hopeless.pod,
                     {{"why", hopeless.why}}));
  }
  for (const PodRef& pod : effects.wake) {
    cluster_.wake(pod);
    journal_(note_of(Level::kInfo, "woken, as it would fit now", pod, {}));
  }
  for (const Explanation& explanation : effects.explanations) {
    cluster_.explain(explanation.pod, explanation.why);
    journal_(note_of(Level::kInfo, "its gang waits", explanation.pod, {{"why", explanation.why}}));
  }
}

wire::FilterAnswer Placing::filter(const wire::FilterAsk& ask) {
  const auto start = std::chrono::steady_clock::now();
  const Pod pod = pod_of(ask.pod);
  const auto verdicts = tell([&](PodScheduler& scheduler, std::int64_t now) {
    auto answer = scheduler.filter(pod, ask.names, now);
    ++(!answer.ours ? figures_.others : answer.why.empty() ? figures_.offered : figures_.refused);
    figures_.filter.observe(seconds_since(start));
    return answer;
  });
  if (!verdicts.why.empty()) {
    journal_(note_of(Level::kInfo, "refused", ref_of(pod),
                     {{"why", verdicts.why}, {"nodes", std::to_string(ask.names.size())}}));
  }
  return answer_of(verdicts);
}

wire::PrioritizeAnswer Placing::prioritize(const wire::FilterAsk& ask) {
  const auto start = std::chrono::steady_clock::now();
  const Pod pod = pod_of(ask.pod);
  const std::lock_guard lock(mutex_);
  const auto scores = pod_scheduler_.scores(pod, ask.names);
  figures_.prioritize.observe(seconds_since(start));
  return {.scores = std::vector<std::int64_t>(scores.begin(), scores.end())};
}

bool Placing::wait(std::unique_lock<std::mutex>& lock, CallId call_id, std::string& why) {
  const auto held = held_.find(call_id);
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
  const CallId call_id = ++call_ids_;
  held_[call_id];  // before anybody can answer
  const auto answer = pod_scheduler_.bind(ask.pod_uid, ask.node, call_id, clock_());
  carry_out(lock);
  lock.lock();
  std::string why = answer.text;
  bool go = answer.kind != BindAnswer::Kind::kRefuse;
  if (answer.kind == BindAnswer::Kind::kHold) {
    go = wait(lock, call_id, why);
  } else {
    held_.erase(call_id);
  }
  if (go) {
    lock.unlock();
    return bind_now(pod, ask.node);
  }
  ++figures_.not_bound;
  lock.unlock();
  journal_(note_of(Level::kInfo, "not bound", pod, {{"node", ask.node}, {"why", why}}));
  return {.error = why};
}

wire::BindAnswer Placing::bind_now(const PodRef& pod, const std::string& node) {
  const auto told =
      look([&](const PodScheduler& scheduler) { return scheduler.told_with_binding(pod.uid); });
  const Status bound = cluster_.bind(pod, node, told);
  const bool perhaps = !bound && bound.error().code == Errc::kUnavailable;
  tell([&](PodScheduler& scheduler, std::int64_t now) {
    ++(bound ? figures_.bound : figures_.not_bound);
    scheduler.bound(pod.uid, bound || perhaps, now);
    return 0;
  });
  if (bound) {
    Fields fields{{"node", node}};
    for (const auto& [name, value] : told) fields.emplace_back(name, value);
    journal_(note_of(Level::kInfo, "bound", pod, std::move(fields)));
    return {};
  }
  journal_(note_of(Level::kWarn, "not bound", pod, {{"node", node}, {"why", bound.error().text}}));
  return {.error = bound.error().text};
}

wire::PreemptAnswer Placing::preempt(const wire::PreemptAsk& ask) {
  std::vector<Eviction> proposals;
  for (const auto& node : ask.nodes) proposals.push_back({node.node, node.uids});
  const Pod pod = pod_of(ask.pod);
  const auto kept = tell([&](PodScheduler& scheduler, std::int64_t now) {
    return scheduler.preempt(pod, std::move(proposals), now);
  });
  journal_(note_of(
      Level::kInfo, "evictions that would give it its cores", ref_of(pod),
      {{"nodes", std::to_string(kept.size())}, {"proposed", std::to_string(ask.nodes.size())}}));
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
  pod_scheduler_.refuse_held(kStops, clock_());
  carry_out(lock);
}

PlacingFigures Placing::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

std::chrono::milliseconds Placing::tick(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  const std::int64_t now_ms = clock_();
  pod_scheduler_.tick(now_ms);
  const std::int64_t due_ms = pod_scheduler_.next_ms().value_or(kNeverDue);
  tick_ms_ = std::min(due_ms, now_ms + most.count());
  const std::chrono::milliseconds pause(std::max(tick_ms_, now_ms) - now_ms);
  carry_out(lock);
  return pause;
}

}  // namespace pinion::cluster
