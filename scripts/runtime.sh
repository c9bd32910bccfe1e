#!/usr/bin/env bash
# Fetches two unmodified containerds (Debian trixie's 1.7 and forky's 2.x), and bookworm's runc and
# busybox-static, and unpacks them side by side into a cache outside the checkout. Nothing is
# installed: a private apt directory is used, with the mirror that this machine's own apt uses.
# A second run finds the cache, and needs neither time nor network.
#
#   scripts/runtime.sh            fetch if needed, then say what there is
#   scripts/runtime.sh --print    the same, and print the folder on stdout:
#       1.7/{containerd,ctr,containerd-shim-runc-v2}  2.1/...  runc  busybox  versions
#   scripts/runtime.sh --refresh  fetch anew: suites move on
set -euo pipefail

print=no
refresh=no
for argument in "$@"; do
  case $argument in
    --print) print=yes ;;
    --refresh) refresh=yes ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "runtime: unknown option '$argument' (see --help)" >&2; exit 2 ;;
  esac
done

cache=${PINION_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion}
runtime=$cache/runtime
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { echo "runtime: $*" >&2; }
die() { say "$*"; exit 1; }

complete() {
  local file
  for file in {1.7,2.1}/{containerd,ctr,containerd-shim-runc-v2} runc busybox; do
    [ -x "$runtime/$file" ] || return 1
  done
  [ -s "$runtime/versions" ]
}

report() {
  say "$(tr '\n' ' ' <"$runtime/versions")in $runtime"
  if [ $print = yes ]; then echo "$runtime"; fi
}

# The address of the Debian archive, from this machine's apt: the first entry that offers this
# release's own suite (not its -updates or -security, not a third party's) with component main.
mirror() {
  local codename=$1 file
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] || continue
    awk -v suite="$codename" '
      function flush() {
        if (on && (" " field["types"] " ") ~ / deb / && (" " field["suites"] " ") ~ (" " suite " ") &&
            (" " field["components"] " ") ~ / main /) { split(field["uris"], uri, " "); print uri[1] }
        split("", field); on = 1
      }
      BEGIN { on = 1 }
      /^#/ { next }
      /^[ \t]*$/ { flush(); next }
      /^[ \t]/ { field[key] = field[key] " " $0; gsub(/[ \t]+/, " ", field[key]); next }
      { at = index($0, ":"); key = tolower(substr($0, 1, at - 1)); value = substr($0, at + 1)
        gsub(/^[ \t]+|[ \t]+$/, "", value); gsub(/[ \t]+/, " ", value); field[key] = value
        if (key == "enabled" && tolower(value) == "no") on = 0 }
      END { flush() }' "$file"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -e "$file" ] || continue
    awk -v suite="$codename" '
      $1 == "deb" {
        line = $0; sub(/^deb[ \t]+/, "", line); sub(/^\[[^]]*\][ \t]*/, "", line)
        n = split(line, word, /[ \t]+/)
        if (word[2] == suite) for (i = 3; i <= n; i++) if (word[i] == "main") { print word[1]; break }
      }' "$file"
  done
}

# The private apt directory: its options, for any apt command.
apt_options() {
  printf '%s\n' "-oDir::State::Lists=$1/lists" "-oDir::Etc::SourceList=$1/sources.list" \
    -oDir::Etc::SourceParts=/dev/null "-oDir::Cache=$1/cache" "-oDir::Log=$1/log" \
    -oAPT::Sandbox::User=root -oAcquire::Languages=none -oAcquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false \
    -oAcquire::Retries=3
}

# fetch WORK SUITE PACKAGE...: downloads and unpacks into WORK/root-SUITE.
fetch() {
  local work=$1 suite=$2 options deb
  shift 2
  mkdir -p "$work/root-$suite" "$work/debs-$suite"
  mapfile -t options < <(apt_options "$work")
  (cd "$work/debs-$suite" && apt-get "${options[@]}" -qq download "${@/%//$suite}") >&2
  for deb in "$work/debs-$suite"/*.deb; do
    dpkg-deb -x "$deb" "$work/root-$suite"
  done
}

# version_of PROGRAM: the first word of "--version" that looks like a version.
version_of() { "$@" 2>&1 | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1; }

build() {
  local work=$1 codename uri suite v17 v21 out=$1/out
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
  uri=$(mirror "$codename" | head -n 1)
  [ -n "$uri" ] || die "no Debian archive for suite '$codename' with component main in /etc/apt/sources.list*"
  [ -e $keyring ] || die "$keyring is missing (package debian-archive-keyring)"

  say "fetching containerd 1.7 and 2.x, runc and busybox-static (about 75 MB, once)"
  mkdir -p "$work"/{lists,cache/archives}/partial "$work/log" "$out"/{1.7,2.1}
  for suite in bookworm trixie forky; do
    echo "deb [signed-by=$keyring] $uri $suite main"
  done >"$work/sources.list"
  mapfile -t options < <(apt_options "$work")
  apt-get "${options[@]}" -qq update >&2
  fetch "$work" bookworm runc busybox-static
  fetch "$work" trixie containerd
  fetch "$work" forky containerd

  cp "$work"/root-trixie/usr/bin/{containerd,ctr,containerd-shim-runc-v2} "$out/1.7/"
  cp "$work"/root-forky/usr/bin/{containerd,ctr,containerd-shim-runc-v2} "$out/2.1/"
  cp "$work/root-bookworm/usr/sbin/runc" "$out/"
  cp "$work/root-bookworm/bin/busybox" "$out/" 2>/dev/null || cp "$work/root-bookworm/usr/bin/busybox" "$out/"

  v17=$(version_of "$out/1.7/containerd" --version)
  v21=$(version_of "$out/2.1/containerd" --version)
  case $v17 in
    1.7.*) ;;
    *) die "trixie's containerd is ${v17:-unusable here}, not 1.7.x" ;;
  esac
  case $v21 in
    2.1.*) ;;
    2.0.* | '') die "forky's containerd is ${v21:-unusable here}, not 2.1 or later" ;;
    2.*) say "forky has moved on: containerd $v21 stands in for 2.1" ;;
    *) die "forky's containerd is $v21, not 2.x" ;;
  esac
  {
    echo "containerd $v17,"
    echo "containerd $v21,"
    echo "runc $(version_of "$out/runc" --version),"
    echo "busybox $(version_of "$out/busybox")"
  } >"$out/versions"
}

if [ $refresh = no ] && complete; then
  report
  exit 0
fi

mkdir -p "$cache"
exec 9>"$cache/runtime.lock"
flock 9  # whoever waited here finds the work done
if [ $refresh = yes ] || ! complete; then
  work=$(mktemp -d "$cache/fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM HUP
  build "$work"
  # The folder appears whole or not at all.
  if [ -e "$runtime" ]; then mv "$runtime" "$work/old"; fi
  mv "$work/out" "$runtime"
fi
report
