#!/usr/bin/env bash
# Runs a command in a machine with several NUMA nodes and cgroup v2: a guest under QEMU's emulation,
# made from Debian packages and kept in a cache outside the checkout, nothing is installed. The
# command runs as root at the path of this repository, with the sources and build/release/bin as they
# are now; what it writes is gone afterwards. Its output is streamed; its exit code is this one's.
# One thread of the guest is about 20 times slower than the host's.
#
#   scripts/guest.sh [OPTION...] [--] COMMAND...
#     --machine NAME       two-nodes (default), four-nodes, split-l3, far-memory
#     --kernel VERSION     6.12 (default: Debian 13's) or 6.1 (Debian 12's)
#     --containerd VERSION 1.7 or 2.1: PINION_CONTAINERD for the command, the tests take that one alone
#     --append WORDS       for the kernel's command line
#     --boot-limit SECONDS from the start to the command, 120 unless set
#     --limit SECONDS      for the command, 3600 unless set
#     --fetch              only make the parts
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
guest_scripts=$repository/scripts/guest
# shellcheck source=scripts/debian.sh
. "$repository/scripts/debian.sh"
# shellcheck source=scripts/guest/machines.sh
. "$guest_scripts/machines.sh"
# shellcheck source=scripts/guest/parts.sh
. "$guest_scripts/parts.sh"

say() { echo "guest: $*" >&2; }
die() { say "$*"; exit 1; }
usage() { say "$* (see --help)"; exit 2; }

machine=two-nodes
kernel=6.12
containerd=
append=
boot_limit=120
limit=3600
fetch_only=no
while [ $# -gt 0 ]; do
  case $1 in
    --machine) machine=${2:-}; shift ;;
    --kernel) kernel=${2:-}; shift ;;
    --containerd) containerd=${2:-}; shift ;;
    --append) append=${2:-}; shift ;;
    --boot-limit) boot_limit=${2:-}; shift ;;
    --limit) limit=${2:-}; shift ;;
    --fetch) fetch_only=yes ;;
    -h | --help) sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --) shift; break ;;
    -*) usage "unknown option '$1'" ;;
    *) break ;;
  esac
  shift || usage "the last option lacks its value"
done
hardware=$(guest_machine "$machine") || usage "no machine '$machine', there are: ${guest_machines[*]}"
case $kernel in
  6.12) suite=trixie ;;
  6.1) suite=bookworm ;;
  *) usage "no kernel '$kernel', there are: 6.12 6.1" ;;
esac
case $containerd in '' | 1.7 | 2.1) ;; *) usage "no containerd '$containerd', there are: 1.7 2.1" ;; esac
[ $fetch_only = yes ] || [ $# -gt 0 ] || usage "no command"

PATH=$PATH:/usr/sbin:/sbin
for program in mmdebstrap mke2fs depmod cpio xz; do
  command -v $program >/dev/null || die "$program is missing: run scripts/deps.sh test"
done
runtime=${PINION_RUNTIME:-$("$repository/scripts/runtime.sh" --print 2>/dev/null)} || die "scripts/runtime.sh failed"
parts=${PINION_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion}/guest
mkdir -p "$parts"

make_parts() (
  flock 9  # whoever waited here finds the work done
  rm -rf "$parts/making"
  mkdir -p "$parts/making"
  jobs=()
  trap 'kill "${jobs[@]}" 2>/dev/null || true' EXIT
  trap 'exit 130' INT TERM HUP
  part "$parts" qemu make_qemu & jobs+=($!)
  part "$parts" root make_root "$runtime" "$(cat "$runtime/versions")" & jobs+=($!)
  part "$parts" "kernel-$kernel" make_kernel "$suite" "$runtime/busybox" & jobs+=($!)
  for job in "${jobs[@]}"; do wait "$job"; done
  jobs=()
) 9>"$parts/lock"
# Waited for, not tested: a test would switch off "set -e" inside.
make_parts &
wait $! || die "a part could not be made"
[ $fetch_only = no ] || exit 0

work=$(mktemp -d "${TMPDIR:-/tmp}/pinion-guest-XXXXXX")
qemu_pid=
# shellcheck disable=SC2317 # a trap calls it
clean_up() {
  if [ -n "$qemu_pid" ]; then kill -9 "$qemu_pid" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The second disk: the repository without what is built, but for the programs; and what to run.
mkdir -p "$work/disk/repository/build/release"
tar -C "$repository" --exclude=./build --exclude=./.git -c . | tar -C "$work/disk/repository" -x
if [ -d "$repository/build/release/bin" ]; then
  cp -a "$repository/build/release/bin" "$work/disk/repository/build/release/"
fi
cp "$guest_scripts/init" "$work/disk/init"
chmod +x "$work/disk/init"
{
  printf 'repository=%q\n' "$repository"
  printf 'export %s=%q\n' HOME /root LC_ALL C \
    PINION_RUNTIME "$runtime" PINION_GUEST "$machine" PINION_PATIENCE 10 ${containerd:+PINION_CONTAINERD "$containerd"}
  for name in "${!GTEST_@}"; do printf 'export %s=%q\n' "$name" "${!name}"; done
} >"$work/disk/environment"
{
  printf 'cd %q && exec ' "$repository"
  printf '%q ' "$@"
} >"$work/disk/command"
disk "$work/disk" "$work/disk.img" 16
rm -rf "$work/disk"

# Dies with this script, whatever ends that.
qemu=$parts/qemu
# shellcheck disable=SC2086 # the machine is several words
setpriv --pdeathsig KILL "$qemu/usr/lib64/ld-linux-x86-64.so.2" \
  --library-path "$qemu/usr/lib/x86_64-linux-gnu" "$qemu/usr/bin/qemu-system-x86_64" \
  -L "$qemu/usr/share/qemu" -L "$qemu/usr/share/seabios" \
  -machine q35 -accel tcg,thread=multi $hardware \
  -kernel "$parts/kernel-$kernel/vmlinuz" -initrd "$parts/kernel-$kernel/initrd" \
  -append "console=ttyS0 panic=-1 quiet mitigations=off${append:+ $append}" \
  -drive "file=$parts/root/disk.img,format=raw,if=virtio,snapshot=on,cache=unsafe" \
  -drive "file=$work/disk.img,format=raw,if=virtio,read-only=on" \
  -nodefaults -display none -no-reboot \
  -serial "file:$work/console" -serial stdio -serial "file:$work/end" </dev/null &
qemu_pid=$!

fail() {
  say "$1; the end of its console:"
  tail -n 20 "$work/console" >&2 || true
  exit 1
}
# Waits until the guest has said WORD, for SECONDS; MESSAGE otherwise.
wait_for() {
  local word=$1 seconds=$2 message=$3 until=$((SECONDS + $2))
  until grep -q "^$word" "$work/end" 2>/dev/null; do
    kill -0 "$qemu_pid" 2>/dev/null || { grep -q "^$word" "$work/end" && return; fail "the machine ended too early"; }
    [ "$SECONDS" -lt "$until" ] || fail "$message within $seconds s"
    sleep 0.1
  done
}
wait_for up "$boot_limit" "it did not come up"
wait_for exit "$limit" "the command did not end"
wait "$qemu_pid" || true # all output has come when it is gone
qemu_pid=
exit "$(sed -n 's/^exit //p' "$work/end")"
