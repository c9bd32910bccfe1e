#!/usr/bin/env bash
# What scripts/versions says, and what the mirror offers today in the same series. Nothing else looks for newer
# versions: after --write run the tests that use the part, then commit the file.
#
#   scripts/versions.sh newest [PART...]           shows both, of all parts unless some are named
#   scripts/versions.sh newest --write [PART...]   and writes the newest down
set -euo pipefail

usage() { sed -n '2,6s/^# \{0,1\}//p' "$0"; }

case ${1:-} in
  newest) shift ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
write=no
chosen=()
for argument in "$@"; do
  case $argument in
    --write) write=yes ;;
    -*) usage >&2; exit 2 ;;
    *) chosen+=("$argument") ;;
  esac
done

say() { echo "versions: $*" >&2; }
# shellcheck source=scripts/pinned.sh
. "$(dirname "$0")/pinned.sh"

[ ${#chosen[@]} -gt 0 ] || mapfile -t chosen < <(pinned_parts)
for part in "${chosen[@]}"; do pinned "$part"; done # all of them are known
mkdir -p "$cache"
scratch=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
open_mirror "$scratch/apt" "${chosen[@]}"

# write_down PART PACKAGE VERSION: its line, in the file's columns.
write_down() {
  awk -v part="$1" -v package="$2" -v version="$3" '
    $1 == part { printf "%-16s %-9s %-40s %-29s %s\n", part, $2, package, version, $5; next }
    { print }' "$pinned_file" >"$scratch/versions"
  cp "$scratch/versions" "$pinned_file"
}

status=0
printf '%-16s %-31s %s\n' PART WRITTEN 'NEWEST THAT FITS'
for part in "${chosen[@]}"; do
  pinned "$part"
  read -r found_package found_version <<<"$(newest)"
  case $found_version in
    '') note="none of $series in $suite: nothing to write down"; status=1 ;;
    "$version") note='the same' ;;
    *)
      note=$found_version
      if [ $write = yes ]; then
        write_down "$part" "$found_package" "$found_version"
        note+=', written down'
      fi ;;
  esac
  printf '%-16s %-31s %s\n' "$part" "$version" "$note"
done
exit $status
