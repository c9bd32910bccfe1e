#!/usr/bin/env bash
# Measures Pinion on this machine: the allocator, gang plans and a scrape alone, the price of counting (as root), then
# pinion-agent's answers to a runtime
# beside those of a plugin that does nothing. Where Go 1.24 is installed, that plugin is built on containerd's Go
# library, else it is a C++ one, and the extender's reading and answering is measured beside Go's encoding/json.
# Keep the machine quiet meanwhile.
#
#   scripts/bench.sh [OPTION...]     options of pinion-nri-bench, e.g. --quick
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh release allocate_bench extender_bench extender_calls_bench extender_wire_bench expose_bench counting_bench pinion-nri-bench pinion-nri-floor
targets=$(cmake --build --preset release --target help)
for go in pinion-nri-floor-go extender-wire-go; do
  grep -q "^$go:" <<<"$targets" || continue
  scripts/build.sh release $go || echo "bench: no $go (are its modules reachable?), going on without it"
done

build/release/bin/allocate_bench
build/release/bin/extender_bench
build/release/bin/extender_calls_bench
build/release/bin/extender_wire_bench
build/release/bin/expose_bench
build/release/bin/counting_bench
build/release/bin/pinion-nri-bench "$@"
