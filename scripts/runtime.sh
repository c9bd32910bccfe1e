#!/usr/bin/env bash
# Fetches two unmodified containerds (of Debian trixie and forky), and bookworm's runc and busybox-static, in the
# versions that scripts/versions names, and puts them side by side into a cache outside the checkout. Nothing is
# installed: a private apt directory is used, with the mirror that this machine's own apt uses. A containerd that
# the mirror no longer has is built from its Go module. A second run finds the cache, and needs neither time nor network.
#
#   scripts/runtime.sh            fetch if needed, then say what there is
#   scripts/runtime.sh --print    the same, and print the folder on stdout:
#       1.7/{containerd,ctr,containerd-shim-runc-v2}  2.1/...  runc  busybox  versions
#   scripts/runtime.sh --where    print where the folder is, or would be, and do nothing
#   scripts/runtime.sh --v24      fetch if needed, and build the current containerd beside them, 2.4: a few minutes, once
set -euo pipefail

action=report
for argument in "$@"; do
  case $argument in
    --print) action=print ;;
    --where) action=where ;;
    --v24) action=v24 ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "runtime: unknown option '$argument' (see --help)" >&2; exit 2 ;;
  esac
done

say() { echo "runtime: $*" >&2; }
scripts=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/pinned.sh
. "$scripts/pinned.sh"
# shellcheck source=scripts/go.sh
. "$scripts/go.sh"

programs=(containerd ctr containerd-shim-runc-v2)

# make_containerd PART WORK: the programs, and `what` they are.
make_containerd() {
  local part=$1 work=$2 suite package version series module
  pinned "$part"
  version=$(upstream "$version")
  mkdir "$work/out"
  say "fetching $part"
  if fetch_pinned "$part" "$work/root"; then
    cp "${programs[@]/#/$work/root/usr/bin/}" "$work/out/"
    echo "containerd $version" >"$work/out/what"
    return
  fi
  say "building containerd $version from its Go module instead (a few minutes, once)"
  module=github.com/containerd/containerd
  [[ $version == 1.* ]] || module+=/v2
  build_module "$work" "$work/out" "v$version" "-X $module/version.Version=$version" "${programs[@]/#/$module/cmd/}" ||
    die "containerd $version cannot be built; $(what_to_do "$part")"
  echo "containerd $version (from its Go module)" >"$work/out/what"
}

# make_newest WORK: containerd-2.4, which no Debian has.
make_newest() {
  local suite package version series
  pinned containerd-2.4
  say "building containerd $version from its Go module (a few minutes, once)"
  build_module "$1" "$1/out" "v$version" "-X ${package%/cmd}/version.Version=$version" \
    "$package/containerd" "$package/ctr" "$package/containerd-shim-runc-v2" || die "containerd $version cannot be built"
}

# add_newest WORK: links it into the folder.
add_newest() {
  mkdir "$1/out"
  ln "${programs[@]/#/$cache/containerd-2.4-$version/}" "$1/out/"
}

# make_program PART PATH WORK: one program of a package.
make_program() {
  local part=$1 path=$2 work=$3 suite package version series
  pinned "$part"
  say "fetching $part"
  fetch_pinned "$part" "$work/root" || die "$(what_to_do "$part")"
  mkdir "$work/out"
  cp "$work/root/$path" "$work/out/"
  echo "$part $(upstream "$version")" >"$work/out/what"
}

# make_folder WORK: all of it, by hard links.
make_folder() {
  local out=$1/out part suite package version series
  mkdir -p "$out"/{1.7,2.1}
  for part in "${parts[@]}"; do
    pinned "$part"
    case $part in
      containerd-*) ln "${programs[@]/#/$cache/$part-$version/}" "$out/${part#containerd-}/" ;;
      *) ln "$cache/$part-$version/$part" "$out/" ;;
    esac
    cat "$cache/$part-$version/what" >>"$out/versions"
  done
}

parts=(containerd-1.7 containerd-2.1 runc busybox)
names=()
for part in "${parts[@]}"; do
  pinned "$part"
  names+=("$part-$version")
done
pinned containerd-2.4 # its programs are linked into the folder, too
folder=runtime/$(sha256sum <<<"${names[*]} containerd-2.4-$version" | cut -c 1-16)
if [ $action = where ]; then
  echo "$cache/$folder"
  exit 0
fi

if [ ! -d "$cache/$folder" ]; then
  open_mirror_for "${parts[@]}"
  in_cache "${names[0]}" make_containerd containerd-1.7
  in_cache "${names[1]}" make_containerd containerd-2.1
  in_cache "${names[2]}" make_program runc usr/sbin/runc
  in_cache "${names[3]}" make_program busybox bin/busybox
  in_cache "$folder" make_folder
fi
if [ $action = v24 ]; then
  in_cache "containerd-2.4-$version" make_newest
  in_cache "$folder/2.4" add_newest
  say "containerd $version in $cache/$folder/2.4"
fi
if [ $action = print ]; then
  echo "$cache/$folder"
else
  say "$(paste -sd , "$cache/$folder/versions" | sed 's/,/, /g') in $cache/$folder"
fi
