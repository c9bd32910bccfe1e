#!/usr/bin/env bash
# clang-tidy over the product's sources, as built by the preset dev. A file that passed before and reads the same
# now, with all that it includes, is not read again: what passed is kept as empty files in a cache outside the
# checkout (PINION_CACHE, else ~/.cache/pinion), named by a hash of everything the answer depends on.
# Usage: scripts/tidy.sh [FILE...] (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${PINION_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion}/tidy
commands=build/dev/compile_commands.json

if [ "${1:-}" = --one ]; then
  file=$2
  command=$(jq -r --arg file "$PWD/$file" 'first(.[] | select(.file == $file)).command // empty' "$commands")
  if [ -z "$command" ]; then
    echo "tidy.sh: $file is built by no target of the preset dev" >&2
    exit 1
  fi
  # Comments stay in: NOLINT is one. Without "-c ... -o", and without the paths of this checkout.
  read -ra words <<<"${command%% -o *}"
  [ "$(basename "${words[0]}")" != ccache ] || words=("${words[@]:1}")
  key=$({
    clang-tidy-14 --version
    cat .clang-tidy
    printf '%s\n' "${words[@]}"
    "${words[@]}" -E -C "$file"
  } | sed "s|$PWD||g" | sha256sum | cut -d ' ' -f 1)
  [ ! -e "$cache/$key" ] || exit 0
  clang-tidy-14 -p build/dev --quiet "$file"
  touch "$cache/$key"
  exit 0
fi

mkdir -p "$cache"
find "$cache" -type f -mtime +30 -delete
files=("$@")
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.cpp' |
    grep -E '^(base|topology|nri-plugin|metrics|agent|ctl|extender)/')
fi
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 scripts/tidy.sh --one
