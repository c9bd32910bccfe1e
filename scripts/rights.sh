#!/usr/bin/env bash
# Whether the extender needs each of its rights: takes one away and expects the test of tests/e2e/rights.txt to fail, and
# to say that a call was denied for want of just that right; says where it noticed nothing else. scripts/test.sh e2e has
# built what it runs.
#
#   scripts/rights.sh [STEP]           all whose tests that step of test.sh builds: e2e (else), kube137, topology
#   scripts/rights.sh --share N [STEP] one in N of them, the next with each commit
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;; esac
cd "$(dirname "$0")/.."
# shellcheck source=scripts/by_commit.sh
. scripts/by_commit.sh

# one "VERB RESOURCE CASE": prints what came of it.
one() {
  local verb=$1 resource=$2 case=$3 log begin=$SECONDS failed=0 missed
  log=$(mktemp)
  # It waits for what will not come: shorter, to fail soon. Failing for that alone is not enough.
  PINION_E2E_WITHOUT_RIGHT="$verb $resource" PINION_PATIENCE=0.2 \
    ctest --test-dir build/release --output-on-failure --no-tests=error -R "^${case//./\\.}\$" >"$log" 2>&1 || failed=$?
  if [ $failed -ne 0 ] && grep -qF "\"$verb $resource\"" "$log"; then
    # Each case fails of a denied call alone; what the right is for shows in what else it missed.
    missed=$(awk '/: Failure$/ { n++ } /^to the extender$/ { n-- } END { print n + 0 }' "$log")
    echo "rights: $verb $resource: needed ($((SECONDS - begin)) s)$([ $missed -gt 0 ] || echo ", but nothing else failed")"
    rm "$log"
    return
  fi
  tail -n 60 "$log"
  if [ $failed -eq 0 ]; then echo "rights: $verb $resource: $case passes without it"
  else echo "rights: $verb $resource: $case fails, but was not denied it"; fi >&2
  rm "$log"
  return 1
}
if [ "${1:-}" = --one ]; then
  one "${@:2}"
  exit
fi

share=1
if [ "${1:-}" = --share ]; then
  share=$2
  shift 2
fi
rows=$(awk -v step="${1:-e2e}" -v share="$share" -v turn="$(turn "$share")" \
  '!/^#/ && $4 == step && n++ % share == turn { print $1, $2, $3 }' tests/e2e/rights.txt)
[ -n "$rows" ] || { echo "rights: no row for '${1:-e2e}'" >&2; exit 2; }
xargs -P 2 -L 1 scripts/rights.sh --one <<<"$rows"
