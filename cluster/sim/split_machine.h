// Two schedulers that do not know of each other, one for services and one for HPC jobs: on parts of
// the nodes, or both on all of them, where they then give the same CPUs twice.
#pragma once

#include <map>
#include <memory>

#include "cluster/sim/machine.h"

namespace pinion::sim {

class SplitMachine : public Machine {
 public:
  // `first`: by so much the nodes of `hpc` come after those of `services` that have the same index;
  // 0: they are the same. `processors`: of all nodes together.
  SplitMachine(std::unique_ptr<Machine> services, std::unique_ptr<Machine> hpc, int first,
               std::int64_t processors)
      : services_(std::move(services)),
        hpc_(std::move(hpc)),
        first_(first),
        processors_(processors) {}

  [[nodiscard]] std::int64_t processors() const override { return processors_; }
  [[nodiscard]] std::string never(const Job& job) override { return of(job.service).never(job); }
  void submit(Handle handle, const Job& job, Ms now) override;
  void end(Handle handle, Ms now) override;
  std::vector<Started> pass(Ms now) override;
  // Of each by itself.
  [[nodiscard]] Status check(Ms now) const override;

 private:
  [[nodiscard]] Machine& of(bool service) { return service ? *services_ : *hpc_; }

  const std::unique_ptr<Machine> services_;
  const std::unique_ptr<Machine> hpc_;
  const int first_;
  const std::int64_t processors_;
  std::map<Handle, bool> is_service_;
};

}  // namespace pinion::sim
