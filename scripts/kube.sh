#!/usr/bin/env bash
# Builds kube-apiserver and kube-scheduler (one program) and kube-controller-manager from the Go module tests/e2e/kube
# (no Debian suite has them), and fetches the etcd that scripts/versions names, into a cache outside the checkout;
# an etcd that the mirror no longer has is built from its Go module. Nothing is installed. Uses the machine's Go where it
# is new enough, else Debian's. A second run finds the result, and needs neither time nor network.
#
#   scripts/kube.sh            build and fetch if needed, the runtimes of imagined nodes too, then say what there is
#   scripts/kube.sh --all      kube-controller-manager and helm too, which few tests need
#   scripts/kube.sh --v137     the same of Kubernetes 1.37, which has gangs of its own, in a folder of its own
#   scripts/kube.sh --cluster  all that a cluster of this machine needs: kubelet and kube-proxy (one program), kubectl, helm and the CNI plugins too
#   scripts/kube.sh --helm     helm alone, for the tests of the charts
#   scripts/kube.sh --nodes    the runtimes of imagined nodes alone (tests/e2e/nodes); with --print and --where the
#                              program, not the folder
#   scripts/kube.sh --topology kube-scheduler with the plugin NodeResourceTopologyMatch alone (tests/e2e/topology), and
#                              its CRD; with --print and --where their folder: kube-scheduler  crd.yaml
#   scripts/kube.sh --print    print the folder on stdout: kube  etcd  versions  kube-controller-manager  node  kubectl
#                              helm  cni
#   scripts/kube.sh --where    print where the folder is, or would be, and do nothing
set -euo pipefail

action=report
all=no
whole_cluster=no
only=  # nodes or topology
mod=go  # which go.mod and go.sum of the module
for argument in "$@"; do
  case $argument in
    --all) all=yes ;;
    --cluster) all=yes whole_cluster=yes ;;
    --helm) action=helm ;;
    --nodes | --topology) only=${argument#--} ;;
    --v137) mod=v137 ;;
    --print) action=print ;;
    --where) action=where ;;
    -h | --help) sed -n '2,19s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "kube: unknown option '$argument' (see --help)" >&2; exit 2 ;;
  esac
done

say() { echo "kube: $*" >&2; }
scripts=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/pinned.sh
. "$scripts/pinned.sh"
# shellcheck source=scripts/go.sh
. "$scripts/go.sh"

# shellcheck disable=SC2034 # of go.sh
[ $mod = go ] || oldest_go=26 go_suite=forky

module=$scripts/../tests/e2e/kube
kubernetes=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit } $2 == "k8s.io/kubernetes" { print $3; exit }' "$module/$mod.mod")
minor=${kubernetes#v1.}
minor=${minor%%.*}
stamp=k8s.io/component-base/version
ldflags="-s -w -X $stamp.gitVersion=$kubernetes -X $stamp.gitMajor=1 -X $stamp.gitMinor=$minor"
# Inlining in Kubernetes' own packages is a quarter of what is left. What they stand on is inlined as ever.
kube_gcflags=("-gcflags=all=$gcflags" "-gcflags=k8s.io/...=$gcflags -l")

# make_etcd WORK
make_etcd() {
  local work=$1 suite package version series
  pinned etcd
  mkdir "$work/out"
  say "fetching etcd"
  if fetch_pinned etcd "$work/root"; then
    cp "$work/root/usr/bin/etcd" "$work/out/"
    return
  fi
  version=$(upstream "$version")
  say "building etcd $version from its Go module instead (a few minutes, once)"
  build_module "$work" "$work/out" "v$version" "" go.etcd.io/etcd/server/v3 ||
    die "etcd $version cannot be built; $(what_to_do etcd)"
  mv "$work/out/server" "$work/out/etcd"
}

# make_program NAME WORK
make_program() {
  local name=$1 work=$2
  use_go
  say "building $name of Kubernetes $kubernetes with $("$go" env GOVERSION) (minutes, once)"
  (cd "$module" && "$go" build -modfile="$mod.mod" -trimpath "${kube_gcflags[@]}" -ldflags "$ldflags" -o "$work/out" "./cmd/$name")
}

# make_nodes WORK
make_nodes() {
  use_go
  say "building the runtimes of imagined nodes with $("$go" env GOVERSION)"
  (cd "$nodes_module" && "$go" build -tags nri_no_wasm -trimpath "-gcflags=all=$gcflags" -ldflags "-s -w" -o "$1/out" .)
}

# make_topology WORK
make_topology() {
  use_go
  say "building a kube-scheduler with NodeResourceTopologyMatch with $("$go" env GOVERSION) (minutes, once)"
  mkdir "$1/out"
  (
    cd "$topology_module"
    "$go" build -trimpath "${kube_gcflags[@]}" -ldflags "$ldflags" -o "$1/out/kube-scheduler" .
    cp "$("$go" list -m -f '{{.Dir}}' sigs.k8s.io/scheduler-plugins)/manifests/noderesourcetopology/crd.yaml" "$1/out/"
  )
}

# make_versions WORK: of the folder, written when the programs that all tests need are there.
make_versions() {
  {
    echo "kubernetes $("$folder/kube" kube-scheduler --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+')"
    echo "etcd $("$folder/etcd" --version | grep -oE -m 1 '[0-9]+\.[0-9]+\.[0-9]+')"
  } >"$1/out"
}

make_etcd_link() { ln "$cache/$etcd/etcd" "$1/out"; }

# make_part PART PATH WORK: a file or folder of a package.
make_part() {
  local part=$1 path=$2 work=$3
  say "fetching $part"
  fetch_pinned "$part" "$work/root" || die "$(what_to_do "$part")"
  mv "$work/root/$path" "$work/out"
}

# make_helm WORK
make_helm() {
  local suite package version series
  pinned helm
  say "building helm $version from its Go module (minutes, once)"
  build_module "$1" "$1/built" "v$version" "-X helm.sh/helm/v3/internal/version.version=v$version" "$package" ||
    die "helm cannot be built"
  mv "$1/built/helm" "$1/out"
}

# What the programs depend on, but for the compiler: a binary of another Go is as good. No program is started for it.
pinned etcd
etcd=etcd-$version
key=kube/$({ cat "$module"/{"$mod".mod,"$mod".sum,cmd/*/*.go} && echo "$ldflags ${kube_gcflags[*]} $etcd"; } | sha256sum | cut -c 1-16)
folder=$cache/$key
nodes_module=$scripts/../tests/e2e/nodes
nodes=nodes-$({ cat "$nodes_module"/{go.mod,go.sum,*.go} && echo "$gcflags"; } | sha256sum | cut -c 1-16)
topology_module=$scripts/../tests/e2e/topology
topology=topology-$({ cat "$topology_module"/{go.mod,go.sum,*.go} && echo "$ldflags ${kube_gcflags[*]}"; } | sha256sum | cut -c 1-16)
if [ $action = where ]; then
  case $only in
    nodes) echo "$cache/$nodes" ;;
    topology) echo "$cache/$topology" ;;
    *) echo "$folder" ;;
  esac
  exit 0
fi
if [ -n "$only" ]; then
  in_cache "${!only}" "make_$only"
  if [ $action = print ]; then echo "$cache/${!only}"; else say "$only is $cache/${!only}"; fi
  exit 0
fi

take_helm() {
  local suite package version series
  pinned helm
  in_cache "helm-$version" make_helm
  mkdir -p "$folder"
  ln -sfn "$cache/helm-$version" "$folder/helm"
}
if [ $action = helm ]; then
  take_helm
  exit 0
fi

if [ ! -e "$folder/versions" ]; then
  open_mirror_for etcd
  in_cache "$etcd" make_etcd
  in_cache "$key/etcd" make_etcd_link
  in_cache "$key/kube" make_program kube
  in_cache "$key/versions" make_versions
fi
in_cache "$nodes" make_nodes
if [ $all = yes ]; then
  in_cache "$key/kube-controller-manager" make_program kube-controller-manager
  [ $mod != go ] || take_helm
fi
if [ $whole_cluster = yes ]; then
  in_cache "$key/node" make_program node
  for part in kubectl cni; do
    pinned $part
    [ -e "$cache/$part-$version" ] || case $part in
      kubectl) open_mirror_for kubectl && in_cache "kubectl-$version" make_part kubectl usr/bin/kubectl ;;
      cni) open_mirror_for cni && in_cache "cni-$version" make_part cni usr/lib/cni ;;
    esac
    ln -sfn "$cache/$part-$version" "$folder/$part"
  done
fi
if [ $action = print ]; then
  echo "$folder"
else
  say "$(paste -sd , "$folder/versions" | sed 's/,/, /g') in $folder"
fi
