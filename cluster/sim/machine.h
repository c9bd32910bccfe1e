// What jobs run on, seen by the virtual clock: it takes submissions and ends, and says who starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/sim/job.h"

namespace pinion::sim {

using Handle = std::uint64_t;  // of a job in one simulation, in the order of submission

// CPUs of one node that a worker of a job has.
struct Piece {
  int node = 0;
  int tasks = 0;
  topology::CpuSet cpus;
};

struct Started {
  Handle job = 0;
  std::vector<Piece> pieces;  // empty where processors are merely counted
};

class Machine {
 public:
  Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  virtual ~Machine() = default;

  [[nodiscard]] virtual std::int64_t processors() const = 0;
  // Why the job could not even start with nothing else there; empty: it could.
  [[nodiscard]] virtual std::string never(const Job& job) = 0;
  // Precondition: never() is empty.
  virtual void submit(Handle handle, const Job& job, Ms now) = 0;
  // What the job has is free. Precondition: it was started.
  virtual void end(Handle handle, Ms now) = 0;
  // One look at the queue: those who start now, in their order.
  virtual std::vector<Started> pass(Ms now) = 0;
  // Of the free CPUs, the share in NUMA nodes of which a part is taken; below 0: not known.
  [[nodiscard]] virtual double fragmentation() const { return -1; }
  // Whether its books agree with each other. Error: kInternal, saying what does not.
  [[nodiscard]] virtual Status check(Ms now) const = 0;
};

}  // namespace pinion::sim
