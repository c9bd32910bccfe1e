#!/usr/bin/env python3
"""First come, first served and EASY backfilling, written without a look at pinion-sim: for comparison with it.

  reference.py trace JOBS SEED                 writes an SWF trace, jobs of several kinds at times that often coincide
  reference.py run RULE PROCESSORS TRACE       RULE: fcfs or easy; prints job,submit,start,end
  reference.py compare PINION_SIM PROCESSORS JOBS SEED
                                               both rules by both programs on such a trace; says where they differ

Every moment is looked at in turn: ends, then submissions, then one pass over the queue. Plain lists, no cleverness.
"""
import random
import subprocess
import sys
import tempfile


def write_trace(jobs, seed, file):
    draw = random.Random(seed)
    now = 0
    print("; Version: 2.2\n; made by reference.py", file=file)
    for number in range(1, jobs + 1):
        now += draw.choice([0, 0, 10, 10, 60, draw.randint(0, 300)])
        size = draw.choice([1, 1, 2, 4, 8, draw.randint(1, 64), draw.choice([16, 32, 64, 96])])
        run = draw.choice([10, 60, 600, draw.randint(1, 3000)])
        asked = draw.choice([run, run, run * 2, run + draw.randint(0, 5000), -1, max(1, run // 2)])
        print(number, now, -1, run, size, -1, -1, size, asked, -1, 1, draw.randint(1, 5), 1, 1, 1, 1, -1, -1, file=file)


def read_trace(path):
    """[(submit, number, run, size, asked)], asked never below run."""
    jobs = []
    with open(path) as file:
        for line in file:
            fields = [int(word) for word in line.split(";")[0].split()]
            if fields:
                jobs.append((fields[1], fields[0], fields[3], fields[7], max(fields[3], fields[8])))
    return sorted(jobs)


def run_trace(rule, processors, jobs):
    queue, running, done = [], [], []  # running: (end, number, size, end by request)
    coming = list(reversed(jobs))
    while coming or running:
        now = min([end for end, *_ in running] + [job[0] for job in coming[-1:]])
        running = [entry for entry in running if entry[0] != now]
        while coming and coming[-1][0] == now:
            queue.append(coming.pop())
        free = processors - sum(entry[2] for entry in running)

        def start(job):
            submit, number, run, size, asked = job
            running.append((now + run, number, size, now + asked))
            done.append((number, submit, now, now + run))
            queue.remove(job)

        while queue and queue[0][3] <= free:
            free -= queue[0][3]
            start(queue[0])
        if rule == "fcfs" or not queue:
            continue
        head = queue[0]
        for shadow in sorted(entry[3] for entry in running):
            there = processors - sum(entry[2] for entry in running if entry[3] > shadow)
            if there >= head[3]:
                break
        spare = there - head[3]
        for job in queue[1:]:
            if job[3] > free:
                continue
            if now + job[4] <= shadow:
                start(job)
            elif job[3] <= spare:
                spare -= job[3]
                start(job)
            else:
                continue
            free -= job[3]
    return {number: (submit, begin, end) for number, submit, begin, end in done}


def read_csv(path):
    with open(path) as file:
        lines = [line.split(",")[:4] for line in file]
    if lines[0] != ["job", "submit", "start", "end"]:
        sys.exit("columns of pinion-sim: " + ",".join(lines[0]))
    return {int(job): tuple(map(int, times)) for job, *times in lines[1:]}


def compare(program, processors, jobs, seed):
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        trace, result = folder + "/trace.swf", folder + "/jobs.csv"
        with open(trace, "w") as file:
            write_trace(jobs, seed, file)
        for rule in "fcfs", "easy":
            subprocess.run([program, "run", "--trace", trace, "--processors", str(processors), "--placement", "pool",
                            "--queue", rule, "--check", "--per-job", result], check=True, stdout=subprocess.DEVNULL)
            theirs, ours = read_csv(result), run_trace(rule, processors, read_trace(trace))
            wrong = sorted(number for number in ours.keys() | theirs.keys() if ours.get(number) != theirs.get(number))
            waited = sum(begin > submit for submit, begin, _ in ours.values())
            print(f"{rule}: {len(ours)} jobs, {waited} of them waited, {len(wrong)} differ")
            for number in wrong[:5]:
                print(f"  job {number}: reference {ours.get(number)}, pinion-sim {theirs.get(number)}")
            if waited < jobs // 10:
                sys.exit("too few jobs wait for this to say anything")
            differ += len(wrong)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    command, *words = sys.argv[1:] or [""]
    if command == "trace":
        write_trace(int(words[0]), int(words[1]), sys.stdout)
    elif command == "run":
        print("job,submit,start,end")
        for number, times in sorted(run_trace(words[0], int(words[1]), read_trace(words[2])).items()):
            print(number, *times, sep=",")
    elif command == "compare":
        compare(words[0], *map(int, words[1:]))
    else:
        sys.exit(__doc__)
