# Sourced by test.sh: runs ctest, adds up what passed and was skipped, and holds the skips against tests/skips.txt.
# shellcheck shell=bash

ctest_runs=()
ctest_passed=0
ctest_failed=0
ctest_skipped=0
declare -A ctest_skips=() # with the reason of each

# What ctest prints without what passed, of which it says four times a minute how far it is.
show_progress() {
  local line said=$SECONDS
  while IFS= read -r line; do
    if [[ $line =~ ^\ *([0-9]+)/([0-9]+)\ Test\ .*\ Passed\  ]]; then
      if [ $((SECONDS - said)) -ge 15 ]; then
        said=$SECONDS
        echo "ctest: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
      fi
    elif [[ ! $line =~ ^\ *Start\ +[0-9]+: ]]; then
      printf '%s\n' "$line"
    fi
  done
}

# What each said that skipped itself: lines "NAME<tab>REASON".
said_by_skipped() {
  awk '/^[0-9]+\/[0-9]+ Test: / { name = $3 } name != "" && /: Skipped$/ { getline; print name "\t" $0 }' \
    "build/$1/Testing/Temporary/LastTest.log" | sort -u -t $'\t' -k 1,1
}

# run_ctest PRESET OPTION...: fails where a test fails, where the options match none, and in CI where one is skipped that
# may not be. A failure ends the script that sourced this.
run_ctest() {
  local preset=$1 log=$PWD/build/$1/ctest.log reports=$PWD/build/$1/reports
  local total=0 not_passed=0 failed=0 skips=() disabled=() name reason
  local -A said=()
  shift
  # Of sanitizers, also in a process of which no test asks how it ended.
  rm -rf "$reports"
  mkdir -p "$reports"
  export ASAN_OPTIONS=exitcode=99:log_path=$reports/report
  export UBSAN_OPTIONS=log_path=$reports/report TSAN_OPTIONS=log_path=$reports/report
  echo "ctest: $preset ($*)"
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --timeout 900 "$@" 2>&1 | tee "$log" |
    show_progress || failed=$?
  if compgen -G "$reports/*" >/dev/null; then
    tail -n 60 "$reports"/* >&2
    echo "sanitizers have reported, see above" >&2
    failed=1
  fi
  read -r not_passed total < <(sed -n 's/.* tests passed, \([0-9]*\) tests* failed out of \([0-9]*\)$/\1 \2/p' "$log") || true
  if [ "${total:-0}" -eq 0 ]; then
    echo "ctest has not said how many tests there were" >&2
    [ $failed -ne 0 ] || failed=1
    return $failed
  fi
  # A case that its source disables is no part of the total.
  mapfile -t disabled < <(sed -n 's/^ *[0-9]*\/[0-9]* *Test *#[0-9]*: \([^ ]*\) .*\*\*\*Not Run (Disabled).*/\1/p' "$log")
  mapfile -t skips < <(sed -n 's/^ *[0-9]*\/[0-9]* *Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*/\1/p' "$log")
  total=$((total - not_passed - ${#skips[@]}))
  ctest_runs+=("$preset ($*): $total passed, $not_passed failed, ${#skips[@]} skipped")
  echo "${ctest_runs[-1]}"
  ctest_passed=$((ctest_passed + total))
  ctest_failed=$((ctest_failed + not_passed))
  ctest_skipped=$((ctest_skipped + ${#skips[@]}))
  while IFS=$'\t' read -r name reason; do said[$name]=$reason; done < <(said_by_skipped "$preset")
  for name in "${skips[@]}"; do
    ctest_skips[$name]=$(reason_to_skip "$name" || echo "${said[$name]:-no reason was given}")
  done
  [ $failed -eq 0 ] || return $failed
  for name in "${skips[@]}" "${disabled[@]}"; do
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
  local name reason
  local -A with=() # how many, by reason
  [ ${#ctest_runs[@]} -gt 0 ] || return 0
  printf '%s\n' "${ctest_runs[@]}"
  for reason in "${ctest_skips[@]}"; do with[$reason]=$((${with[$reason]:-0} + 1)); done
  for name in "${!ctest_skips[@]}"; do
    reason=${ctest_skips[$name]}
    case ${with[$reason]} in
      0) continue ;;
      1) echo "skipped: $name: $reason" ;;
      *) echo "skipped: $name and $((${with[$reason]} - 1)) more: $reason" ;;
    esac
    with[$reason]=0
  done
  printf '%d passed, %d failed, %d skipped\n' "$ctest_passed" "$ctest_failed" "$ctest_skipped"
}
