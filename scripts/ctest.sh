# Sourced by test.sh: runs ctest, adds up what passed and was skipped, and holds the skips against tests/skips.txt.
# shellcheck shell=bash

ctest_runs=()
ctest_passed=0
ctest_skips=()

# run_ctest PRESET OPTION...: fails where a test fails, where the options match none, and in CI where one is skipped that
# may not be. A failure ends the script that sourced this.
run_ctest() {
  local preset=$1 log total failed=0 skips=() disabled=() name reports=$PWD/build/$1/reports
  shift
  log=$(mktemp)
  # Of sanitizers, also in a process of which no test asks how it ended.
  rm -rf "$reports"
  mkdir -p "$reports"
  export ASAN_OPTIONS=exitcode=99:log_path=$reports/report
  export UBSAN_OPTIONS=log_path=$reports/report TSAN_OPTIONS=log_path=$reports/report
  echo "ctest: $preset ($*)"
  # What passed is not shown, what fails is shown at once.
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --timeout 900 "$@" 2>&1 | tee "$log" |
    { grep --line-buffered -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' || true; } || failed=$?
  if compgen -G "$reports/*" >/dev/null; then
    tail -n 60 "$reports"/* >&2
    echo "sanitizers have reported, see above" >&2
    failed=1
  fi
  if [ $failed -ne 0 ]; then
    rm -f "$log"
    return $failed
  fi
  total=$(sed -n 's/.*tests failed out of \([0-9]*\)$/\1/p' "$log")
  if [ -z "$total" ]; then
    echo "ctest has not said how many tests there were" >&2
    return 1
  fi
  # A case that its source disables is no part of the total.
  mapfile -t disabled < <(sed -n 's/^ *[0-9]*\/[0-9]* *Test *#[0-9]*: \([^ ]*\) .*\*\*\*Not Run (Disabled).*/\1/p' "$log")
  mapfile -t skips < <(sed -n 's/^ *[0-9]*\/[0-9]* *Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*/\1/p' "$log")
  total=$((total + ${#disabled[@]}))
  skips+=("${disabled[@]}")
  rm -f "$log"
  ctest_runs+=("$preset ($*): $((total - ${#skips[@]})) passed, ${#skips[@]} skipped")
  echo "${ctest_runs[-1]}"
  ctest_passed=$((ctest_passed + total - ${#skips[@]}))
  ctest_skips+=("${skips[@]}")
  for name in "${skips[@]}"; do
    if [ "${CI:-}" = true ] && ! reason_to_skip "$name" >/dev/null; then
      echo "$name was skipped, which is a failure in CI; tests/skips.txt lists the exceptions" >&2
      ctest --test-dir "build/$preset" -V -R "^${name//./\\.}\$" | tail -n 30 >&2
      return 1
    fi
  done
}

# The reason of tests/skips.txt; fails where there is none.
reason_to_skip() {
  local pattern reason
  while read -r pattern reason; do
    [[ $pattern != '#'* && -n $pattern ]] || continue
    if [[ $1 =~ $pattern ]]; then
      echo "$reason"
      return
    fi
  done <tests/skips.txt
  return 1
}

ctest_summary() {
  local name
  [ ${#ctest_runs[@]} -gt 0 ] || return 0
  printf '%s\n' "${ctest_runs[@]}"
  for name in "${ctest_skips[@]}"; do
    echo "skipped: $name: $(reason_to_skip "$name" || echo "see its output")"
  done
  # A failure has ended the script before it comes here.
  printf '%d passed, 0 failed, %d skipped\n' "$ctest_passed" "${#ctest_skips[@]}"
}
