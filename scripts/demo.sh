#!/usr/bin/env bash
# Sees Pinion work on this machine: builds it, starts a private containerd beside whatever runs here,
# pins a small job with pinion-agent, and shows what each container got and where it really ran, then
# the same without the agent. After that a real MPI program (HPC Challenge) runs beside the same
# noise, several times with the agent and without: a table, and a plot in build/demo.svg. Nothing of
# the machine's own is touched; containers, mounts and cgroups are removed at the end. Needs root (asks sudo
# for it otherwise). What it prints: docs/demo.md.
#
#   scripts/demo.sh [--containerd 1.7|2.1] [--ranks N] [--seconds N] [--rounds N] [--svg FILE] [--keep-logs]
#   scripts/demo.sh --quick      leaves the MPI program out
#   scripts/demo.sh --guest [--machine NAME] [--kernel VERSION] [OPTION...]
#                                in a guest machine with several NUMA nodes (scripts/guest.sh), without the
#                                MPI program: shows local against remote memory too
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;; esac
wrong() { echo "demo: $* (see --help)" >&2; exit 2; }
guest=
machine=(--machine far-memory)  # the smallest: emulated CPUs are slow
options=()
while [ $# -gt 0 ]; do
  case $1 in
    --containerd | --ranks | --seconds | --rounds | --svg | --machine | --kernel) [ $# -gt 1 ] || wrong "$1 needs a value" ;;&
    --guest) guest=yes ;;
    --quick | --keep-logs) options+=("$1") ;;
    --machine | --kernel) machine+=("$1" "$2"); shift ;;
    --svg) options+=("$1" "$(realpath -m -- "$2")"); shift ;;
    --ranks | --seconds | --rounds)
      [[ $2 =~ ^[1-9][0-9]*$ ]] || wrong "$1 is a number from 1, not '$2'"
      options+=("$1" "$2")
      shift ;;
    --containerd)
      [[ $2 = 1.7 || $2 = 2.1 ]] || wrong "$1 is 1.7 or 2.1, not '$2'"
      options+=("$1" "$2")
      shift ;;
    *) wrong "there is no option '$1'" ;;
  esac
  shift
done
cd "$(dirname "$0")/.."
# shellcheck source=scripts/children.sh
. scripts/children.sh
trap 'end_children $$' EXIT

scripts/deps.sh demo
runtime=$(scripts/runtime.sh --print)
scripts/build.sh release pinion-agent pinion-demo

if [ -n "$guest" ]; then
  scripts/deps.sh test
  exec scripts/guest.sh "${machine[@]}" -- build/release/bin/pinion-demo --quick --ranks 2 --seconds 30 "${options[@]}"
fi

# exec: a Ctrl-C reaches the demo itself, which then cleans up. Of two --svg the last one counts.
demo=(env PINION_RUNTIME="$runtime" build/release/bin/pinion-demo --svg "$PWD/build/demo.svg" "${options[@]}")
if [ "$(id -u)" -eq 0 ]; then
  exec "${demo[@]}"
fi
exec sudo "${demo[@]}"
