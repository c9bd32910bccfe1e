#!/usr/bin/env bash
# Runs a command in a machine with several NUMA nodes and cgroup v2: a guest under QEMU's emulation,
# made from Debian packages and kept in a cache outside the checkout, nothing is installed. The
# command runs as root at the path of this repository, with the sources and build/release/bin as they
# are now; what it writes is gone afterwards. Its output is streamed; its exit code is this one's. Where the
# machine did not run it to its end, the exit code is 125; 124 where that was a panic or a hang of the emulated
# kernel, or a crash of QEMU, which another boot may be spared.
# One thread of the guest is about 20 times slower than the host's.
#
#   scripts/guest.sh [OPTION...] [--] COMMAND...
#     --machine NAME       two-nodes (default), four-nodes, split-l3, far-memory
#     --kernel VERSION     6.12 (default: Debian 13's) or 6.1 (Debian 12's)
#     --containerd VERSION 1.7 or 2.1: PINION_CONTAINERD for the command, the tests take that one alone
#     --append WORDS       for the kernel's command line
#     --boot-limit SECONDS of CPU time from the start to the command, 120 unless set: a boot takes 10, and a busy host
#                          gives them late; five times as long by the clock
#     --limit SECONDS      for the command, 3600 unless set
#     --with FOLDER        is /mnt/with in the guest, as it is now, to be read
#     --tap NAME           an interface of this network namespace, made by "ip tuntap": the other end of the guest's eth0
#     --fetch              only make the parts
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
guest_scripts=$repository/scripts/guest
# shellcheck source=scripts/pinned.sh
. "$repository/scripts/pinned.sh"
# shellcheck source=scripts/guest/machines.sh
. "$guest_scripts/machines.sh"
# shellcheck source=scripts/guest/parts.sh
. "$guest_scripts/parts.sh"
# shellcheck source=scripts/guest/faults.sh
. "$guest_scripts/faults.sh"
# shellcheck source=scripts/children.sh
. "$repository/scripts/children.sh"

say() { echo "guest: $*" >&2; }
usage() { say "$* (see --help)"; exit 2; }

machine=two-nodes
kernel=6.12
containerd=
append=
boot_limit=120
limit=3600
with=
tap=
fetch_only=no
while [ $# -gt 0 ]; do
  case $1 in
    --machine) machine=${2:-}; shift ;;
    --kernel) kernel=${2:-}; shift ;;
    --containerd) containerd=${2:-}; shift ;;
    --append) append=${2:-}; shift ;;
    --boot-limit) boot_limit=${2:-}; shift ;;
    --limit) limit=${2:-}; shift ;;
    --with) with=${2:-}; shift ;;
    --tap) tap=${2:-}; shift ;;
    --fetch) fetch_only=yes ;;
    -h | --help) sed -n '2,20s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --) shift; break ;;
    -*) usage "unknown option '$1'" ;;
    *) break ;;
  esac
  shift || usage "the last option lacks its value"
done
hardware=$(guest_machine "$machine") || usage "no machine '$machine', there are: ${guest_machines[*]}"
case $kernel in 6.12 | 6.1) ;; *) usage "no kernel '$kernel', there are: 6.12 6.1" ;; esac
case $containerd in '' | 1.7 | 2.1) ;; *) usage "no containerd '$containerd', there are: 1.7 2.1" ;; esac
[ $fetch_only = yes ] || [ $# -gt 0 ] || usage "no command"

PATH=$PATH:/usr/sbin:/sbin
for program in mmdebstrap mke2fs depmod cpio xz; do
  command -v $program >/dev/null || die "$program is missing: run scripts/deps.sh test"
done
runtime=${PINION_RUNTIME:-$("$repository/scripts/runtime.sh" --print)} || die "scripts/runtime.sh failed"
case $(realpath -m "$runtime") in
  /tmp/* | /run/* | /dev/*) die "$runtime is not seen in the guest, which has a /tmp and /run of its own: set PINION_CACHE elsewhere" ;;
esac
parts=$cache/guest
mkdir -p "$parts"

make_parts() (
  flock 9  # whoever waited here finds the work done
  rm -rf "$parts/making"
  mkdir -p "$parts/making"
  jobs=()
  trap 'end_children $BASHPID' EXIT # where one fails, the others
  part "$parts" qemu "$(pin qemu)" make_qemu & jobs+=($!)
  part "$parts" root "$runtime: $(cat "$runtime/versions")" make_root "$runtime" & jobs+=($!)
  part "$parts" "kernel-$kernel" "$(pin "kernel-$kernel"), $(pin busybox)" \
    make_kernel "kernel-$kernel" "$runtime/busybox" & jobs+=($!)
  for job in "${jobs[@]}"; do wait "$job"; done
  trap - EXIT
) 9>"$parts/lock"
# Waited for, not tested: a test would switch off "set -e" inside.
trap 'end_children $$' EXIT
make_parts </dev/null &
wait $! || die "a part could not be made"
trap - EXIT
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
[ -z "$with" ] || cp -aL "$with" "$work/disk/with"
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

# The kernel need not compare its clocks: they are the host's, and a busy host is late for some of the comparisons.
# QEMU dies with this script, whatever ends that.
started=$SECONDS
qemu=$parts/qemu
network=()
[ -z "$tap" ] || network=(-netdev "tap,id=net,ifname=$tap,script=no,downscript=no" -device "virtio-net-pci,netdev=net,romfile=")
# shellcheck disable=SC2086 # the machine is several words
setpriv --pdeathsig KILL "$qemu/usr/lib64/ld-linux-x86-64.so.2" \
  --library-path "$qemu/usr/lib/x86_64-linux-gnu" "$qemu/usr/bin/qemu-system-x86_64" \
  -L "$qemu/usr/share/qemu" -L "$qemu/usr/share/seabios" \
  -machine q35 -accel tcg,thread=multi $hardware \
  -kernel "$parts/kernel-$kernel/vmlinuz" -initrd "$parts/kernel-$kernel/initrd" \
  -append "console=ttyS0 panic=-1 mitigations=off no_timer_check tsc=reliable${append:+ $append}" \
  -drive "file=$parts/root/disk.img,format=raw,if=virtio,snapshot=on,cache=unsafe" \
  -drive "file=$work/disk.img,format=raw,if=virtio,read-only=on" \
  "${network[@]}" -nodefaults -display none -no-reboot \
  -serial "file:$work/console" -serial stdio -serial "file:$work/end" </dev/null &
qemu_pid=$!

# Fails with what the machine did not do, and why, as far as its console and QEMU's exit status (where it ended) tell.
fail() {
  local status=${2:-} fault
  tail -n 60 "$work/console" | sed 's/^/guest: console: /' >&2 || true
  if fault=$(machine_fault "$work/console" "$status" $((SECONDS - started))); then
    say "$1: not what ran in it has failed, but the emulated machine: $fault"
    exit 124
  fi
  say "$1${status:+ (QEMU ended with $status)}; the last words on its console: $(last_words "$work/console")"
  [ -n "$status" ] || say "it had $(cpu_seconds) s of CPU time in $((SECONDS - started)) s"
  say "the host's load is $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) CPUs"
  exit 125
}
cpu_seconds() {
  local stat
  read -ra stat <"/proc/$qemu_pid/stat" || stat=()
  echo $(((${stat[13]:-0} + ${stat[14]:-0}) / $(getconf CLK_TCK)))
}
# shellcheck disable=SC2317 # wait_for calls these two
out_of_time() { [ "$SECONDS" -ge "$1" ]; }
# shellcheck disable=SC2317
out_of_boot_time() { out_of_time $((started + 5 * boot_limit)) || [ "$(cpu_seconds)" -ge "$boot_limit" ]; }
# Waits until the guest has said WORD; fails with MESSAGE when the COMMAND says that it is too late.
wait_for() {
  local word=$1 message=$2 status
  shift 2
  until grep -q "^$word" "$work/end" 2>/dev/null; do
    if ! kill -0 "$qemu_pid" 2>/dev/null; then
      ! grep -q "^$word" "$work/end" || return 0
      status=0
      wait "$qemu_pid" || status=$?
      qemu_pid=
      fail "the machine ended too early" $status
    fi
    ! "$@" || fail "$message"
    sleep 0.1
  done
}
wait_for up "it did not come up" out_of_boot_time
up=$SECONDS
wait_for exit "the command did not end within $limit s" out_of_time $((SECONDS + limit))
lasted=$((SECONDS - up))
wait "$qemu_pid" || true # all output has come when it is gone
qemu_pid=
read -r status guest_lasted < <(end_of "$work/end")
if [ "$status" -ne 0 ] && fault=$(clock_fault "$guest_lasted" $lasted); then
  say "not what ran in it has failed, but the emulated machine: $fault"
  exit 124
fi
exit "$status"
