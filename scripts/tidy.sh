#!/usr/bin/env bash
# clang-tidy over the product's sources, with the flags of the preset asan-ubsan. All checks but the static analyzer's
# read the batches that are compiled together, headers once a batch; the analyzer looks at the file that it is called
# with alone, so that part runs file by file. What passed before and reads the same now, with all that it includes, is
# not read again: it is kept as empty files in a cache outside the checkout (PINION_CACHE, else ~/.cache/pinion), named
# by a hash of everything the answer depends on.
#
#   scripts/tidy.sh             everything
#   scripts/tidy.sh --share N   the analyzer for what was changed since `all` last passed here, else by the last commit,
#                               and for one file in N of all, the next part with each commit
#   scripts/tidy.sh FILE...     these files and their batches
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;; esac
cd "$(dirname "$0")/.."
# shellcheck source=scripts/by_commit.sh
. scripts/by_commit.sh

cache=${PINION_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion}/tidy
build=$PWD/build/asan-ubsan
commands=$build/compile_commands.json

# tidy_one BATCH [FILE]: the batch without the analyzer, or with it one file of the batch.
tidy_one() {
  local words key checks=-clang-analyzer-*,-bugprone-suspicious-include file=${2:-$1}
  # With the analyzer those that look at nothing but the file they are called with.
  [ $# -eq 1 ] || checks=-*,clang-analyzer-*,misc-unused-using-decls,misc-unused-alias-decls
  read -ra words < <(jq -r --arg file "$1" 'first(.[] | select(.file == $file)).command | sub(" -o .*"; "")' "$commands")
  while [[ ${words[0]} != *clang++* ]]; do words=("${words[@]:1}"); done
  # They change nothing that is read; a precompiled header is one of clang's own.
  mapfile -t words < <(printf '%s\n' "${words[@]}" |
    sed -E '/^-f(no-)?sanitize=/d; /^-Wcast-align$/d; /^-include-pch$/{N;d}')
  # Comments stay in: NOLINT is one. Without the paths of this checkout.
  key=$({
    clang-tidy-14 --version
    cat .clang-tidy
    printf '%s\n' "$checks" "${words[@]}"
    "${words[@]}" -E -C "$file"
  } | sed "s|$PWD||g" | sha256sum | cut -d ' ' -f 1)
  [ ! -e "$cache/$key" ] || return 0
  clang-tidy-14 --quiet "--checks=$checks" "$file" -- "${words[@]:1}" 2>&1 |
    { grep -vE '^[0-9]+ warnings? generated\.$' || true; }
  touch "$cache/$key"
}
if [ "${1:-}" = --one ]; then
  tidy_one "${@:2}"
  exit 0
fi

share=1
if [ "${1:-}" = --share ]; then
  share=$2
  shift 2
  [ -n "$(passed_commit)" ] || share=1  # nothing says what has changed
fi
mkdir -p "$cache"
find "$cache" -type f -mtime +30 -delete
cmake --preset asan-ubsan >/dev/null
# What the sources include and the build makes.
ninja -C "$build" -t targets all | sed -nE 's/^([^:]*\.pb\.h|generated\/[^:]*\.h):.*/\1/p' |
  xargs ninja -C "$build" >/dev/null

# Lines "BATCH FILE" for every source of the product.
sources() {
  local batch
  jq -r '.[].file' "$commands" | grep -E "^$build/(base|topology|policy|nri-plugin|metrics|agent|ctl|cluster)/(.*/)?batches/" |
    while read -r batch; do sed -nE "s|^#include \"(.*\.cpp)\"|$batch $PWD/\1|p" "$batch"; done
}
if [ $# -gt 0 ]; then
  for file; do
    sources | grep -E " $PWD/$file\$" || { echo "tidy.sh: no target compiles $file" >&2; exit 1; }
  done
else
  sources
fi >"$build/tidy-sources"
{
  cut -d ' ' -f 1 "$build/tidy-sources" | sort -u
  awk -v share="$share" -v turn="$(turn "$share")" -v checkout="$PWD/" '
    FILENAME == "-" { changed[checkout $1]; next }
    FNR % share == turn || $2 in changed' - "$build/tidy-sources" < <(git diff --name-only "$(passed_commit)" 2>/dev/null)
} | xargs -P "$(nproc)" -L 1 scripts/tidy.sh --one
