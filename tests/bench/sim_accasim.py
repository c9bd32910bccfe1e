#!/usr/bin/env python3
"""AccaSim (on PyPI) and pinion-sim on the same SWF trace, job by job; each difference is explained.

  python3 tests/bench/sim_accasim.py PINION_SIM [PROCESSORS [JOBS [SEED]]]

Where Python has no AccaSim, it is installed into an environment in a folder that is removed, from the package index.
AccaSim gets as many nodes of one core, so that its allocator can put any job anywhere. Under FCFS both agree. AccaSim's
EASY is another rule, which is written here a second time: if a job starts at another time than that says, too, this
ends with 1. Prints the times that both took, how many jobs differ, and the first of them.
"""
import collections
import collections.abc
import importlib.util
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


def read_requests(path):
    """The requested time of each job, as the trace has it."""
    with open(path) as file:
        lines = [line.split() for line in file if not line.startswith(";")]
    return {int(fields[0]): int(fields[8]) for fields in lines}


def easy_of_accasim(processors, jobs, requests):
    """AccaSim 1.1.3's EASY. The first job that does not fit is tried again only at the time that was computed when it
    first did not, from requested times as the trace has them, also below run times. Others pass whenever they fit, as
    the list of reserved nodes that it gives its allocator is empty. Otherwise as reference.py."""
    queue, running, done = [], [], []  # running: (end, size, end by request)
    coming = list(reversed(jobs))
    blocked, again = None, None
    while coming or running or queue:
        # Where nothing happens any more, the first one starts at its time.
        now = min([end for end, *_ in running] + [job[0] for job in coming[-1:]] or [again])
        running = [entry for entry in running if entry[0] != now]
        while coming and coming[-1][0] == now:
            queue.append(coming.pop())

        def fits(job):
            return job[3] <= processors - sum(size for _, size, _ in running)

        def start(job):
            submit, number, run, size, _ = job
            running.append((now + run, size, now + requests[number]))
            done.append((number, submit, now, now + run))
            queue.remove(job)

        if blocked and again <= now and fits(blocked):
            start(blocked)
            blocked = None
        if not blocked:
            while queue and fits(queue[0]):
                start(queue[0])
            blocked = queue[0] if queue else None
            if blocked:
                there = processors - sum(size for _, size, _ in running)
                for again, size in sorted((asked, size) for _, size, asked in running):
                    there += size
                    if there >= blocked[3]:
                        break
        for job in queue[:]:
            if job is not blocked and fits(job):
                start(job)
    return {number: (submit, begin, end) for number, submit, begin, end in done}


def different(ours, theirs):
    return sorted(job for job in ours.keys() | theirs.keys() if ours.get(job) != theirs.get(job))


def main(program, processors=128, jobs=3000, seed=1):
    program = os.path.abspath(program)
    processors, jobs, seed = int(processors), int(jobs), int(seed)
    unexplained = 0
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
            wrong = different(ours, theirs)
            print(f"{rule}: {len(ours)} jobs, {len(wrong)} differ; pinion-sim {ours_took:.2f} s, "
                  f"AccaSim {theirs_took:.2f} s")
            for job in wrong[:5]:
                print(f"  job {job}: pinion-sim {ours.get(job)}, AccaSim {theirs.get(job)}")
            if rule == "easy":
                jobs_there = [job for job in reference.read_trace(trace) if job[3] <= processors]
                wrong = different(easy_of_accasim(processors, jobs_there, read_requests(trace)), theirs)
                print(f"  AccaSim's own rule, written anew, differs from AccaSim for {len(wrong)} of them")
            unexplained += len(wrong)
    sys.exit(1 if unexplained else 0)


def main_with_accasim():
    """Where it is not installed, in an environment that has it."""
    if importlib.util.find_spec("accasim"):
        main(*sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = os.path.join(folder, "bin/python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "accasim==1.1.3"], check=True)
        sys.exit(subprocess.run([python, "-B", os.path.abspath(__file__)] + sys.argv[1:]).returncode)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main_with_accasim()
