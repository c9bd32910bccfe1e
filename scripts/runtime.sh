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
# shellcheck source=scripts/debian.sh
. "$(dirname "$0")/debian.sh"

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

# version_of PROGRAM: the first word of "--version" that looks like a version.
version_of() { "$@" 2>&1 | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1; }

build() {
  local work=$1 v17 v21 out=$1/out
  say "fetching containerd 1.7 and 2.x, runc and busybox-static (about 75 MB, once)"
  mkdir -p "$out"/{1.7,2.1}
  debian_apt_open "$work" bookworm trixie forky || die "cannot read Debian's archive"
  debian_fetch "$work" bookworm runc busybox-static
  debian_fetch "$work" trixie containerd
  debian_fetch "$work" forky containerd

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
