#!/usr/bin/env -S python3 -B
"""The chart's agent and a real kubelet on two NUMA nodes with cgroup v2: the node of scripts/cluster.sh add-guest.

Needs what cluster_test.py needs, and scripts/guest.sh --fetch. Control plane and extenders are this machine's own. What pods
have on the emulated node, a pod there reads."""
import json
import os
import re
import sys
import unittest

from lab import (IMAGE, KUBECTL, NAMESPACE, TOP, apply, cluster, cpus_of, eventually, get, kubectl, need_a_cluster, planned, pod,
                 run, wait_ready)

os.environ["PINION_PACKAGED"] = "yes"  # scripts/test.sh has built the images
NODE = "pinion-guest"
THERE = {"nodeSelector": {"kubernetes.io/hostname": NODE}, "tolerations": [{"key": "emulated", "operator": "Exists"}]}
SLOW = 300  # seconds for what takes ten elsewhere
PARTS = [f"{os.path.dirname(KUBECTL[0])}/../../guest/{part}/recipe" for part in ("qemu", "root", "kernel-6.12")]
AGENT = f"{TOP}/build/package/out/pinion-agent.tar"
LOOK = """cd /groups/kubepods
grep -sH . pod*/cpu.max pod*/*/cpu.max pod*/*/cpuset.* b*/pod*/*/cpuset.* /sys/devices/system/node/node*/cpulist
grep -sHE '^0::|_allowed_list' /proc/[0-9]*/cgroup /proc/[0-9]*/status
"""


def onlooker():
    """A BestEffort pod that sees all groups and processes of the node."""
    made = pod("onlooker", hostPID=True, **THERE, volumes=[{"name": "groups", "hostPath": {"path": "/sys/fs/cgroup"}}])
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": "groups", "mountPath": "/groups", "readOnly": True}]
    return made


class View:
    """Of the node, at one time: what the files of pods' groups say, and where their processes may run."""

    def __init__(self):
        said = kubectl("exec", "onlooker", "--", "sh", "-c", LOOK, check=False, limit=SLOW)  # of a process that has just ended
        self.files, processes, self.allowed = {}, {}, {}
        for path, line in re.findall(r"(?m)^([^:\n]+):(.*)$", said):
            if path.startswith("/proc/"):
                processes.setdefault(path.split("/")[2], []).append(line)
            else:
                self.files[path] = line
        for lines in processes.values():
            text = "\n".join(lines)
            container = re.search(r"(?m)^0::.*/([0-9a-f]{64})$", text)
            if container:
                where = [re.search(rf"{what}_allowed_list:\s*(\S+)", text) for what in ("Cpus", "Mems")]
                if all(where):
                    self.allowed.setdefault(container.group(1), []).append([cpus_of(one.group(1)) for one in where])
        self.nodes = [cpus_of(text) for path, text in sorted(self.files.items()) if path.startswith("/sys/")]

    def file(self, group, name):
        """Of a group of which only the last folder's name is given."""
        found = [text for path, text in self.files.items() if path.endswith(f"{group}/{name}")]
        assert len(found) == 1, (group, name, sorted(self.files))
        return found[0]


def container_of(one):
    return one["status"]["containerStatuses"][0]["containerID"].partition("://")[2]


def pods_there():
    return [one for one in get("pods", "-A", "--field-selector", f"spec.nodeName={NODE}")["items"]
            if "running" in one["status"].get("containerStatuses", [{"state": {}}])[0]["state"]]


def agent():
    one, = (one for one in get("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=pinion-agent")["items"]
            if one["spec"]["nodeName"] == NODE and "deletionTimestamp" not in one["metadata"])
    return one


def free_cpus():
    """Of each NUMA node, as the agent counts them."""
    metrics = run("curl", "-sf", f"http://{agent()['status']['podIP']}:9464/metrics")
    return [int(count) for count in re.findall(r"(?m)^pinion_numa_free_cpus\{.*\} (\d+)$", metrics)]


def fence():
    lines = map(json.loads, kubectl("-n", NAMESPACE, "logs", agent()["metadata"]["name"]).splitlines())
    return next(one["fence"] for one in lines if one["msg"] == "started")


def job(name, ranks, cpus):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "annotations": {"pinion.dev/tasks": str(ranks), "pinion.dev/cpus-per-task": str(cpus),
                                                       "pinion.dev/memory-per-task": "32Mi"}},
            "spec": {"completionMode": "Indexed", "parallelism": ranks, "completions": ranks,
                     "template": {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, **THERE, "containers": [
                         {"name": "rank", "image": IMAGE, "command": ["sh", "-c", "sleep 3600"]}]}}}}


class TwoNumaNodes(unittest.TestCase):
    """In the order of their names."""

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cluster, "down")
        cluster("up", limit=300)
        cluster("add-guest", limit=1200)
        kubectl("-n", NAMESPACE, "rollout", "status", "daemonset/pinion-agent", f"--timeout={SLOW}s", limit=SLOW + 30)

    def tearDown(self):
        kubectl("delete", "job,pod", "--all", "--grace-period=0", "--force", "--wait=true", check=False)

    def assert_alone(self, ranks, others):
        """Each on cores of its own in one NUMA node, as planned, with its memory and without a quota; no other pod is there."""
        view, there = View(), pods_there()
        self.assertEqual([len(node) for node in view.nodes], [4, 4])
        mine = [one for one in there if one["metadata"]["name"] in ranks]
        self.assertEqual(len(mine), len(ranks))
        taken = set()
        for one in mine:
            name, uid, container = one["metadata"]["name"], one["metadata"]["uid"], container_of(one)
            with self.subTest(name):
                cpus = cpus_of(view.file(container, "cpuset.cpus"))
                home = [number for number, node in enumerate(view.nodes) if cpus & node]
                self.assertEqual(len(cpus), int(one["spec"]["containers"][0]["resources"]["limits"]["cpu"]))
                self.assertEqual(len(home), 1, cpus)
                self.assertEqual(cpus, planned(name), "not where the extender has planned it")
                self.assertEqual(cpus_of(view.file(container, "cpuset.cpus.effective")), cpus)
                self.assertEqual(cpus_of(view.file(container, "cpuset.mems")), set(home))
                self.assertEqual(view.allowed[container], [[cpus, set(home)]], "of its only process")
                for group in (f"pod{uid}", container):
                    self.assertEqual(view.file(group, "cpu.max"), "max 100000")
                self.assertEqual(cpus & taken, set(), "two ranks share a core")
                taken |= cpus
        rest = {one["metadata"]["name"]: container_of(one) for one in there if one not in mine}
        self.assertLessEqual({"onlooker", *others}, set(rest))
        for name, container in rest.items():
            with self.subTest(name):
                self.assertEqual(cpus_of(view.file(container, "cpuset.cpus.effective")), set.union(*view.nodes) - taken)
        for name in others:
            self.assertTrue(view.allowed[rest[name]])
            for cpus, _ in view.allowed[rest[name]]:
                self.assertEqual(cpus & taken, set(), name)

    def start(self, *others):
        apply(onlooker(), *others)
        for one in ("onlooker", *(other["metadata"]["name"] for other in others)):
            wait_ready(one, SLOW)

    def ranks_of(self, name):
        """As soon as they are ready."""
        kubectl("wait", "--for=condition=Ready", "pod", "-l", f"job-name={name}", f"--timeout={SLOW}s", limit=SLOW + 30)
        return [one["metadata"]["name"] for one in get("pods", "-l", f"job-name={name}")["items"]]

    def test_1_each_rank_of_a_job_has_cores_and_memory_of_one_numa_node_until_the_job_is_deleted(self):
        others = {"noise": "BestEffort", "burst": "Burstable", "part": "Guaranteed"}  # the last without whole CPUs
        self.start(pod("noise", **THERE), pod("burst", requests={"cpu": "50m"}, **THERE), pod("part", cpu="100m", **THERE))
        for name, qos in others.items():
            self.assertEqual(get(f"pod/{name}")["status"]["qosClass"], qos)
        apply(job("wind", ranks=2, cpus=3))
        ranks = self.ranks_of("wind")
        self.assertEqual(len(ranks), 2)
        self.assert_alone(ranks, others)
        self.assertEqual(View().file(f"pod{get('pod/part')['metadata']['uid']}", "cpu.max"), "10000 100000")
        self.assertEqual(free_cpus(), [1, 1])

        # What needs a whole node waits for the job's end.
        apply(job("next", ranks=1, cpus=4))
        kubectl("wait", "--for=condition=PodScheduled=False", "pod", "-l", "job-name=next", "--timeout=60s", limit=90)
        kubectl("delete", "job", "wind", "--cascade=foreground", limit=SLOW)
        self.assert_alone(self.ranks_of("next"), others)

        kubectl("delete", "job", "next", "--cascade=foreground", limit=SLOW)
        eventually(SLOW, "all cores are free", lambda: free_cpus() == [4, 4])
        view = View()
        for one in pods_there():
            self.assertEqual(cpus_of(view.file(container_of(one), "cpuset.cpus.effective")), set.union(*view.nodes))

    def test_2_an_agent_that_may_make_partitions_takes_over_a_running_job(self):
        self.start(pod("noise", **THERE), pod("burst", requests={"cpu": "50m"}, **THERE))
        apply(job("wave", ranks=2, cpus=3))
        ranks = self.ranks_of("wave")
        before = [planned(name) for name in ranks]
        self.assertEqual(fence(), "tree")
        cluster("install", "-f", "deploy/chart/pinion/presets/default-scheduler.yaml", "--set", "agent.partitions=true", limit=SLOW)
        self.assertEqual(fence(), "partition")
        view = View()
        for name in ranks:
            self.assertEqual(view.file(container_of(get(f"pod/{name}")), "cpuset.cpus.partition"), "root")
        self.assert_alone(ranks, ["noise", "burst"])
        self.assertEqual([planned(name) for name in ranks], before)


if __name__ == "__main__":
    need_a_cluster()
    for part in (*PARTS, AGENT):
        if not os.path.exists(part):
            print("not there: what scripts/guest.sh --fetch and scripts/package.sh --images make")
            sys.exit(77)
    unittest.main(verbosity=2)
