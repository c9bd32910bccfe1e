#!/usr/bin/env python3
"""A million drawn jobs through 1,000 nodes of 128 cores with placement inside nodes: CPU time and memory.

Usage: sim_scale.py PINION_SIM [JOBS]

FCFS, and EASY beside it. The jobs have up to 128 processors, as in the model's own machine; one core of each node is
reserved, as kubelets have it.
"""
import os
import subprocess
import sys
import tempfile

FLEET = ('- {name: node, count: 1000, topology: "synthetic:package:2 [numa(memory=64GB)] l3:4 core:16 pu:1", '
         'reserved-cpus: "0"}\n')


def main(program, jobs="1000000"):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as fleet:
        fleet.write(FLEET)
        fleet.flush()
        for queue in "fcfs", "easy":
            process = subprocess.Popen([program, "run", "--generate", "lublin", "--limit", jobs, "--load", "0.8", "--largest",
                                        "128", "--overestimate", "3", "--queue", queue, "--search", "0", "--fleet",
                                        fleet.name], stdout=subprocess.PIPE, text=True)
            text = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            if status != 0:
                sys.exit(f"{queue}: failed")
            cpu = usage.ru_utime + usage.ru_stime
            print(f"{queue}: {jobs} jobs, {cpu:.0f} s of CPU time, {usage.ru_maxrss / 1024:.0f} MiB at most")
            print(text)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
