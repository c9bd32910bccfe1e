#!/usr/bin/env bash
# Measures Pinion on this machine: the allocator, gang plans and a scrape alone, the price of counting (as root), then
# pinion-agent's answers to a runtime
# beside those of a plugin that does nothing. That plugin is built on containerd's Go library where
# Go 1.24 is installed, else it is a C++ one. Keep the machine quiet meanwhile.
#
#   scripts/bench.sh [OPTION...]     options of pinion-nri-bench, e.g. --quick
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh release allocate_bench extender_bench extender_wire_bench expose_bench counting_bench pinion-nri-bench pinion-nri-floor
if cmake --build --preset release --target help | grep -q '^pinion-nri-floor-go:'; then
  scripts/build.sh release pinion-nri-floor-go ||
    echo "bench: no Go floor (are its modules reachable?), going on with the C++ one"
fi

build/release/bin/allocate_bench
build/release/bin/extender_bench
build/release/bin/extender_wire_bench
build/release/bin/expose_bench
build/release/bin/counting_bench
build/release/bin/pinion-nri-bench "$@"
