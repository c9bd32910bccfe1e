// What jobs run on, seen by the virtual clock: it takes submissions and ends, and says who starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/sim/job.h"

namespace pinion::sim {

using Handle = std::uint64_t;  // of a job in one simulation, in the order of submission

// CPUs of one node that a worker of a job has.
struct Piece {
  int node = 0;
  int tasks = 0;  // 0: of a launcher
  topology::CpuSet cpus;
};

// What an elastic job has from now on.
struct Size {
  int workers = 0;
  std::int64_t processors = 0;  // still those of more workers until a shrink has ended
  Ms pause = 0;                 // it does not work for so long
  Ms decided = 0;
};

struct Started {
  Handle job = 0;
  std::vector<Piece> pieces;   // empty where processors are merely counted
  std::optional<Size> size{};  // nullopt: as the job says
};

struct Resized {
  Handle job = 0;
  Size size;
  // All that it holds: its first workers are those that go on. Empty where processors are counted.
  std::vector<Piece> pieces{};
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
  // The job runs no more; what it has is free with end(). Precondition: it was started.
  virtual void over(Handle /*handle*/, Ms /*now*/) {}
  // What the job has is free. Precondition: it is over.
  virtual void end(Handle handle, Ms now) = 0;
  // From now on it takes so many times as long as where nothing disturbs it, >= 1.
  virtual void disturbed(Handle /*handle*/, double /*slowdown*/, Ms /*now*/) {}
  // One look at the queue: those who start now, in their order.
  virtual std::vector<Started> pass(Ms now) = 0;
  // Whose sizes the last pass has changed, in its order.
  virtual std::vector<Resized> take_resized() { return {}; }
  // When it wants the next pass though nobody comes or ends; nullopt: no need.
  [[nodiscard]] virtual std::optional<Ms> wake() const { return std::nullopt; }
  // Of the free CPUs, the share in NUMA nodes of which a part is taken; below 0: not known.
  [[nodiscard]] virtual double fragmentation() const { return -1; }
  // Whether its books agree with each other. Error: kInternal, saying what does not.
  [[nodiscard]] virtual Status check(Ms now) const = 0;
};

}  // namespace pinion::sim
