#!/usr/bin/env bash
# Measures Pinion beside something else in the same run: a do-nothing NRI plugin in C++ and in Go, Go's JSON, the runtime
# alone, or a reference loop. Fails where a ratio is worse than the one recorded in docs/benchmarks.md, twice, by more than
# a quarter (some rows: 40 or 60 %) and by more than its noise. Takes about three minutes once built, needs root, and a
# machine with nothing else to do.
#
#   scripts/bench.sh [PATTERN]              all rows, or those whose program, name or baseline matches
#   scripts/bench.sh --record [PATTERN]     writes their ratios down instead, of three times as many turns
#   scripts/bench.sh --turns N [PATTERN]    as many turns instead of five
#   scripts/bench.sh --gross [PATTERN]      fails only where a ratio is twice the one recorded (some rows: a little more), a minute later too: for CI
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac

say() { echo "bench: $*" >&2; }
# shellcheck source=scripts/pinned.sh
. scripts/pinned.sh
# shellcheck source=scripts/go.sh
. scripts/go.sh

# make_go_programs WORK: the baselines that are in Go.
make_go_programs() {
  local folder
  say "building the baselines in Go with $go_version (a minute, once)"
  mkdir "$1/out"
  for folder in floor wire_go; do
    "$go" build -C tests/bench/$folder -trimpath "-gcflags=all=$gcflags" -o "$1/out/${programs[$folder]}" .
  done
}

scripts/build.sh release allocate_bench counting_bench expose_bench extender_bench extender_calls_bench \
  extender_wire_bench pinion-fence-bench pinion-nri-bench
runtime=$(scripts/runtime.sh --print)
use_go
go_version=$("$go" env GOVERSION)
declare -A programs=([floor]=pinion-nri-floor-go [wire_go]=extender-wire-go)
key=bench/$({ cat tests/bench/{floor,wire_go}/{go.mod,go.sum,main.go} && echo "$go_version $gcflags"; } |
  sha256sum | cut -c 1-16)
in_cache "$key" make_go_programs

commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD || commit+=+  # and changes that are not committed
PINION_RUNTIME=$runtime exec python3 -B tests/bench/gate/gate.py --document docs/benchmarks.md --bin build/release/bin \
  --go "$cache/$key" --go-version "$go_version" --commit "$commit" "$@"
