#!/usr/bin/env bash
# Makes what is installed, in build/package/out: packages of Debian, and images as tars of the OCI layout, which need no
# container engine to be made. Archives are linked in where Debian has them, debug information lies beside.
#
#   scripts/package.sh                 all of it, and the sizes
#   scripts/package.sh --images        the images alone
#   scripts/package.sh --no-slurm      without the image of a virtual cluster, for which Debian packages are installed in a folder
#   scripts/package.sh --name PREFIX   images are PREFIX/pinion-agent and so on [localhost/pinion]
#   scripts/package.sh --tag TAG       [the version; with a digest of what is packed, unless that is a commit's]
set -euo pipefail

images_only=no
slurm=yes
prefix=localhost/pinion
tag=
while [ $# -gt 0 ]; do
  case $1 in
    --images) images_only=yes ;;
    --no-slurm) slurm=no ;;
    --name) prefix=${2:?--name needs a value}; shift ;;
    --tag) tag=${2:?--tag needs a value}; shift ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "package: unknown option '$1' (see --help)" >&2; exit 2 ;;
  esac
  shift
done
cd "$(dirname "$0")/.."

# An image above this does not belong on every node. That of a virtual cluster has a system of its own, and no such limit.
most_bytes=$((25 * 1000 * 1000))

scripts/deps.sh package
if [ $slurm = yes ]; then root=$(scripts/slurm_root.sh); fi
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || true)
if [ -n "$commit" ] && [ -n "$(git status --porcelain --untracked-files=no)" ]; then commit+=.dirty; fi
cmake --preset package "-DPINION_COMMIT=$commit" >/dev/null
programs=(pinion-agent pinion-extender pinion-slurm pinionctl)
scripts/build.sh package "${programs[@]}"

built=build/package/bin
out=build/package/out
version=$("$built/pinion-agent" --version)
rm -rf "$out"
mkdir -p "$out/debug" "$out/bin"
for program in "${programs[@]}"; do
  objcopy --only-keep-debug "$built/$program" "$out/debug/$program.debug"
  objcopy --strip-all --add-gnu-debuglink="$out/debug/$program.debug" "$built/$program" "$out/bin/$program"
done

if [ -z "$tag" ]; then
  tag=${version//+/-}
  # Else other programs would have the same tag, and nobody would take them for new ones.
  if [[ -z $commit || $commit == *.dirty ]]; then
    tag+=-$(cat "${programs[@]/#/$out/bin/}" cluster/slurm/*.{lua,conf,sh} | sha256sum | head -c 8)
  fi
fi
ln -s pinionctl "$out/bin/kubectl-pinion" # kubectl finds it by its name
human() { awk -v bytes="$1" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }
printf '%-28s %10s\n' PROGRAM STRIPPED
for program in "$out"/bin/pinion*; do printf '%-28s %10s\n' "$(basename "$program")" "$(human "$(stat -c %s "$program")")"; done

# image PROGRAM USER MOST [OPTION...]
image() {
  local program=$1 user=$2 most=$3 packed plain
  shift 3
  read -r packed plain <<<"$(scripts/oci.py "$out/$program.tar" "$prefix/$program:$tag" "$out/bin/$program" --user "$user" \
    --label org.opencontainers.image.version="$version" --label org.opencontainers.image.revision="$commit" "$@")"
  printf '%-28s %10s %10s\n' "$program" "$(human "$packed")" "$(human "$plain")"
  [ "$packed" -le "$most" ] || { echo "package: $program is above $(human "$most")" >&2; exit 1; }
}

printf '\n%-28s %10s %10s\n' "IMAGE ($tag)" COMPRESSED PLAIN
image pinion-agent 0 $most_bytes # owner of the cgroup files and of the runtime's socket
image pinion-extender 65532:65532 $most_bytes
image pinionctl 65532:65532 $most_bytes
if [ $slurm = yes ]; then
  files=()
  for file in job_submit.lua cgroup.conf {prolog,task_prolog,epilog}.sh; do files+=(--file "/etc/slurm/$file=cluster/slurm/$file"); done
  for file in {start_slurmd,make_homes,end_leftovers}.sh; do files+=(--file "/usr/lib/pinion-slurm/$file=cluster/slurm/$file"); done
  image pinion-slurm 64030:64030 $((100 * 1000 * 1000)) --root "$root" "${files[@]}" # Debian's slurm
fi

if [ $images_only = no ]; then
  # What is installed is what was stripped here, so that the debug files fit.
  (cd build/package && cpack -G DEB -B "$PWD/out" >out/cpack.log 2>&1) ||
    { tail -n 20 "$out/cpack.log" >&2; exit 1; }
  rm -rf "$out/_CPack_Packages"
  printf '\n%-44s %10s\n' PACKAGE SIZE
  for package in "$out"/*.deb; do
    printf '%-44s %10s\n' "$(basename "$package")" "$(human "$(stat -c %s "$package")")"
  done
fi
