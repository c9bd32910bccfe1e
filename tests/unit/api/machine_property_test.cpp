// The machine and the ledger survive the wire, whatever they look like.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/api/convert.h"
#include "agent/client/machine.h"
#include "tests/property/topology_gen.h"
#include "tests/unit/api/samples.h"

namespace pinion::agent::api {
namespace {

using topology::Topology;

RC_GTEST_PROP(ApiProperty, ReaderDecidesAsTheAgentWould, ()) {
  const Topology machine = topology::random_machine();
  NodeView view = empty_view(machine, topology::random_ledger(machine).reserved());
  view.ledger.set_shared_memory(*rc::gen::inRange<topology::Bytes>(0, topology::Bytes{1} << 36));
  for (int i = 0; i < 4; ++i) {
    place(view, topology::random_request(machine, "c" + std::to_string(i)));
  }
  const v1::Snapshot snapshot = snapshot_of({}, view, nullptr);

  const Result<Topology> read = topology_of(snapshot.node().machine());
  RC_ASSERT(read.has_value());
  Topology expected = machine;
  for (topology::Cache& cache : expected.l2s) cache.size = 0;
  for (topology::Cache& cache : expected.l3s) cache.size = 0;
  RC_ASSERT(*read == expected);
  const Result<topology::Ledger> ledger = ledger_of(snapshot, *read);
  RC_ASSERT(ledger.has_value());
  RC_ASSERT(*ledger == view.ledger);

  const topology::Request next = topology::random_request(machine, "next");
  RC_ASSERT(topology::allocate(*read, *ledger, next) ==
            topology::allocate(machine, view.ledger, next));
}

}  // namespace
}  // namespace pinion::agent::api
