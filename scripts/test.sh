#!/usr/bin/env bash
# Checks Pinion. Installs what is needed, builds, tests, and ends with the number of tests that passed, failed and were
# skipped. In CI (CI=true) a skip is a failure but for those of tests/skips.txt.
#
#   scripts/test.sh            the quick checks: format, and `quick`: unit, property and golden tests and fuzz corpora
#                              under ASan and UBSan; the same build's programs with containerd 2.1 and beside a real
#                              kube-scheduler
#   scripts/test.sh all        those, and all other steps: what CI runs. Of the files for clang-tidy's analyzer those just
#                              changed and a twelfth, of the extender's rights a tenth (of those that only Kubernetes 1.37
#                              needs a third), of containerd 1.7 or 2.4, of the guest's machines a third or in their place,
#                              every fourth time, Kubernetes 1.37 or, every eighth, the quickstart and five minutes of the
#                              soak of cluster, and every fourth time another scheduler (topology): the next with each commit
#   scripts/test.sh STEP...    these alone, and whole
#
# Steps: format quick (the quick checks), then release guest bench tsan tidy fuzz. By name alone: the parts of quick, unit
# runtime smoke; those of release, integration e2e; runtime24, which builds the current containerd once, topology,
# which builds a kube-scheduler with NodeResourceTopologyMatch once, kube137, which builds Kubernetes 1.37 once, and
# cluster, which builds most of Kubernetes once
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/ctest.sh
. scripts/ctest.sh
# shellcheck source=scripts/by_commit.sh
. scripts/by_commit.sh
# shellcheck source=scripts/children.sh
. scripts/children.sh

# What a shell may have left over would let tests pass that do not.
unset UPDATE_GOLDEN ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS TESTBRIDGE_TEST_ONLY "${!GTEST_@}"
for name in "${!PINION_@}"; do
  case $name in PINION_CACHE | PINION_EVENTS | PINION_E2E_SEED) ;; *) unset "$name" ;; esac
done

# For the property tests. An own one takes its place, to look for more: RC_PARAMS="max_success=1000".
export RC_PARAMS=${RC_PARAMS:-seed=$(commit_seed)}
# For the crowds of e2e; a failure names it.
export PINION_E2E_SEED=${PINION_E2E_SEED:-$(commit_seed)}
# Of the properties that play events: for two minutes of a CPU in CI; more where somebody asks for more.
least_events=100000
[ "${CI:-}" != true ] || least_events=800000
[ "${PINION_EVENTS:-0}" -ge $least_events ] || PINION_EVENTS=$least_events
export PINION_EVENTS

quick=(format quick)
others=(release guest bench tsan tidy fuzz)
alone=(unit runtime smoke integration e2e runtime24 topology kube137 cluster)
whole=true
case "${1:-} $#" in
  " 0") steps=("${quick[@]}") ;;
  "all 1") steps=("${quick[@]}" "${others[@]}") whole=false ;;
  "-h 1" | "--help 1") sed -n '2,19s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) steps=("$@") ;;
esac
for name in "${steps[@]}"; do
  [[ " ${quick[*]} ${others[*]} ${alone[*]} " == *" $name "* ]] ||
    { echo "test.sh: no step '$name' (see --help)" >&2; exit 2; }
done

run_format() {
  git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' | xargs clang-format-14 --dry-run --Werror ||
    { echo "format: clang-format-14 -i FILE mends it" >&2; return 1; }
  scripts/mutate.sh --check
}

# What a later step fetches and builds in Go, from what the steps before it leave of the machine. That step runs the same
# again: it waits for this one, and says what went wrong.
prepare() {
  local name
  for name in "${steps[@]}"; do
    case $name in
      quick) set -- scripts/kube.sh ;;
      release | e2e) set -- scripts/kube.sh --all ;;
      *) continue ;;
    esac
    # A session is an autogroup of its own, beside which nice counts for nothing: the group has to be nice, too.
    # shellcheck disable=SC2016 # of the inner shell
    setsid nice -n 19 sh -c 'echo 19 >/proc/self/autogroup; exec "$@"' sh "$@" >/dev/null 2>&1 &
    return
  done
}

# When this ends, however: what it has started ends, too, what sudo's root has built is its owner's again, and a failure is
# the last that is said.
at_exit() {
  end_children $$
  if [ "$(id -u):${SUDO_UID:-}" = "0:$(stat -c %u .)" ] && [ -d build ]; then chown -Rh --reference=. build; fi
  if [ -n "$step" ]; then
    printf '\n== %s did not pass (%ss)%s\n' "$step" "$SECONDS" "${left:+; not begun: $left}"
    ctest_summary
  fi
}
step=
trap at_exit EXIT

# Many tests wait, for a process or a time: with one for each CPU these would be idle for a third of the time.
jobs=$((2 * $(nproc)))

# clang with the sanitizers: everything is compiled for it once, for all of the quick checks and for fuzzing.
checks() {
  scripts/build.sh asan-ubsan
  run_ctest asan-ubsan -j $jobs "$@"
}
# The real containerds are started one after the other, which leaves much of the machine to the others; the first time
# also to Go (prepare), for which the cluster's tests alone wait.
run_quick() {
  cmake --preset package >/dev/null # made by name alone, see run_cluster: at least it can be configured
  scripts/runtime.sh
  checks -LE e2e -E '/v(17|24)$'
  run_smoke
}
run_unit() {
  checks -LE "integration|e2e"
}
run_runtime() {
  scripts/runtime.sh
  checks -L integration -E '/v(17|24)$'
}
run_smoke() {
  scripts/kube.sh
  checks -L e2e
}

# g++, optimised, as in production: with the other containerd, as the guests have 2.1.
# Control planes wait more than others.
release() {
  scripts/build.sh release release_programs
  run_ctest release -j $((2 * $(nproc) + 1)) "$@"
}
run_release() {
  local others='/v2[14]$' part=whole
  scripts/runtime.sh
  # Where no cache is, the containerd, the scheduler and, with 3, Kubernetes 1.37 (run_guest) are built: one with a commit.
  $whole || part=$(turn 4)
  case $part in
    0 | 2)
      others='/v(17|21)$'
      scripts/runtime.sh --v24
      echo "release: containerd 2.4, with the next commit 1.7" ;;
    1) run_topology ;;
  esac
  scripts/kube.sh --all
  release -L "integration|e2e|charts|page|experiments" -E "$others"
  if $whole; then scripts/rights.sh; else scripts/rights.sh --share 10; fi
  $whole || all_compiled
}
# Whether a target of either build has each source.
all_compiled() {
  local left
  left=$(comm -23 <(git ls-files '*.cpp' | sort) <(
    grep -ho '"file": "[^"]*/batches/[^"]*"' build/{asan-ubsan,release}/compile_commands.json | cut -d '"' -f 4 |
      xargs sed -n 's/^#include "\(.*\)"$/\1/p' | sort -u))
  [ -z "$left" ] || { echo "no target compiles these: $left" >&2; return 1; }
}
run_integration() {
  scripts/runtime.sh
  release -L integration -E '/v2[14]$'
}
run_e2e() {
  scripts/kube.sh --all
  release -L "e2e|charts"
  scripts/rights.sh
}

# The current containerd, which has to be built.
run_runtime24() {
  scripts/runtime.sh --v24
  release -L integration -R '/v24$'
}

# Another scheduler, which reads what the extender writes of nodes.
run_topology() {
  scripts/kube.sh
  scripts/kube.sh --topology
  release -L '^topology$'
  scripts/rights.sh topology
}

# Kubernetes 1.37 with gangs of its own, and without them with some of the other tests.
run_kube137() {
  scripts/kube.sh --v137 --all
  release -L kube137
  if $whole; then scripts/rights.sh kube137; else scripts/rights.sh --share 3 kube137; fi
  PINION_E2E_KUBE=v137 release -L e2e -R '^(placing|terms|disturbance)_e2e_test'
}

# In machines with several NUMA nodes and cgroup v2. A third of them takes as long as Kubernetes 1.37 with its build.
run_guest() {
  local label=guest part
  if ! $whole; then
    part=$(turn 4)
    if [ "$part" = 3 ]; then
      echo "guest: Kubernetes 1.37 instead, with every fourth commit"
      run_kube137
      return
    fi
    if [ "$(turn 8)" = 6 ]; then
      echo "guest: a cluster instead, with every eighth commit"
      run_cluster
      return
    fi
    label=third$part
    echo "guest: a third of the machines, the others with the next commits; scripts/test.sh guest takes all"
  fi
  scripts/guest.sh --fetch
  release -L "^$label$"
}

# The chart on real clusters of this machine.
run_cluster() {
  local part=.
  scripts/kube.sh --cluster
  scripts/runtime.sh
  if $whole; then
    scripts/package.sh --images
    scripts/guest.sh --fetch
    scripts/build.sh release elastic-launcher elastic-wave
  else
    scripts/package.sh --images --no-slurm
    part='^(cluster_test.Quickstart|soak_test)$'
  fi
  run_ctest release -L cluster -R "$part"
}

# Nothing else runs meanwhile, but the machine may be shared: only what got twice as slow fails. scripts/bench.sh by
# itself judges by the noise. Its rows are no tests of ctest, and are counted by themselves.
run_bench() { scripts/bench.sh --gross --turns 3; }

# ThreadSanitizer finds nothing where there is one thread: only the tests with several are built and run.
run_tsan() {
  scripts/build.sh tsan threaded_tests
  run_ctest tsan -j $jobs -L threads
}

run_tidy() {
  if $whole; then
    scripts/tidy.sh
  else
    scripts/tidy.sh --share 12
  fi
}
run_fuzz() { scripts/fuzz.sh 5; }

commit=$(git rev-parse HEAD)
scripts/deps.sh test demo
prepare
for ((at = 0; at < ${#steps[@]}; ++at)); do
  step=${steps[at]}
  left=${steps[*]:at+1}
  printf '\n== %s (%ss)\n' "$step" "$SECONDS"
  "run_$step"
done
step=

if ! $whole && [ "$(git rev-parse HEAD)" = "$commit" ] && git diff --quiet HEAD; then
  echo "$commit" >"$passed" # see by_commit.sh
fi
printf '\n== all steps passed in %ss\n' "$SECONDS"
ctest_summary
