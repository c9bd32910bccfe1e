#!/usr/bin/env bash
# A whole Kubernetes cluster of one node on this machine, with Pinion installed by its chart: etcd, kube-apiserver,
# kube-controller-manager, kube-scheduler, kubelet, kube-proxy and containerd with NRI, all real and unmodified, in a network
# namespace and a folder of their own. Prometheus scrapes agents and extenders, and what files in prometheus/targets of that
# folder name. As root. What is needed is built or fetched once (scripts/kube.sh, runtime.sh, package.sh); the first time
# takes a quarter of an hour.
#
#   scripts/cluster.sh build            what the others need, so that they start at once
#   scripts/cluster.sh up [--bare]      start it, and install Pinion; --bare: without Pinion
#   scripts/cluster.sh install [ARG...] build the images and install the chart; ARG: for helm, as -f PRESET
#   scripts/cluster.sh status           what runs
#   scripts/cluster.sh add-node         a second node on the same machine; each counts all of the CPUs as its own
#   scripts/cluster.sh add-guest        a node with two NUMA nodes and cgroup v2, in a machine of scripts/guest.sh: it is slow
#   scripts/cluster.sh down             take all of it away
#   scripts/cluster.sh kubectl ARG...   the same as kubectl with its kubeconfig; helm ARG..., and ctr ARG... of containerd, likewise
#   scripts/cluster.sh env              lines for "eval": PATH and KUBECONFIG, so that kubectl and helm are this cluster's
#   scripts/cluster.sh restart PART [KILL] end and start a part anew: kubelet, scheduler, ...
#   scripts/cluster.sh load FILE...     images from tars, as scripts/oci.py makes them
#   scripts/cluster.sh adopt-scheduler  give kube-scheduler the configuration that the chart has made
#
# PINION_CLUSTER: the folder [/var/tmp/pinion-cluster], new or empty, as "down" deletes it; there is one cluster at a time
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$scripts")
say() { echo "cluster: $*" >&2; }
die() { say "$*"; exit 1; }
# As /proc/mounts and /run/pinion-cluster write it.
dir=$(realpath -m -- "${PINION_CLUSTER:-/var/tmp/pinion-cluster}")
[[ $dir =~ ^/[[:alnum:]/._+-]+$ ]] || die "PINION_CLUSTER may have letters, digits and /._+- alone, and not be /: '$dir'"

mark=$dir/.pinion-cluster  # in a folder that "up" has made
owner=/run/pinion-cluster  # names the folder of the cluster that has the network
net=pinion-cluster         # namespace; its two ends are pinion-out here and pinion-in inside
outside=10.245.255.1
node_ip=10.245.255.2
node=pinion-node
second=pinion-node-2       # of add-node
guest=pinion-guest         # of add-guest; so is named what joins it to the namespace
guest_ip=10.245.254.2
guest_router=10.245.254.1
service_ip=10.96.0.1
extender_ip=10.96.0.77     # fixed: a scheduler outside of pods resolves no names of Services
prometheus=$node_ip:9090
cgroup=pinion-cluster
namespace=pinion-system
busybox=localhost/pinion/busybox:1
pause=localhost/pinion/pause:1
nri=$dir/nri
sysctls=(vm.overcommit_memory kernel.panic kernel.panic_on_oops)  # which the kubelet sets for the whole machine

inside() { nsenter "--net=/run/netns/$net" "$@"; }

# find_programs: sets kube, runtime; all is there, or it ends.
find_programs() {
  kube=$("$scripts/kube.sh" --where)
  runtime=$("$scripts/runtime.sh" --where)
  if [ ! -e "$kube/helm" ] || [ ! -e "$runtime/runc" ]; then die "not built yet: scripts/cluster.sh up"; fi
}

need_root() { [ "$(id -u)" -eq 0 ] || die "it must be root: it makes cgroups, network interfaces and containers"; }

# may_take_away: the folder is one that "up" has made, or has nothing in it, and no other cluster runs.
may_take_away() {
  local other
  need_root
  [ -O "$mark" ] || [ -z "$(ls -A "$dir" 2>/dev/null)" ] ||
    die "$dir has no $mark, which \"up\" writes, so it is left alone: choose another PINION_CLUSTER, or empty it by hand"
  other=$(cat $owner 2>/dev/null || true)
  if [ -n "$other" ] && [ "$other" != "$dir" ] && [ -n "$(ip netns pids $net 2>/dev/null)" ]; then
    die "the cluster of $other runs: PINION_CLUSTER=$other scripts/cluster.sh down"
  fi
}

# need_ours: there is a cluster in the folder.
need_ours() {
  may_take_away
  [ -e "$mark" ] || die "there is no cluster in $dir: scripts/cluster.sh up"
}

prepare() {
  need_root
  "$scripts/deps.sh" cluster
  "$scripts/kube.sh" --cluster
  "$scripts/runtime.sh"
  find_programs
}

# ---- Parts

# started PID: when, in ticks since the machine's start; nothing where it has ended, also if nobody has reaped it yet.
started() {
  local stat fields
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  read -ra fields <<<"${stat##*) }" # what comes after the name, in which there may be blanks and parentheses
  [[ ${fields[0]} == [ZX] ]] || echo "${fields[19]}"
}

# pid_of PART: nothing where it does not run. After a restart of the machine its number may be another's.
pid_of() {
  local pid start
  pid=$(cat "$dir/pids/$1" 2>/dev/null) && start=$(cat "$dir/pids/$1.start" 2>/dev/null) || return 0
  if [ -n "$start" ] && [ "$(started "$pid")" = "$start" ]; then echo "$pid"; fi
}
runs() { [ -n "$(pid_of "$1")" ]; }

# begin PART COMMAND...: in the namespace, with a log and a pid of its own.
begin() {
  local part=$1
  shift
  mkdir -p "$dir/pids" "$dir/logs"
  printf '%q ' "$@" >"$dir/pids/$part.command"
  nsenter "--net=/run/netns/$net" setsid "$@" >>"$dir/logs/$part.log" 2>&1 </dev/null &
  echo $! >"$dir/pids/$part"
  started $! >"$dir/pids/$part.start"
}

# end PART [SIGNAL]
end() {
  local pid tries=0
  pid=$(pid_of "$1")
  if [ -n "$pid" ]; then
    # Of a shell with what it runs.
    if [ "$1" = discovery ]; then kill "-${2:-TERM}" -- "-$pid" 2>/dev/null || true; fi
    kill "-${2:-TERM}" "$pid" 2>/dev/null || true
    while runs "$1"; do
      tries=$((tries + 1))
      if [ $tries -eq 100 ]; then kill -KILL "$pid" 2>/dev/null || true; fi
      [ $tries -lt 400 ] || die "$1, process $pid, does not end, 30 seconds after it was killed"
      sleep 0.1
    done
  fi
  rm -f "$dir/pids/$1"
}

# await SECONDS WHAT COMMAND...: until the command succeeds.
await() {
  local limit=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $limit ] || die "$what: not within the time; the logs are in $dir/logs"
    sleep 0.2
  done
}

kubectl() { "$kube/kubectl" --kubeconfig "$dir/admin.kubeconfig" "$@"; }
helm() { HELM_CACHE_HOME=$dir/helm HELM_CONFIG_HOME=$dir/helm HELM_DATA_HOME=$dir/helm "$kube/helm" --kubeconfig "$dir/admin.kubeconfig" "$@"; }
ctr() { "$runtime/2.1/ctr" --address "$dir/c/containerd.sock" -n k8s.io "$@"; }
ctr_2() { "$runtime/2.1/ctr" --address "$dir/second/c/containerd.sock" -n k8s.io "$@"; }

# ---- What they need

make_network() {
  ip netns add $net
  ip link add pinion-out type veth peer name pinion-in
  ip link set pinion-in netns $net
  ip addr add $outside/30 dev pinion-out
  ip link set pinion-out up
  inside ip addr add $node_ip/30 dev pinion-in
  inside ip link set lo up
  inside ip link set pinion-in up
  inside ip route add default via $outside
  # Pods and Services can be called from here.
  ip route add 10.244.0.0/16 via $node_ip
  ip route add 10.96.0.0/16 via $node_ip
  inside sysctl -qw net.ipv4.ip_forward=1
}

# certificate NAME SUBJECT [SAN]: signed by the cluster's authority.
certificate() {
  local base=$dir/pki/$1
  openssl ecparam -genkey -name prime256v1 -noout -out "$base.key" 2>/dev/null
  openssl req -new -key "$base.key" -subj "$2" -out "$base.csr" 2>/dev/null
  openssl x509 -req -in "$base.csr" -CA "$dir/pki/ca.crt" -CAkey "$dir/pki/ca.key" -CAcreateserial -days 30 \
    -extfile <(echo "subjectAltName=${3:-DNS:$1}") -out "$base.crt" 2>/dev/null
}

# kubeconfig NAME: for the certificate NAME.
kubeconfig() {
  cat >"$dir/$1.kubeconfig" <<END
apiVersion: v1
kind: Config
current-context: pinion
contexts: [{name: pinion, context: {cluster: pinion, user: $1}}]
clusters: [{name: pinion, cluster: {server: "https://$node_ip:6443", certificate-authority: $dir/pki/ca.crt}}]
users: [{name: $1, user: {client-certificate: $dir/pki/$1.crt, client-key: $dir/pki/$1.key}}]
END
}

make_certificates() {
  mkdir -p "$dir/pki"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=pinion-cluster \
    -keyout "$dir/pki/ca.key" -out "$dir/pki/ca.crt" 2>/dev/null
  certificate apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:$node_ip,IP:$service_ip,DNS:kubernetes.default.svc"
  certificate kubelet-client /O=system:masters/CN=apiserver
  certificate kubelet-server /CN=$node "IP:$node_ip,DNS:$node"
  certificate admin /O=system:masters/CN=admin
  certificate scheduler /CN=system:kube-scheduler
  certificate controller-manager /CN=system:kube-controller-manager
  certificate proxy /CN=system:kube-proxy
  certificate kubelet "/O=system:nodes/CN=system:node:$node"
  openssl ecparam -genkey -name prime256v1 -noout -out "$dir/pki/sa.key" 2>/dev/null
  openssl ec -in "$dir/pki/sa.key" -pubout -out "$dir/pki/sa.pub" 2>/dev/null
  local name
  for name in admin scheduler controller-manager proxy kubelet; do kubeconfig $name; done
}

# make_cgroups NAME: where a kubelet puts pods; on v1 a new cpuset has no CPUs.
make_cgroups() {
  local mount
  while read -r mount; do
    mkdir -p "$mount/$1"
    if [ -e "$mount/cpuset.cpus" ] && [ ! -e "$mount/cgroup.controllers" ]; then
      cat "$mount/cpuset.cpus" >"$mount/$1/cpuset.cpus"
      cat "$mount/cpuset.mems" >"$mount/$1/cpuset.mems"
    fi
  done < <(cgroup_mounts)
}
cgroup_mounts() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts; }

# write_cni FOLDER SUBNET
write_cni() {
  mkdir -p "$1"
  cat >"$1/10-pinion.conflist" <<END
{"cniVersion": "0.4.0", "name": "pinion", "plugins": [
  {"type": "ptp", "ipMasq": false, "mtu": 1500,
   "ipam": {"type": "host-local", "dataDir": "$dir/c/ipam", "ranges": [[{"subnet": "$2"}]],
            "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
}

write_configurations() {
  mkdir -p "$dir"/{c,kubelet,manifests,podlogs,volumeplugins,conf} "$nri"
  : >"$dir/resolv.conf"
  cat >"$dir/c/config.toml" <<END
version = 3
root = "$dir/c/root"
state = "$dir/c/state"
[grpc]
address = "$dir/c/containerd.sock"
[ttrpc]
address = "$dir/c/containerd.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
path = "$dir/c/opt"
[plugins."io.containerd.nri.v1.nri"]
disable = false
disable_connections = false
socket_path = "$nri/nri.sock"
plugin_path = "$dir/c/nri-plugins"
plugin_config_path = "$dir/c/nri-conf"
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
disable_apparmor = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["$kube/cni"]
conf_dir = "$dir/c/cni"
[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "$runtime/runc"
SystemdCgroup = false
[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "$pause"
END
  write_cni "$dir/c/cni" 10.244.0.0/24
  cat >"$dir/conf/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_ip
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
failCgroupV1: false
failSwapOn: false
cpuManagerPolicy: none
containerRuntimeEndpoint: unix://$dir/c/containerd.sock
resolvConf: $dir/resolv.conf
makeIPTablesUtilChains: false
readOnlyPort: 0
healthzPort: 10248
authentication: {x509: {clientCAFile: $dir/pki/ca.crt}, webhook: {enabled: false}, anonymous: {enabled: false}}
authorization: {mode: AlwaysAllow}
tlsCertFile: $dir/pki/kubelet-server.crt
tlsPrivateKeyFile: $dir/pki/kubelet-server.key
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
staticPodPath: $dir/manifests
podLogsDir: $dir/podlogs
volumePluginDir: $dir/volumeplugins
syncFrequency: 10s
END
  cat >"$dir/conf/scheduler.yaml" <<END
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: $dir/scheduler.kubeconfig}
leaderElection: {leaderElect: false}
END
  cat >"$dir/conf/proxy.yaml" <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $dir/proxy.kubeconfig}
mode: nftables
hostnameOverride: $node
clusterCIDR: 10.244.0.0/16
healthzBindAddress: ""
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
nftables: {minSyncPeriod: 0s, syncPeriod: 10s}
END
}

# ---- How each is started

start_etcd() {
  begin etcd "$kube/etcd" --data-dir "$dir/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
    --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 --log-level error
}
start_apiserver() {
  begin apiserver "$kube/kube" kube-apiserver --etcd-servers http://127.0.0.1:2379 --bind-address 0.0.0.0 \
    --advertise-address $node_ip --secure-port 6443 --service-cluster-ip-range 10.96.0.0/16 \
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged \
    --client-ca-file "$dir/pki/ca.crt" --tls-cert-file "$dir/pki/apiserver.crt" --tls-private-key-file "$dir/pki/apiserver.key" \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$dir/pki/sa.pub" \
    --service-account-signing-key-file "$dir/pki/sa.key" --kubelet-certificate-authority "$dir/pki/ca.crt" \
    --kubelet-client-certificate "$dir/pki/kubelet-client.crt" --kubelet-client-key "$dir/pki/kubelet-client.key" \
    --kubelet-preferred-address-types InternalIP
}
start_controller_manager() {
  begin controller_manager "$kube/kube-controller-manager" --kubeconfig "$dir/controller-manager.kubeconfig" --leader-elect=false \
    --use-service-account-credentials --service-account-private-key-file "$dir/pki/sa.key" --root-ca-file "$dir/pki/ca.crt"
}
start_scheduler() {
  begin scheduler "$kube/kube" kube-scheduler --config "$dir/conf/scheduler.yaml" \
    --authentication-kubeconfig "$dir/scheduler.kubeconfig" --authorization-kubeconfig "$dir/scheduler.kubeconfig"
}
start_containerd() {
  mkdir -p "$dir/logs"
  echo "== started" >>"$dir/logs/containerd.log"
  begin containerd env "PATH=$runtime/2.1:$runtime:$PATH" "$runtime/2.1/containerd" --config "${1:-$dir/c/config.toml}"
}
start_kubelet() {
  begin kubelet "$kube/node" kubelet --config "$dir/conf/kubelet.yaml" --kubeconfig "$dir/kubelet.kubeconfig" \
    --root-dir "$dir/kubelet" --cert-dir "$dir/pki" --hostname-override $node --node-ip $node_ip
}
# What a node has for itself lies in the same places, as the chart's agents look there: the second one's mount namespace has
# other folders in them.
start_containerd_2() {
  # shellcheck disable=SC2016 # of the inner shell
  begin containerd_2 unshare --mount bash -ec \
    'for own in c kubelet nri pinion podlogs; do mount --bind "$0/second/$own" "$0/$own"; done; exec "$@"' "$dir" \
    env "PATH=$runtime/2.1:$runtime:$PATH" "$runtime/2.1/containerd" --config "$dir/c/config.toml"
}
start_kubelet_2() {
  begin kubelet_2 nsenter "--mount=/proc/$(pid_of containerd_2)/ns/mnt" "$kube/node" kubelet --config "$dir/conf/kubelet-2.yaml" \
    --kubeconfig "$dir/kubelet-2.kubeconfig" --root-dir "$dir/kubelet" --cert-dir "$dir/pki" --hostname-override $second --node-ip $node_ip
}
start_prometheus() {
  begin prometheus "$(command -v prometheus)" --config.file "$dir/prometheus/prometheus.yaml" --web.listen-address "$prometheus" \
    --storage.tsdb.path "$dir/prometheus/data" --log.level warn
}
start_proxy() { begin proxy "$kube/node" kube-proxy --config "$dir/conf/proxy.yaml"; }

# What containerd has said since it was started last.
containerd_says() { awk '/^== started$/ { said = ""; next } { said = said $0 "\n" } END { printf "%s", said }' "$dir/logs/containerd.log"; }

# The pod of which it has two sandboxes of one name.
pod_of_two_sandboxes() {
  containerd_says |
    sed -n 's/.*Failed to run CRI service.*failed to reserve sandbox name [\\"]*[^_]*_[^_]*_\([0-9a-f-]*\)_.*/\1/p'
}

# Killed while it makes a sandbox, containerd 2.1 may make a second one of its name when it is back, and once killed again it
# does not start any more: a fault of its own. As an operator would, with the CRI plugin off, all that the pod has is taken
# away; the kubelet makes it anew.
await_containerd() {
  local limit=$((SECONDS + 60)) pod id
  until [[ $(containerd_says) == *"Start event monitor"* ]]; do # the CRI plugin has read its state
    [ $SECONDS -lt $limit ] || die "containerd: not within the time; the logs are in $dir/logs"
    pod=$(pod_of_two_sandboxes)
    if [ -n "$pod" ]; then
      echo "containerd had two sandboxes of one name: taking away what it has of pod $pod"
      sed '1a disabled_plugins = ["io.containerd.grpc.v1.cri"]' "$dir/c/config.toml" >"$dir/c/without-cri.toml"
      end containerd
      start_containerd "$dir/c/without-cri.toml"
      await 60 containerd ctr version
      for id in $(ctr containers ls -q "labels.\"io.kubernetes.pod.uid\"==$pod"); do
        ctr tasks rm -f "$id" >/dev/null 2>&1 || true
        ctr containers rm "$id"
        ctr sandboxes rm -f "$id" >/dev/null 2>&1 || true
      done
      end containerd
      start_containerd
    fi
    sleep 0.2
  done
}

parts=(etcd apiserver controller_manager scheduler containerd kubelet proxy discovery prometheus)

# ---- Images

make_images() {
  mkdir -p "$dir/images"
  local links=() name
  for name in sh sleep cat echo grep env true date wc head tail sed awk nproc nc wget; do links+=(--link "$name"); done
  "$scripts/oci.py" "$dir/images/busybox.tar" $busybox "$runtime/busybox" "${links[@]}" --arg sh >/dev/null
  "$scripts/oci.py" "$dir/images/pause.tar" $pause "$runtime/busybox" --arg sleep --arg 2147483647 >/dev/null
}

# On all nodes that are there.
load_images() {
  local image
  for image in "$@"; do
    ctr images import --no-unpack "$image" >/dev/null
    ! runs containerd_2 || ctr_2 images import --no-unpack "$image" >/dev/null
  done
}

# ---- The commands

command_up() {
  local bare=no
  [ "${1:-}" != --bare ] || bare=yes
  may_take_away
  ! runs apiserver || die "it runs already: scripts/cluster.sh status"
  prepare
  if [ -e "$mark" ] || [ -e "/run/netns/$net" ]; then command_down; fi # what a killed one has left
  mkdir -p "$dir"
  : >"$mark"
  echo "$dir" >$owner
  sysctl "${sysctls[@]}" | sed 's/ = /=/' >"$dir/sysctls"
  say "starting Kubernetes"
  make_network
  make_certificates
  make_cgroups $cgroup
  write_configurations
  make_images
  start_etcd
  start_containerd
  start_apiserver
  await 120 kube-apiserver kubectl get --raw /readyz
  kubectl create clusterrolebinding pinion-node-proxier --clusterrole system:node-proxier --user system:kube-proxy >/dev/null
  start_controller_manager
  start_scheduler
  await 60 containerd ctr version
  load_images "$dir/images/busybox.tar" "$dir/images/pause.tar"
  start_kubelet
  start_proxy
  await 120 "the node" kubectl wait --for=condition=Ready "node/$node" --timeout=1s
  await 60 "the service account" kubectl get serviceaccount default
  say "Kubernetes is up: $(kubectl version -o json | sed -n 's/.*"gitVersion": "\(.*\)".*/\1/p' | tail -n 1), node $node"
  [ $bare = yes ] || command_install -f "$top/deploy/chart/pinion/presets/default-scheduler.yaml"
}

command_add_node() {
  find_programs
  runs kubelet || die "no cluster runs: scripts/cluster.sh up"
  ! runs kubelet_2 || die "it is there already"
  mkdir -p "$dir"/second/{c,kubelet,nri,pinion,podlogs} "$dir/pinion"
  cp "$dir/c/config.toml" "$dir/second/c"
  write_cni "$dir/second/c/cni" 10.244.1.0/24
  certificate kubelet-2 "/O=system:nodes/CN=system:node:$second"
  kubeconfig kubelet-2
  make_cgroups $cgroup-2
  sed "s#^cgroupRoot: .*#cgroupRoot: /$cgroup-2#; s#^healthzPort: .*#healthzPort: 10348\nport: 10350#" \
    "$dir/conf/kubelet.yaml" >"$dir/conf/kubelet-2.yaml"
  start_containerd_2
  await 60 "the second containerd" ctr_2 version
  load_images "$dir"/images/*.tar "$top"/build/package/out/pinion-{agent,extender}.tar
  start_kubelet_2
  await 120 "the second node" kubectl wait --for=condition=Ready "node/$second" --timeout=1s
  say "there is a second node, $second"
}

command_add_guest() {
  find_programs
  runs kubelet || die "no cluster runs: scripts/cluster.sh up"
  ! runs guest || die "it is there already"
  "$scripts/guest.sh" --fetch
  local with=$dir/guest
  rm -rf "$with"
  mkdir -p "$with"/images "$with"/dir/{c,conf,kubelet,manifests,nri,pki,pinion,podlogs,volumeplugins}
  ln -s "$kube"/{node,cni} "$with"
  ln -s "$dir"/images/{busybox,pause}.tar "$top/build/package/out/pinion-agent.tar" "$with/images"
  # What lies in the same places as here.
  certificate kubelet-guest "/O=system:nodes/CN=system:node:$guest"
  certificate kubelet-guest-server /CN=$guest "IP:$guest_ip,DNS:$guest"
  kubeconfig kubelet-guest
  cp "$dir"/pki/{ca.crt,kubelet-guest*} "$with/dir/pki"
  cp "$dir"/{kubelet-guest.kubeconfig,resolv.conf} "$with/dir"
  sed "s#\"$kube/cni\"#\"/mnt/with/cni\"#" "$dir/c/config.toml" >"$with/dir/c/config.toml"
  sed "s#^address: .*#address: $guest_ip#; /^cgroupRoot:/d; s#kubelet-server#kubelet-guest-server#" \
    "$dir/conf/kubelet.yaml" >"$with/dir/conf/kubelet.yaml"
  # For those alone that tolerate it: there are no Services, and no image of the extender.
  echo 'registerWithTaints: [{key: emulated, effect: NoSchedule}]' >>"$with/dir/conf/kubelet.yaml"
  write_cni "$with/dir/c/cni" 10.244.2.0/24
  inside ip link del $guest 2>/dev/null || true
  inside ip tuntap add $guest mode tap
  inside ip addr add $guest_router/30 dev $guest
  inside ip link set $guest up
  inside ip route add 10.244.2.0/24 via $guest_ip
  begin guest "$scripts/guest.sh" --with "$with" --tap $guest --boot-limit 600 --limit 86400 -- \
    scripts/guest/node "$dir" $guest $guest_ip $guest_router
  local limit=$((SECONDS + 900)) state
  for state in create condition=Ready; do
    until kubectl wait "--for=$state" "node/$guest" --timeout=10s >/dev/null 2>&1; do
      runs guest || die "the guest has ended; its log is $dir/logs/guest.log"
      [ $SECONDS -lt $limit ] || die "the guest: not within the time; its log is $dir/logs/guest.log"
    done
  done
  say "there is a slow node with two NUMA nodes, $guest"
}

make_packages() { [ -n "${PINION_PACKAGED:-}" ] || "$scripts/package.sh" --images --no-slurm; }

command_build() {
  prepare
  make_packages
}

command_install() {
  find_programs
  make_packages
  load_images "$top"/build/package/out/pinion-{agent,extender}.tar
  local tag
  tag=$(tar -xOf "$top/build/package/out/pinion-agent.tar" index.json |
    sed -n 's/.*"org.opencontainers.image.ref.name": "\([^"]*\)".*/\1/p')
  cat >"$dir/values.yaml" <<END
image: {tag: "$tag", pullPolicy: Never}
agent:
  # Two CPUs at the least: the last one that is left is never given away.
  config: {reservedSystemCPUs: ""}
  hostPaths: {nri: $nri, kubelet: $dir/kubelet, state: $dir/pinion}
extender:
  service: {clusterIP: $extender_ip}
  config: {servicesPrometheus: "http://$prometheus"}
END
  say "installing the chart"
  helm upgrade --install pinion "$top/deploy/chart/pinion" --namespace $namespace --create-namespace \
    -f "$dir/values.yaml" "$@" --wait --timeout 3m >/dev/null
  # One of the chart's own needs nothing from outside, and agents alone have none.
  if kubectl -n $namespace get configmap pinion-scheduler >/dev/null 2>&1; then
    kubectl -n $namespace get deployment pinion-scheduler >/dev/null 2>&1 || command_adopt_scheduler
  fi
  watch_pinion
  say "Pinion is installed: try  eval \"\$(scripts/cluster.sh env)\"  and then  kubectl get pods -A"
}

# secret_file NAME KEY FILE
secret_file() { kubectl -n $namespace get secret "$1" -o "jsonpath={.data.${2/./\\.}}" | base64 -d >"$3"; }

# Tells Prometheus of the pods in a file, in the words of its own discovery in Kubernetes, which Debian's is built without.
start_discovery() {
  local template file=$dir/prometheus/pods.yaml
  # shellcheck disable=SC2016 # of the template
  template='{{range $pod := .items}}{{if .status.podIP}}{{range .spec.containers}}{{range .ports}}
- targets: ["{{$pod.status.podIP}}:{{.containerPort}}"]
  labels:
    __meta_kubernetes_pod_name: {{$pod.metadata.name}}
    __meta_kubernetes_pod_ip: {{$pod.status.podIP}}
    __meta_kubernetes_pod_node_name: {{$pod.spec.nodeName}}
    __meta_kubernetes_pod_label_app_kubernetes_io_name: {{index $pod.metadata.labels "app.kubernetes.io/name"}}
    __meta_kubernetes_pod_container_port_name: {{.name}}
{{end}}{{end}}{{end}}{{end}}'
  # shellcheck disable=SC2016 # of the inner shell
  begin discovery bash -c 'while true; do if "${@:2}" >"$1.new"; then mv "$1.new" "$1"; fi; sleep 5; done' bash "$file" \
    "$kube/kubectl" --kubeconfig "$dir/admin.kubeconfig" -n $namespace get pods -o "go-template=$template"
}

# The example of deploy/prometheus as it stands, but for what is this cluster's, and it looks more often.
watch_pinion() {
  local ca=$dir/prometheus/pinion-ca.crt
  mkdir -p "$dir/prometheus/targets"
  secret_file pinion-extender-tls ca.crt "$ca" 2>/dev/null || cp "$dir/pki/ca.crt" "$ca" # agents alone have none
  sed "s#/etc/prometheus/pinion-ca.crt#$ca#; s#\.\./chart#$top/deploy/chart#; s#scrape_interval: .*#scrape_interval: 5s#
    s#kubernetes_sd_configs:#file_sd_configs:#; s#- role: pod#- files: [$dir/prometheus/pods.yaml]#" "$top/deploy/prometheus/scrape.yaml" >"$dir/prometheus/prometheus.yaml"
  cat >>"$dir/prometheus/prometheus.yaml" <<END

  - job_name: others
    honor_labels: true
    file_sd_configs: [{files: [$dir/prometheus/targets/*.yaml], refresh_interval: 5s}]
END
  command_restart discovery
  command_restart prometheus
}

# What the chart's notes tell an operator to do.
command_adopt_scheduler() {
  find_programs
  local key
  mkdir -p "$dir/conf/pinion"
  for key in tls.crt tls.key ca.crt; do secret_file pinion-scheduler-tls $key "$dir/conf/pinion/$key"; done
  kubectl -n $namespace get configmap pinion-scheduler -o 'jsonpath={.data.scheduler\.yaml}' |
    sed "s#/etc/kubernetes/scheduler.conf#$dir/scheduler.kubeconfig#; s#/etc/kubernetes/pinion#$dir/conf/pinion#" >"$dir/conf/scheduler.yaml"
  echo "leaderElection: {leaderElect: false}" >>"$dir/conf/scheduler.yaml"
  command_restart scheduler
}

command_restart() {
  find_programs
  [[ " ${parts[*]} " == *" ${1:-} "* ]] || die "no part '${1:-}': ${parts[*]}"
  end "$1" "${2:-TERM}"
  "start_$1"
  case $1 in
    apiserver | etcd) await 60 "$1" kubectl get --raw /readyz ;;
    containerd) await_containerd ;;
    kubelet) await 60 "$1" inside curl -sf http://127.0.0.1:10248/healthz ;; # it ends where there is no runtime
    prometheus) await 60 "$1" inside curl -sf "http://$prometheus/-/ready" ;;
    scheduler) await 60 "$1" inside curl -sfk https://127.0.0.1:10259/readyz ;;
  esac
}

command_status() {
  find_programs
  local part
  for part in "${parts[@]}"; do
    printf '%-20s %s\n' "$part" "$(runs "$part" && echo "pid $(pid_of "$part")" || echo "does not run")"
  done
  if runs apiserver; then
    kubectl get nodes,pods -A -o wide
  fi
}

mounts_below() { awk -v below="$dir/" 'index($2, below) == 1 { print $2 }' /proc/mounts; }

# kill_tasks CTR
kill_tasks() {
  local task
  for task in $($1 task ls -q 2>/dev/null); do $1 task kill -s KILL "$task" 2>/dev/null || true; done
}

command_down() {
  may_take_away
  find_programs
  local pid mount
  for pid in guest kubelet_2 kubelet scheduler controller_manager proxy discovery prometheus; do end $pid; done
  if runs containerd; then kill_tasks ctr; fi
  if runs containerd_2; then kill_tasks ctr_2; fi
  end apiserver
  end etcd
  end containerd
  end containerd_2
  # Shims that have lost their containerd.
  for pid in /proc/[0-9]*; do
    if tr '\0' ' ' <"$pid/cmdline" 2>/dev/null | grep -q "^[^ ]*containerd-shim-runc-v2 .* $dir/c/containerd.sock"; then
      kill -KILL "${pid#/proc/}" 2>/dev/null || true
    fi
  done
  while read -r mount; do umount -l "$mount" 2>/dev/null || true; done < <(mounts_below | tac)
  ip netns del $net 2>/dev/null || true
  ip link del pinion-out 2>/dev/null || true
  while read -r mount; do
    find "$mount/$cgroup" "$mount/$cgroup-2" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done < <(cgroup_mounts)
  if [ -e "$dir/sysctls" ]; then sysctl -q -p "$dir/sysctls" >/dev/null || true; fi
  mount=$(mounts_below)
  [ -z "$mount" ] || die "nothing in $dir was deleted: unmount what is mounted there, then call \"down\" again:"$'\n'"$mount"
  if [ -e "$mark" ]; then
    # The mark last: who is interrupted can call it again.
    find "$dir" -mindepth 1 -maxdepth 1 ! -path "$mark" -exec rm -rf --one-file-system --preserve-root=all {} +
    rm -rf --one-file-system "$dir"
  fi
  rm -f $owner
  say "all of it is gone"
}

command_env() {
  find_programs
  echo "export KUBECONFIG=$dir/admin.kubeconfig"
  echo "export PATH=$kube:$top/build/package/out/bin:\$PATH"
}

case ${1:-} in
  build | up | down | status | env) command=$1; shift; "command_$command" "$@" ;;
  install | restart) need_ours; command=$1; shift; "command_$command" "$@" ;;
  load) need_ours; shift; find_programs; load_images "$@" ;;
  add-node) need_ours; command_add_node ;;
  add-guest) need_ours; command_add_guest ;;
  adopt-scheduler) need_ours; command_adopt_scheduler ;;
  helm) need_ours; find_programs; "$@" ;; # it writes a cache
  kubectl | ctr) find_programs; "$@" ;;
  -h | --help) sed -n '2,21s/^# \{0,1\}//p' "$0" ;;
  *) sed -n '2,21s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
