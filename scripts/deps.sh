#!/usr/bin/env bash
# Installs the Debian packages that building needs, and those that the demo or the tests need beside them.
# Idempotent: when all are present it touches neither apt nor the network. Usage: scripts/deps.sh [cluster] [demo] [package] [test]
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;; esac

packages=(
  # toolchain
  g++ clang-14 lld-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev cmake ninja-build pkg-config ccache
  # libraries of the programs
  libhwloc-dev libnuma-dev libcgroup-dev libprotobuf-dev protobuf-compiler libspdlog-dev libfmt-dev
  libcli11-dev libexpected-dev libyaml-cpp-dev nlohmann-json3-dev libgrpc++-dev libsystemd-dev
  protobuf-compiler-grpc libboost-dev libcpp-httplib-dev libcurl4-openssl-dev libssl-dev zlib1g-dev libsimdjson-dev libtomlplusplus-dev
  # libraries of the tests
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libre2-dev prometheus-cpp-dev
  # what the scripts themselves call
  git ca-certificates procps util-linux python3
)
for use in "$@"; do
  case $use in
    package) packages+=(dpkg-dev libudev-dev mmdebstrap uidmap) ;; # shared libraries' names; what hwloc's archive needs; Slurm's image
    cluster) packages+=(nftables iproute2 openssl curl prometheus) ;; # of scripts/cluster.sh
    demo) packages+=(openmpi-bin hpcc) ;;         # its MPI program
    test)
      packages+=(jq libudev-dev)                             # for clang-tidy's commands; to configure packages
      packages+=(python3-yaml)                               # to read what the charts make
      packages+=(prometheus chromium openssl dbus-daemon)    # what the tests talk to
      packages+=(slurmctld slurmd slurm-client slurmrestd munge) # a Slurm to bridge
      packages+=(slurmdbd mariadb-server)                    # without which it resizes no job twice
      packages+=(openmpi-bin libopenmpi-dev)                 # examples/elastic-wave
      packages+=(mmdebstrap fakechroot fakeroot)             # what makes the guest machine, without root too
      packages+=(e2fsprogs kmod cpio xz-utils) ;;
    *) echo "deps.sh: '$use' is none of cluster, demo, package and test" >&2 && exit 2 ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo)
fi
echo "deps: installing ${missing[*]}"
# Another apt may run: on a machine that has just started it often does.
wait=(-o DPkg::Lock::Timeout=300)
"${as_root[@]}" apt-get "${wait[@]}" update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${wait[@]}" install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
# Debian starts what it installs; the tests start a Prometheus of their own, on a port of their own.
if [[ " ${missing[*]} " == *" prometheus "* && -d /run/systemd/system ]]; then
  "${as_root[@]}" systemctl disable --quiet --now prometheus
fi
