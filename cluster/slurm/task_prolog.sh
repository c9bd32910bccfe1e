#!/bin/sh
# Slurm's TaskProlog (the job's user, before each task): pins the task to the job's own cores, which
# prolog.sh has written down, or else to those that no other job has, and tells the user.
run=/run/pinion-slurm

file=$run/$SLURM_JOB_ID.$SLURMD_NODENAME
cpus='' why=''
if [ -r "$file" ]; then
  IFS= read -r cpus <"$file"
elif [ -r "$file.unpinned" ]; then
  { IFS= read -r cpus && IFS= read -r why; } <"$file.unpinned"
else
  why="its prolog has not run on $SLURMD_NODENAME"
fi
# Once for all tasks of a step here.
if [ -n "$why" ] && [ "${SLURM_LOCALID:-0}" = 0 ]; then echo "print pinion-slurm: runs unpinned: $why"; fi
[ -n "$cpus" ] || exit 0
taskset -cp "$cpus" "$SLURM_TASK_PID" >/dev/null 2>&1 ||
  echo "print pinion-slurm: a task could not be pinned to CPUs $cpus"
exit 0
