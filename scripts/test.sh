#!/usr/bin/env bash
# Installs what is needed, builds with both compilers (clang: the product alone), checks format and lint, and
# runs every test: unit, property, golden, fuzz corpora, with and without sanitizers, against real containerds,
# against a real Kubernetes control plane, and in guest machines with several NUMA nodes.
# Ends with ctest's counts, by preset and in all. Usage: scripts/test.sh [STEP...] (default: all of the steps below)
set -euo pipefail
cd "$(dirname "$0")/.."

steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(format asan-ubsan tidy tsan integration e2e guest)
results=()
passed=0
skipped=0

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

cxx_files() { git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp'; }

run_format() {
  cxx_files | xargs clang-format-14 --dry-run --Werror
}

# clang 14 compiles the product with warnings as errors, then clang-tidy reads it.
run_tidy() {
  cmake --preset dev >/dev/null
  cmake --build --preset dev --target product
  scripts/tidy.sh
}

# All tests but those that need a real containerd, a gRPC server or a guest machine.
run_asan() {
  cmake --preset asan-ubsan >/dev/null
  cmake --build --preset asan-ubsan
  run_ctest asan-ubsan -LE "integration|e2e|guest" -j "$(nproc)"
}

# The optimized programs, and the tests that no sanitizer's build has. Unit tests run with sanitizers alone:
# building them twice was a third of the whole time.
build_release() {
  cmake --preset release >/dev/null
  cmake --build --preset release --target release_programs
}

# ThreadSanitizer finds nothing where there is one thread, so only the tests with several are built and run.
run_tsan() {
  cmake --preset tsan >/dev/null
  cmake --build --preset tsan --target threaded_tests
  run_ctest tsan -L threads -j "$(nproc)"
}

run_integration() {
  scripts/runtime.sh
  build_release
  run_ctest release -L integration
}

# With real etcd, kube-apiserver and kube-scheduler, built at the first run.
run_e2e() {
  scripts/kube.sh
  build_release
  run_ctest release -L e2e
}

# In machines with several NUMA nodes and cgroup v2.
run_guest() {
  scripts/guest.sh --fetch
  build_release
  run_ctest release -L guest
}

# What talks to a real runtime or scheduler or boots a machine may fail once for the machine's sake (a disk that stops for two
# seconds, and the runtime drops its plugin): it gets a second try, which the summary tells.
run_ctest() {
  local preset=$1 log total skips again failed=0 repeat=()
  shift
  [[ $* != *"-L integration"* && $* != *"-L e2e"* && $* != *"-L guest"* ]] || repeat=(--repeat until-pass:2)
  log=$(mktemp)
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error "${repeat[@]}" "$@" | tee "$log" || failed=$?
  again=$(failures "$log" | sort -u | grep -c . || true)
  if [ "$again" -ne 0 ]; then
    printf '\n== what failed, once more, the end of each:\n'
    failures "$log" | sort -u | while read -r name; do output_of "$name" "$log"; done
  fi
  total=$(sed -n 's/.*tests failed out of \([0-9]*\)$/\1/p' "$log")
  skips=$(grep -c '\*\*\*Skipped' "$log" || true)
  rm -f "$log"
  [ $failed -eq 0 ] || return $failed
  results+=("$preset ($*): $((total - skips)) passed, $skips skipped, $again of them at the second try")
  passed=$((passed + total - skips))
  skipped=$((skipped + skips))
}

# The names of the tests that failed, or passed at the second try only.
failures() {
  sed -n 's/^ *[0-9]*\/[0-9]* *Test *#[0-9]*: \([^ ]*\) .*\*\*\*\(Failed\|Timeout\|Exception\).*/\1/p; s/^ *Test *#[0-9]*: \([^ ]*\) .*\*\*\*\(Failed\|Timeout\|Exception\).*/\1/p' "$1"
}

output_of() {
  echo "-- $1"
  awk -v name="$1" '
    index($0, ": " name " ") && /\*\*\*/ { shown = 1 }
    /^ +Start +[0-9]+: / || /tests passed, / { shown = 0 }
    shown' "$2" | tail -n 80
}

scripts/deps.sh test demo
for name in "${steps[@]}"; do
  step "$name"
  case $name in
    format) run_format ;;
    tidy) run_tidy ;;
    asan-ubsan) run_asan ;;
    tsan) run_tsan ;;
    integration) run_integration ;;
    e2e) run_e2e ;;
    guest) run_guest ;;
    *) echo "test.sh: unknown step '$name'" >&2 && exit 2 ;;
  esac
done

printf '\n== all steps passed in %ss\n' "$SECONDS"
[ ${#results[@]} -eq 0 ] && exit 0
printf '%s\n' "${results[@]}"
# A failure has ended this script before it came here.
printf '%d passed, 0 failed, %d skipped\n' "$passed" "$skipped"
