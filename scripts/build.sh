#!/usr/bin/env bash
# Builds Pinion; programs end in build/PRESET/bin. Usage: scripts/build.sh [PRESET [TARGET...]]
# (presets: release, dev, asan-ubsan, tsan, fuzz; see CMakePresets.json).
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/deps.sh
preset=${1:-release}
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" ${2:+--target "${@:2}"}
