"""Who knows what of one node's containers: API server, kubelet, runtime, agent, cgroups and the extender's book; and what of it
cannot be true at once.

`look()` asks them all, `differences()` compares. The second knows no rule of Pinion's but these: a container of a Guaranteed pod
with whole CPUs has so many of its own, all others keep off them, and what is gone holds nothing."""
import collections
import dataclasses
import json
import os
import re

from lab import DIR, NAMESPACE, NODE, PINIONCTL, cluster, cpus_of, get, kubectl, run, tree_of

Difference = collections.namedtuple("Difference", "kind text")
KINDS = ("view", "overlap", "drift", "lost pin", "leak", "stuck")


@dataclasses.dataclass
class Container:
    pod: str              # NAMESPACE/NAME
    name: str
    whole_cpus: int = 0   # of its own; 0: it shares


@dataclasses.dataclass
class Pod:
    uid: str
    name: str
    node: str = NODE              # "": not bound
    cpus: float = 0               # requested, as kube-scheduler counts
    whole_cpus: int = 0           # of them, exclusive
    ended: bool = False           # Succeeded or Failed
    starting: bool = False        # bound, and not all of its containers have started once
    leaving: bool = False         # deleted, and not gone
    gang: str = ""                # NAMESPACE/JOB
    gang_size: int = 1
    running: dict = dataclasses.field(default_factory=dict)  # id -> Container


@dataclasses.dataclass
class Group:
    """A container's cgroup."""
    pod_uid: str
    cpus: frozenset                # of its cpuset file
    threads: dict                  # thread -> frozenset, what the kernel lets it use


@dataclasses.dataclass
class Views:
    pods: list                     # Pod: the API server's
    kubelet: list                  # Pod
    runtime: set                   # ids of containers whose program runs
    node: dict                     # the agent's NodeState
    containers: list               # and its Containers
    groups: dict                   # id -> Group, of every container in the node's tree
    group_pods: set                # uids of pods that have a group
    allocatable: float             # CPUs that kube-scheduler may give away
    fleet: dict                    # the extender's row of this node
    jobs: list                     # its rows of jobs
    book: dict                     # its series, NAME or NAME{LABELS} -> value


# ---- Asking

def number(quantity):
    return int(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)


def whole_cpus(pod, container):
    limit = number(container.get("resources", {}).get("limits", {}).get("cpu", "0"))
    return int(limit) if pod["status"].get("qosClass") == "Guaranteed" and limit == int(limit) else 0


def needed(spec, amount):
    """At once, of what `amount` says of each container: those that end before the main ones start need theirs first."""
    beside, most = 0, 0
    for container in spec.get("initContainers", []):
        most = max(most, beside + amount(container))
        if container.get("restartPolicy") == "Always":
            beside += amount(container)
    return max(most, beside + sum(map(amount, spec["containers"])))


def pod_of(pod):
    meta, spec, status = pod["metadata"], pod["spec"], pod["status"]
    name = f"{meta['namespace']}/{meta['name']}"
    found = Pod(uid=meta["uid"], name=name, node=spec.get("nodeName", ""), ended=status.get("phase") in ("Succeeded", "Failed"))
    found.starting = bool(found.node) and status.get("phase") == "Pending"
    found.leaving = "deletionTimestamp" in meta
    found.cpus = needed(spec, lambda container: number(container.get("resources", {}).get("requests", {}).get("cpu", "0")))
    found.whole_cpus = needed(spec, lambda container: whole_cpus(pod, container))
    by_name = {one["name"]: whole_cpus(pod, one) for one in spec["containers"] + spec.get("initContainers", [])}
    annotations = meta.get("annotations", {})
    if "pinion.dev/gang-size" in annotations:
        found.gang = f"{meta['namespace']}/{annotations.get('pinion.dev/job', '')}"
        found.gang_size = int(annotations["pinion.dev/gang-size"])
    for one in status.get("containerStatuses", []) + status.get("initContainerStatuses", []):
        if "running" in one.get("state", {}):
            found.running[one["containerID"].rpartition("/")[2]] = Container(name, one["name"], by_name.get(one["name"], 0))
    return found


def runtime_ids():
    """Of containers, not of sandboxes, whose task runs."""
    containers = set(cluster("ctr", "containers", "ls", "-q", 'labels."io.cri-containerd.kind"==container').split())
    tasks = [line.split() for line in cluster("ctr", "task", "ls").splitlines()[1:]]
    return {fields[0] for fields in tasks if fields[2] == "RUNNING"} & containers


def ask(what):
    """The agent, for JSON."""
    return run(PINIONCTL, what, "--json", "--agent", f"unix:{DIR}/pinion/agent.sock")


def cpuset_tree():
    """The folder of the node's pods, and the file that says which CPUs a group has."""
    tree, first = tree_of("cpuset")
    return f"{tree}/pinion-cluster/kubepods", "cpuset.cpus" if first else "cpuset.cpus.effective"


def threads_of(folder):
    """Those that are gone meanwhile are left out."""
    found = {}
    with open(f"{folder}/cgroup.procs") as procs:
        pids = procs.read().split()
    for pid in pids:
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/status") as status:
                    allowed = re.search(r"Cpus_allowed_list:\s*(\S+)", status.read()).group(1)
                found[int(thread)] = frozenset(cpus_of(allowed))
        except OSError:
            continue
    return found


def read_groups():
    """Groups of containers, by their names, and the uids of all pods that have a group."""
    tree, file = cpuset_tree()
    groups, uids = {}, set()
    for folder, below, _ in os.walk(tree):
        of_pod = re.fullmatch(r"pod([0-9a-f-]{36})", os.path.basename(folder))
        if not of_pod:
            continue
        uids.add(of_pod.group(1))
        for name in below:
            try:
                with open(f"{folder}/{name}/{file}") as cpus:
                    groups[name] = Group(of_pod.group(1), frozenset(cpus_of(cpus.read())), threads_of(f"{folder}/{name}"))
            except OSError:
                continue  # it has just ended
    return groups, uids


def ask_extender(address, path):
    """As kube-scheduler's certificate may."""
    host, keys = "pinion-extender.pinion-system.svc", f"{DIR}/conf/pinion"
    return run("curl", "-sSf", "--max-time", "10", "--cacert", f"{keys}/ca.crt", "--cert", f"{keys}/tls.crt",
               "--key", f"{keys}/tls.key", "--connect-to", f"{host}:10271:{address}:10271", f"https://{host}:10271{path}")


def look():
    """Raises AssertionError where somebody does not answer, as who was just killed."""
    leader = get("pods", "-n", NAMESPACE, "-l", "pinion.dev/leader=true")["items"]
    if len(leader) != 1 or "podIP" not in leader[0]["status"]:
        raise AssertionError(f"{len(leader)} extenders have the label of the leader")
    address = leader[0]["status"]["podIP"]
    # What tells of the others last.
    pods = [pod_of(one) for one in get("pods", "-A")["items"]]
    allocatable = number(get(f"node/{NODE}")["status"]["allocatable"]["cpu"])
    groups, group_pods = read_groups()
    fleet = {row["name"]: row for row in json.loads(ask_extender(address, "/v1/fleet"))["nodes"]}
    series = re.findall(r"(?m)^([a-z_]+(?:\{[^}]*\})?) (\S+)$", ask_extender(address, "/metrics"))
    return Views(
        pods=pods,
        kubelet=[pod_of(one) for one in json.loads(kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/pods"))["items"] or []],
        runtime=runtime_ids(), node=json.loads(ask("node")), containers=json.loads(ask("ps"))["containers"], groups=groups,
        group_pods=group_pods, allocatable=allocatable, fleet=fleet.get(NODE, {}),
        jobs=json.loads(ask_extender(address, "/v1/jobs"))["jobs"], book={name: float(value) for name, value in series})


# ---- Comparing

def text_of(cpus):
    return ",".join(map(str, sorted(cpus))) or "none"


def live(containers):
    """The agent's, but for what a pod keeps of those that have ended or are to come."""
    return {one["id"]: one for one in containers if not one["finished"] and "/" not in one["id"]}


def of_existence(views):
    api = {id: container for pod in views.pods for id, container in pod.running.items()}
    known = {"API server": set(api), "kubelet": {id for pod in views.kubelet for id in pod.running}, "runtime": views.runtime,
             "agent": {id for id, one in live(views.containers).items() if one["started"]},
             "cgroups": {id for id, group in views.groups.items() if group.threads and id in views.runtime}}
    for id in sorted(set.union(*known.values())):
        without = [who for who, ids in known.items() if id not in ids]
        if without:
            who = f"{api[id].pod}/{api[id].name}" if id in api else id[:12]
            yield Difference("view", f"{who} runs, and not so say: {', '.join(without)}")


def of_cores(views):
    """Each container's file, the agent's word for it, and what its threads may use."""
    agents = live(views.containers)
    own = {}
    for pod in views.pods:
        for id, container in pod.running.items():
            who, group, said = f"{container.pod}/{container.name}", views.groups.get(id), agents.get(id)
            if group is None or said is None:
                continue  # of_existence tells
            if container.whole_cpus:
                own[id] = who, group.cpus
                if not said["exclusive"] or len(group.cpus) != container.whole_cpus:
                    has = f"{container.whole_cpus} CPUs alone and has {text_of(group.cpus)}"
                    yield Difference("lost pin", f"{who} is to have {has}")
            elif said["exclusive"]:
                yield Difference("leak", f"{who} has {said['claim']} alone and is not entitled")
            if group.cpus != frozenset(cpus_of(said["cpus"])):
                yield Difference("drift", f"{who} is on {text_of(group.cpus)}, the agent wants {said['cpus']}")
            if said["trouble"]:
                yield Difference("drift", f"{who}: {said['trouble']}")
            for thread, cpus in group.threads.items():
                if not cpus <= group.cpus:
                    yield Difference("drift", f"thread {thread} of {who} may use {text_of(cpus)}, its group {text_of(group.cpus)}")
    for id, (who, cpus) in own.items():
        for other, group in views.groups.items():
            shared = cpus & group.cpus
            if other != id and other in agents and shared:
                said = agents[other]
                yield Difference("overlap", f"{said['namespace']}/{said['pod']}/{said['name']} may use {text_of(shared)} of {who}")


def of_claims(views):
    """What is held, by the agent and in the extender's book."""
    holders = [one for one in views.containers if one["exclusive"] and not one["finished"]]
    uids = {pod.uid for pod in views.pods if not pod.ended}
    taken = {}
    for one in holders:
        who = f"{one['namespace']}/{one['pod']}/{one['name']}"
        if one["pod_uid"] not in uids:
            yield Difference("leak", f"the agent keeps {one['claim']} for {who}, which is gone")
        for cpu in cpus_of(one["claim"]):
            if cpu in taken:
                yield Difference("overlap", f"CPU {cpu} is {taken[cpu]}'s and {who}'s")
            taken[cpu] = who
    exclusive = cpus_of(views.node["sets"]["exclusive"])
    if set(taken) != exclusive:
        yield Difference("leak", f"the agent's containers hold {text_of(taken)}, its set is {text_of(exclusive)}")
    for uid in sorted(views.group_pods - {pod.uid for pod in views.pods}):
        yield Difference("leak", f"the group of pod {uid}, which is gone, is there")
    yield from of_book(views, len(holders))


def of_book(views, holders):
    if not views.fleet or views.fleet["stale"]:
        yield Difference("view", "the extender does not hear the agent")
        return
    sets = {name: cpus_of(cpus) for name, cpus in views.node["sets"].items()}
    agent = holders, len(sets["online"] - sets["reserved"] - sets["exclusive"])
    extender = views.fleet["containers"], sum(row["freeCpus"] for row in views.fleet["numa"])
    if extender != agent:
        yield Difference("leak", f"containers with cores and free CPUs: {extender} in the extender's book, {agent} by the agent")
    if views.book["pinion_extender_promises"]:
        yield Difference("leak", f"{views.book['pinion_extender_promises']:.0f} promises that no agent reports")
    for job in views.jobs:
        if job["kept"] or job["held"]:
            yield Difference("leak", f"{job['kept']} places are kept and {job['held']} bindings held for {job['name']}")
    bound = sum(1 for pod in views.pods if pod.node and pod.whole_cpus and not pod.ended)
    placed = views.book['pinion_extender_pods{state="placed"}']
    if placed != bound:
        yield Difference("leak", f"the extender has {placed:.0f} placed pods, the API server {bound}")
    gangs = len({pod.gang for pod in views.pods if pod.gang and not pod.ended})
    known = views.book["pinion_extender_gangs"]
    if known != gangs:
        yield Difference("leak", f"the extender has {known:.0f} gangs, living pods are of {gangs}")


def of_waiting(views):
    """What does not start or end; what waits although there is room, for the cores and for the requests."""
    if not views.fleet:
        return
    for pod in views.pods:
        if pod.starting or pod.leaving:
            yield Difference("stuck", f"{pod.name} " + ("does not go" if pod.leaving else "is bound and does not start"))
    largest = views.node["largest"].get("numa", 0)
    room = views.allocatable - sum(pod.cpus for pod in views.pods if pod.node and not pod.ended)
    waiting = collections.defaultdict(list)
    for pod in views.pods:
        if not pod.node and pod.whole_cpus:
            waiting[pod.gang or pod.name].append(pod)
    for name, members in sorted(waiting.items()):
        whole = len(members) == members[0].gang_size
        if whole and sum(pod.whole_cpus for pod in members) <= largest and sum(pod.cpus for pod in members) <= room:
            yield Difference("stuck", f"{name} waits, and {largest} CPUs are free in one NUMA node")


def differences(views):
    return [*of_existence(views), *of_cores(views), *of_claims(views), *of_waiting(views)]
