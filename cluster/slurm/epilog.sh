#!/bin/sh
# Slurm's Epilog (root, on the node, after the job): forgets the job's cores, and in the image of a virtual cluster, where
# nobody else is, ends what the job has left.
run=/run/pinion-slurm
leftovers=/usr/lib/pinion-slurm/end_leftovers.sh

file=$run/$SLURM_JOB_ID.$SLURMD_NODENAME
rm -f "$file" "$file.unpinned" "$file.user"
if [ -x "$leftovers" ]; then "$leftovers"; fi
exit 0
