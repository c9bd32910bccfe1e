# Sourced by other scripts: the parts that scripts/versions names, exactly these, and a cache for what is made of
# them. The sourcing script says what it does by a function `say`.
# shellcheck shell=bash

pinned_scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pinned_file=$pinned_scripts/versions
cache=${PINION_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion}
# shellcheck source=scripts/debian.sh
. "$pinned_scripts/debian.sh"

die() { say "$*"; exit 1; }

pinned_parts() { awk '!/^#/ && NF { print $1 }' "$pinned_file"; }

# pinned PART: sets suite, package, version and series.
pinned() {
  local line
  line=$(awk -v part="$1" '$1 == part { print $2, $3, $4, $5 }' "$pinned_file")
  [ -n "$line" ] || die "$pinned_file has no line for $1"
  # shellcheck disable=SC2034 # for the caller
  read -r suite package version series <<<"$line"
}

# pin PART: what is to be fetched, in words.
pin() {
  local suite package version series
  pinned "$1"
  echo "$package $version"
}

# upstream VERSION: Debian's 1:2.1.9+ds1-5 is upstream's 2.1.9.
upstream() { sed 's/^[0-9]*://; s/[^0-9.].*//' <<<"$1"; }

# in_cache NAME BUILDER ARGUMENT...: makes $cache/NAME, unless it is there: BUILDER is called with the arguments and
# an empty folder to work in, and leaves the result in its `out`. It appears whole or not at all; who comes meanwhile
# waits. To be called with "set -e" at work, or with a BUILDER that does without: where a caller asks how a function
# went, nothing ends it.
in_cache() (
  name=$1
  shift
  [ ! -e "$cache/$name" ] || exit 0
  mkdir -p "$cache/locks" "$(dirname "$cache/$name")"
  exec 9>"$cache/locks/${name//\//-}"
  flock 9
  [ ! -e "$cache/$name" ] || exit 0
  work=$(mktemp -d "$cache/fetch.XXXXXX") || exit
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM HUP
  "$@" "$work"
  status=$? # no ||, which would switch off "set -e" inside
  [ $status -eq 0 ] || exit $status
  mv "$work/out" "$cache/$name"
)

# open_mirror FOLDER PART...: reads what the mirror has today in the parts' suites. FOLDER, not there yet, becomes the
# private apt directory of all that follows.
open_mirror() {
  local part suite package version series suites=()
  mirror=$1
  shift
  for part in "$@"; do
    pinned "$part"
    suites+=("$suite")
  done
  mapfile -t suites < <(printf '%s\n' "${suites[@]}" | sort -u)
  debian_apt_open "$mirror" "${suites[@]}" || die "cannot read Debian's archive"
}

scratches=() # of open_mirror_for, to be removed

# open_mirror_for PART...: the same for those that the cache lacks, until the script ends.
open_mirror_for() {
  local part suite package version series scratch missing=()
  for part in "$@"; do
    pinned "$part"
    [ -e "$cache/$part-$version" ] || missing+=("$part")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  mkdir -p "$cache"
  scratch=$(mktemp -d "$cache/fetch.XXXXXX")
  scratches+=("$scratch")
  trap 'rm -rf "${scratches[@]}"' EXIT
  trap 'exit 130' INT TERM HUP
  open_mirror "$scratch/apt" "${missing[@]}"
}

# newest: package and version of the newest in the mirror that fits what pinned() has set; nothing where there is none.
newest() {
  local name=$package found options
  case $package in
    linux-image-*) # The metapackage names the kernel of the day, those of other suites too.
      mapfile -t options < <(debian_apt_options "$mirror")
      name=$(apt-cache "${options[@]}" show linux-image-cloud-amd64 |
        sed -n 's/^Depends: \([^ ,]*\).*/\1/p' | grep -F -m 1 "linux-image-${series%\*}" || true)
      [ -n "$name" ] || return 0 ;;
  esac
  for found in $(debian_versions "$mirror" "$suite" "$name"); do
    # shellcheck disable=SC2053 # a pattern
    [[ $found != $series ]] || { echo "$name $found"; return; }
  done
}

# offered PART: sets what pinned() sets; fails, and says what the mirror has instead, where it lacks this version.
offered() {
  local found
  pinned "$1"
  ! debian_versions "$mirror" "$suite" "$package" | grep -qxF -- "$version" || return 0
  found=$(newest)
  say "$1 is to be $package $version, which the mirror does not have in $suite;" \
    "the newest of $series there: ${found:-none}"
  return 1
}

# fetch_pinned PART FOLDER: unpacks the part's package into FOLDER, or fails as offered() does.
fetch_pinned() {
  local suite package version series
  offered "$1" || return 1
  debian_fetch "$mirror" "$2" "$package=$version"
}

# what_to_do PART: how to get over a version that is not to be had.
what_to_do() { echo "to try the newest that fits and write it down: scripts/versions.sh newest --write $1"; }
