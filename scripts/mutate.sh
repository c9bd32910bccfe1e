#!/usr/bin/env bash
# Shows that the tests bite: breaks the product in one place at a time (tests/mutants), builds it, runs the quick tests
# (unit, property, golden, fuzz corpora, experiments) and says which test noticed. Works in a copy below build/mutate; nothing of the
# checkout is touched, but that --record writes who noticed into docs/mutants.md. Ends with 1 when a mutant survived, with 2
# when the check itself could not be made.
# Usage: scripts/mutate.sh [--record] [NAME...] | [--record] --sample N [--seed S] | --list | --check
# (default: all mutants; --check: only whether all can be made of today's source)
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;; esac
cd "$(dirname "$0")/.."

work=build/mutate
tree=$work/tree
build=$work/build
log=$work/last.log
document=docs/mutants.md
case_limit=120   # seconds for one test case; one that takes longer counts as a kill, by time-out
whole_limit=1200 # seconds for all tests of one mutant
export RC_PARAMS="seed=1"  # property tests draw the same cases in each run

die() {
  echo "mutate.sh: $*" >&2
  exit 2
}

patch_of() { echo "tests/mutants/$1.patch"; }
field() { sed -n "s/^$2: //p" "$(patch_of "$1")"; }
all_mutants() { for file in tests/mutants/*.patch; do basename "$file" .patch; done; }

# Whether each still fits the source.
check_all() {
  local name
  for name in $(all_mutants); do
    git apply --check "$(patch_of "$name")" ||
      die "$(patch_of "$name") does not apply any more: make the same fault in today's source"
    [[ -n $(field "$name" breaks) && -n $(field "$name" area) && -n $(field "$name" tests) ]] ||
      die "$(patch_of "$name"): breaks, area or tests are missing"
  done
}

# N of them, by a hash of the seed and the name.
sample() {
  all_mutants | while read -r name; do echo "$(echo "$2 $name" | sha256sum) $name"; done |
    sort | head -n "$1" | sed 's/.* //'
}

# The checkout as it is now, with what is not committed. Files that did not change keep their time, so that only what
# has changed is built again.
copy_tree() {
  mkdir -p "$tree"
  GIT_INDEX_FILE=$work/wanted.index git add --all
  local content
  content=$(GIT_INDEX_FILE=$work/wanted.index git write-tree)
  GIT_INDEX_FILE=$work/tree.index git --work-tree="$tree" read-tree --reset -u "$content"
  GIT_INDEX_FILE=$work/tree.index git --work-tree="$tree" checkout-index --force --all --quiet
}

# No sanitizers and no optimisation: what is changed here is built once and run once. The product's files are compiled
# one by one, so that a mutant costs one of them; the tests together, as everywhere.
configure() {
  cmake -G Ninja -S "$tree" -B "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 -DPINION_LAB=OFF \
    -DPINION_BATCH=1 -DPINION_TEST_BATCH=12 >"$log" 2>&1 ||
    die "cmake failed, see $log"
}

# Every program of the quick tests.
programs() {
  ninja -C "$build" -t targets all | sed -n 's|^bin/\([^:]*\): .*EXECUTABLE.*|\1|p' | grep -v '^pinion'
}

apply() { git apply --directory="$tree" "$@"; }
compile() { ninja -C "$build" -j "$(nproc)" "$@" >"$log" 2>&1; }

# ctest's names of what these programs hold.
tests_of() {
  (IFS='|' && echo "^($*)\\.")
}

# The tests of these programs, up to the first that fails. A mutant may ask for all memory: it gets
# 16 GiB of addresses, as the stacks of a test with 1,500 threads take 12 of them.
run_tests() {
  (
    ulimit -v 16777216
    timeout "$whole_limit" ctest --test-dir "$build" --stop-on-failure --no-tests=error --timeout "$case_limit" \
      -j "$(nproc)" --output-on-failure -R "$(tests_of "$@")"
  ) >"$log" 2>&1
}

# Who noticed, by the log of a run that failed.
killer() {
  local name
  name=$(sed -n 's/^ *[0-9]*\/[0-9]* *Test *#[0-9]*: \([^ ]*\) .*\*\*\*\(Failed\|Exception\).*/\1/p' "$log" | head -n 1)
  if [ -n "$name" ]; then
    echo "$name"
    return
  fi
  name=$(sed -n 's/^ *[0-9]*\/[0-9]* *Test *#[0-9]*: \([^ ]*\) .*\*\*\*Timeout.*/\1/p' "$log" | head -n 1)
  echo "${name:-all tests together} (time-out)"
}

# A program is held against mutants only after it has passed without any.
declare -A sound
check_sound() {
  local program fresh=()
  for program in "$@"; do
    [ -n "${sound[$program]:-}" ] || fresh+=("$program")
  done
  [ ${#fresh[@]} -gt 0 ] || return 0
  compile "${fresh[@]}" || die "the product as it is does not build, see $log"
  run_tests "${fresh[@]}" || die "a test fails without any mutant, see $log: $(killer)"
  for program in "${fresh[@]}"; do sound[$program]=yes; done
}

# Breaks the product, runs these programs and mends it again. Who notices goes into `noticed`.
try_programs() {
  local built=yes
  check_sound "$@"
  apply "$patch"
  compile "$@" || built=
  # Twice: what fails by chance has noticed nothing.
  if [ -n "$built" ] && ! run_tests "$@" && ! run_tests "$@"; then noticed=$(killer); fi
  apply -R "$patch"
  [ -n "$built" ] || die "$name does not build, see $log"
}

# First the programs that the mutant names, one by one, then all others. `noticed` stays empty if it survived.
try_mutant() {
  local patch own others program
  patch=$(patch_of "$name")
  read -ra own <<<"$(field "$name" tests)"
  noticed=
  for program in "${own[@]}"; do
    try_programs "$program"
    [ -z "$noticed" ] || return 0
  done
  mapfile -t others < <(programs | grep -vxF "$(printf '%s\n' "${own[@]}")")
  try_programs "${others[@]}"
}

# Its row in the document, by name; a time-out says nothing about the tests where the machine is busy, and is not written
# down. Rows of mutants that are no more go.
record() {
  local kept
  [[ $noticed != *"(time-out)" ]] || return 0
  kept=$(mktemp)
  {
    printf '| `%s` | %s | %s | %s |\n' "$name" "$(field "$name" breaks)" "${noticed:+\`$noticed\`}" "$commit"
    sed -n '/^| `/p' "$document" | grep -vF "| \`$name\` |" || true
  } | while IFS= read -r line; do
    known=${line#'| `'}
    [ -f "$(patch_of "${known%%'`'*}")" ] && echo "$line"
  done | LC_ALL=C sort >"$kept"
  sed -i -e '/^| `/d' -e "/^|---/r $kept" "$document"
  rm "$kept"
}

count= seed=1 names=() recording=
while [ $# -gt 0 ]; do
  case $1 in
    --list)
      for name in $(all_mutants); do echo "$name: $(field "$name" breaks)"; done
      exit 0
      ;;
    --check) check_all && exit ;;
    --sample) count=${2:?} && shift ;;
    --seed) seed=${2:?} && shift ;;
    --record) recording=yes ;;
    -*) die "unknown option $1; see the head of this script" ;;
    *) names+=("$1") ;;
  esac
  shift
done
check_all
[ -z "$count" ] || mapfile -t names < <(sample "$count" "$seed")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(all_mutants)
for name in "${names[@]}"; do
  [ -f "$(patch_of "$name")" ] || die "no mutant '$name'; --list shows them"
done

copy_tree
configure
known=$(programs)
for program in $(for name in "${names[@]}"; do field "$name" tests; done); do
  grep -qxF "$program" <<<"$known" || die "a mutant names the test program '$program', which is none"
done

commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD || commit+=+  # and changes that are not committed
row='%-26s %-11s %7s  %s\n'
killed=0 survivors=()
printf "$row" MUTANT AREA SECONDS 'KILLED BY'
for name in "${names[@]}"; do
  began=$SECONDS
  try_mutant
  if [ -n "$noticed" ]; then killed=$((killed + 1)); else survivors+=("$name"); fi
  printf "$row" "$name" "$(field "$name" area)" $((SECONDS - began)) "${noticed:-SURVIVED}"
  [ -z "$recording" ] || record
done

for name in "${survivors[@]}"; do echo "survived: $name: $(field "$name" breaks)"; done
echo "$killed killed, ${#survivors[@]} survived"
[ ${#survivors[@]} -eq 0 ]
