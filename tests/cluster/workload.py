"""What a round of a soak does: drawn from the seed and the round's number alone."""
import collections
import os
import random

from lab import IMAGE, pod

CPUS = len(os.sched_getaffinity(0))
RANKS = CPUS - 1  # at once: one CPU stays for all others


def also(made, name, cpu, place="containers", command="sleep 3600", **more):
    """With another container."""
    made["spec"].setdefault(place, []).append(
        {"name": name, "image": IMAGE, "command": ["sh", "-c", command], "resources": {"limits": {"cpu": str(cpu), "memory": "16Mi"}},
         **more})
    return made


def best_effort(name, draw):
    return [pod(name, command=draw.choice(["sleep 3600", "true", "sleep 1", "false"]))]


def burstable(name, draw):
    return [pod(name, requests={"cpu": "10m"}, command=draw.choice(["sleep 3600", "sleep 1"]))]


def part_of_a_cpu(name, draw):
    return [pod(name, cpu="50m", command=draw.choice(["sleep 3600", "sleep 1"]))]


def rank(name, draw):
    return [pod(name, cpu=draw.randint(1, max(1, RANKS // 2)), command=draw.choice(["sleep 3600", "sleep 2", "true"]))]


def two_containers(name, draw):
    del draw
    return [also(pod(name, cpu=1), "beside", "50m")]


def after_another(name, draw):
    made = pod(name, cpu=1, command=draw.choice(["sleep 3600", "true"]))
    return [also(made, "before", draw.randint(1, RANKS), "initContainers", draw.choice(["true", "sleep 1"]))]


def shared_after_a_large_one(name, draw):
    made = pod(name, cpu="50m", command=draw.choice(["sleep 3600", "sleep 1"]))
    return [also(made, "before", RANKS, "initContainers", "true")]


def with_sidecar(name, draw):
    made = pod(name, cpu=1, command=draw.choice(["sleep 3600", "sleep 1"]))
    return [also(made, "sidecar", "50m", "initContainers", draw.choice(["sleep 3600", "sleep 1"]), restartPolicy="Always")]


def crashes(name, draw):
    return [pod(name, cpu=draw.choice([1, None]), command="sleep 0.2; exit 1", restartPolicy="Always")]


def too_large(name, draw):
    del draw
    return [pod(name, cpu=CPUS + 1)]


def members(name, size, there):
    return [pod(f"{name}-{i}", annotations={"pinion.dev/job": name, "pinion.dev/gang-size": str(size), "pinion.dev/tasks": "1",
                                            "pinion.dev/memory-per-task": "16Mi"}) for i in range(there)]


def gang(name, draw):
    size = draw.randint(1, max(1, RANKS))
    return members(name, size, size)


def gang_that_never_fits(name, draw):
    del draw
    return members(name, CPUS + 1, CPUS + 1)


def gang_that_misses_one(name, draw):
    del draw
    return members(name, 2, 1)


def job(name, draw):
    ranks = draw.randint(1, RANKS)
    return [{"apiVersion": "batch/v1", "kind": "Job",
             "metadata": {"name": name, "annotations": {"pinion.dev/tasks": str(ranks), "pinion.dev/memory-per-task": "16Mi"}},
             "spec": {"completionMode": "Indexed", "parallelism": ranks, "completions": ranks, "backoffLimit": 100,
                      "template": {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [
                          {"name": "rank", "image": IMAGE, "command": ["sh", "-c", draw.choice(["sleep 3600", "sleep 2"])]}]}}}}]


KINDS = {best_effort: 8, burstable: 7, part_of_a_cpu: 6, rank: 7, two_containers: 2, after_another: 2,
         shared_after_a_large_one: 1, with_sidecar: 2, crashes: 2, too_large: 1,
         gang: 1, gang_that_never_fits: 1, gang_that_misses_one: 1, job: 2}


OBJECTS = 20  # of a round: a gang and a job have several pods
PARTS = ("kubelet", "containerd", "scheduler", "apiserver", "etcd", "controller_manager", "proxy")
OURS = ("agent", "extender")

Make = collections.namedtuple("Make", "objects")
Delete = collections.namedtuple("Delete", "names options")
Kill = collections.namedtuple("Kill", "part how which")  # which: 0..1, of several pods


def draw_kill(draw, spare_ours):
    part = draw.choice(PARTS if spare_ours else PARTS + OURS)
    return Kill(part, draw.choice(["kill", "delete", "force"]), draw.random())


def steps(seed, number, spare_ours):
    """With `spare_ours` agent and extender live on, so that it shows how they grow."""
    draw = random.Random(f"{seed}/{number}")
    made = [draw.choices(list(KINDS), list(KINDS.values()))[0](f"r{number}-{i}", draw) for i in range(OBJECTS)]
    halves = [sum(made[:OBJECTS // 2], []), sum(made[OBJECTS // 2:], [])]
    early = [one["metadata"]["name"] for one in halves[0] if one["kind"] == "Pod"]
    # Some of them just start.
    deleted = Delete(draw.sample(early, min(2, len(early))), draw.choice([[], ["--grace-period=0", "--force"]]))
    plan = [Make(halves[0]), deleted, Make(halves[1])]
    for _ in range(draw.choice([1, 1, 2, 3])):
        plan.insert(draw.randint(1, len(plan)), draw_kill(draw, spare_ours))
    return plan


def standing():
    """Shared ones that stay all the while: every rank has to be kept from them."""
    return [pod("stands-best-effort"), pod("stands-burstable", requests={"cpu": "10m"}), pod("stands-part", cpu="50m")]
