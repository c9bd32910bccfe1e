#!/usr/bin/env bash
# Runs all cases of a GoogleTest program in one boot of the guest, for the ctest entries that look them up
# (case.sh). Passes where these can say how each case ended, also where one failed: its own entry says so. Fails
# where the machine failed, where no case ran, where others ran than ctest knows, or where the program failed
# outside of its cases. A machine that failed by a known fault of the emulation is booted once more.
# Usage: boot.sh FOLDER COMMAND...
#   FOLDER/known         the cases that ctest knows, one a line
#   FOLDER/output        written: all that the program said
#   FOLDER/cases/N.END   written: what it said in a case; N is the case's name with , for /, END is passed, failed,
#                        skipped or unfinished
set -euo pipefail
folder=$1
shift

say() { echo "boot: $*" >&2; }
fail() {
  say "$*"
  exit 1
}
names() { paste -sd ' ' - | sed 's/ /, /g'; }
cases() { find "$folder/cases" -type f -name "*.$1" -printf '%f\n' | sed 's/\.[a-z]*$//; y/,/\//' | sort; }
count() { cases "$1" | wc -l; }

rm -rf "$folder/output" "$folder/cases"
[ -s "$folder/known" ] || fail "ctest knows no case: build the target guest_cases"

run() {
  status=0
  "$@" | tee "$folder/output" || status=$?
}
run "$@"
if [ "$status" -eq 124 ]; then
  say "once more, because the emulated machine failed and no test did"
  run "$@"
fi
case $status in
  124) fail "the emulated machine failed twice, no test did" ;;
  125) fail "the machine did not run the program to its end" ;;
esac

mkdir "$folder/cases"
awk -v folder="$folder/cases" '
  function keep(how,    file) {
    file = name
    gsub("/", ",", file)
    file = folder "/" file "." how
    printf "%s", text >file
    close(file)
    name = ""
  }
  match($0, /\[ RUN      \] [^ ]+$/) { name = substr($0, RSTART + 13); text = "" }
  name != "" { text = text $0 "\n" }
  name != "" && index($0, "[       OK ] " name) { keep("passed") }
  name != "" && index($0, "[  FAILED  ] " name) { keep("failed") }
  name != "" && index($0, "[  SKIPPED ] " name) { keep("skipped") }
  END { if (name != "") keep("unfinished") }' "$folder/output"

ran=$(cases '*')
[ -n "$ran" ] || fail "the program ran no case (exit code $status)"
unknown=$(comm -23 <(echo "$ran") <(sort "$folder/known"))
[ -z "$unknown" ] || fail "ctest does not know what ran, build the target guest_cases: $(names <<<"$unknown")"
missing=$(comm -13 <(echo "$ran") <(sort "$folder/known"))
if ! grep -q '^\[==========\] .* ran\.' "$folder/output"; then
  [ -n "$missing" ] || [ "$(count unfinished)" -ne 0 ] || fail "the program ended after its last case (exit code $status)"
  say "the program ended early (exit code $status)${missing:+, without $(names <<<"$missing")}"
elif [ -n "$missing" ]; then
  fail "what ctest knows did not run: $(names <<<"$missing")"
elif [ "$status" -ne 0 ] && [ "$(count failed)" -eq 0 ]; then
  fail "the program failed outside of its cases (exit code $status)"
fi
say "$(count passed) passed, $(count failed) failed, $(count skipped) skipped; each is an entry of its own"
