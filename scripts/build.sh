#!/usr/bin/env bash
# Builds Pinion; programs end in build/PRESET/bin, what the compiler says in build/PRESET/build.log, which is shown
# when it fails. Usage: scripts/build.sh [PRESET [TARGET...]] (presets: release, package, dev, asan-ubsan, tsan; see
# CMakePresets.json)
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;; esac
cd "$(dirname "$0")/.."
# shellcheck source=scripts/children.sh
. scripts/children.sh

scripts/deps.sh
preset=${1:-release}
folder=build/$preset
log=$folder/build.log
mkdir -p "$folder"

fail() {
  printf '\nbuild: %s failed, the end of %s:\n' "$1" "$log" >&2
  grep -vE '^\[[0-9]+/[0-9]+\] ' "$log" | tail -n 60 >&2
  exit 1
}
# Replaces the line on a terminal; elsewhere one line every quarter of a minute.
progress() {
  if [ -t 1 ]; then
    printf '\r\033[Kbuild: %s' "$1"
  elif [ $((SECONDS - said)) -ge 15 ]; then
    said=$SECONDS
    echo "build: $1"
  fi
}

said=$SECONDS
echo "build: $preset${2:+: ${*:2}}"
cmake --preset "$preset" >"$log" 2>&1 || fail configuring
began=$SECONDS
trap 'end_children $$' EXIT
cmake --build --preset "$preset" ${2:+--target "${@:2}"} </dev/null >>"$log" 2>&1 &
ninja=$!
while kill -0 $ninja 2>/dev/null; do
  read -r at all < <(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 1 | tr '[/]' ' ') || true
  if [ "${at:-0}" -gt 4 ]; then
    progress "$at of $all, about $(((SECONDS - began) * (all - at) / at + 1)) s left"
  fi
  sleep 1
done
wait $ninja || fail compiling
trap - EXIT
if [ -t 1 ]; then printf '\r\033[K'; fi
echo "build: done in $((SECONDS - began)) s"
