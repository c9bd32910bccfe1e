#!/usr/bin/env bash
# Pods and jobs come and go on the cluster of scripts/cluster.sh while its parts are killed, and a checker compares who knows
# what: tests/cluster/README.md. As root; the first time builds what scripts/test.sh cluster does.
#
#   tests/soak.sh MINUTES [SEED]   SEED: what a run before has printed, for the same pods and kills
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
  '' | *[!0-9]*) sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
# scripts/test.sh has made all of it.
[ -n "${PINION_PACKAGED:-}" ] || scripts/cluster.sh build
export PINION_PACKAGED=yes
exec python3 -B tests/cluster/soak.py "$@"
