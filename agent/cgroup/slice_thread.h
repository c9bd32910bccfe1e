// The thread that waits for systemd, so that nobody else does. It starts with the first target.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/cgroup/qos_groups.h"
#include "agent/cgroup/slice_properties.h"
#include "base/cgroup/hierarchy.h"
#include "base/fd.h"

namespace pinion::cgroup {

// For one thread, which polls fd() and then takes the news.
class SliceThread {
 public:
  explicit SliceThread(SliceProperties properties) : properties_(std::move(properties)) {}
  SliceThread(const SliceThread&) = delete;
  SliceThread& operator=(const SliceThread&) = delete;
  // What was not begun is dropped: the next agent finds it out anew. Waits for the call that is
  // under way, at most the manager's limit for each of two.
  ~SliceThread();

  // One after another, a unit's newest target in the place of the one that waits. `group`: a
  // descriptor of the unit's group. Errors: of the system, nothing was begun then.
  [[nodiscard]] Status bring(int group, const std::string& unit, SliceTarget target);
  // See qos_groups.h.
  [[nodiscard]] Status widen_narrowed(const Hierarchy& hierarchy);

  // A target for this unit waits, or is being brought about.
  [[nodiscard]] bool at_work_on(const std::string& unit) const;

  // Nothing waits, is under way, or is news that was not taken.
  [[nodiscard]] bool quiet() const;

  // Readable when there is news; -1 before there can be any.
  [[nodiscard]] int fd() const { return news_fd_.get(); }
  struct News {
    struct Slice {
      std::string unit;
      SliceAnswer answer;
    };
    std::vector<Slice> slices;  // in the order that they were answered in
    std::optional<Widened> widened;
  };
  [[nodiscard]] News take_news();

 private:
  struct Job {
    std::string unit;  // empty: all narrowed groups below `hierarchy` are widened
    Fd group;
    SliceTarget target;
    Hierarchy hierarchy;
  };

  Status start();
  void push(Job job);
  void run();

  SliceProperties properties_;  // of the thread, once it runs
  Fd news_fd_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool busy_ = false;
  std::string current_;  // the unit that is being brought about
  News news_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pinion::cgroup
