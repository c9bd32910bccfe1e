#!/usr/bin/env bash
# Fuzzes every target for so many seconds, two or more at once, from its corpus on. What crashes a target stays in
# build/fuzz/NAME, and the run fails. Each commit has a seed of its own, so that the same commit meets the same inputs.
# Usage: scripts/fuzz.sh [SECONDS [NAME...]] (default: 5 seconds, all targets)
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;; esac
cd "$(dirname "$0")/.."
# shellcheck source=scripts/by_commit.sh
. scripts/by_commit.sh

unset ASAN_OPTIONS UBSAN_OPTIONS # of test.sh, which would have the reports elsewhere

seconds=${1:-5}
names=("${@:2}")
seed=$(commit_seed)
scripts/build.sh asan-ubsan
bin=$PWD/build/asan-ubsan/bin
if [ ${#names[@]} -eq 0 ]; then
  mapfile -t names < <(cd tests/fuzz/corpus && printf '%s\n' *)
fi
[ ${#names[@]} -gt 0 ] || { echo "fuzz: there are no targets" >&2; exit 1; }
for name in "${names[@]}"; do
  [ -x "$bin/${name}_fuzz" ] || { echo "fuzz: there is no target $name (see tests/fuzz/corpus)" >&2; exit 2; }
done

# What the target failed with. The inputs too, so that the log of a machine that is gone is enough.
tell_failure() {
  local name=$1 work=$2 input
  echo "fuzz: $name failed; the input is in build/fuzz/$name, keep it in tests/fuzz/corpus/$name with the fix:"
  grep -m 1 -A 25 ERROR: "$work/log" || tail -n 40 "$work/log"
  for input in "$work"/{crash,leak,oom,timeout}-*; do
    [ -s "$input" ] || continue
    echo "fuzz: $name: the input's first 4096 bytes in base64: $(head -c 4096 "$input" | base64 -w 0)"
  done
}

# What it found goes to a folder of its own: the corpus is changed by people. Where a slow machine has not got beyond the
# corpus in that time, it gets more, once.
fuzz_one() {
  local name=$1 work=$PWD/build/fuzz/$1 limit inputs
  rm -rf "$work"
  mkdir -p "$work/found"
  for limit in "$seconds" $((12 * seconds)); do
    if ! "$bin/${name}_fuzz" -seed="$seed" -max_total_time="$limit" -timeout=60 -rss_limit_mb=3000 -print_final_stats=1 \
      -artifact_prefix="$work/" "$work/found" "tests/fuzz/corpus/$name" >"$work/log" 2>&1; then
      tell_failure "$name" "$work"
      return 1
    fi
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
    echo "fuzz: $name: $inputs inputs"
    # It reads its corpus and an empty input first.
    [ "${inputs:-0}" -gt $(($(find "tests/fuzz/corpus/$name" -type f | wc -l) + 1)) ] && return
  done
  echo "fuzz: $name has tried no input of its own, or has ended early"
  return 1
}
export -f fuzz_one tell_failure
export bin seconds seed
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I '{}' bash -c 'fuzz_one "$1"' _ '{}'
