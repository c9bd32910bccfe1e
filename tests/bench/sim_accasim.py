#!/usr/bin/env python3
"""AccaSim (on PyPI) and pinion-sim on the same SWF trace, job by job.

  python3 -m venv V && V/bin/pip install accasim
  V/bin/python tests/bench/sim_accasim.py PINION_SIM [PROCESSORS [JOBS [SEED]]]

AccaSim gets as many nodes of one core, so that its allocator can put any job anywhere. Its results lie in a folder that
is removed. Prints the times that both took, how many jobs differ, and the first of them.
"""
import collections
import collections.abc
import json
import os
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../unit/sim"))
import reference  # noqa: E402


def run_accasim(scheduler, processors, trace, folder):
    for name in "Mapping", "MutableMapping", "Iterable", "Sequence":  # AccaSim 1.1.3 wants them where Python had them
        setattr(collections, name, getattr(collections.abc, name))
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
    from accasim.base.simulator_class import Simulator
    config = os.path.join(folder, "system.json")
    with open(config, "w") as file:
        json.dump({"groups": {"g": {"core": 1}}, "resources": {"g": processors},
                   "equivalence": {"processor": {"core": 1}}, "start_time": 0}, file)
    kind = FirstInFirstOut if scheduler == "fcfs" else EASYBackfilling
    output = {"format": "{id},{queued},{start},{end}",
              "attributes": {"id": ("id", "str"), "queued": ("queued_time", "int"),
                             "start": ("start_time", "int"), "end": ("end_time", "int")}}
    results = os.path.join(folder, "results-" + scheduler)
    simulator = Simulator(trace, config, kind(FirstFit()), statistics_output=False, show_statistics=False,
                          SCHEDULE_OUTPUT=output, RESULTS_FOLDER_NAME=results, LOG_LEVEL="ERROR")
    simulator.start_simulation()
    with open(os.path.join(results, "sched-trace.swf")) as file:
        rows = [line.strip().split(",") for line in file if line.strip()]
    return {int(job): tuple(map(int, times)) for job, *times in rows}


def main(program, processors=128, jobs=3000, seed=1):
    program = os.path.abspath(program)
    processors, jobs, seed = int(processors), int(jobs), int(seed)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.swf")
        with open(trace, "w") as file:
            reference.write_trace(jobs, seed, file)
        for rule in "fcfs", "easy":
            result = os.path.join(folder, rule + ".csv")
            began = time.monotonic()
            subprocess.run([program, "run", "--trace", trace, "--processors", str(processors), "--queue", rule,
                            "--per-job", result], check=True, stdout=subprocess.DEVNULL)
            ours_took, began = time.monotonic() - began, time.monotonic()
            ours = reference.read_csv(result)
            theirs = run_accasim(rule, processors, trace, folder)
            theirs_took = time.monotonic() - began
            wrong = sorted(job for job in ours.keys() | theirs.keys() if ours.get(job) != theirs.get(job))
            print(f"{rule}: {len(ours)} jobs, {len(wrong)} differ; pinion-sim {ours_took:.2f} s, "
                  f"AccaSim {theirs_took:.2f} s")
            for job in wrong[:5]:
                print(f"  job {job}: pinion-sim {ours.get(job)}, AccaSim {theirs.get(job)}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
