#!/bin/sh
# Slurm's Epilog (root, on the node, after the job): forgets the job's cores.
run=/run/pinion-slurm

rm -f "$run/$SLURM_JOB_ID.$SLURMD_NODENAME"
exit 0
