// A container that does known things on command: the test's side of exercise.c.
#pragma once

#include <string>

#include "base/fd.h"
#include "tests/integration/node.h"

namespace pinion::integration {

class Exercise {
 public:
  // Makes the pipes in a new folder of the lab, and turns the pod's container into one that does
  // what it is told there.
  static Result<Exercise> prepare(const lab::ContainerdLab& node, lab::PodSpec& spec);

  // Its own context switches during a command, and its moves from one CPU to another; -1: its
  // kernel does not tell them.
  struct Did {
    long voluntary = 0;
    long involuntary = 0;
    long moves = -1;
  };

  // "migrate 1000": waits until it is done. Errors: kInvalid when it could not be done there,
  // kUnavailable when no answer came within 30 s.
  [[nodiscard]] Result<Did> tell(const std::string& command) const;

 private:
  Exercise(Fd in, Fd out) : in_(std::move(in)), out_(std::move(out)) {}

  Fd in_;
  Fd out_;
};

}  // namespace pinion::integration
