#!/bin/sh
# Slurm's Prolog (root, on the node, before a job's first task there): waits until the job's own
# cores are the container's, and writes them down for task_prolog.sh. It never fails, as Slurm would
# drain the node: a job whose cores do not come runs on what the container has beside other jobs'.
run=/run/pinion-slurm
wait_s=10

# "0-2,8" as one number on each line.
numbers() {
  printf '%s\n' "$1" | tr ',' '\n' | while IFS=- read -r first last; do
    [ -n "$first" ] || continue
    last=${last:-$first}
    while [ "$first" -le "$last" ]; do
      echo "$first"
      first=$((first + 1))
    done
  done
}

# Those of the CPUs $1 that are not among $2.
without() {
  others=" $(numbers "$2" | tr '\n' ' ') "
  for cpu in $(numbers "$1"); do
    case $others in
      *" $cpu "*) ;;
      *) echo "$cpu" ;;
    esac
  done
}

# What this process may use, and so the container.
container() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; }

# Lines that are read once all of them are there.
write() { cat >"$1.new" && chmod 644 "$1.new" && mv "$1.new" "$1"; }

# The job has no cores of its own, because of $1. The user is told by task_prolog.sh, the operator in
# the container's log; on a node without one that goes to the first process's, or nowhere.
unpinned() {
  all=$(container)
  rest=$(without "$all" "$(cat "$run"/*."$SLURMD_NODENAME" 2>/dev/null | paste -sd , -)" | paste -sd , -)
  printf '%s\n' "${rest:-$all}" "$1" | write "$file.unpinned"
  echo "pinion-slurm: job $job runs unpinned: $1" 2>/dev/null >/proc/1/fd/2
  exit 0
}

# What pinion-slurm has noted on job $1. The field alone: in what scontrol shows, a user's comment or name may look like it.
# An array's first element has the number of all. As long as kLongestMark (mark.h) allows.
noted() {
  squeue --noheader --jobs="$1" --Format=jobid:12,admin_comment:131072 | sed -n "s/^$1  *\\(pinion[^ ]*\\).*/\\1/p"
}

# A job of pinion-slurm's own that another one grows by: that one's prolog does not run here where PrologFlags has Alloc.
job=$SLURM_JOB_ID
note=$(noted "$job")
case $note in
  pinion-grows=*)
    job=${note#pinion-grows=}
    note=$(noted "$job")
    ;;
esac

mkdir -p "$run"
file=$run/$job.$SLURMD_NODENAME
rm -f "$file" "$file.unpinned"
echo "$SLURM_JOB_UID" >"$file.user"

# Of "pinion=wait;since=1;cpus=node-0:0-3/node-2:4": what this node has.
cpus=$(echo "$note" | tr ';' '\n' | sed -n 's/^cpus=//p' | tr '/' '\n' |
  while IFS=: read -r node list; do [ "$node" = "$SLURMD_NODENAME" ] && echo "$list"; done)
if [ -z "$note" ]; then unpinned "squeue does not answer on $SLURMD_NODENAME"; fi
case $cpus in
  '' | *[!0-9,-]* | *[0-9][0-9][0-9][0-9][0-9]*) unpinned "its cores of $SLURMD_NODENAME are not known" ;;
esac

tries=$((wait_s * 10))
while [ -n "$(without "$cpus" "$(container)")" ]; do
  tries=$((tries - 1))
  if [ "$tries" -le 0 ]; then unpinned "its CPUs $cpus of $SLURMD_NODENAME have not come in $wait_s s"; fi
  sleep 0.1
done
printf '%s\n' "$cpus" | write "$file"
exit 0
