#!/usr/bin/env bash
# Makes what the image of a virtual cluster stands on: Debian's Slurm, munge and Open MPI, set up as apt does it, with all that
# they depend on and Debian's essential packages. It comes from the mirrors of this machine's own apt, and is made once for
# each set of versions; as root, or with unprivileged user namespaces.
#
#   scripts/slurm_root.sh          make it if needed, and print the path of the tar
#   scripts/slurm_root.sh --where  print where it is, or would be, and do nothing
set -euo pipefail

case ${1:-} in
  '' | --where) ;;
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "slurm_root: unknown option '$1' (see --help)" >&2; exit 2 ;;
esac
say() { echo "slurm_root: $*" >&2; }
# shellcheck source=scripts/pinned.sh
. "$(dirname "$0")/pinned.sh"

packages=(slurmctld slurmd slurm-client munge openmpi-bin tini)
suite=bookworm # the one whose Slurm is tested

# Lines for sources.list, with fixes where this machine's apt has them.
sources() {
  local each uri
  for each in "$suite" "$suite-updates" "$suite-security"; do
    uri=$(debian_mirrors "$each" | head -n 1)
    if [ -n "$uri" ]; then debian_source "$uri" "$each"; fi
  done
}

# make_root WORK
make_root() {
  local options=() lines
  mapfile -t lines < <(sources)
  [ ${#lines[@]} -gt 0 ] || die "no Debian archive for suite '$suite' with component main in this machine's apt"
  say "installing ${packages[*]} into a folder (a few minutes, once)"
  for folder in man locale doc info; do options+=("--dpkgopt=path-exclude=/usr/share/$folder/*"); done
  # Devices are the runtime's. A container has no use for munge's own key. Slurm asks for PMIx by the name that only
  # the package for developers has.
  setpriv --pdeathsig TERM mmdebstrap --quiet --variant=essential --format=tar --skip=output/dev \
    --include="$(IFS=, && echo "${packages[*]}")" --aptopt='APT::Install-Recommends "false"' "${options[@]}" \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' --dpkgopt=force-unsafe-io \
    --customize-hook='rm -rf "$1"/etc/slurm/plugstack.conf* "$1"/etc/munge/munge.key' \
    --customize-hook='cd "$1" && for lib in usr/lib/*/pmix2/lib; do ln -s libpmix.so.2 "$lib/libpmix.so"; done' \
    "$suite" "$1/out" "${lines[@]}" >&2
}

versions=$(apt-cache show --no-all-versions "${packages[@]}" libc6 libssl3 2>/dev/null | grep -E '^(Package|Version):' || true)
name=slurm-root/$(sha256sum <<<"$suite $versions $(sed -n '/^packages=/p; /^make_root/,/^}/p' "$0")" | cut -c1-16).tar
if [ "${1:-}" != --where ]; then in_cache "$name" make_root; fi
echo "$cache/$name"
