#!/usr/bin/env -S python3 -B
"""tests/soak.sh: rounds of pods and jobs that come and go while parts of the cluster are killed. After each the checker of
views.py compares who knows what. Ends with 1 at the first round in which something stays wrong, and says its seed."""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import growth
import views
import workload
from lab import (DIR, NAMESPACE, NODE, TOP, apply, cluster, eventually, get, group_of, kubectl, leaders, need_a_cluster, pid_in,
                 pid_of, pod, state, wait_ready)

SETTLES = 150       # s; the scheduler gives up its connection to an extender that is gone after 30 s, and the kubelet waits longer
                    # and longer for a container that fails
BACK = 180          # s until what was killed is there again
AGENT = "app.kubernetes.io/name=pinion-agent"
EXTENDER = "app.kubernetes.io/name=pinion-extender"


KEPT = f"{TOP}/build/soak"


def say(text):
    print(f"soak: {text}", flush=True)


class Pin(threading.Thread):
    """Reads the cpuset file of a standing rank again and again: nothing may change it, whoever is killed."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.pod, self.pid, self.lost = name, pid_in(name), []
        group, first = group_of(self.pid, "cpuset")
        self.path = f"{group}/cpuset.cpus" + ("" if first else ".effective")
        self.cpus = self.read()
        self.looks = 0
        self.done = threading.Event()
        self.start()

    def read(self):
        with open(self.path) as file:
            return file.read().strip()

    def run(self):
        while not self.done.wait(0.02):  # between looks
            try:
                now = self.read()
            except OSError as error:
                self.lost.append(f"{self.pod}: {error}")
                return
            self.looks += 1
            if now != self.cpus and (not self.lost or not self.lost[-1].endswith(f" {now}")):
                self.lost.append(f"{self.pod} had {self.cpus}, and then {now}")

    def end(self):
        """What it has seen."""
        self.done.set()
        self.join()
        if not self.lost and not os.path.exists(f"/proc/{self.pid}"):
            self.lost.append(f"process {self.pid} of {self.pod} has ended")
        return self.lost


def pods_of(label):
    return [one for one in get("pods", "-n", NAMESPACE, "-l", label)["items"] if "deletionTimestamp" not in one["metadata"]]


def is_ready(one):
    return any(each["type"] == "Ready" and each["status"] == "True" for each in one["status"].get("conditions", []))


def all_are_back():
    agents, two = pods_of(AGENT), pods_of(EXTENDER)
    return (len(agents) == 1 and len(two) == 2 and len(leaders()) == 1 and all(map(is_ready, [*agents, *two])) and
            is_ready(get(f"node/{NODE}")))


class Wrong(Exception):
    """Texts of differences that stay."""


class Soak:
    def __init__(self, seed):
        self.seed = seed
        self.pins = {}                              # pod -> Pin
        self.counts = collections.Counter()         # pods, containers, jobs
        self.kills = collections.Counter()
        self.wrong = collections.Counter()          # by kind of difference
        self.taken = collections.defaultdict(list)  # (program, pid, standing ranks) -> Taken, when the round's pods are gone
        self.said = {}                              # by the agent's instance: its counters

    # ---- What a round does

    def make(self, objects):
        """The API server refuses jobs with our annotations while no extender answers."""
        everything = {"apiVersion": "v1", "kind": "List", "items": objects}

        def is_taken():
            try:
                apply(everything)
                return True
            except AssertionError as error:
                if "failed calling webhook" not in str(error):
                    raise
                self.counts["refusals for want of a webhook"] += 1
                return False
        eventually(60, "the API server takes the round's objects", is_taken)
        self.counts["jobs"] += sum(one["kind"] == "Job" for one in objects)

    def delete(self, chosen, options=(), before=()):
        """Of the pods those whose names are `chosen`; `before`: another deletion, once they are counted."""
        pods = [one for one in get("pods")["items"] if chosen(one["metadata"]["name"])]
        for one in pods:
            self.count(one)
        if before:
            kubectl("delete", *before)
        if pods:
            kubectl("delete", "pod", *(one["metadata"]["name"] for one in pods), "--ignore-not-found", "--wait=false", *options)

    def count(self, one):
        self.counts["pods"] += 1
        for each in one["status"].get("containerStatuses", []) + one["status"].get("initContainerStatuses", []):
            self.counts["containers"] += each["restartCount"] + ("containerID" in each)

    def kill(self, part, how, which):
        self.kills[part] += 1
        if part in workload.PARTS:
            said = cluster("restart", part, "KILL").strip()
            self.counts["faults of containerd's own"] += bool(said)
            return f"{part} killed" + (f" ({said})" if said else "")
        found = sorted(pods_of(AGENT if part == "agent" else EXTENDER), key=lambda one: one["metadata"]["name"])
        if not found:
            return f"no {part} is there to kill"
        one = found[int(which * len(found))]
        name = one["metadata"]["name"]
        pid = pid_of(one["metadata"]["uid"])
        # The kubelet waits longer and longer for a container that ends again and again.
        if how == "kill" and pid and one["status"]["containerStatuses"][0]["restartCount"] == 0:
            os.kill(pid, signal.SIGKILL)
            return f"{name} killed"
        at_once = ["--grace-period=0", "--force"] if how == "force" else []
        kubectl("-n", NAMESPACE, "delete", "pod", name, "--wait=false", *at_once)
        return f"{name} deleted"

    def stand(self, number):
        """A rank that stays for two rounds of three; in the third all cores are for others."""
        if number % 3 == 1:
            name = f"stands-{number}"
            apply(pod(name, cpu=1))
            wait_ready(name, 120)
            self.pins[name] = Pin(name)
        elif number % 3 == 0:
            self.unpin()

    def unpin(self):
        lost = []
        for name, pin in self.pins.items():
            lost += pin.end()
            self.delete(name.__eq__)
        self.pins.clear()
        self.judge(views.Difference("lost pin", text) for text in lost)

    def round(self, number, spare_ours):
        """What was killed, as text."""
        self.stand(number)
        killed = []
        for step in workload.steps(self.seed, number, spare_ours):
            if isinstance(step, workload.Make):
                self.make(step.objects)
            elif isinstance(step, workload.Delete):
                self.delete(set(step.names).__contains__, step.options)
            else:
                killed.append(self.kill(*step))
        eventually(BACK, "what was killed is back", all_are_back)
        self.settle()
        self.judge(views.Difference("lost pin", text) for pin in self.pins.values() for text in pin.lost)
        # The jobs first: they make no pod anew.
        self.delete(lambda name: name.startswith(f"r{number}-"), before=("job", "--all", "--wait=false"))
        self.settle()
        self.look_at_programs()
        return ", ".join(killed)

    # ---- What is looked at

    def settle(self):
        """Until all say the same. What then still differs is wrong."""
        end = time.monotonic() + SETTLES
        while True:
            try:
                seen = views.look()
                found = views.differences(seen)
                self.said[seen.node["instance"]] = seen.node["counters"]
            except (AssertionError, json.JSONDecodeError) as error:  # somebody does not answer
                found = [views.Difference("view", str(error))]
            if not found or time.monotonic() > end:
                return self.judge(found)
            time.sleep(0.5)  # between looks, not instead of one

    def judge(self, found):
        found = list(found)
        self.wrong.update(one.kind for one in found)
        if found:
            raise Wrong("\n".join(f"  {one.kind}: {one.text}" for one in found))

    def look_at_programs(self):
        for program, label in (("agent", AGENT), ("extender", EXTENDER)):
            for one in pods_of(label):
                pid = pid_in(one["metadata"]["name"], NAMESPACE)
                # An agent counts each container that is there, which takes descriptors.
                self.taken[program, pid, len(self.pins)].append(growth.taken(pid))

    def empty(self):
        """At the end nothing of it is left."""
        self.unpin()
        self.delete(lambda name: True)
        eventually(SETTLES, "all pods are gone", lambda: not get("pods")["items"])
        self.settle()
        # What containerd has made, and not started when it was killed, it keeps until the kubelet clears up, each minute.
        end = time.monotonic() + SETTLES
        while (left := self.left()) and time.monotonic() < end:
            time.sleep(0.5)  # between looks, not instead of one
        self.judge(views.Difference("leak", f"the agent still has {one}") for one in left)

    def left(self):
        """What the agent has of others than Pinion."""
        return [f"{one['namespace']}/{one['pod']}/{one['name']}" for one in views.look().containers
                if not one["finished"] and one["namespace"] != NAMESPACE]

    # ---- What is told

    def keep(self):
        """What is needed to find out why, as the cluster is taken down."""
        shutil.rmtree(KEPT, ignore_errors=True)
        shutil.copytree(f"{DIR}/logs", f"{KEPT}/logs")
        for name, ask in (("state", state), ("pods.json", lambda: kubectl("get", "pods", "-A", "-o", "json")),
                          ("containers.json", lambda: views.ask("ps")), ("node.json", lambda: views.ask("node"))):
            with open(f"{KEPT}/{name}", "w") as file:
                try:
                    file.write(ask())
                except (AssertionError, subprocess.TimeoutExpired) as error:  # who does not answer is what is looked for
                    file.write(str(error))
        say(f"pods, events, the agent's view and the logs are in {KEPT}")

    def grown(self):
        """For each program the largest of its instances that were looked at often enough."""
        lines, wrong = [], []
        for (program, pid, _), looks in sorted(self.taken.items()):
            by = growth.grown(looks)
            if by is None:
                continue
            last = looks[-1]
            lines.append(f"{program} {pid}, {len(looks)} looks: {last.rss_kib / 1024:.1f} MiB ({by.rss_kib:+} KiB), "
                         f"{last.threads} threads ({by.threads:+}), {last.descriptors} descriptors ({by.descriptors:+})")
            wrong += [f"{program} {pid}: {text}" for text in growth.too_much(program, by)]
        return lines, wrong

    def report(self, rounds, seconds):
        say(f"seed {self.seed}: {rounds} rounds in {seconds / 60:.1f} minutes")
        say(", ".join(f"{self.counts[what]} {what}" for what in ("pods", "containers", "jobs", "refusals for want of a webhook",
                                                             "faults of containerd's own")))
        say("killed: " + ", ".join(f"{part} {count}" for part, count in sorted(self.kills.items())))
        say("wrong: " + ", ".join(f"{kind} {self.wrong[kind]}" for kind in views.KINDS))
        own = collections.Counter()
        for counters in self.said.values():
            own.update({name: int(value) for name, value in counters.items()})
        say("the agents' own counters: " + ", ".join(f"{name} {own[name]}" for name in (
            "kept", "moved", "unplaced", "late", "drift", "repairs", "write_failures", "lost_stops", "sessions_failed")))
        for line in self.grown()[0]:
            say(line)
        os.makedirs(KEPT, exist_ok=True)
        with open(f"{KEPT}/taken.json", "w") as file:
            json.dump({f"{program} {pid}, {ranks} ranks": looks for (program, pid, ranks), looks in self.taken.items()}, file, indent=1)


def soak(minutes, seed):
    """Whether all was well."""
    self, begin, number, doing = Soak(seed), time.monotonic(), 0, "start"
    say(f"seed {seed}")
    well = False
    try:
        apply(*workload.standing())
        while time.monotonic() < begin + 60 * minutes:
            number, doing = number + 1, f"round {number + 1}"
            # At last agent and extender are left alone, so that it shows how they grow.
            killed = self.round(number, spare_ours=time.monotonic() > begin + 60 * minutes * 0.6)
            say(f"round {number}, {time.monotonic() - begin:.0f} s: {killed}")
        doing = "the end"
        self.empty()
        doing = "growth"
        self.judge(views.Difference("leak", text) for text in self.grown()[1])
        well = True
    except (Wrong, AssertionError, subprocess.TimeoutExpired) as error:
        say(f"seed {seed}, {doing}:\n{error}")
        self.keep()
    self.report(number, time.monotonic() - begin)
    return well


def main():
    need_a_cluster()
    minutes = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 31)
    try:
        cluster("up", limit=300)
        well = soak(minutes, seed)
    finally:
        cluster("down")
    if not well:
        say(f"failed. For the same pods and kills: tests/soak.sh {minutes} {seed}")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
