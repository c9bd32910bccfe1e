// What the main loop does with a QoS group, in one call: looks at it, and again whenever systemd
// has answered, until it has answered all.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include "agent/cgroup/cpuset_files.h"

namespace pinion::test_support {

// False: there is none to come, or none came within half a minute.
inline bool wait_for_news(const cgroup::CpusetFiles& files) {
  pollfd news{.fd = files.news_fd(), .events = POLLIN, .revents = 0};
  return !files.quiet() && poll(&news, 1, 30'000) == 1;
}

// What stood there at first, whether it was written at all, and the rest as it is in the end.
inline engine::Enforced enforce_until_quiet(cgroup::CpusetFiles& files,
                                            const engine::Enforce& wanted) {
  engine::Enforced done = files.enforce(wanted);
  engine::Enforce again = wanted;
  again.cause = engine::Cause::kFence;
  while (wait_for_news(files)) {
    for (const std::string& group : files.take_news().groups) {
      EXPECT_EQ(group, wanted.id);
      engine::Enforced next = files.enforce(again);
      next.written = next.written || done.written;
      next.found = done.found;
      done = std::move(next);
    }
  }
  return done;
}

}  // namespace pinion::test_support
