// Slurm, the API server and a bridge between them in random order: jobs are submitted, cancelled,
// requeued and end; placeholders are bound, start and are evicted; the bridge sees them late, its
// actions fail or are done twice, and it is killed in the middle of a round. The extender gives
// elastic jobs more nodes and fewer, and changes its mind. It remembers nothing
// from one round to the next, so every round is a restart.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cluster/slurm/decide.h"

namespace pinion::slurm {
namespace {

using Phase = Placeholder::Phase;

constexpr int kNodes = 4;

std::string node_name(std::uint32_t number) {
  return "n" + std::to_string(number % kNodes);
}

Rules rules() {
  Rules rules;
  rules.cluster = "wind";
  rules.most_waiting = 5;
  rules.elastic = true;
  return rules;
}

// Draws from the history's own numbers, so that what fails can be made smaller.
class Dice {
 public:
  explicit Dice(std::uint32_t value) : value_(value) {}
  std::uint32_t below(std::uint32_t bound) {
    value_ = value_ * 1'664'525U + 1'013'904'223U;
    return (value_ >> 16U) % bound;
  }

 private:
  std::uint32_t value_;
};

class World {
 public:
  void step(std::uint32_t number) {
    Dice dice(number);
    switch (dice.below(17)) {
      case 0:
        submit(dice);
        return;
      case 1:
        return submit_array(dice);
      case 2:
      case 3:
        return bind(dice);
      case 4:
        for (auto& [name, pod] : pods_) start_pod(pod);
        return;
      case 5:
        return start_jobs(dice.below(6) + 1);
      case 6:
        return end_one(dice);
      case 7:
        return requeue_one(dice);
      case 8:
        return evict_one(dice);
      case 9:
        return forget_one(dice);
      case 10:
        old_pods_ = pods();
        old_counts_ = counts();
        return;
      case 11:
        now_s_ += dice.below(100);
        return;
      case 12:
        return break_or_mend(dice);
      case 13:
        return change_mind(dice);
      case 14:
        (void)go_on();
        return;
      default:
        round(dice);
    }
  }

  // Nothing more happens to jobs and placeholders; the bridge is left to itself, every round whole.
  void settle() {
    out_.clear();
    int quiet = 0;  // rounds
    // A few jobs at a time, and some are placed several times.
    for (std::uint32_t i = 0; i < 20 + 4 * last_id_; ++i) {
      const bool waits = go_on();
      quiet = whole_round() && !waits ? quiet + 1 : 0;
      if (quiet == 2 && std::exchange(last_wish_, false)) {
        resize_all();
        quiet = 0;
      }
      if (quiet == 3) break;
      for (auto& [name, pod] : pods_) {
        if (!pod.leaving && pod.node.empty()) pod.node = free_node(pod);
        start_pod(pod);
      }
      std::erase_if(pods_, [](const auto& entry) { return entry.second.leaving; });
      start_jobs(0);
      now_s_ += 400;  // longer than any pause
    }
    whole_round();
    std::erase_if(pods_, [](const auto& entry) { return entry.second.leaving; });
    RC_ASSERT(decide(rules(), view(pods(), counts())).empty());
    check_settled();
  }

 private:
  [[nodiscard]] std::vector<Placeholder> pods() const {
    std::vector<Placeholder> all;
    for (const auto& [name, pod] : pods_) all.push_back(pod);
    return all;
  }

  [[nodiscard]] std::vector<NodeCount> counts() const {
    std::vector<NodeCount> all;
    for (const auto& [name, count] : counts_) all.push_back(count);
    return all;
  }

  [[nodiscard]] View view(std::vector<Placeholder> seen, std::vector<NodeCount> seen_counts) const {
    View view;
    for (const auto& [id, job] : jobs_) view.jobs.push_back(job);
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      const std::string name = node_name(i);
      view.nodes.push_back({.name = name,
                            .out = out_.contains(name) ? "DOWN" : "",
                            .features = {},
                            .partitions = {}});
    }
    view.placeholders = std::move(seen);
    view.counts = std::move(seen_counts);
    view.now_s = now_s_;
    return view;
  }

  // As job_submit.lua leaves it.
  Job& submit(Dice& dice) {
    Job job;
    job.id = ++last_id_;
    job.submit_s = now_s_;
    job.held = true;
    job.requeues = dice.below(3) != 0;
    job.nodes = 1 + static_cast<int>(dice.below(3));
    job.cpus = job.nodes * (1 + static_cast<int>(dice.below(3)));
    job.admin_comment = dice.below(8) == 0 ? "pinion=user-held" : "pinion=wait";
    if (dice.below(8) == 0) job.comment = "profile=unknown";
    if (dice.below(8) == 0) job.begin_s = now_s_ + 50;
    job.batch = true;
    job.max_nodes = job.nodes;
    if (dice.below(2) == 0) {
      job.max_nodes = kNodes;
      job.batch = dice.below(4) != 0;
      if (job.comment.empty()) job.comment = dice.below(4) == 0 ? "moldable" : "elastic";
    }
    return jobs_[job.id] = job;
  }

  void submit_array(Dice& dice) {
    Job& job = submit(dice);
    job.array = job.id;
    job.elements = "0-" + std::to_string(dice.below(4));
    job.most_elements = static_cast<int>(dice.below(3));
  }

  Placeholder* any_pod(Dice& dice) {
    if (pods_.empty()) return nullptr;
    return &std::next(pods_.begin(), dice.below(static_cast<std::uint32_t>(pods_.size())))->second;
  }
  Job* any_job(Dice& dice) {
    if (jobs_.empty()) return nullptr;
    return &std::next(jobs_.begin(), dice.below(static_cast<std::uint32_t>(jobs_.size())))->second;
  }

  // One that no other placeholder of its job has.
  [[nodiscard]] std::string free_node(const Placeholder& pod) const {
    std::set<std::string> taken;
    for (const auto& [name, other] : pods_) {
      if (other.attempt == pod.attempt) taken.insert(other.node);
    }
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      const std::string name = node_name(i + pod.job);
      const auto& may = allowed_.at(pod.name);
      const bool allowed = std::find(may.begin(), may.end(), name) != may.end();
      if (allowed && !taken.contains(name)) return name;
    }
    return "";
  }

  void bind(Dice& dice) {
    Placeholder* pod = any_pod(dice);
    if (pod == nullptr || pod->leaving || !pod->node.empty()) return;
    // The anti-affinity of placeholders is not ours: once in a while two share a node.
    pod->node = dice.below(10) == 0 ? node_name(dice.below(kNodes)) : free_node(*pod);
  }

  void break_or_mend(Dice& dice) {
    const std::string node = node_name(dice.below(kNodes));
    if (out_.erase(node) == 0) out_.insert(node);
  }

  static void start_pod(Placeholder& pod) {
    if (!pod.node.empty() && pod.phase == Phase::kWaiting) pod.phase = Phase::kRunning;
  }

  // Slurm's tick: what is not held starts where it is pinned to, else anywhere.
  // Every `spared`th is left out.
  void start_jobs(std::uint32_t spared) {
    for (auto& [id, job] : jobs_) {
      if (job.state != Job::State::kPending || job.held || !job.elements.empty()) continue;
      if (spared > 0 && id % spared == 0) continue;
      job.state = Job::State::kRunning;
      job.on = job.pinned;
      for (std::uint32_t i = 0; job.on.empty() && i < static_cast<std::uint32_t>(job.nodes); ++i) {
        job.on.push_back(node_name(i));
      }
      job.batch_host = job.batch ? job.on.front() : "";
    }
  }

  void end_one(Dice& dice) {
    Job* job = any_job(dice);
    if (job == nullptr) return;
    if (job->state == Job::State::kRunning || dice.below(3) == 0) job->state = Job::State::kOver;
  }

  void requeue(Job& job, bool held) {
    job.state = Job::State::kPending;
    job.on.clear();
    job.batch_host.clear();
    ++job.restarts;
    job.submit_s = now_s_;
    job.begin_s = now_s_ + 121;
    job.held = held;
  }

  // By its user or because a node failed: not held.
  void requeue_one(Dice& dice) {
    Job* job = any_job(dice);
    if (job == nullptr || grown_by(job->admin_comment) != 0) return;
    if (job->state == Job::State::kRunning) requeue(*job, false);
  }

  // --- the extender

  NodeCount* any_count(Dice& dice) {
    if (counts_.empty()) return nullptr;
    const auto at = dice.below(static_cast<std::uint32_t>(counts_.size()));
    return &std::next(counts_.begin(), at)->second;
  }

  void touch(NodeCount& count) { count.version = std::to_string(++last_uid_); }

  // Another number, or not any more what was decided before.
  void change_mind(Dice& dice) {
    NodeCount* count = any_count(dice);
    if (count == nullptr) return;
    touch(*count);
    const Ask& ask = asked_.at(count->name);
    const int nodes =
        ask.shape.nodes +
        static_cast<int>(dice.below(static_cast<std::uint32_t>(ask.most - ask.shape.nodes + 1)));
    if (count->suspended) {
      count->suspended = false;
      count->stated = nodes;
      count->wanted = nodes;
    } else if (count->wanted) {
      count->wanted.reset();
      count->suspended = dice.below(6) == 0;  // a start that is taken back
    } else if (!count->moldable) {
      count->wanted = nodes;
      if (nodes > count->stated) count->stated = nodes;
    }
    count->acknowledged.reset();
  }

  // Those with more than their least number of nodes get that, the others all that they may have.
  void resize_all() {
    for (auto& [name, count] : counts_) {
      if (count.suspended || count.wanted || count.moldable) continue;
      const Ask& ask = asked_.at(name);
      touch(count);
      count.wanted = count.stated > ask.shape.nodes ? ask.shape.nodes : ask.most;
      count.stated = std::max(count.stated, *count.wanted);
    }
  }

  // Whether something is under way, or changed.
  bool go_on() {
    bool waits = false;
    for (auto& [name, count] : counts_) {
      waits = waits || count.suspended || count.wanted;
      const auto before = count.version;
      touch(count);
      if (count.suspended) {
        count.suspended = false;
        count.stated = asked_.at(name).shape.nodes;
        count.wanted = count.stated;
      } else if (count.wanted && *count.wanted < count.stated && count.acknowledged) {
        if (count.acknowledged == count.wanted) {
          count.stated = *count.wanted;
        } else {
          count.wanted.reset();  // declined
        }
      } else if (count.wanted == count.stated && count.told.ready == count.stated) {
        count.wanted.reset();
        count.acknowledged.reset();
      } else {
        count.version = before;
      }
    }
    return waits;
  }

  // --- the world again

  void evict_one(Dice& dice) {
    Placeholder* pod = any_pod(dice);
    if (pod == nullptr) return;
    if (pod->phase == Phase::kLost) {
      pods_.erase(std::string(pod->name));
      return;
    }
    pod->phase = Phase::kLost;
    pod->leaving = dice.below(2) == 0;
  }

  void forget_one(Dice& dice) {
    const Job* job = any_job(dice);
    if (job != nullptr && job->state == Job::State::kOver) jobs_.erase(job->id);
  }

  void round(Dice& dice) {
    const auto seen = dice.below(3) == 0 ? old_pods_ : pods();
    const auto seen_counts = dice.below(3) == 0 ? old_counts_ : counts();
    const auto actions = decide(rules(), view(seen, seen_counts));
    check(actions);
    std::set<std::uint32_t> failed;
    for (const Action& action : actions) {
      const auto luck = dice.below(12);
      if (luck == 0) return;  // killed
      if (failed.contains(job_of(action))) continue;
      if (luck == 1) {
        failed.insert(job_of(action));
        continue;
      }
      carry_out(action);
      if (luck == 2) carry_out(action);
      if (luck == 3) failed.insert(job_of(action));  // its answer was lost
    }
  }

  // Whether there was nothing to do.
  bool whole_round() {
    const View seen = view(pods(), counts());
    const auto actions = decide(rules(), seen);
    check(actions);
    for (const Action& action : actions) {
      if (const auto* place = std::get_if<Place>(&action)) check_place(*place);
      carry_out(action);
    }
    check_no_orphans(seen);
    return actions.empty();
  }

  // Nothing twice, and no placeholder for a node that Slurm does not use.
  void check(const std::vector<Action>& actions) const {
    for (const Action& action : actions) {
      const auto* create = std::get_if<Create>(&action);
      if (create == nullptr) continue;
      // An elastic job can do with fewer.
      const int least = create->shape.elastic ? 1 : create->shape.nodes;
      RC_ASSERT(create->nodes->size() >= static_cast<std::size_t>(least));
      for (const std::string& node : *create->nodes) RC_ASSERT(!out_.contains(node));
    }
    for (auto at = actions.begin(); at != actions.end(); ++at) {
      RC_ASSERT(std::find(std::next(at), actions.end(), *at) == actions.end());
    }
  }

  // A job goes only when all of its placeholders run, each on a node of its own.
  void check_place(const Place& place) const {
    const Job& job = jobs_.at(place.job);
    std::set<std::string> nodes;
    for (const auto& [name, pod] : pods_) {
      if (pod.attempt != attempt_of(job, *read_mark(job.admin_comment))) continue;
      if (pod.size == 0 && pod.leaving) continue;  // it was one too many
      RC_ASSERT(pod.phase == Phase::kRunning);
      RC_ASSERT(!out_.contains(pod.node));
      nodes.insert(pod.node);
    }
    RC_ASSERT(nodes == std::set<std::string>(place.nodes.begin(), place.nodes.end()));
    const auto count = count_of(job);
    RC_ASSERT(static_cast<int>(nodes.size()) == (count ? count->stated : job.nodes));
  }

  // A job that this round cancelled keeps them until the next: its processes are only now ended.
  void check_no_orphans(const View& seen) const {
    std::set<std::uint32_t> going_on;
    for (const Job& job : seen.jobs) {
      if (job.state != Job::State::kOver) going_on.insert(job.id);
    }
    for (const auto& [name, pod] : pods_) RC_ASSERT(pod.leaving || going_on.contains(pod.job));
    for (const auto& [name, count] : counts_) RC_ASSERT(going_on.contains(count.job));
  }

  [[nodiscard]] std::optional<NodeCount> count_of(const Job& job) const {
    const auto mark = read_mark(job.admin_comment);
    for (const auto& [name, count] : counts_) {
      if (mark && count.attempt == attempt_of(job, *mark)) return count;
    }
    return std::nullopt;
  }

  void check_settled() const {
    std::set<std::string> wanted;
    for (const auto& [id, job] : jobs_) {
      const auto mark = read_mark(job.admin_comment);
      RC_ASSERT(mark || job.state == Job::State::kOver);  // no helper is left
      if (!mark || job.state != Job::State::kRunning) continue;
      if (const auto count = count_of(job); count && !count->moldable) {
        RC_ASSERT(!count->wanted);  // the extender waits for nothing
        RC_ASSERT(static_cast<int>(job.on.size()) == count->target());
        RC_ASSERT(count->told ==
                  (NodeCount::Told{
                      .active = count->target(), .ready = count->target(), .terminating = 0}));
        RC_CLASSIFY(true, "elastic jobs have what the extender gives");
      }
      std::set<std::string> holding;
      for (const auto& [name, pod] : pods_) {
        if (pod.attempt != attempt_of(job, *mark)) continue;
        RC_ASSERT(pod.phase == Phase::kRunning);
        RC_ASSERT(holding.insert(pod.node).second);
        wanted.insert(name);
      }
      RC_ASSERT(holding == std::set<std::string>(job.on.begin(), job.on.end()));
    }
    for (const auto& [name, pod] : pods_) RC_ASSERT(wanted.contains(name));
    // Nobody waits who could run.
    for (const auto& [id, job] : jobs_) {
      if (job.state != Job::State::kPending) continue;
      RC_ASSERT(read_mark(job.admin_comment).has_value());
      const bool stays = read_mark(job.admin_comment)->user_held ||
                         job.comment.find("unknown") != std::string::npos ||
                         (!job.elements.empty() && job.most_elements > 0);
      RC_ASSERT(stays);
      RC_ASSERT(job.held);
    }
  }

  void carry_out(const Action& action) {
    std::visit([this](const auto& one) { done(one); }, action);
  }

  void done(const Create& it) {
    Placeholder pod = it.pod;
    pod.uid = "uid-" + std::to_string(++last_uid_);
    // One that exists stays.
    if (pods_.emplace(pod.name, pod).second) allowed_[pod.name] = *it.nodes;
  }
  void done(const Delete& it) {
    const auto pod = pods_.find(it.name);
    if (pod == pods_.end() || pod->second.uid != it.uid) return;
    pod->second.leaving = true;
    pod->second.phase = Phase::kLost;
  }
  void done(const Hold& it) {
    const auto job = jobs_.find(it.job);
    if (job == jobs_.end() || job->second.state != Job::State::kPending) return;
    job->second.held = true;
    job->second.pinned.clear();
    job->second.admin_comment = to_text(it.mark);
    if (it.comment) job->second.comment = *it.comment;
  }
  void done(const Place& it) {
    const auto found = jobs_.find(it.job);
    if (found == jobs_.end() || found->second.state != Job::State::kPending) return;
    Job& job = found->second;
    RC_ASSERT(!it.nodes.empty());
    job.pinned = it.nodes;
    job.nodes = job.max_nodes = static_cast<int>(it.nodes.size());
    job.cpus_per_node = it.cpus;
    job.admin_comment = to_text(it.mark);
    if (it.comment) job.comment = *it.comment;
    job.held = false;
  }
  void done(const Requeue& it) {
    const auto job = jobs_.find(it.job);
    if (job == jobs_.end() || job->second.state != Job::State::kRunning) return;
    requeue(job->second, true);
  }
  void done(const Cancel& it) {
    const auto job = jobs_.find(it.job);
    if (job != jobs_.end()) job->second.state = Job::State::kOver;
  }
  void done(const Say& it) {
    const auto job = jobs_.find(it.job);
    if (job != jobs_.end()) job->second.comment = it.comment;
  }
  void done(const Ask& it) {
    if (counts_.contains(it.name)) return;
    NodeCount count;
    count.name = it.name;
    count.uid = std::to_string(++last_uid_);
    count.job = it.job;
    count.attempt = it.attempt;
    count.moldable = it.moldable;
    count.stated = it.shape.nodes;
    touch(count);
    counts_.emplace(it.name, count);
    asked_.insert_or_assign(it.name, it);
  }
  void done(const Unask& it) {
    const auto count = counts_.find(it.name);
    if (count != counts_.end() && count->second.uid == it.uid) counts_.erase(count);
  }
  void done(const Report& it) {
    const auto count = counts_.find(it.name);
    if (count == counts_.end()) return;
    count->second.told = it.told;
    touch(count->second);
  }
  void done(const Acknowledge& it) {
    const auto count = counts_.find(it.name);
    if (count == counts_.end() || count->second.version != it.version) return;
    count->second.acknowledged = it.nodes;
    touch(count->second);
  }
  void done(const Shrink& it) {
    const auto job = jobs_.find(it.job);
    if (job == jobs_.end() || job->second.state != Job::State::kRunning) return;
    auto& on = job->second.on;
    RC_ASSERT(std::find(it.nodes.begin(), it.nodes.end(), job->second.batch_host) !=
              it.nodes.end());
    for (const std::string& node : it.nodes) {
      if (std::find(on.begin(), on.end(), node) == on.end()) return;  // Slurm refuses it
    }
    on = it.nodes;
  }
  void done(const Grow& it) {
    const auto job = jobs_.find(it.job);
    if (job == jobs_.end() || job->second.state != Job::State::kRunning) return;
    job->second.admin_comment = to_text(it.mark);
    if (out_.contains(it.node)) return;
    Job helper;
    helper.id = ++last_id_;
    helper.state = Job::State::kRunning;
    helper.on = {it.node};
    helper.admin_comment = "pinion-grows=" + std::to_string(it.job);
    jobs_[helper.id] = helper;
  }
  void done(const Join& it) {
    const auto job = jobs_.find(it.job);
    const auto helper = jobs_.find(it.helper);
    if (job == jobs_.end() || helper == jobs_.end()) return;
    if (job->second.state != Job::State::kRunning || helper->second.state != Job::State::kRunning) {
      return;
    }
    RC_ASSERT(std::find(job->second.on.begin(), job->second.on.end(), helper->second.on.front()) ==
              job->second.on.end());
    job->second.on.push_back(helper->second.on.front());
    helper->second.state = Job::State::kOver;
    helper->second.on.clear();
  }
  // As Slurm does: the last element is the array's own job.
  void done(const Split& it) {
    const auto found = jobs_.find(it.job);
    if (found == jobs_.end() || found->second.elements.empty()) return;
    Job& rest = found->second;
    const auto last = static_cast<int>(std::stoi(rest.elements.substr(2)));
    const int first = std::stoi(rest.elements);
    if (it.element != first) return;
    if (first == last) {
      rest.element = first;
      rest.elements.clear();
      rest.admin_comment = to_text(it.mark);
      return;
    }
    rest.elements = std::to_string(first + 1) + "-" + std::to_string(last);
    Job job = rest;
    job.id = ++last_id_;
    job.element = first;
    job.elements.clear();
    job.admin_comment = to_text(it.mark);
    jobs_[job.id] = job;
  }

  std::int64_t now_s_ = 1'000'000;
  std::uint32_t last_id_ = 0;
  int last_uid_ = 0;
  std::set<std::string> out_;  // nodes where Slurm starts nothing
  std::map<std::uint32_t, Job> jobs_;
  std::map<std::string, Placeholder> pods_;
  std::map<std::string, std::vector<std::string>> allowed_;  // by placeholder: its nodes
  std::vector<Placeholder> old_pods_;
  std::map<std::string, NodeCount> counts_;
  std::map<std::string, Ask> asked_;
  std::vector<NodeCount> old_counts_;
  bool last_wish_ = true;
};

RC_GTEST_PROP(SlurmDecide, EachRunningJobHasItsPlaceholdersAndNobodyElseHasAny, ()) {
  const int length = *rc::gen::inRange(0, 120);
  World world;
  for (int i = 0; i < length; ++i) world.step(*rc::gen::inRange(0U, 1U << 30U));
  world.settle();
}

}  // namespace
}  // namespace pinion::slurm
