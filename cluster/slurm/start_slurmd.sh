#!/bin/sh
# Starts slurmd in the container of a virtual cluster, as a dynamic node: it has the name of the Kubernetes node
# (NODE_NAME), the pod's address (POD_IP), and the CPUs and memory of the machine, not of the container, as Kubernetes
# counts them for us.
set -eu

# Volumes are open to all at first. What slurmd keeps is its own.
chmod 755 /run /var/spool/slurmd
cpus=$(nproc --all)
memory_mib=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo) / 1024))

# Slurm keeps the address of a node that it knows, and each pod has another one.
until scontrol ping >/dev/null 2>&1; do
  echo "start_slurmd: waits for slurmctld"
  sleep 2
done
if scontrol show node "${NODE_NAME:?the name of the Kubernetes node}" >/dev/null 2>&1; then
  scontrol update "NodeName=$NODE_NAME" "NodeAddr=${POD_IP:?the address of the pod}" "NodeHostName=$(hostname)"
fi
# A controller that has lost its state knows no dynamic node, and a slurmd tells of itself only when it starts.
while sleep 20; do
  if scontrol ping >/dev/null 2>&1 && ! scontrol show node "$NODE_NAME" >/dev/null 2>&1; then
    missed=$((${missed:-0} + 1))
  else
    missed=0
  fi
  if [ "$missed" -ge 3 ]; then
    echo "start_slurmd: slurmctld does not know this node any more, starting again"
    kill 1
  fi
done &
# Whose parent has gone becomes a child of the first process, which has to wait for it.
exec tini -- slurmd -D -Z -N "$NODE_NAME" \
  --conf "CPUs=$cpus Boards=1 SocketsPerBoard=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=$memory_mib"
