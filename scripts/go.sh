# Sourced by other scripts, after pinned.sh: Go, and programs built from Go modules.
# shellcheck shell=bash

oldest_go=24  # 1.24, as Kubernetes' and containerd's go.mod say
go_suite=trixie  # of Debian, that has it
export GOTOOLCHAIN=local GOFLAGS="-buildvcs=false -mod=readonly" CGO_ENABLED=0
# Collecting garbage is a fifth of the compiler's time, and each of its processes ends soon.
export GOGC=off GOMEMLIMIT=2GiB

# Nor is debug information compiled that the linker would drop.
gcflags=-dwarf=false

# use_go: sets go, to the machine's own where it is new enough, else to Debian's, fetched into the cache.
use_go() {
  local minor
  go=$(command -v go || true)
  minor=$([ -z "$go" ] || "$go" env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
  [ "${minor:-0}" -lt $oldest_go ] || return 0
  in_cache "go-1.$oldest_go" fetch_go || die "Go 1.$oldest_go cannot be fetched"
  # shellcheck disable=SC2154 # of pinned.sh
  go=$cache/go-1.$oldest_go/usr/lib/go-1.$oldest_go/bin/go
}

fetch_go() {
  say "fetching Go 1.$oldest_go (about 60 MB, once)"
  # Any of that series will do: it is a tool, no part of what is tested.
  debian_apt_open "$1/apt" $go_suite || die "cannot read Debian's archive"
  debian_fetch "$1/apt" "$1/out" golang-1.$oldest_go-go/$go_suite golang-1.$oldest_go-src/$go_suite
}

# build_module WORK FOLDER VERSION LDFLAGS PACKAGE...: builds programs of a module, of exactly that version, into
# FOLDER. What they depend on is as the module's own go.mod says.
build_module() {
  local work=$1/module folder=$2 version=$3 ldflags=$4
  shift 4
  use_go
  mkdir -p "$work" "$folder"
  (
    # One chain: nothing ends a function of which a caller asks how it went.
    cd "$work" &&
      "$go" mod init pinion.dev/module &&
      GOFLAGS=-buildvcs=false "$go" get "${@/%/@$version}" &&
      "$go" build -trimpath "-gcflags=all=$gcflags" -ldflags "-s -w $ldflags" -o "$folder/" "$@"
  ) >"$work.log" 2>&1 || { tail -n 5 "$work.log" >&2; return 1; }
}
