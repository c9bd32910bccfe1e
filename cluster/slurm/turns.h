// Which job may get placeholders now: those that wait with theirs may not become too many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "cluster/slurm/job.h"

namespace pinion::slurm {

class Turns {
 public:
  // `most_waiting`: Rules::most_waiting. `nodes`: how many Slurm has.
  Turns(int most_waiting, std::size_t nodes) : most_waiting_(most_waiting), nodes_(nodes) {}

  // It waits with so many placeholders.
  void count(const Job& job, int placeholders);
  // It does, and fits no node. These count by themselves, while they are not too many.
  void count_hopeless(const Job& job, int placeholders);

  // Empty: it may get placeholders.
  [[nodiscard]] std::string why_not(const Job& job);

 private:
  struct Waiting {
    int jobs = 0;
    std::int64_t names = 0;  // of nodes, in all of their placeholders, at most
  };
  void count(int placeholders, Waiting& among) const;
  [[nodiscard]] bool full(const Waiting& of, int part) const;

  int most_waiting_;
  std::size_t nodes_;
  Waiting waiting_;
  Waiting hopeless_;
  std::map<std::string, Waiting> waiting_of_;  // by user
};

}  // namespace pinion::slurm
