// What follows from what has happened: calls that are held end, who was refused is asked about
// again.
#include "cluster/extender/scheduling/pod_scheduler.h"

#include <algorithm>
#include <utility>

#include "cluster/extender/scheduling/pod_scheduler_parts.h"

namespace pinion::cluster {

void PodScheduler::tick(std::int64_t now_ms) {
  scheduler_.tick(now_ms);
  for (const JobId& gang : held_.overdue(now_ms)) {
    const Job& job = *book().find(gang);
    scheduler_.withdraw(gang,
                        of(held_.count(gang) + job.fixed(), job.spec.size) +
                            " members of its gang came within " +
                            std::to_string(limits_.hold_ms / 1000) + " s",
                        now_ms);
  }
  end_cycles(now_ms);
  forget_untold(now_ms);
  heed();
  wake_early(false, now_ms);
  if (scheduler_.take_changed()) {
    wake_ms_ = plan_ms_ = kAtOnce;
    scheduler_.keep_room_for_first(now_ms);
  }
  plan_gated(now_ms);
  explain(now_ms);
  if (wake_ms_ <= now_ms && !waiting_.all().empty()) wake(now_ms);
}

std::optional<std::int64_t> PodScheduler::next_ms() const {
  if (scheduler_.has_changed()) return kAtOnce;
  auto next = earlier(scheduler_.next_ms(), held_.next_ms());
  next = earlier(next, cycles_.next_ms());
  next = earlier(next, preemption_.next_ms());
  if (!untold_.empty()) {
    next = earlier(next, untold_.front().second + limits_.scheduler.confirm_ms);
  }
  if (!waiting_.all().empty() && wake_ms_ != kNeverDue) next = earlier(next, wake_ms_);
  if (!acts_) return next;
  next = earlier(next, gates_.next_ms());
  if (may_plan() && plan_ms_ != kNeverDue) next = earlier(next, plan_ms_);
  if (gates_.has_gangs() || !refused_.empty()) next = earlier(next, looked_ms_ + kLookMs);
  return next;
}

// Nobody has asked for long, and nobody was bound: the scheduler has given the cycle up.
void PodScheduler::end_cycles(std::int64_t now_ms) {
  for (const JobId& gang : cycles_.take_overdue(now_ms)) {
    const Job* job = book().find(gang);
    if (job == nullptr || job->fixed() > 0) continue;
    scheduler_.withdraw(gang, "the scheduler has bound no member after its last question", now_ms);
  }
}

void PodScheduler::refuse_held(const std::string& why, std::int64_t now_ms) {
  for (const JobId& gang : held_.gangs()) scheduler_.withdraw(gang, why, now_ms);
  heed();
}

// Of the refused, those that would fit now. All members of a gang have one answer.
void PodScheduler::wake(std::int64_t now_ms) {
  std::map<JobId, bool> answers;
  wake_ms_ = waiting_.look(
      now_ms,
      [&](const std::string& uid) -> WaitingPods::Look {
        const Job* job = book().job_of(uid);
        if (job == nullptr) return {};
        const auto [answer, fresh] = answers.try_emplace(job->id, false);
        if (!fresh) return {.fits = answer->second};
        answer->second = scheduler_.would_place(job->id, now_ms);
        return {.fits = answer->second, .cost = std::max(1, job->spec.size)};
      },
      effects_.wake);
}

void PodScheduler::wake_early(bool reported, std::int64_t now_ms) {
  for (const std::string& uid : preemption_.take_early(reported, now_ms)) {
    effects_.wake.push_back(cache_.find(uid)->pod);  // all of them are known
  }
}

// When all of it exist, those that were refused meanwhile are to be asked about, but `uid`.
void PodScheduler::wake_gang(const JobId& gang, const std::string& uid) {
  const Job& job = *book().find(gang);
  if (!job.complete() || job.started) return;
  for (const auto& [other, member] : job.members) {
    if (other != uid && waiting_.all().contains(other)) {
      effects_.wake.push_back(cache_.find(other)->pod);
    }
  }
}

// What the core has done meanwhile: held calls of a plan that is withdrawn are refused.
void PodScheduler::heed() {
  for (const JobNews& news : scheduler_.take_news()) {
    if (news.kind == JobNews::Kind::kHopeless) {
      const Job* job = book().find(news.job);
      if (job == nullptr || job->members.empty()) continue;
      if (Gates::Gang* gates = gates_.find(news.job); gates != nullptr) gates->told = news.why;
      KnownPod& first = *cache_.find(job->members.begin()->first);
      if (std::exchange(first.hopeless, news.why) == news.why) continue;  // as after a new node
      effects_.hopeless.push_back({.pod = first.pod, .why = news.why});
      continue;
    }
    if (news.kind == JobNews::Kind::kWithdrawn) unbind(news.job);
    if (!is_gang(news.job)) continue;
    if (news.kind == JobNews::Kind::kWithdrawn) held_.refuse(news.job, news.why);
    follow_plan(news.job);
    tell(news);
  }
}

// Who was being bound there is not there any more.
void PodScheduler::unbind(const JobId& id) {
  const Job* job = book().find(id);
  if (job == nullptr) return;
  for (const auto& [uid, member] : job->members) {
    if (!member.fixed()) cache_.set_node(*cache_.find(uid), {});
  }
}

void PodScheduler::tell(const JobNews& news) {
  GangNews gang{
      .gang = news.job, .why = news.why, .places = static_cast<std::size_t>(news.members)};
  switch (news.kind) {
    case JobNews::Kind::kReserved:
      gang.kind = GangNews::Kind::kPlanned;
      ++gang_counters_.planned;
      break;
    case JobNews::Kind::kStarted:
      gang.kind = GangNews::Kind::kLetGo;
      ++gang_counters_.whole;
      break;
    case JobNews::Kind::kWithdrawn:
      gang.kind = GangNews::Kind::kGivenUp;
      ++gang_counters_.given_up;
      break;
    case JobNews::Kind::kHopeless:
      return;
  }
  std::set<std::string_view> nodes;
  if (const Job* job = book().find(news.job); job != nullptr) {
    for (const auto& [uid, member] : job->members) {
      if (!member.node.empty()) nodes.insert(member.node);
    }
  }
  gang.nodes = nodes.size();
  effects_.news.push_back(std::move(gang));
}

void PodScheduler::visit_held(
    const std::function<bool(const PodRef&)>& wanted,
    const std::function<void(const PodRef&, NodeIndex, const topology::CpuSet&)>& visit) const {
  for (const auto& [name, uids] : cache_.residents()) {
    const NodeIndex node = fleet().find(name);
    if (node < 0) continue;
    for (const std::string& uid : uids) {
      const Member* member = book().member(uid);
      if (member == nullptr || !wanted(cache_.find(uid)->pod)) continue;
      topology::CpuSet cpus;
      for (const auto& request : member->requests) {
        const topology::Claim* claim = fleet().node(node).ledger.find(request.id);
        if (claim != nullptr) cpus |= claim->cpus;
      }
      if (!cpus.empty()) visit(cache_.find(uid)->pod, node, cpus);
    }
  }
}

std::vector<const Job*> PodScheduler::gangs() const {
  std::vector<const Job*> gangs;
  for (const auto& [id, job] : book().jobs()) {
    if (is_gang(id)) gangs.push_back(&job);
  }
  return gangs;
}

Effects PodScheduler::take_effects() {
  effects_.answered = held_.take_answered();
  return std::exchange(effects_, {});
}

}  // namespace pinion::cluster
