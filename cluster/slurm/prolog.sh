#!/bin/sh
# Slurm's Prolog (root, on the node, before a job's first task there): waits until the job's own
# cores are the container's, and writes them down for task_prolog.sh. It never fails: a job whose
# cores do not come runs unpinned on what the container has, and its log says so.
run=/run/pinion-slurm
wait_s=10

# "0-2,8" as one number on each line.
numbers() {
  printf '%s\n' "$1" | tr ',' '\n' | while IFS=- read -r first last; do
    last=${last:-$first}
    while [ "$first" -le "$last" ]; do
      echo "$first"
      first=$((first + 1))
    done
  done
}

# Whether each CPU of $1 may be used by this process, and so by the container.
here() {
  have=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
  have=" $(numbers "$have" | tr '\n' ' ') "
  for cpu in $(numbers "$1"); do
    case $have in
      *" $cpu "*) ;;
      *) return 1 ;;
    esac
  done
}

# What pinion-slurm has noted on job $1. The field alone: in what scontrol shows, a user's comment or name may look like it.
# An array's first element has the number of all.
noted() {
  squeue --noheader --jobs="$1" --Format=jobid:12,admin_comment:65536 | sed -n "s/^$1  *\\(pinion[^ ]*\\).*/\\1/p"
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
rm -f "$file"
echo "$SLURM_JOB_UID" >"$file.user"

# Of "pinion=wait;since=1;cpus=node-0:0-3/node-2:4": what this node has.
cpus=$(echo "$note" | tr ';' '\n' | sed -n 's/^cpus=//p' | tr '/' '\n' |
  while IFS=: read -r node list; do [ "$node" = "$SLURMD_NODENAME" ] && echo "$list"; done)
case $cpus in
  '' | *[!0-9,-]* | *[0-9][0-9][0-9][0-9][0-9]*) exit 0 ;;
esac

tries=$((wait_s * 10))
until here "$cpus"; do
  tries=$((tries - 1))
  if [ "$tries" -le 0 ]; then
    # Of the container; on a node without one it goes to the first process's, or nowhere.
    echo "pinion-slurm: job $job: CPUs $cpus have not come in $wait_s s" 2>/dev/null >/proc/1/fd/2
    exit 0
  fi
  sleep 0.1
done
printf '%s\n' "$cpus" >"$file.new" && chmod 644 "$file.new" && mv "$file.new" "$file"
exit 0
