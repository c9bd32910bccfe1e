#!/usr/bin/env bash
# boot.sh and case.sh with a function in the place of the machine: what the boot's entry says, and what the cases' say.
# Usage: boot_test.sh NAME, of one of the tests below
# shellcheck disable=SC2317 # the tests and their programs are called by name
set -euo pipefail
guest=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
export folder
trap 'rm -rf "$folder"' EXIT

# What a GoogleTest program says.
passes() { printf '[ RUN      ] %s\nit says %s\n[       OK ] %s (12 ms)\n' "$1" "$1" "$1"; }
fails() { printf '[ RUN      ] %s\nfile.cpp:1: Failure of %s\n[  FAILED  ] %s, where GetParam() = "2.1" (7 ms)\n' "$1" "$1" "$1"; }
skips() { printf '[ RUN      ] %s\nfile.cpp:2: Skipped\nno such node\n[  SKIPPED ] %s (0 ms)\n' "$1" "$1"; }
begins() { printf '[ RUN      ] %s\n' "$1"; }
ends() { printf '[==========] 3 tests from 1 test suite ran. (19 ms total)\n'; }

# boot KNOWN... PROGRAM: the boot's exit code is $booted, what it said is in $folder/said. PROGRAM is a function here.
boot() {
  local program=${*: -1} name
  printf '%s\n' "${@:1:$#-1}" >"$folder/known"
  { for name in passes fails skips begins ends "$program"; do declare -f "$name"; done; echo "$program"; } >"$folder/program"
  booted=0
  "$guest/boot.sh" "$folder" bash "$folder/program" >"$folder/said" 2>&1 || booted=$?
}
check() {
  "$@" && return
  echo "not so: $*"
  cat "$folder/said"
  exit 1
}
says() { check grep -qF "$1" "$folder/said"; }
boot_passes() { check [ "$booted" -eq 0 ]; says "$1"; }
boot_fails() { check [ "$booted" -eq 1 ]; says "$1"; }
# case_gives CODE NAME WORDS: the case's entry ends so, and says that.
case_gives() {
  local code=0
  "$guest/case.sh" "$folder" "$2" >"$folder/said" 2>&1 || code=$?
  check [ $code -eq "$1" ]
  says "$3"
}

test_each_case_says_how_it_ended() {
  program() { passes Each/S.a/v21; fails Each/S.b/v21; skips Each/S.c/v21; ends; fails Each/S.b/v21; exit 1; }
  boot Each/S.{a,b,c}/v21 program
  boot_passes "1 passed, 1 failed, 1 skipped"
  case_gives 0 Each/S.a/v21 "it says Each/S.a/v21"
  case_gives 1 Each/S.b/v21 "Failure of Each/S.b/v21"
  check [ "$(grep -c S.a "$folder/said")" -eq 0 ]
  case_gives 77 Each/S.c/v21 "no such node"
}
test_a_name_that_begins_another() {
  program() { fails S.ab; passes S.a; ends; exit 1; }
  boot S.a S.ab program
  boot_passes "1 passed, 1 failed"
  case_gives 0 S.a "it says S.a"
}
test_output_without_a_line_end() {
  program() { begins S.a; printf 'dots...[       OK ] S.a (1 ms)\n'; ends; }
  boot S.a program
  boot_passes "1 passed"
}
test_a_crash_fails_its_case_and_those_after_it() {
  program() { passes S.a; begins S.b; echo "last words"; exit 139; }
  boot S.a S.b S.c program
  boot_passes "ended early (exit code 139), without S.c"
  case_gives 0 S.a "it says S.a"
  case_gives 1 S.b "ended in this case"
  case_gives 1 S.c "ended before this case"
  says "last words"
}
test_a_crash_after_the_last_case() {
  program() { passes S.a; exit 139; }
  boot S.a program
  boot_fails "ended after its last case (exit code 139)"
}
test_a_failure_outside_of_the_cases() {
  program() { passes S.a; ends; exit 1; }
  boot S.a program
  boot_fails "failed outside of its cases"
}
test_no_case_ran() {
  program() { ends; }
  boot S.a program
  boot_fails "ran no case"
}
test_a_case_that_vanished() {
  program() { passes S.a; ends; }
  boot S.a S.b program
  boot_fails "did not run: S.b"
}
test_a_case_that_ctest_does_not_know() {
  program() { passes S.a; passes S.b; ends; }
  boot S.a program
  boot_fails "does not know what ran, build the target guest_cases: S.b"
}
test_nothing_is_known() {
  program() { passes S.a; ends; }
  boot program
  boot_fails "build the target guest_cases"
}
test_a_machine_that_failed_is_booted_once_more() {
  program() { [ -e "$folder/second" ] || { touch "$folder/second"; begins S.a; exit 124; }; passes S.a; ends; }
  boot S.a program
  boot_passes "once more, because the emulated machine failed and no test did"
  case_gives 0 S.a "it says S.a"
}
test_a_machine_that_fails_twice() {
  program() { echo >>"$folder/boots"; exit 124; }
  boot S.a program
  boot_fails "the emulated machine failed twice"
  check [ "$(wc -l <"$folder/boots")" -eq 2 ]
}
test_a_command_that_does_not_end_is_not_tried_again() {
  program() { echo >>"$folder/boots"; passes S.a; exit 125; }
  boot S.a program
  boot_fails "did not run the program to its end"
  check [ "$(wc -l <"$folder/boots")" -eq 1 ]
}
test_a_failed_case_is_not_tried_again() {
  program() { echo >>"$folder/boots"; fails S.a; ends; exit 1; }
  boot S.a program
  boot_passes "1 failed"
  check [ "$(wc -l <"$folder/boots")" -eq 1 ]
}

"test_$1"
