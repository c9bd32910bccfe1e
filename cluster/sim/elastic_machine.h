// Jobs that shrink and expand, on processors that are merely counted or on nodes: an adapter of the
// core's elastic policies (cluster/core/elastic.h). A shrink takes its time, then its processors
// are free; what was decided to use them begins when enough are free. A job that starts or rescales
// does not work meanwhile.
//
// The paper's policies count CPUs, and ours sees only how many holes there are at most. So on nodes
// not all workers of a start or an expand may find one: then the job goes on with those that did,
// or gives them back if these are fewer than it may have, and is left alone for its gap, as by the
// extender's controller (but at once, where that waits for them). Under ours a job that could not
// start is only tried less often, so that it does not lose its turn. Nothing else fails.
//
// Under ours, as under the extender, who could have more waits while processors become free
// (cluster/core/settling.h), though here they do so at once. The paper's policies are played by the
// letter, and know no such time. What a user asks for meanwhile holds under each of them.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/core/elastic.h"
#include "cluster/core/settling.h"
#include "cluster/sim/node_machine.h"

namespace pinion::sim {

struct ElasticRules {
  cluster::ElasticPolicy policy = cluster::ElasticPolicy::kOurs;
  Ms gap = 0;  // of jobs that do not say their own
  // Whether the policy knows from the start how fast a job is with how many workers, and what its
  // rescales take; else it learns that from what it sees of the job.
  bool told = true;
  cluster::ElasticKnobs knobs{};
  Ms start = 0;    // until workers run that have been placed, >= 0
  Ms release = 0;  // from a shrink's end until its processors can be given again, >= 0
};

class ElasticMachine : public Machine {
 public:
  // So many processors, all alike. Precondition: processors >= 1.
  ElasticMachine(std::int64_t processors, const ElasticRules& rules)
      : ElasticMachine(nullptr, processors, rules) {}
  // Preconditions: has a processor, and no job is there.
  ElasticMachine(std::unique_ptr<NodeMachine> nodes, const ElasticRules& rules)
      : ElasticMachine(std::move(nodes), 0, rules) {}

  [[nodiscard]] std::int64_t processors() const override { return processors_; }
  [[nodiscard]] std::string never(const Job& job) override;
  void submit(Handle handle, const Job& job, Ms now) override;
  void over(Handle handle, Ms now) override;
  void end(Handle handle, Ms now) override;
  void disturbed(Handle handle, double slowdown, Ms now) override;
  std::vector<Started> pass(Ms now) override;
  std::vector<Resized> take_resized() override;
  [[nodiscard]] std::optional<Ms> wake() const override;
  [[nodiscard]] double fragmentation() const override;
  [[nodiscard]] Status check(Ms now) const override;

 private:
  ElasticMachine(std::unique_ptr<NodeMachine> nodes, std::int64_t processors,
                 const ElasticRules& rules);

  struct Part {
    Job job;                   // its speed is 1 with job.shape.tasks workers
    cluster::ElasticJob seen;  // as the policy sees it
    int runs_with = 0;         // 0: has not begun
    std::int64_t holds = 0;    // processors
    std::optional<Ms> until;   // the end of its start, shrink or expand, once begun
    bool coming = false;       // its new workers are placed, and do not run before `until`
    bool over = false;
    Ms changed_before = 0;  // seen.changed_ms, before what was decided last
    int wish = 0;           // workers that its user asks for; 0: nobody does
    std::size_t heard = 0;  // so many of its wishes
    Ms counted = 0;         // what it has done is counted until then
    double done = 0;        // seconds' worth with job.shape.tasks workers, undisturbed
    Ms watched = 0;         // its speed with runs_with is measured since then,
    double done_then = 0;   // when it had done so much
    double disturbed = 1;   // how much longer it takes because of others
    std::vector<cluster::SizeRate> rates{};
    std::vector<double> shrinks{};  // seconds that its rescales took
    std::vector<double> expands{};

    [[nodiscard]] double rate() const {
      return (job.elastic ? job.elastic->speed_up.rate(runs_with) : 1) / disturbed;
    }
    [[nodiscard]] bool waits() const { return seen.workers == 0; }
    // The next of its wishes; nullptr: there is none.
    [[nodiscard]] const Wish* next_wish() const {
      const bool more = job.elastic && !over && heard < job.elastic->wishes.size();
      return more ? &job.elastic->wishes[heard] : nullptr;
    }
    // Goes on, or begins, at that moment.
    void work_from(Ms moment) {
      counted = watched = moment;
      done_then = done;
    }
  };

  // The policy looks at them, and there are some.
  [[nodiscard]] bool sees_holes() const {
    return nodes_ && rules_.policy == cluster::ElasticPolicy::kOurs;
  }
  [[nodiscard]] int least_workers(const Job& job) const;
  void finish(Ms now);
  static void hear(Part& part, Ms now);
  static void count(Part& part, Ms now);
  void look(Handle handle, Part& part, Ms now) const;
  [[nodiscard]] std::int64_t room_of(const Part& part, std::int64_t freed) const;
  [[nodiscard]] std::int64_t being_freed() const;
  void decide(Ms now);
  void shrink_as_wished(Ms now);
  void take_step(Handle handle, int workers, Ms now);
  void begin_all(Ms now);
  bool waits_for_holes(const Part& part);
  [[nodiscard]] bool waits_for_more(Handle handle, const Part& part) const;
  static void take_back(Part& part);
  void take_back_decided(bool expands_too);
  void shrink(Handle handle, Part& part, Ms now);
  void enlarge(Handle handle, Part& part, Ms now);
  void expand(Handle handle, Part& part, Ms now);
  int place(Handle handle, const Part& part, Ms now);
  static Size size_of(const Part& part, Ms pause);
  void tell(Handle handle, const Part& part, Ms pause);

  const ElasticRules rules_;
  const std::unique_ptr<NodeMachine> nodes_;  // nullptr: processors are merely counted
  const std::int64_t processors_;
  std::int64_t free_;
  std::map<Handle, Part> parts_;
  std::deque<Handle> decided_;  // starts and expands that have not begun, in their order
  bool freed_ = false;
  bool cut_short_ = false;  // for somebody there was no hole: what it was to have is for others
  std::optional<Ms> look_again_;
  cluster::Settling settling_;
  bool settles_ = false;          // at this pass
  std::optional<Ms> settled_at_;  // somebody waits for that
  std::vector<Started> started_;
  std::vector<Resized> resized_;
};

}  // namespace pinion::sim
