#include "cluster/slurm/decide.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "cluster/slurm/hostlist.h"
#include "cluster/slurm/node_choices.h"
#include "cluster/slurm/placeholders.h"
#include "cluster/slurm/turns.h"

namespace pinion::slurm {
namespace {

using Chosen = NodeChoices::Chosen;

constexpr std::int64_t kMostPauses = 10;
constexpr int kMostSaid = 5;
constexpr std::int64_t kCredentialRest = 2;  // seconds, from a requeue to the next start

void count_failure(Mark& mark) {
  mark.failed = std::min(mark.failed, static_cast<int>(kMostPauses)) + 1;
}

// To be placed anew, after so many pauses.
Hold hold_again(const Rules& rules, const Job& job, const Mark& mark, std::int64_t pauses,
                const std::string& why, std::int64_t now_s) {
  Mark next;
  next.attempt = mark.attempt + 1;
  next.failed = mark.failed;
  next.sizes = mark.sizes;
  next.after_s = now_s + std::min(pauses, kMostPauses) * rules.retry_s;
  return {.job = job.id, .mark = next, .comment = told(job.comment, why)};
}

// It would run unpinned on the nodes that are left out.
std::string too_long(const Mark& mark) {
  return "its cores on " + std::to_string(mark.cpus.size()) +
         " nodes are more than Slurm can note on a job: ask for fewer nodes (-N)";
}

// Where it may be placed in this attempt, what comes first is best. Slurm says nothing of a
// partition that is down, so each attempt begins with another one, and stays with what it took.
std::vector<std::string> partitions_of(const Job& job, const Mark& mark, const Pods& pods) {
  std::vector<std::string> all = job.partitions;
  if (all.empty()) return {""};
  if (!pods.empty() && std::find(all.begin(), all.end(), pods.front()->partition) != all.end()) {
    return {pods.front()->partition};
  }
  const auto first = static_cast<std::size_t>(mark.attempt) % all.size();
  std::rotate(all.begin(), std::next(all.begin(), static_cast<std::ptrdiff_t>(first)), all.end());
  return all;
}

class Decision {
 public:
  Decision(const Rules& rules, const View& view)
      : rules_(rules),
        view_(view),
        choices_(view.nodes, view.now_s),
        turns_(rules.most_waiting, view.nodes.size()) {
    for (const Placeholder& pod : view.placeholders) pods_[pod.attempt].push_back(&pod);
    for (auto& [attempt, pods] : pods_) {
      std::sort(pods.begin(), pods.end(), [](const Placeholder* a, const Placeholder* b) {
        return std::tie(a->index, a->name) < std::tie(b->index, b->name);
      });
    }
    for (const NodeCount& count : view.counts) counts_.emplace(count.attempt, &count);
    for (const Job& job : view.jobs) {
      if (job.state != Job::State::kPending && job.state != Job::State::kRunning) continue;
      if (const auto grows = grown_by(job.admin_comment)) helpers_.emplace(grows, &job);
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
    for (const NodeCount& count : view_.counts) {
      if (kept_.contains(count.attempt) || waits_for_size_.contains(count.attempt)) continue;
      if (!count.leaving) {
        actions_.emplace_back(Unask{.job = count.job, .name = count.name, .uid = count.uid});
      }
    }
    for (const auto& [job, helper] : helpers_) {
      if (!joining_.contains(helper->id)) {
        actions_.emplace_back(Cancel{.job = helper->id, .comment = ""});
      }
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
    const int nodes = nodes_for(job, rules_.shape);
    if (pods == pods_.end()) {
      if (counts_.contains(attempt_of(job, *mark))) turns_.count(job, nodes);
      return;
    }
    fits_no_node(pods->second) ? turns_.count_hopeless(job, nodes) : turns_.count(job, nodes);
  }

  // Each is a call of Slurm: with a long queue, a few in each round.
  void say_in_turn(const Job& job, const std::string& why) {
    const std::size_t before = actions_.size();
    if (said_ < kMostSaid) say(job, why);
    said_ += static_cast<int>(actions_.size() - before);
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
    for (const auto& [attempt, count] : counts_) {
      if (count->job == job.id) kept_.insert(attempt);
    }
  }

  void pending(const Job& now, Mark mark) {
    const Job job = as_submitted(now, mark);
    if (mark.user_held && has_word(job.comment, kReleased)) mark.user_held = false;
    // Slurm takes no order for some elements of an array: each is told apart first.
    if (!job.elements.empty()) return may_be_placed(job, mark) ? split(job, mark) : void();
    if (!may_be_placed(job, mark)) return keep_held(job, mark);
    const auto shape = shape_of(job, rules_.shape);
    if (!shape) {
      keep_held(job, mark);
      return say(job, shape.error().text);
    }
    if (is_elastic(job)) return pending_elastic(job, mark, *shape);
    const auto found = pods_.find(attempt_of(job, mark));
    if (found == pods_.end()) return begin(job, mark, *shape);
    const Pods& pods = found->second;
    const Chosen& chosen = choices_.choose(job, partitions_of(job, mark, pods), *shape);
    if (spoilt(pods, *shape)) return failed(job, mark, "a placeholder was lost");
    if (const Placeholder* pod = misplaced(pods, chosen.choice); pod != nullptr) {
      return failed(job, mark, why_misplaced(*pod, chosen.choice));
    }
    // Neither is its fault. It would keep others from cores and from their turn in vain.
    if (const std::string too_few = why_too_few(*shape, chosen.choice);
        job.held && !too_few.empty()) {
      return again(job, mark, too_few);
    }
    if (outdated(pods, chosen.list) && renewable(mark)) {
      return again(job, mark, "waits: there are other nodes for it now");
    }
    kept_.insert(found->first);
    const bool all = static_cast<int>(pods.size()) >= shape->nodes;
    if (!job.held) return all && all_run(pods) ? released(job, mark, pods) : keep_held(job, mark);
    if (!all) return create(job, mark, *shape, chosen, pods);
    all_run(pods) ? place(job, mark, *shape, pods) : wait(job, *shape, pods);
  }

  // Without placeholders. Whose turn it is not costs nothing.
  void begin(const Job& job, const Mark& mark, const Shape& shape) {
    if (!job.held) return keep_held(job, mark);
    if (const std::string why = turns_.why_not(job); !why.empty()) return say_in_turn(job, why);
    const std::vector<std::string> partitions = partitions_of(job, mark, {});
    if (!choices_.may_choose(job, partitions, told_apart_)) return;
    const Chosen& chosen = choices_.choose(job, partitions, shape);
    if (const std::string too_few = why_too_few(shape, chosen.choice); !too_few.empty()) {
      return say_in_turn(job, too_few);
    }
    turns_.count(job, shape.nodes);
    if (is_elastic(job)) return ask(job, mark, shape);
    create(job, mark, shape, chosen, {});
  }

  // --- elastic jobs

  // What Slurm has forgotten of it since it was placed first.
  static Job as_submitted(Job job, const Mark& mark) {
    if (mark.sizes) {
      job.nodes = mark.sizes->least;
      job.max_nodes = mark.sizes->most;
      job.cpus = mark.sizes->least * mark.sizes->cpus;
    }
    return job;
  }

  static bool wishes_other_sizes(const Job& job) {
    return has_word(job.comment, kElastic) || has_word(job.comment, kMoldable);
  }

  [[nodiscard]] bool is_elastic(const Job& job) const {
    return rules_.elastic && job.max_nodes > job.nodes && wishes_other_sizes(job);
  }

  // Why one that was to be elastic is not; empty: it is, or was not to be.
  [[nodiscard]] std::string why_it_keeps_its_size(const Job& job, const NodeCount* count) const {
    if (!wishes_other_sizes(job)) return "";
    if (!rules_.elastic) return "has the least number of nodes: elastic jobs are off here";
    if (count == nullptr) return "has this number of nodes: --nodes=MIN-MAX says no other";
    if (!count->moldable || !has_word(job.comment, kElastic)) return "";
    const std::string why = why_not_resized(job);
    return "keeps the nodes with which it starts" + (why.empty() ? "" : ": " + why);
  }

  [[nodiscard]] std::string why_not_resized(const Job& job) const {
    if (!job.batch) return "Slurm changes the size of batch jobs alone";
    if (job.array != 0) return "Slurm does not change the size of an array's elements";
    return view_.keeps_size;
  }

  // Its placeholders are called as a Job's own controller would call them, JOB-NUMBER and five
  // letters: so the extender knows them (elastic/workers.h).
  [[nodiscard]] std::string count_name(const std::string& attempt) const {
    return rules_.cluster + "-" + attempt + "-nodes";
  }

  void ask(const Job& job, const Mark& mark, const Shape& shape) {
    const std::string attempt = attempt_of(job, mark);
    auto wishes = wishes_in(job.comment);
    if (!wishes) return say(job, wishes.error().text);
    actions_.emplace_back(
        Ask{.job = job.id,
            .name = count_name(attempt),
            .attempt = attempt,
            .shape = shape,
            .most = std::min(job.max_nodes, kMostNodes),
            .moldable = !has_word(job.comment, kElastic) || !why_not_resized(job).empty(),
            .wishes = *std::move(wishes)});
  }

  void pending_elastic(const Job& job, const Mark& mark, Shape shape) {
    const std::string attempt = attempt_of(job, mark);
    const auto asked = counts_.find(attempt);
    if (asked == counts_.end()) return begin(job, mark, shape);
    const NodeCount& count = *asked->second;
    const Pods pods = pods_of(attempt);
    if (count.suspended) {
      waits_for_size_.insert(attempt);
      report(count, pods, {});
      keep_held(job, mark);
      return say_in_turn(job, "waits: for " + std::to_string(job.nodes) + " to " +
                                  std::to_string(job.max_nodes) + " nodes with " +
                                  std::to_string(shape.cpus) +
                                  " CPUs each; kubectl pinion jobs says why");
    }
    kept_.insert(attempt);
    shape.nodes = count.stated;
    shape.elastic = true;
    const Chosen& chosen = choices_.choose(job, partitions_of(job, mark, pods), shape);
    const Fit fit = fit_of(job, usable(pods, chosen, {}), count.stated, shape.cpus);
    remove(fit.drop);
    report(count, pods, {});
    const bool all = static_cast<int>(fit.keep.size()) == count.stated;
    if (!job.held) {
      if (!all || !all_run(fit.keep)) return keep_held(job, mark);
      return released(job, mark, fit.keep);
    }
    if (!all) {
      if (const std::string too_few = why_too_few(shape, chosen.choice); !too_few.empty()) {
        say_in_turn(job, too_few);
      }
      return create(job, mark, shape, chosen, pods,
                    count.stated - static_cast<int>(fit.keep.size()));
    }
    if (!all_run(fit.keep)) return wait(job, shape, fit.keep);
    Mark placed = mark;
    placed.sizes = Sizes{.least = job.nodes, .most = job.max_nodes, .cpus = shape.cpus};
    place(job, std::move(placed), shape, fit.keep, &count);
  }

  // All of its nodes are held.
  void running_elastic(const Job& now, const Mark& mark, const NodeCount& count, const Pods& pods) {
    report(count, pods, now.on);
    const Job job = as_submitted(now, mark);
    auto shape = shape_of(job, rules_.shape);
    if (!shape) return;
    const bool may = !count.moldable && !now.batch_host.empty() && !count.suspended;
    const int has_now = static_cast<int>(now.on.size());
    const int nodes = may ? count.target() : has_now;
    shape->nodes = nodes;
    shape->elastic = true;
    const Chosen& chosen = choices_.choose(job, partitions_of(job, mark, pods), *shape);
    const Fit fit = fit_of(now, usable(pods, chosen, now.on), nodes, shape->cpus);
    remove(fit.drop);
    const Acknowledge answer{
        .job = job.id, .name = count.name, .version = count.version, .nodes = nodes};
    if (!fit.leave_to.empty()) {
      Acknowledge declined = answer;
      declined.nodes = count.stated;
      actions_.emplace_back(
          Shrink{.job = job.id, .nodes = fit.leave_to, .declined = std::move(declined)});
      return;
    }
    if (count.asks()) actions_.emplace_back(answer);
    if (!may) return;
    if (const int more = nodes - static_cast<int>(fit.keep.size()); more > 0) {
      create(job, mark, *shape, chosen, pods, more);
    }
    grow(now, mark, *shape, fit);
  }

  // Without those that are where Slurm does not start the job, or wait for other nodes than it may
  // have now: they are deleted. It keeps what is on the nodes that it has.
  Pods usable(const Pods& pods, const Chosen& chosen, const std::vector<std::string>& on) {
    Pods all;
    for (const Placeholder* pod : pods) {
      const bool waits = pod->node.empty() && (pod->list.empty() || pod->list == chosen.list);
      const bool its_own = std::find(on.begin(), on.end(), pod->node) != on.end();
      if (waits || its_own || (!pod->node.empty() && chosen.choice.has(pod->node))) {
        all.push_back(pod);
      } else {
        remove({pod});
      }
    }
    return all;
  }

  // By one node at a time.
  void grow(const Job& job, Mark mark, const Shape& shape, const Fit& fit) {
    const auto helper = helpers_.find(job.id);
    if (helper != helpers_.end()) {
      const auto& on = helper->second->on;
      const bool fits =
          helper->second->state == Job::State::kRunning && on.size() == 1 &&
          std::find(job.on.begin(), job.on.end(), on.front()) == job.on.end() &&
          std::any_of(fit.keep.begin(), fit.keep.end(), [&](const Placeholder* pod) {
            return pod->node == on.front() && pod->phase == Placeholder::Phase::kRunning;
          });
      if (!fits) return;
      joining_.insert(helper->second->id);
      actions_.emplace_back(Join{.job = job.id, .helper = helper->second->id});
      return;
    }
    if (fit.take == nullptr || !view_.placeholders_current) return;
    mark.cpus.clear();
    for (const Placeholder* pod : fit.keep) {
      const bool counts =
          pod == fit.take || std::find(job.on.begin(), job.on.end(), pod->node) != job.on.end();
      if (counts && !pod->cpu_list.empty()) mark.cpus[pod->node] = pod->cpu_list;
    }
    if (to_text(mark).size() > kLongestMark) return say(job, too_long(mark));
    actions_.emplace_back(
        Grow{.job = job.id, .node = fit.take->node, .cpus = shape.cpus, .mark = std::move(mark)});
  }

  // `on`: the nodes that a running job has; empty: it does not run.
  void report(const NodeCount& count, const Pods& pods, const std::vector<std::string>& on) {
    NodeCount::Told told;
    for (const Placeholder* pod : pods) {
      if (pod->leaving) ++told.terminating;
      if (pod->phase == Placeholder::Phase::kLost) continue;
      ++told.active;
      const bool in_use = on.empty() || std::find(on.begin(), on.end(), pod->node) != on.end();
      if (in_use && pod->phase == Placeholder::Phase::kRunning) ++told.ready;
    }
    if (told == count.told || count.leaving) return;
    actions_.emplace_back(Report{.job = count.job, .name = count.name, .told = told});
  }

  [[nodiscard]] Pods pods_of(const std::string& attempt) const {
    const auto found = pods_.find(attempt);
    return found == pods_.end() ? Pods() : found->second;
  }

  // --- all jobs again

  // All of its placeholders run, and it may start.
  void released(const Job& job, const Mark& mark, const Pods& pods) {
    if (nodes_of(pods) != std::set<std::string>(job.pinned.begin(), job.pinned.end())) {
      return keep_held(job, mark);
    }
    if (view_.now_s - mark.since_s <= rules_.start_limit_s) return;
    kept_.erase(attempt_of(job, mark));
    failed(job, mark, "Slurm does not start it: " + job.reason);
  }

  void running(const Job& job, const Mark& mark) {
    const std::string attempt = attempt_of(job, mark);
    kept_.insert(attempt);
    const Pods pods = pods_of(attempt);
    std::map<std::string, const Placeholder*> holding;
    for (const Placeholder* pod : pods) {
      if (pod->phase == Placeholder::Phase::kRunning) holding.emplace(pod->node, pod);
    }
    const bool whole = std::all_of(job.on.begin(), job.on.end(),
                                   [&](const std::string& node) { return holding.contains(node); });
    if (!whole) return lost(job);
    const auto count = counts_.find(attempt);
    if (count != counts_.end()) return running_elastic(job, mark, *count->second, pods);
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
  void again(const Job& job, const Mark& mark, const std::string& why) {
    actions_.emplace_back(hold_again(rules_, job, mark, 0, why, view_.now_s));
  }
  // It may be so again, so the pause grows.
  void failed(const Job& job, Mark mark, const std::string& why) {
    const int pauses = mark.failed;
    count_failure(mark);
    actions_.emplace_back(hold_again(rules_, job, mark, pauses, why, view_.now_s));
  }

  // Where nodes come and go all the time, its placeholders still have time to get theirs: more with
  // each attempt.
  [[nodiscard]] bool renewable(const Mark& mark) const {
    const std::int64_t pauses = std::min(std::int64_t{mark.attempt}, kMostPauses);
    return view_.now_s >= mark.after_s + pauses * rules_.retry_s;
  }

  // `more`: how many, of an elastic job; of others all that are missing.
  void create(const Job& job, const Mark& mark, const Shape& shape, const Chosen& chosen,
              const Pods& there, int more = kMostNodes) {
    const std::string attempt = attempt_of(job, mark);
    kept_.insert(attempt);
    if (chosen.choice.nodes.empty()) return;
    const auto nodes = choices_.nodes_for(job, chosen.partition);
    std::set<int> indexes;
    for (const Placeholder* pod : there) indexes.insert(pod->index);
    for (int i = 0; (shape.elastic || i < shape.nodes) && more > 0; ++i) {
      if (indexes.contains(i)) continue;
      --more;
      Placeholder pod;
      pod.name = shape.elastic ? count_name(attempt) + "-" + std::to_string(i) + "-cores"
                               : rules_.cluster + "-" + attempt + "-" + std::to_string(i);
      pod.job = job.id;
      pod.attempt = attempt;
      pod.index = i;
      pod.size = shape.elastic ? 0 : shape.nodes;
      pod.cpus = shape.cpus;
      pod.partition = chosen.partition;
      pod.list = chosen.list;
      actions_.emplace_back(
          Create{.job = job.id, .pod = std::move(pod), .shape = shape, .nodes = nodes});
    }
  }

  void wait(const Job& job, const Shape& shape, const Pods& pods) {
    std::string advice;
    if (fits_no_node(pods) && job.tasks > shape.nodes && job.tasks_per_node == 0) {
      advice = "no node can give it " + std::to_string(shape.cpus) +
               " CPUs, submit it with -N for more nodes: ";
    }
    for (const Placeholder* pod : pods) {
      if (!pod->why.empty()) return say(job, "waits: " + advice + pod->why);
    }
  }

  void place(const Job& job, Mark mark, const Shape& shape, const Pods& pods,
             const NodeCount* count = nullptr) {
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
    if (to_text(mark).size() > kLongestMark) {
      kept_.erase(attempt_of(job, mark));
      actions_.emplace_back(not_placed(rules_, job, too_long(mark), view_.now_s));
      return;
    }
    const auto nodes = nodes_of(pods);
    Place place{.job = job.id,
                .nodes = {nodes.begin(), nodes.end()},
                .cpus = shape.cpus,
                .at_once = job.restarts > 0,
                .mark = std::move(mark),
                .comment = {}};
    std::string comment = told(job.comment, why_it_keeps_its_size(job, count));
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
  std::map<std::string, Pods> pods_;                  // by attempt
  std::map<std::string, const NodeCount*> counts_;    // by attempt
  std::multimap<std::uint32_t, const Job*> helpers_;  // of ours, by the job that grows by them
  std::set<std::string> kept_;            // attempts whose placeholders and number of nodes stay
  std::set<std::string> waits_for_size_;  // attempts of which that number alone stays
  std::set<std::uint32_t> joining_;       // helpers that are needed
  NodeChoices choices_;
  std::map<std::uint32_t, int> elements_;  // by array
  int told_apart_ = 0;                     // pending jobs that could be placed
  int said_ = 0;                           // to jobs whose turn it is not
  Turns turns_;
  std::vector<Action> actions_;
};

}  // namespace

Hold given_up(const Rules& rules, const Job& job, const std::string& why, std::int64_t now_s) {
  const Mark mark = read_mark(job.admin_comment).value_or(Mark());
  return hold_again(rules, job, mark, 1, "waits: " + why, now_s);
}

Hold not_placed(const Rules& rules, const Job& job, const std::string& why, std::int64_t now_s) {
  Mark mark = read_mark(job.admin_comment).value_or(Mark());
  count_failure(mark);
  return hold_again(rules, job, mark, mark.failed, "waits: " + why, now_s);
}

std::vector<Action> decide(const Rules& rules, const View& view) {
  return Decision(rules, view).take();
}

}  // namespace pinion::slurm
