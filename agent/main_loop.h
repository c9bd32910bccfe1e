// One thread, one poll: the runtime's socket and signals; work that can wait is done a piece at a
// time in between.
#pragma once

#include <functional>

#include "agent/heartbeat.h"
#include "agent/node.h"
#include "agent/view_publisher.h"
#include "base/fd.h"
#include "base/log/ready_file.h"

namespace pinion::agent {

// Runs until SIGTERM or SIGINT arrives at `signals` (a signalfd), or until a runtime that launched
// us closes its socket. `reload` is called for SIGHUP; `ready` is made after the first Synchronize;
// `heart` beats, and `alone` is asked, with every turn. Errors: kInternal when poll itself fails;
// those of `alone`.
Status run_main_loop(Node& node, nri::Connection& connection, ViewPublisher& publisher,
                     const Fd& signals, const std::function<void()>& reload,
                     const std::function<Status()>& alone, ReadyFile& ready, Heartbeat& heart);

}  // namespace pinion::agent
