#!/usr/bin/env bash
# nginx with a target on the cluster of scripts/cluster.sh, under a load that steps, beside a pinned rank: the paper's loop and
# ours, one after the other. As root, on a quiet machine; the first time builds what scripts/test.sh cluster does.
#
#   tests/bench/service.sh [--seconds N] [--csv FILE]   N: of each of the four steps of a load [120]
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -n "${PINION_PACKAGED:-}" ] || scripts/cluster.sh build
export PINION_PACKAGED=yes
exec python3 -B tests/cluster/service.py "$@"
