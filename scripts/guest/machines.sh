# Sourced by guest.sh: the machines that a guest can be, as options of QEMU.
# shellcheck shell=bash

# shellcheck disable=SC2034 # for messages of guest.sh
guest_machines=(two-nodes four-nodes split-l3 far-memory)

# node ID MIB [CPUS]: one NUMA node with so much memory.
node() {
  echo "-object memory-backend-ram,id=m$1,size=$2M -numa node,nodeid=$1,memdev=m$1${3:+,cpus=$3}"
}

distance() { echo "-numa dist,src=$1,dst=$2,val=$3"; }

# Nehalem boots fastest, and shows SMT siblings under emulation, which the EPYC model does not. A socket
# is an L3 domain.
guest_machine() {
  case $1 in
    two-nodes) # two sockets, each a node of four cores
      echo "-cpu Nehalem -m 2048 -smp 8,sockets=2,cores=4,threads=1"
      node 0 1024 0-3; node 1 1024 4-7
      distance 0 1 21 ;;
    four-nodes) # four sockets, each a node of two cores of two threads
      echo "-cpu Nehalem -m 3072 -smp 16,sockets=4,cores=2,threads=2"
      node 0 768 0-3; node 1 768 4-7; node 2 768 8-11; node 3 768 12-15
      distance 0 1 12; distance 2 3 12
      distance 0 2 32; distance 0 3 32; distance 1 2 32; distance 1 3 32 ;;
    split-l3) # the same four sockets, two in a node: each node has two L3 domains
      echo "-cpu Nehalem -m 2048 -smp 16,sockets=4,cores=2,threads=2"
      node 0 1024 0-7; node 1 1024 8-15
      distance 0 1 21 ;;
    far-memory) # two sockets, each a node of two cores, and memory on a node without CPUs
      echo "-cpu Nehalem -m 2560 -smp 4,sockets=2,cores=2,threads=1"
      node 0 1024 0-1; node 1 1024 2-3; node 2 512
      distance 0 1 21; distance 0 2 17; distance 1 2 28 ;;
    *) return 1 ;;
  esac
}
