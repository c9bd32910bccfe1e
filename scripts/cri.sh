#!/usr/bin/env bash
# Asks a container runtime for what a kubelet would, over CRI: for those who have no crictl (docs/alone.md).
#
#   scripts/cri.sh SOCKET METHOD [FIELDS]
#
# METHOD is one of tests/lab/cri.proto, FIELDS are its request in protobuf's text format. Prints the answer so.
#   scripts/cri.sh /run/containerd/containerd.sock Version
#   scripts/cri.sh /run/containerd/containerd.sock StopContainer 'container_id: "4f1d02"'
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;; esac
[ $# -ge 2 ] || { echo "cri: a socket and a method are needed (see --help)" >&2; exit 2; }
socket=$1 method=$2 fields=${3-}
proto=(-I "$(dirname "$0")/../tests/lab" cri.proto)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

protoc "--encode=runtime.v1.${method}Request" "${proto[@]}" <<<"$fields" >"$work/request"
# Before a message gRPC has a byte that says that it is not compressed, and its length.
{
  printf '%b' "$(printf '\\x%02x' 0 0 0 $(($(stat -c %s "$work/request") / 256)) $(($(stat -c %s "$work/request") % 256)))"
  cat "$work/request"
} >"$work/framed"
curl --silent --show-error --http2-prior-knowledge --unix-socket "$socket" --dump-header "$work/headers" \
  -H 'content-type: application/grpc' -H 'te: trailers' --data-binary "@$work/framed" \
  -o "$work/answer" "http://localhost/runtime.v1.RuntimeService/$method"
if ! grep -qi '^grpc-status: 0' "$work/headers"; then
  echo "cri: $method: $(sed -n 's/^grpc-message: //Ip' "$work/headers" | tr -d '\r')" >&2
  exit 1
fi
tail -c +6 "$work/answer" | protoc "--decode=runtime.v1.${method}Response" "${proto[@]}"
