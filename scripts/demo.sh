#!/usr/bin/env bash
# Sees Pinion work on this machine: builds it, starts a private containerd beside whatever runs here,
# pins a small job with pinion-agent, and shows what each container got and where it really ran, then
# the same without the agent. Nothing of the machine's own is touched; everything is removed at the
# end. Needs root (asks sudo for it otherwise).
#
#   scripts/demo.sh [--containerd 1.7|2.1] [--seconds N] [--keep-logs]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/deps.sh
runtime=$(scripts/runtime.sh --print)
scripts/build.sh

# exec: a Ctrl-C reaches the demo itself, which then cleans up.
if [ "$(id -u)" -eq 0 ]; then
  exec env PINION_RUNTIME="$runtime" build/release/bin/pinion-demo "$@"
fi
exec sudo env PINION_RUNTIME="$runtime" build/release/bin/pinion-demo "$@"
