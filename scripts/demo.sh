#!/usr/bin/env bash
# Sees Pinion work on this machine: builds it, starts a private containerd beside whatever runs here,
# pins a small job with pinion-agent, and shows what each container got and where it really ran, then
# the same without the agent. After that a real MPI program (HPC Challenge) runs beside the same
# noise, several times with the agent and without: a table, and a plot in build/demo.svg. Nothing of
# the machine's own is touched; containers, mounts and cgroups are removed at the end. Needs root (asks sudo
# for it otherwise). What it prints: docs/demo.md.
#
#   scripts/demo.sh [--containerd 1.7|2.1] [--seconds N] [--rounds N] [--svg FILE] [--keep-logs]
#   scripts/demo.sh --quick      leaves the MPI program out
#   scripts/demo.sh --guest [--machine NAME] [--kernel VERSION] [OPTION...]
#                                in a guest machine with several NUMA nodes (scripts/guest.sh), without the
#                                MPI program: shows local against remote memory too
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;; esac
cd "$(dirname "$0")/.."

scripts/deps.sh demo
runtime=$(scripts/runtime.sh --print)
scripts/build.sh release pinion-agent pinion-demo

if [ "${1:-}" = --guest ]; then
  shift
  scripts/deps.sh test
  guest=(--machine far-memory)  # the smallest: emulated CPUs are slow
  while [ $# -gt 1 ] && { [ "$1" = --machine ] || [ "$1" = --kernel ]; }; do
    guest+=("$1" "$2")
    shift 2
  done
  exec scripts/guest.sh "${guest[@]}" -- build/release/bin/pinion-demo --quick --ranks 2 --seconds 30 "$@"
fi

# exec: a Ctrl-C reaches the demo itself, which then cleans up. Of two --svg the last one counts.
demo=(env PINION_RUNTIME="$runtime" build/release/bin/pinion-demo --svg "$PWD/build/demo.svg" "$@")
if [ "$(id -u)" -eq 0 ]; then
  exec "${demo[@]}"
fi
exec sudo "${demo[@]}"
