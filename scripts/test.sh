#!/usr/bin/env bash
# Installs what is needed, builds with both compilers (clang: the product alone), checks format and lint, and
# runs every test: unit, property, golden, fuzz corpora, with and without sanitizers, against real containerds,
# and in guest machines with several NUMA nodes.
# Ends with ctest's counts, by preset and in all. Usage: scripts/test.sh [STEP...] (default: all of the steps below)
set -euo pipefail
cd "$(dirname "$0")/.."

steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(format asan-ubsan tidy tsan integration guest)
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
  cmake --build --preset dev --target pinion-agent pinionctl extender_core
  cxx_files | grep -E '^(base|topology|nri-plugin|metrics|agent|ctl|extender)/.*\.cpp$' |
    xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build/dev --quiet
}

# All tests but those that need a real containerd, a gRPC server or a guest machine.
run_asan() {
  cmake --preset asan-ubsan >/dev/null
  cmake --build --preset asan-ubsan
  run_ctest asan-ubsan -LE "integration|guest" -j "$(nproc)"
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

# In machines with several NUMA nodes and cgroup v2.
run_guest() {
  scripts/guest.sh --fetch
  build_release
  run_ctest release -L guest
}

run_ctest() {
  local preset=$1 log total skips
  shift
  log=$(mktemp)
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error "$@" | tee "$log"
  total=$(sed -n 's/.*tests failed out of \([0-9]*\)$/\1/p' "$log")
  skips=$(grep -c '\*\*\*Skipped' "$log" || true)
  rm -f "$log"
  results+=("$preset ($*): $((total - skips)) passed, $skips skipped")
  passed=$((passed + total - skips))
  skipped=$((skipped + skips))
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
    guest) run_guest ;;
    *) echo "test.sh: unknown step '$name'" >&2 && exit 2 ;;
  esac
done

printf '\n== all steps passed in %ss\n' "$SECONDS"
[ ${#results[@]} -eq 0 ] && exit 0
printf '%s\n' "${results[@]}"
# A failure has ended this script before it came here.
printf '%d passed, 0 failed, %d skipped\n' "$passed" "$skipped"
