"""The least overall response that experiment 2 of the fine-grained paper can have in the model.

Each job runs on 16 of the 128 CPUs, so there are eight places. All orders of the 20 jobs are looked at, by somebody who
knows what will come; jobs run as long as their program does where nothing disturbs it. Jobs of a program are alike, so
they begin in the order in which they come."""
import os
import re

SECOND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cluster/sim/mixes/fine-grained-2.yaml")
PLACES = 8


def read_model(path):
    with open(path) as file:
        text = file.read()
    number = {name: float(re.search(rf"^{name}: (\S+)$", text, re.M)[1]) for name in ("start", "release")}
    seconds = {kind: float(value) for kind, value in re.findall(r"^  (\w+): \{seconds: ([0-9.]+),", text, re.M)}
    return number["start"], number["release"], seconds


def read_jobs():
    jobs = {}
    with open(SECOND) as file:
        for submit, kind in re.findall(r"submit: (\d+), kind: (\w+)", file.read()):
            jobs.setdefault(kind, []).append(int(submit))
    return jobs


def undominated(states):
    """Those than which no other one has waited less and has each of its places earlier."""
    kept = []
    for places, waited in sorted(states, key=lambda state: (state[1], sum(state[0]))):
        if not any(all(a <= b for a, b in zip(other, places)) for other, _ in kept):
            kept.append((places, waited))
    return kept


def least_wait(start, release, seconds, jobs, enough):
    """The least sum of waits, start included; all that come to more than `enough` are left out."""
    kinds = sorted(jobs)
    count = sum(len(submits) for submits in jobs.values())
    by_begun = {(0,) * len(kinds): {((0.0,) * PLACES, 0.0)}}  # how many of each kind -> (when places are free, waited)
    for step in range(count):
        following = {}
        for begun, states in by_begun.items():
            # The last steps have few ways to go on, and many states.
            for places, waited in states if step > count - 4 else undominated(states):
                for which, kind in enumerate(kinds):
                    if begun[which] == len(jobs[kind]):
                        continue
                    now = begun[:which] + (begun[which] + 1,) + begun[which + 1:]
                    submit = jobs[kind][begun[which]]
                    at = max(submit, places[0])
                    total = waited + at - submit
                    others = sum(max(0, at - one) for i, other in enumerate(kinds) for one in jobs[other][now[i]:])
                    if total + others > enough:
                        continue
                    free = sorted(max(one, at) for one in places[1:] + (at + start + seconds[kind] + release,))
                    following.setdefault(now, set()).add((tuple(free), round(total, 3)))
        by_begun = following
    return min(waited for states in by_begun.values() for _, waited in states) + count * start


def last_to_end(path):
    """The job that ends last where each gets a place at once: its kind, when it comes, and how long it takes."""
    start, _, seconds = read_model(path)
    each = [(kind, submit, start + seconds[kind]) for kind, submits in read_jobs().items() for submit in submits]
    return max(each, key=lambda job: job[1] + job[2])


def least_response(path):
    """Sums of waits and of runs with the model in that file."""
    start, release, seconds = read_model(path)
    jobs = read_jobs()
    run = sum(seconds[kind] * len(submits) for kind, submits in jobs.items())
    return least_wait(start, release, seconds, jobs, 2600), run
