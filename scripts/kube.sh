#!/usr/bin/env bash
# Builds kube-apiserver, kube-scheduler and kube-controller-manager (one program, tests/e2e/kube: no Debian suite
# has them), and fetches trixie's etcd, into a cache outside the checkout. Nothing is installed. Uses the machine's
# Go where it is new enough, else trixie's, fetched the same way. The first build takes 6 to 10 minutes of two
# cores and 3 GB in Go's own caches; a second run finds the result, and needs neither time nor network.
#
#   scripts/kube.sh            build and fetch if needed, then say what there is
#   scripts/kube.sh --print    the same, and print the folder on stdout: kube  etcd  versions
#   scripts/kube.sh --find     print the folder if it is there, else fail at once
set -euo pipefail

print=no
find=no
for argument in "$@"; do
  case $argument in
    --print) print=yes ;;
    --find) find=yes ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "kube: unknown option '$argument' (see --help)" >&2; exit 2 ;;
  esac
done

scripts=$(cd "$(dirname "$0")" && pwd)
module=$scripts/../tests/e2e/kube
cache=${PINION_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion}
# shellcheck source=scripts/debian.sh
. "$scripts/debian.sh"

oldest_go=24  # 1.24, as go.mod says
kubernetes=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit } $2 == "k8s.io/kubernetes" { print $3; exit }' "$module/go.mod")
minor=${kubernetes#v1.}
minor=${minor%%.*}
stamp=k8s.io/component-base/version
ldflags="-s -w -X $stamp.gitVersion=$kubernetes -X $stamp.gitMajor=1 -X $stamp.gitMinor=$minor"

say() { echo "kube: $*" >&2; }
die() { say "$*"; exit 1; }

# in_cache NAME BUILDER: makes $cache/NAME, unless it is there: BUILDER is called with a folder to work in, and
# leaves the result in its `out`. It appears whole or not at all; who comes meanwhile waits.
in_cache() {
  local name=$1 builder=$2
  [ ! -d "$cache/$name" ] || return 0
  mkdir -p "$(dirname "$cache/$name")"
  exec 9>"$cache/kube.lock"
  flock 9
  if [ ! -d "$cache/$name" ]; then
    work=$(mktemp -d "$cache/fetch.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
    "$builder" "$work"
    mv "$work/out" "$cache/$name"
    rm -rf "$work"
  fi
  exec 9>&-
}

# The machine's own Go, empty when there is none or an old one.
own_go() {
  local found
  found=$(command -v go) || return 0
  case $("$found" env GOVERSION 2>/dev/null) in
    go1.*) [ "$(GOTOOLCHAIN=local "$found" env GOVERSION | sed 's/^go1\.\([0-9]*\).*/\1/')" -lt $oldest_go ] || echo "$found" ;;
  esac
}

fetch_go() {
  say "fetching Go 1.$oldest_go (about 60 MB, once)"
  debian_apt_open "$1" trixie || die "cannot read Debian's archive"
  debian_fetch "$1" trixie golang-1.$oldest_go-go golang-1.$oldest_go-src
  mv "$1/root-trixie" "$1/out"
}

build_kube() {
  local work=$1
  say "building Kubernetes $kubernetes with $("$go" env GOVERSION) (6 to 10 minutes, once) and fetching etcd"
  mkdir "$work/out"
  debian_apt_open "$work" trixie || die "cannot read Debian's archive"
  debian_fetch "$work" trixie etcd-server
  cp "$work/root-trixie/usr/bin/etcd" "$work/out/"
  (cd "$module" && "$go" build -trimpath -ldflags "$ldflags" -o "$work/out/kube" ./cmd/kube)
  {
    echo "kubernetes $("$work/out/kube" kube-scheduler --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+'),"
    echo "etcd $("$work/out/etcd" --version | grep -oE -m 1 '[0-9]+\.[0-9]+\.[0-9]+')"
  } >"$work/out/versions"
}

export GOTOOLCHAIN=local GOFLAGS="-buildvcs=false -mod=readonly" CGO_ENABLED=0
go=$(own_go)
if [ -z "$go" ]; then
  [ $find = no ] || [ -d "$cache/go-1.$oldest_go" ] || die "not built here"
  in_cache "go-1.$oldest_go" fetch_go
  go=$cache/go-1.$oldest_go/usr/lib/go-1.$oldest_go/bin/go
fi

# What the binary depends on.
key=$({ cd "$module" && cat go.mod go.sum cmd/kube/*.go && "$go" version && echo "$ldflags"; } | sha256sum | cut -c 1-16)
folder=$cache/kube/$key
if [ $find = yes ]; then
  [ -d "$folder" ] || die "not built here"
  echo "$folder"
  exit 0
fi
in_cache "kube/$key" build_kube
say "$(tr '\n' ' ' <"$folder/versions")in $folder"
if [ $print = yes ]; then echo "$folder"; fi
