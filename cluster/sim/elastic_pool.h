// So many processors, all alike, and jobs that shrink and expand: an adapter of the core's elastic
// policies (cluster/core/elastic.h). A shrink takes its time, then its processors are free; what
// was decided to use them begins when enough are free. A job that starts or rescales does not work
// meanwhile. Every rescale succeeds.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "cluster/core/elastic.h"
#include "cluster/sim/machine.h"

namespace pinion::sim {

struct ElasticRules {
  cluster::ElasticPolicy policy = cluster::ElasticPolicy::kOurs;
  Ms gap = 0;  // of jobs that do not say their own
  // Whether the policy knows from the start how fast a job is with how many workers, and what its
  // rescales take; else it learns that from what it sees of the job.
  bool told = true;
  cluster::ElasticKnobs knobs{};
};

class ElasticPool : public Machine {
 public:
  // Precondition: processors >= 1.
  ElasticPool(std::int64_t processors, const ElasticRules& rules)
      : rules_(rules), processors_(processors), free_(processors) {}

  [[nodiscard]] std::int64_t processors() const override { return processors_; }
  [[nodiscard]] std::string never(const Job& job) override;
  void submit(Handle handle, const Job& job, Ms now) override;
  void end(Handle handle, Ms now) override;
  std::vector<Started> pass(Ms now) override;
  std::vector<Resized> take_resized() override;
  [[nodiscard]] std::optional<Ms> wake() const override;
  [[nodiscard]] Status check(Ms now) const override;

 private:
  struct Part {
    std::shared_ptr<const Elastic> elastic;
    int reference = 1;         // workers with which its speed is 1
    double request = 0;        // seconds with them
    cluster::ElasticJob seen;  // as the policy sees it
    int runs_with = 0;         // 0: has not begun
    std::int64_t holds = 0;    // processors
    std::optional<Ms> until;   // the end of its start, shrink or expand, once begun
    Ms since = 0;              // works with runs_with since then
    double done = 0;           // seconds' worth with `reference` workers, until then
    std::vector<cluster::SizeRate> rates{};
    std::vector<double> shrinks{};  // seconds that its rescales took
    std::vector<double> expands{};

    [[nodiscard]] double rate(int workers) const {
      return elastic == nullptr ? 1 : elastic->speed_up.rate(workers);
    }
  };

  void finish(Ms now);
  void look(Part& part, Ms now) const;
  void decide(Ms now);
  void begin_all(Ms now);
  void shrink(Handle handle, Part& part, Ms now);
  void enlarge(Handle handle, Part& part, Ms now);

  const ElasticRules rules_;
  const std::int64_t processors_;
  std::int64_t free_;
  std::map<Handle, Part> parts_;
  std::deque<Handle> decided_;  // starts and expands that have not begun, in their order
  bool freed_ = false;
  std::optional<Ms> look_again_;
  std::vector<Started> started_;
  std::vector<Resized> resized_;
};

}  // namespace pinion::sim
