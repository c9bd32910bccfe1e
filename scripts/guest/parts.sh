# Sourced by guest.sh, after pinned.sh: the parts of a guest machine that do not change from run to run, made once and
# kept in a folder. Each appears there whole or not at all: to be called with "set -e" at work.
# shellcheck shell=bash

guest_initrd=$(dirname "${BASH_SOURCE[0]}")/initrd # the program that it starts

# What programs of this repository are linked with, and what a test's shell expects. Debian 12's, as
# on the machine that built them.
guest_packages=(
  base-files bash dash coreutils findutils grep sed mount util-linux procps numactl
  libabsl20220623 libbenchmark1debian libbrotli1 libc-ares2 libcgroup2 libcpp-httplib0.11 libfmt9
  libgrpc++1.51 libgrpc29 libhwloc15 libnuma1 libprotobuf32 libre2-9 libsimdjson14 libspdlog1.10 libssl3
  libstdc++6 libsystemd0 libudev1 libyaml-cpp0.7 zlib1g
  libseccomp2 # runc's
  systemd     # for the tests of its slices; the guest itself does without
  openmpi-bin libcurl4 # pinionctl's; and for the test of an elastic MPI job, which the extender's own code asks
)

# extract SUITE FOLDER PACKAGE...: the packages and all that they depend on, unpacked and not set up, with /lib in /usr as
# on a Debian that is installed: containers are given /usr.
extract() {
  local suite=$1 folder=$2 uri mode=root
  shift 2
  uri=$(debian_mirror)
  # Not in a user namespace: its files would be those of others.
  [ "$(id -u)" -eq 0 ] || mode=fakechroot
  # Dies with what called it.
  setpriv --pdeathsig TERM mmdebstrap --quiet --mode=$mode --variant=extract --include="$(IFS=, && echo "$*")" \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    "$suite" "$folder" "$(debian_source "$uri" "$suite")" >&2
}

# disk FOLDER IMAGE SPARE: an ext4 image of a folder, with so many MiB to spare.
disk() {
  local size
  size=$(($(du -sm "$1" | cut -f1) * 11 / 10 + $3))
  mke2fs -q -F -t ext4 -O ^has_journal -E root_owner=0:0 -d "$1" "$2" "${size}M" >/dev/null
}

# Debian 12's own QEMU 7.2 corrupts guests under load without KVM; trixie's 10 does not, and runs
# here through its own dynamic linker.
make_qemu() {
  local suite package version series
  open_mirror "$1.apt" qemu
  offered qemu || die "$(what_to_do qemu)"
  extract "$suite" "$1" "$package=$version"
  rm -rf "$1.apt"
}

# Of a kernel's modules: those without which disks, overlays, the network and that of pods cannot be used.
guest_modules=(virtio_pci virtio_blk overlay virtio_net veth)

# make_kernel FOLDER PART BUSYBOX: vmlinuz, and an initrd that finds the disks.
make_kernel() {
  local out=$1 part=$2 busybox=$3 work=$1.work tree=$1.work/root release file name suite package
  # shellcheck disable=SC2034 # pinned() sets them
  local version series
  mkdir -p "$work"
  open_mirror "$work/apt" "$part"
  fetch_pinned "$part" "$tree" || die "$(what_to_do "$part")"
  pinned "$part"
  release=${package#linux-image-}
  [ -d "$tree/lib" ] || ln -s usr/lib "$tree/lib"
  depmod --basedir "$tree" "$release"
  mkdir -p "$out" "$work"/initrd/{bin,modules,dev,proc,sys,sysroot}
  cp "$tree/boot/vmlinuz-$release" "$out/vmlinuz"
  cp "$busybox" "$work/initrd/bin/"
  for name in "${guest_modules[@]}"; do
    modprobe --dirname "$tree" --set-version "$release" --show-depends "$name"
  done | sed -n 's/^insmod //p' | while read -r file _; do
    name=$(basename "${file%.xz}")
    [ ! -e "$work/initrd/modules/$name" ] || continue
    case $file in
      *.xz) xz -dc "$file" >"$work/initrd/modules/$name" ;;
      *) cp "$file" "$work/initrd/modules/$name" ;;
    esac
    echo "$name" >>"$work/initrd/modules/order"
  done
  cp "$guest_initrd" "$work/initrd/init"
  chmod +x "$work/initrd/init"
  (cd "$work/initrd" && find . | cpio --quiet -o -H newc) >"$out/initrd"
  rm -rf "$work"
}

# make_root FOLDER RUNTIME: disk.img, with the containerds of scripts/runtime.sh where they are here.
make_root() {
  local out=$1 runtime=$2 tree=$1/tree
  mkdir -p "$out"
  extract bookworm "$tree" "${guest_packages[@]}"
  mkdir -p "$tree$runtime" "$tree/mnt"
  cp -a "$runtime/." "$tree$runtime/"
  cp "$runtime/busybox" "$tree/sbin/"
  echo root:x:0:0:root:/root:/bin/bash >"$tree/etc/passwd"
  echo root:x:0: >"$tree/etc/group"
  echo 127.0.0.1 localhost >"$tree/etc/hosts"
  disk "$tree" "$out/disk.img" 64
  rm -rf "$tree"
}

# part FOLDER NAME VERSIONS MAKER ARGUMENT...: FOLDER/NAME by MAKER, unless it is there and was made the same way of
# the same VERSIONS.
part() {
  local target=$1/$2 versions=$3 maker=$4 work=$1/making/$2 recipe
  shift 4
  recipe=$(declare -f "$maker" extract disk && cat "$guest_initrd" &&
    echo "${guest_packages[*]} ${guest_modules[*]} $versions")
  [ "$(cat "$target/recipe" 2>/dev/null)" != "$recipe" ] || return 0
  echo "guest: making ${target##*/}" >&2
  "$maker" "$work" "$@"
  echo "$recipe" >"$work/recipe"
  rm -rf "$target"
  mv "$work" "$target"
}
