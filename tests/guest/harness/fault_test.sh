#!/usr/bin/env bash
# What scripts/guest/faults.sh says of a saved console, whose first two lines say how QEMU ended and what is expected.
# Usage: fault_test.sh FILE
set -euo pipefail
# shellcheck source=scripts/guest/faults.sh
. "$(dirname "$0")/../../../scripts/guest/faults.sh"

read -r _ _ how rest < <(sed -n 1p "$1")
seconds=${rest#*after }
seconds=${seconds% s}
status=
[ "$how" = running ] || status=$(sed -n '1s/.*ended with \([0-9]*\) .*/\1/p' "$1")
expected=$(sed -n '2s/^# //p' "$1")
says=$(machine_fault <(sed 1,2d "$1") "$status" "$seconds") || says="no fault of the emulation"
[ "$says" = "$expected" ] || { printf 'said:     %s\nexpected: %s\n' "$says" "$expected"; exit 1; }
