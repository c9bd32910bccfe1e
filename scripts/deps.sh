#!/usr/bin/env bash
# Installs every Debian package that building, testing and the demo need.
# Idempotent: when all are present it touches neither apt nor the network.
set -euo pipefail

packages=(
  # toolchain
  g++ clang-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev cmake ninja-build pkg-config ccache
  # libraries of the programs
  libhwloc-dev libnuma-dev libcgroup-dev libprotobuf-dev protobuf-compiler libspdlog-dev libfmt-dev
  libcli11-dev libexpected-dev libyaml-cpp-dev nlohmann-json3-dev
  # libraries of the tests
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libgrpc++-dev protobuf-compiler-grpc
  # what the scripts themselves call
  git ca-certificates procps util-linux
)

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
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
