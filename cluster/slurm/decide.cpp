#include "cluster/slurm/decide.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/words.h"
#include "cluster/slurm/hostlist.h"

namespace pinion::slurm {
namespace {

using Pods = std::vector<const Placeholder*>;

constexpr std::int64_t kMostPauses = 10;
constexpr int kUsersShare = 4;
constexpr int kMostSaid = 5;
constexpr std::int64_t kCredentialRest = 2;  // seconds, from a requeue to the next start

// To be placed anew, after so many pauses.
Hold hold_again(const Rules& rules, const Job& job, const Mark& mark, std::int64_t pauses,
                const std::string& why, std::int64_t now_s) {
  Mark next;
  next.attempt = mark.attempt + 1;
  next.after_s = now_s + std::min(pauses, kMostPauses) * rules.retry_s;
  return {.job = job.id, .mark = next, .comment = told(job.comment, why)};
}

class Decision {
 public:
  Decision(const Rules& rules, const View& view) : rules_(rules), view_(view) {
    for (const Placeholder& pod : view.placeholders) pods_[pod.attempt].push_back(&pod);
    for (auto& [attempt, pods] : pods_) {
      std::sort(pods.begin(), pods.end(), [](const Placeholder* a, const Placeholder* b) {
        return std::tie(a->index, a->name) < std::tie(b->index, b->name);
      });
    }
  }

  std::vector<Action> take() {
    std::vector<const Job*> jobs;
    for (const Job& job : view_.jobs) jobs.push_back(&job);
    std::sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) {
      return std::tie(a->submit_s, a->id) < std::tie(b->submit_s, b->id);
    });
    for (const Job* job : jobs) count(*job);
    for (const Job* job : jobs) {
      if (const auto mark = read_mark(job->admin_comment)) look_at(*job, *mark);
    }
    for (const auto& [attempt, pods] : pods_) {
      if (!kept_.contains(attempt)) remove(pods);
    }
    return std::move(actions_);
  }

 private:
  // How many wait already, and of each array how many elements are told apart and not over.
  void count(const Job& job) {
    const auto mark = read_mark(job.admin_comment);
    if (!mark || job.state == Job::State::kOver || !job.elements.empty()) return;
    if (job.element) ++elements_[job.array];
    if (job.state != Job::State::kPending) return;
    if (may_be_placed(job, *mark) && shape_of(job, rules_.shape)) ++told_apart_;
    const auto pods = pods_.find(attempt_of(job, *mark));
    if (pods != pods_.end()) count_waiting(job, fits_no_node(pods->second));
  }

  void count_waiting(const Job& job, bool hopeless) {
    if (hopeless && ++hopeless_ <= rules_.most_waiting) return;
    ++waiting_;
    ++waiting_of_[job.user];
  }

  [[nodiscard]] std::string why_not_its_turn(const Job& job) {
    if (waiting_ >= rules_.most_waiting) return "waits: behind other jobs that wait for cores";
    if (waiting_of_[job.user] < std::max(1, rules_.most_waiting / kUsersShare)) return "";
    return "waits: behind other jobs of its user that wait for cores";
  }

  // Each is a call of Slurm: with a long queue, a few in each round.
  void say_in_turn(const Job& job, const std::string& why) {
    const std::size_t before = actions_.size();
    if (said_ < kMostSaid) say(job, why);
    said_ += static_cast<int>(actions_.size() - before);
  }

  static bool fits_no_node(const Pods& pods) {
    return std::any_of(pods.begin(), pods.end(), [](const Placeholder* pod) { return pod->never; });
  }

  void look_at(const Job& job, const Mark& mark) {
    if (job.state == Job::State::kPending) return pending(job, mark);
    if (job.state == Job::State::kRunning && !job.on.empty()) return running(job, mark);
    if (job.state != Job::State::kOver) keep_all(job);
  }

  // Its processes may still be there, after a requeue those of its former submission.
  void keep_all(const Job& job) {
    for (const auto& [attempt, pods] : pods_) {
      if (pods.front()->job == job.id) kept_.insert(attempt);
    }
  }

  void pending(const Job& job, Mark mark) {
    if (mark.user_held && has_word(job.comment, kReleased)) mark.user_held = false;
    // Slurm takes no order for some elements of an array: each is told apart first.
    if (!job.elements.empty()) return may_be_placed(job, mark) ? split(job, mark) : void();
    if (!may_be_placed(job, mark)) return keep_held(job, mark);
    const auto shape = shape_of(job, rules_.shape);
    if (!shape) {
      keep_held(job, mark);
      return say(job, shape.error().text);
    }
    const std::string attempt = attempt_of(job, mark);
    const auto found = pods_.find(attempt);
    const Choice& choice = choice_of(job);
    const std::string too_few = why_too_few(*shape, choice);
    if (found == pods_.end()) {
      if (!job.held) return keep_held(job, mark);
      if (!too_few.empty()) return say_in_turn(job, too_few);
      if (const std::string why = why_not_its_turn(job); !why.empty()) return say_in_turn(job, why);
      count_waiting(job, false);
      return create(job, attempt, *shape, choice, {});
    }
    const Pods& pods = found->second;
    if (spoilt(pods, *shape)) return again(job, mark, mark.attempt, "a placeholder was lost");
    if (const Placeholder* pod = misplaced(pods, choice); pod != nullptr) {
      return again(job, mark, mark.attempt, why_misplaced(*pod, choice));
    }
    // Another chance for it, and not its fault that it comes late.
    if (outdated(pods, choice))
      return again(job, mark, 0, "waits: there are more nodes for it now");
    kept_.insert(attempt);
    if (static_cast<int>(pods.size()) < shape->nodes) {
      if (!job.held) return keep_held(job, mark);
      if (!too_few.empty()) return say_in_turn(job, too_few);
      return create(job, attempt, *shape, choice, pods);
    }
    if (!all_run(pods)) {
      if (!job.held) return keep_held(job, mark);
      return too_few.empty() ? wait(job, pods) : say_in_turn(job, too_few);
    }
    if (job.held) return place(job, mark, *shape, pods);
    released(job, mark, pods);
  }

  // All of its placeholders run, and it may start.
  void released(const Job& job, const Mark& mark, const Pods& pods) {
    if (nodes_of(pods) != std::set<std::string>(job.pinned.begin(), job.pinned.end())) {
      return keep_held(job, mark);
    }
    if (view_.now_s - mark.since_s <= rules_.start_limit_s) return;
    kept_.erase(attempt_of(job, mark));
    again(job, mark, mark.attempt, "Slurm does not start it: " + job.reason);
  }

  void running(const Job& job, const Mark& mark) {
    const std::string attempt = attempt_of(job, mark);
    kept_.insert(attempt);
    const auto found = pods_.find(attempt);
    const Pods none;
    const Pods& pods = found == pods_.end() ? none : found->second;
    std::map<std::string, const Placeholder*> holding;
    for (const Placeholder* pod : pods) {
      if (pod->phase == Placeholder::Phase::kRunning) holding.emplace(pod->node, pod);
    }
    const bool whole = std::all_of(job.on.begin(), job.on.end(),
                                   [&](const std::string& node) { return holding.contains(node); });
    if (!whole) return lost(job);
    // It has become smaller.
    const std::set<std::string> on(job.on.begin(), job.on.end());
    for (const Placeholder* pod : pods) {
      const auto holds = holding.find(pod->node);
      const bool needed = on.contains(pod->node) && holds != holding.end() && holds->second == pod;
      if (!needed) remove({pod});
    }
  }

  void lost(const Job& job) {
    const std::string why = "its cores were taken away";
    if (job.requeues) {
      actions_.emplace_back(Requeue{.job = job.id, .why = why});
    } else {
      actions_.emplace_back(Cancel{.job = job.id, .comment = told(job.comment, why)});
    }
  }

  [[nodiscard]] bool may_be_placed(const Job& job, const Mark& mark) const {
    if (mark.user_held || job.dependent || view_.now_s < mark.after_s) return false;
    // A requeued job's begin is Slurm's.
    return job.restarts > 0 || view_.now_s >= job.begin_s;
  }

  void keep_held(const Job& job, Mark mark) {
    if (job.held) return;
    mark.since_s = 0;
    mark.cpus.clear();
    actions_.emplace_back(Hold{.job = job.id, .mark = std::move(mark), .comment = {}});
  }

  // With new placeholders; its present ones are not kept.
  void again(const Job& job, const Mark& mark, std::int64_t pauses, const std::string& why) {
    actions_.emplace_back(hold_again(rules_, job, mark, pauses, why, view_.now_s));
  }

  // The same for all jobs that want the same.
  const Choice& choice_of(const Job& job) {
    const auto [at, is_new] =
        choices_.try_emplace(Wanted(job.partitions, job.constraint, job.excluded));
    if (is_new) at->second = choose_nodes(job, view_.nodes);
    return at->second;
  }

  // Empty: there are enough.
  static std::string why_too_few(const Shape& shape, const Choice& choice) {
    const std::size_t there = choice.nodes.size();
    if (there >= static_cast<std::size_t>(shape.nodes)) return "";
    std::string why = "waits: needs " + std::to_string(shape.nodes) + " nodes, Slurm has " +
                      std::to_string(there) + " for it";
    if (!choice.others.empty()) why.append(": ").append(choice.others);
    return why;
  }

  static bool has(const std::vector<std::string>& sorted, const std::string& name) {
    return std::binary_search(sorted.begin(), sorted.end(), name);
  }

  // One on a node where Slurm does not start the job.
  static const Placeholder* misplaced(const Pods& pods, const Choice& choice) {
    const auto found = std::find_if(pods.begin(), pods.end(), [&](const Placeholder* pod) {
      return !pod->node.empty() && !has(choice.nodes, pod->node);
    });
    return found == pods.end() ? nullptr : *found;
  }

  static std::string why_misplaced(const Placeholder& pod, const Choice& choice) {
    std::string why = "Slurm cannot start it on " + pod.node;
    if (!choice.others.empty()) why.append(": ").append(choice.others);
    return why;
  }

  // None has a node yet, and one may not go where Slurm could start the job now.
  static bool outdated(const Pods& pods, const Choice& choice) {
    const bool bound = std::any_of(pods.begin(), pods.end(),
                                   [](const Placeholder* pod) { return !pod->node.empty(); });
    return !bound && std::any_of(pods.begin(), pods.end(), [&](const Placeholder* pod) {
      return !std::includes(pod->nodes.begin(), pod->nodes.end(), choice.nodes.begin(),
                            choice.nodes.end());
    });
  }

  // One is gone or does not fit what the job asks for now, or two are on one node.
  static bool spoilt(const Pods& pods, const Shape& shape) {
    std::set<std::string> nodes;
    for (const Placeholder* pod : pods) {
      if (pod->phase == Placeholder::Phase::kLost || pod->size != shape.nodes ||
          pod->cpus != shape.cpus || pod->index < 0 || pod->index >= shape.nodes) {
        return true;
      }
      if (!pod->node.empty() && !nodes.insert(pod->node).second) return true;
    }
    return static_cast<int>(pods.size()) > shape.nodes;
  }

  static bool all_run(const Pods& pods) {
    return std::all_of(pods.begin(), pods.end(), [](const Placeholder* pod) {
      return pod->phase == Placeholder::Phase::kRunning && !pod->node.empty();
    });
  }

  static std::set<std::string> nodes_of(const Pods& pods) {
    std::set<std::string> nodes;
    for (const Placeholder* pod : pods) nodes.insert(pod->node);
    return nodes;
  }

  void create(const Job& job, const std::string& attempt, const Shape& shape, const Choice& choice,
              const Pods& there) {
    kept_.insert(attempt);
    std::set<int> indexes;
    for (const Placeholder* pod : there) indexes.insert(pod->index);
    for (int i = 0; i < shape.nodes; ++i) {
      if (indexes.contains(i)) continue;
      Placeholder pod;
      pod.name = rules_.cluster + "-" + attempt + "-" + std::to_string(i);
      pod.job = job.id;
      pod.attempt = attempt;
      pod.index = i;
      pod.size = shape.nodes;
      pod.cpus = shape.cpus;
      pod.nodes = choice.nodes;
      actions_.emplace_back(Create{.job = job.id, .pod = std::move(pod), .shape = shape});
    }
  }

  void wait(const Job& job, const Pods& pods) {
    for (const Placeholder* pod : pods) {
      if (!pod->why.empty()) return say(job, "waits: " + pod->why);
    }
  }

  void place(const Job& job, Mark mark, const Shape& shape, const Pods& pods) {
    if (!view_.placeholders_current) return;
    // slurmd takes no credential of the second in which it has ended the job, and Slurm fails it.
    const std::int64_t since = view_.now_s - job.submit_s;
    if (job.restarts > 0 && since >= 0 && since < kCredentialRest) return;
    mark.since_s = view_.now_s;
    mark.after_s = 0;
    mark.cpus.clear();
    for (const Placeholder* pod : pods) {
      if (!pod->cpu_list.empty()) mark.cpus[pod->node] = pod->cpu_list;
    }
    const auto nodes = nodes_of(pods);
    Place place{.job = job.id,
                .nodes = {nodes.begin(), nodes.end()},
                .cpus = shape.cpus,
                .at_once = job.restarts > 0,
                .mark = std::move(mark),
                .comment = {}};
    std::string comment = told(job.comment, "");
    if (comment != job.comment) place.comment = std::move(comment);
    actions_.emplace_back(std::move(place));
  }

  void split(const Job& job, const Mark& mark) {
    int& there = elements_[job.array];
    int room = rules_.most_waiting - std::max(told_apart_, there);
    if (job.most_elements > 0) room = std::min(room, job.most_elements - there);
    if (room <= 0) return;
    for (const int element : first_tasks(job.elements, static_cast<std::size_t>(room))) {
      actions_.emplace_back(Split{.job = job.id, .element = element, .mark = mark});
      ++told_apart_;
      ++there;
    }
  }

  void say(const Job& job, const std::string& why) {
    std::string comment = told(job.comment, why);
    if (comment == job.comment) return;
    actions_.emplace_back(Say{.job = job.id, .comment = std::move(comment)});
  }

  void remove(const Pods& pods) {
    for (const Placeholder* pod : pods) {
      if (pod->leaving) continue;
      actions_.emplace_back(Delete{.job = pod->job, .name = pod->name, .uid = pod->uid});
    }
  }

  const Rules& rules_;
  const View& view_;
  std::map<std::string, Pods> pods_;  // by attempt
  std::set<std::string> kept_;        // attempts whose placeholders stay
  using Wanted = std::tuple<std::vector<std::string>, std::string, std::vector<std::string>>;
  std::map<Wanted, Choice> choices_;       // by partitions, constraint, excluded nodes
  std::map<std::uint32_t, int> elements_;  // by array
  int told_apart_ = 0;                     // pending jobs that could be placed
  int waiting_ = 0;                        // of them, that have placeholders
  int said_ = 0;                           // to jobs whose turn it is not
  int hopeless_ = 0;                       // of these, that fit no node
  std::map<std::string, int> waiting_of_;  // by user
  std::vector<Action> actions_;
};

struct ToText {
  std::string operator()(const Hold& it) const { return "hold " + std::to_string(it.job); }
  std::string operator()(const Requeue& it) const {
    return "requeue " + std::to_string(it.job) + ": " + it.why;
  }
  std::string operator()(const Cancel& it) const { return "cancel " + std::to_string(it.job); }
  std::string operator()(const Delete& it) const { return "delete " + it.name; }
  std::string operator()(const Split& it) const {
    return "split " + std::to_string(it.job) + "_" + std::to_string(it.element);
  }
  std::string operator()(const Create& it) const { return "create " + it.pod.name; }
  std::string operator()(const Place& it) const {
    return "place " + std::to_string(it.job) + " on " + joined(it.nodes, ",");
  }
  std::string operator()(const Say& it) const {
    return "tell " + std::to_string(it.job) + ": " + it.comment;
  }
};

}  // namespace

std::uint32_t job_of(const Action& action) {
  return std::visit([](const auto& one) { return one.job; }, action);
}

std::string to_text(const Action& action) {
  return std::visit(ToText(), action);
}

Hold given_up(const Rules& rules, const Job& job, const std::string& why, std::int64_t now_s) {
  const Mark mark = read_mark(job.admin_comment).value_or(Mark());
  return hold_again(rules, job, mark, 1, "waits: " + why, now_s);
}

Hold not_placed(const Rules& rules, const Job& job, const std::string& why, std::int64_t now_s) {
  const Mark mark = read_mark(job.admin_comment).value_or(Mark());
  return hold_again(rules, job, mark, mark.attempt + 1, "waits: " + why, now_s);
}

std::vector<Action> decide(const Rules& rules, const View& view) {
  return Decision(rules, view).take();
}

}  // namespace pinion::slurm
