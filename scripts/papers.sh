#!/usr/bin/env bash
# Plays the experiments of the papers with pinion-sim and writes docs/papers.md, the papers' numbers beside ours.
# Usage: scripts/papers.sh [OUTPUT]
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --help ]; then
  sed -n '2,3s/^# //p' "$0"
  exit
fi
scripts/build.sh release pinion-sim
python3 -B scripts/papers/papers.py build/release/bin/pinion-sim "${1:-docs/papers.md}"
