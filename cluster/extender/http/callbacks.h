// What the server asks of those who know the answers. All are called on many threads at once.
#pragma once

#include <string>
#include <string_view>

#include "cluster/extender/wire/answers.h"
#include "cluster/extender/wire/asks.h"

namespace pinion::cluster {

// kube-scheduler's calls. The scheduler places one pod at a time, so the time that filter and
// prioritize take is its throughput; it sends binds beside that, many at once.
class Callbacks {
 public:
  Callbacks() = default;
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;
  virtual ~Callbacks() = default;

  // The asks and what they point to live until the call returns.
  virtual wire::FilterAnswer filter(const wire::FilterAsk& ask) = 0;
  virtual wire::PrioritizeAnswer prioritize(const wire::FilterAsk& ask) = 0;
  // May hold its caller, for as long as its own limit says.
  virtual wire::BindAnswer bind(const wire::BindAsk& ask) = 0;
  virtual wire::PreemptAnswer preempt(const wire::PreemptAsk& ask) = 0;

  // The server ends: calls that are held return soon after this, and no later one is held.
  virtual void stopping() = 0;
};

struct Page {
  int status = 200;
  std::string type = "application/json";  // Content-Type
  std::string body;
};

// What people and tools ask for: with GET, but for a plan.
class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  virtual ~Pages() = default;

  // Why not, in a few words; empty: it is.
  virtual std::string not_live() = 0;
  virtual std::string not_ready() = 0;    // for its own part, be it to stand by
  virtual std::string not_leading() = 0;  // to answer the scheduler
  // `accept`: the header of that name, empty when there is none.
  virtual Page metrics(std::string_view accept) = 0;
  virtual Page fleet() = 0;  // /v1/fleet
  // /v1/jobs. `name_space`: of its jobs alone; empty: of all.
  virtual Page jobs(std::string_view name_space) = 0;
  virtual Page home() = 0;  // /
  // POST /v1/plan, one at a time. `job`: the body, with what it would become as the answer.
  virtual Page plan(std::string_view job) = 0;
};

}  // namespace pinion::cluster
