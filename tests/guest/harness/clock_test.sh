#!/usr/bin/env bash
# When scripts/guest/faults.sh says that a guest's clock ran wrong, and how it reads how long a command took.
set -euo pipefail
# shellcheck source=scripts/guest/faults.sh
. "$(dirname "$0")/../../../scripts/guest/faults.sh"

expect() { [ "$1" = "$2" ] || { printf 'said:     %s\nexpected: %s\n' "$1" "$2"; exit 1; }; }

expect "$(end_of <(printf 'up 12\nexit 1 347\n'))" "1 335"
expect "$(clock_fault 335 124)" "its clock ran 335 s in 124 s"
for pair in "124 124" "20 6" "258 124" "0 900"; do
  # shellcheck disable=SC2086 # two words
  expect "$(clock_fault $pair || echo right)" right
done
