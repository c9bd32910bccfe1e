// What an agent says in its stream: each message as its length in a varint and its bytes, as
// protobuf delimits them. Any bytes leave a fleet without a CPU in two hands.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "agent/client/mirror.h"
#include "cluster/core/fleet.h"
#include "cluster/core/run_book.h"
#include "cluster/extender/agents/machines.h"
#include "cluster/extender/agents/node_report.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_agent {
namespace {

using pinion::Error;
using pinion::agent::api::Mirror;
using pinion::cluster::Fleet;
using pinion::cluster::FleetNode;
using pinion::topology::CpuSet;
using pinion::topology::Topology;

void check(const Error& error) {
  if (error.text.empty()) std::abort();
}

void check(const Fleet& fleet) {
  for (const auto& [name, index] : fleet.by_name()) {
    const FleetNode& node = fleet.node(index);
    CpuSet held = node.ledger.reserved();
    for (const auto& [id, claim] : node.ledger.claims()) {
      if (claim.cpus.empty() || claim.cpus.intersects(held)) std::abort();
      if (!claim.cpus.is_subset_of(node.topology().online)) std::abort();
      held |= claim.cpus;
    }
  }
}

// A watch that says the snapshot of this one comes to the same.
void check(const Mirror& mirror) {
  pinion::v1::WatchNodeResponse whole;
  *whole.mutable_snapshot() = mirror.snapshot();
  Mirror again;
  if (!again.apply(whole)) std::abort();
  if (again.snapshot().SerializeAsString().size() != mirror.snapshot().SerializeAsString().size()) {
    std::abort();
  }
}

// As a stream takes a message; false ends it.
class Stream {
 public:
  bool take(const pinion::v1::WatchNodeResponse& message) {
    if (const auto applied = mirror_.apply(message); !applied) return refused(applied.error());
    check(mirror_);
    if (message.has_heartbeat()) return true;
    if (message.has_snapshot() || message.change().node().has_machine()) {
      auto machine = machines_.of(mirror_.node().machine());
      if (!machine) return refused(machine.error());
      machine_ = *std::move(machine);
      mirror_.forget_machine();
    }
    auto report = pinion::cluster::report_of(mirror_, machine_);
    if (!report) return refused(report.error());
    report->name = "node";
    const auto lost = fleet_.report(*std::move(report), 0);
    if (!lost) check(lost.error());
    check(fleet_);
    check_uses(pinion::cluster::uses_of(mirror_));
    promise();
    return true;
  }

 private:
  static bool refused(const Error& error) {
    check(error);
    return false;
  }

  // Minutes pass between two messages; figures of runs are sound, whatever counters say.
  void check_uses(const std::vector<pinion::cluster::ContainerUse>& uses) {
    now_s_ += 40;
    for (const pinion::cluster::ContainerUse& use : uses) {
      if (use.job.empty() || use.cpus < 1) std::abort();
    }
    for (const auto& run : book_.observe("node", uses, now_s_)) {
      if (!(run.figures.allotted > 0) || !(run.figures.seconds > 0)) std::abort();
      const auto history = pinion::cluster::learn({}, run.figures, 0);
      if (history.used.value < 0 || history.used.value > 1) std::abort();
      if (pinion::cluster::profile_of(history).why.empty()) std::abort();
    }
  }

  // Later reports have to be fitted around this one, or drop it.
  void promise() {
    const auto node = fleet_.find("node");
    if (node < 0) return;
    pinion::topology::Request request;
    request.id = "promised/one";
    request.cpus = 2;
    (void)fleet_.promise(node, request, 1);
    check(fleet_);
  }

  Mirror mirror_;
  pinion::cluster::Machines machines_;
  std::shared_ptr<const Topology> machine_;
  Fleet fleet_;
  pinion::cluster::RunBook book_;
  double now_s_ = 0;
};

}  // namespace

PINION_FUZZ_TARGET(extender_agent) {
  using google::protobuf::util::ParseDelimitedFromZeroCopyStream;
  google::protobuf::io::ArrayInputStream bytes(data, static_cast<int>(size));
  Stream stream;
  for (;;) {
    pinion::v1::WatchNodeResponse message;
    bool ended = false;
    if (!ParseDelimitedFromZeroCopyStream(&message, &bytes, &ended) || !stream.take(message)) break;
  }
  return 0;
}

}  // namespace pinion::fuzz::extender_agent
