#!/bin/sh
# Of the image, called by epilog.sh: ends what the job's user still runs in the container when no job of theirs is there any
# more. Slurm loses sight of a process whose parents are gone, and it would run on the cores of later jobs.
run=/run/pinion-slurm

[ "${SLURM_JOB_UID:-0}" -gt 0 ] || exit 0
if grep -qsx "$SLURM_JOB_UID" "$run"/*.user; then exit 0; fi
for status in /proc/[0-9]*/status; do
  [ "$(sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' "$status" 2>/dev/null)" = "$SLURM_JOB_UID" ] || continue
  pid=${status#/proc/}
  kill -KILL "${pid%/status}" 2>/dev/null
done
exit 0
