#!/usr/bin/env bash
# How long scripts/demo.sh takes from nothing: a fresh clone of what is committed here, an empty ccache and an empty
# cache of fetched parts. Prints the seconds since the start at the end of each stage. Packages that are installed stay:
# for the whole truth run it on a new machine. Usage: tests/bench/fresh.sh [OPTION of demo.sh...]
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)

work=$(mktemp -d -p /var/tmp) # not /tmp: a guest has one of its own
trap 'rm -rf "$work"' EXIT
export CCACHE_DIR=$work/ccache PINION_CACHE=$work/cache
git clone -q "$repository" "$work/pinion"
cd "$work/pinion"
echo "commit $(git rev-parse --short HEAD), $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"

SECONDS=0
stage() { printf '%4d s  %s\n' "$SECONDS" "$1"; }
scripts/deps.sh demo
stage "packages"
shown=no
scripts/demo.sh "$@" 2>&1 | tee "$work/demo.log" | while IFS= read -r line; do
  case $line in
    "build: done"*) stage "product" ;;
    *rank-0*) [ $shown = yes ] || stage "first pinned rank:$line"; shown=yes ;;
  esac
done || { tail -n 40 "$work/demo.log"; exit 1; }
stage "end of the demo"
