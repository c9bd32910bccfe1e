#!/bin/sh
# Slurm's TaskProlog (the job's user, before each task): pins the task to the job's own cores, which
# prolog.sh has written down.
run=/run/pinion-slurm

file=$run/$SLURM_JOB_ID.$SLURMD_NODENAME
[ -r "$file" ] || exit 0
IFS= read -r cpus <"$file"
taskset -cp "$cpus" "$SLURM_TASK_PID" >/dev/null 2>&1 ||
  echo "print pinion-slurm: a task could not be pinned to CPUs $cpus"
exit 0
