#!/usr/bin/env -S python3 -B
"""The chart as it stands, on a real cluster of one node (scripts/cluster.sh): real kubelet, containerd and control plane.

Needs root, what scripts/kube.sh --cluster, runtime.sh and package.sh --images make, and build/release has examples/elastic-wave.
Each case says in its name what an operator sees. The cluster is up for the cases of a class, and down after them. The
quickstart comes last, is executed line by line, and brings one up and down itself: unittest takes the classes by their names."""
import copy
import glob
import json
import os
import re
import subprocess
import time
import unittest

import elastic
import mpi
import mpi_operator
import service
import version
from lab import (DIR, IMAGE, KUBECTL, NAMESPACE, PINIONCTL, TOP, apply, cluster, cpus_of, cpus_of_pod, cpus_of_process, eventually,
                 extenders, get, kubectl, leaders, need_a_cluster, pid_in, planned, pod, prometheus, run, text_of, wait_ready)
from virtual_cluster import VirtualCluster

os.environ["PINION_PACKAGED"] = "yes"  # scripts/test.sh has built the images
# Programs here have other names, and files lie elsewhere.
OF_THE_NODE = ("--kubelet-config", f"{DIR}/conf/kubelet.yaml", "--containerd-config", f"{DIR}/c/config.toml")  # for doctor
NODES = ("pinion-node", "pinion-node-2")
EXTENDER = "10.96.0.77"  # the Service, of the leading one
OF_THE_CLUSTER = ("--kubectl", KUBECTL[0], "--kubeconfig", f"{DIR}/admin.kubeconfig")  # for pinionctl


def pinionctl(*arguments):
    return run(PINIONCTL, *arguments, *OF_THE_CLUSTER)


def give_scheduler_its_former_configuration():
    with open(f"{DIR}/conf/scheduler.yaml", "w") as file:
        json.dump({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                   "clientConnection": {"kubeconfig": f"{DIR}/scheduler.kubeconfig"}, "leaderElection": {"leaderElect": False}}, file)
    cluster("restart", "scheduler")


def marked_pod(name):
    """As the webhook makes it."""
    made = pod(name, cpu=1)
    made["spec"]["containers"][0]["resources"]["limits"]["pinion.dev/managed"] = "1"
    return made


def errors_of_doctor(*arguments):
    """And what it finds good. Exit code 1 is also for warnings, 2 for what cannot be known here."""
    said = json.loads(run(PINIONCTL, "doctor", *arguments, "--json", check=False))["findings"]
    return [one for one in said if one["severity"] == "error"], {one["id"] for one in said if one["severity"] == "good"}


def rank_job(name, ranks=1):
    """Of workers that each need all that a node can give; an evicted one is made again without counting as a failure."""
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "annotations": {"pinion.dev/tasks": str(ranks), "pinion.dev/cpus-per-task": str(elastic.CPUS),
                                                       "pinion.dev/memory-per-task": "32Mi"}},
            "spec": {"completionMode": "Indexed", "parallelism": ranks, "completions": ranks,
                     "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
                     "template": {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [
                         {"name": "rank", "image": IMAGE, "command": ["sleep", "3600"]}]}}}}


def documented(begin):
    """The example of docs/jobs.md that begins so, with an image that is there."""
    with open(f"{TOP}/docs/jobs.md") as file:
        example, = (block for block in re.findall(r"(?ms)^```yaml\n(.*?)^```$", file.read()) if block.startswith(begin))
    return json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-f", "-", stdin=example.replace("IMAGE", mpi.WAVE)))


def cores_taken():
    """By node, as its agent says."""
    sockets = dict(zip(NODES, (f"{DIR}/pinion/agent.sock", f"{DIR}/second/pinion/agent.sock")))
    return {node: cpus_of(json.loads(run(PINIONCTL, "node", "--json", "--agent", f"unix:{socket}"))["sets"]["exclusive"])
            for node, socket in sockets.items()}


class Quickstart(unittest.TestCase):
    def test_every_line_of_the_document_works(self):
        self.addCleanup(cluster, "down")  # of a line that fails
        with open(f"{TOP}/docs/quickstart.md") as file:
            blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.M | re.S)
        self.assertGreater(len(blocks), 5)
        said = run("bash", "-euo", "pipefail", "-c", "".join(blocks), limit=400)
        self.assertRegex(said, r"(?m)^Cpus_allowed_list:\s*\d+$")
        pinned, where = re.search(r"Cpus_allowed_list:\s*(\S+)\nrank=(\S+)", said).groups()
        self.assertEqual(pinned, where)
        self.assertRegex(said, r'(?m)^\{"status":"success".*"pod":"wind-.*"value":')
        self.assertRegex(said, r"(?m)^0/1 nodes are available: 1 .*CPU")
        self.assertFalse(os.path.exists(DIR))
        self.assertNotIn("pinion-cluster", run("ip", "netns"))
        with open("/proc/mounts") as mounts:
            left = [line for line in mounts if DIR in line]
        self.assertEqual(left, [])


class Cluster(unittest.TestCase):
    """In the order of their names."""

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cluster, "down")
        cluster("up", limit=300)

    def tearDown(self):
        kubectl("delete", "job,pod", "--all", "--grace-period=0", "--force", "--wait=true", check=False)

    def test_1_ranks_of_a_job_have_cores_of_their_own(self):
        # One CPU stays for all others.
        ranks = min(4, len(os.sched_getaffinity(0)) - 1)
        command = "sleep 3600"
        others = {"noise": "BestEffort", "burst": "Burstable", "part": "Guaranteed"}  # the last without whole CPUs
        apply(pod("noise"), pod("burst", command=command, requests={"cpu": "50m"}), pod("part", cpu="100m", command=command),
              {"apiVersion": "batch/v1", "kind": "Job",
               "metadata": {"name": "wind", "annotations": {"pinion.dev/tasks": str(ranks),
                                                            "pinion.dev/memory-per-task": "32Mi"}},
               "spec": {"completionMode": "Indexed", "parallelism": ranks, "completions": ranks,
                        "template": {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [
                            {"name": "rank", "image": IMAGE, "command": ["sh", "-c", command]}]}}}})
        kubectl("wait", "--for=condition=Ready", "pod", "-l", "job-name=wind", "--timeout=60s")
        for name, qos in others.items():
            wait_ready(name)
            self.assertEqual(get(f"pod/{name}")["status"]["qosClass"], qos)
        names = [one["metadata"]["name"] for one in get("pods", "-l", "job-name=wind")["items"]]
        self.assertEqual(len(names), ranks)
        cores = [cpus_of_pod(name) for name in names]
        self.assertEqual([len(one) for one in cores], [1] * ranks)
        self.assertEqual(len(set.union(*cores)), ranks, "two ranks share a core")
        for name in others:
            self.assertEqual(cpus_of_pod(name) & set.union(*cores), set(), f"{name} is on a rank's core")
        for name, has in zip(names, cores):
            self.assertEqual(planned(name), has, "not where the extender has planned it")
        switches = 'pinion_container_context_switches_total{namespace="default",pod=~"wind-.*"}'
        eventually(60, "Prometheus has what was counted", lambda: sorted(
            labels["pod"] for labels, _ in prometheus(switches)) == sorted(names))

    def test_2_an_agent_honours_what_was_planned(self):
        for cpu in sorted(os.sched_getaffinity(0))[:2]:
            name = f"planned-{cpu}"
            apply(pod(name, cpu=1, annotations={"pinion.dev/planned": f"rank={cpu}"}, nodeName="pinion-node"))
            wait_ready(name)
            self.assertEqual(cpus_of_pod(name), {cpu})
            kubectl("delete", "pod", name, "--grace-period=0", "--force")
            # Its core is free again when the sandbox is gone.
            uid = name
            eventually(30, f"{name} is gone", lambda: "NotFound" in subprocess.run(
                [*KUBECTL, "get", "pod", uid], capture_output=True, text=True).stderr)

    def test_3_each_capability_of_the_agent_is_needed_for_what_the_document_says(self):
        def agent_with(capabilities):
            kubectl("-n", NAMESPACE, "patch", "daemonset", "pinion-agent", "--type=json", "-p", json.dumps(
                [{"op": "replace", "path": "/spec/template/spec/containers/0/securityContext/capabilities/add",
                  "value": capabilities}]))
            kubectl("-n", NAMESPACE, "rollout", "status", "daemonset/pinion-agent", "--timeout=90s")
            lines = kubectl("-n", NAMESPACE, "logs", "daemonset/pinion-agent").splitlines()
            said = {one["msg"]: one for one in map(json.loads, lines)}
            return said["started"]["fence"], said.get("counting", {}).get("events", "")

        fence, events = agent_with(["PERFMON", "DAC_OVERRIDE"])
        self.assertIn(fence, ("leaf", "tree", "partition"))
        self.assertIn("context-switches", events)
        fence, events = agent_with(["PERFMON"])
        self.assertEqual(fence, "leaf")
        self.assertIn("context-switches", events)
        fence, events = agent_with(["DAC_OVERRIDE"])
        self.assertIn(fence, ("leaf", "tree", "partition"))
        self.assertNotIn("context-switches", events)
        agent_with(["PERFMON", "DAC_OVERRIDE"])

    def test_3b_each_path_of_the_agent_is_needed_for_what_the_document_says(self):
        whole = get("daemonset/pinion-agent", "-n", NAMESPACE)["spec"]["template"]
        of_agents = ("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=pinion-agent")

        def agent_of(template):
            """The name of the pod that is made of it."""
            before = {one["metadata"]["name"] for one in get(*of_agents)["items"]}
            kubectl("-n", NAMESPACE, "patch", "daemonset", "pinion-agent", "--type=json", "-p", json.dumps(
                [{"op": "replace", "path": "/spec/template", "value": template}]))
            return eventually(60, "another agent", lambda: {one["metadata"]["name"] for one in get(*of_agents)["items"]} - before).pop()

        def without(*volumes, change=lambda spec: None):
            template = copy.deepcopy(whole)
            spec = template["spec"]
            change(spec)
            for owner, key in ((spec, "volumes"), (spec["containers"][0], "volumeMounts")):
                owner[key] = [one for one in owner[key] if one["name"] not in volumes]
            return agent_of(template)

        def says(name, text):
            eventually(60, f"{name} says {text}", lambda: text in kubectl("-n", NAMESPACE, "logs", name, check=False))

        def devices_of(name):
            kubectl("-n", NAMESPACE, "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")
            node = json.loads(run(PINIONCTL, "node", "--json", "--agent", f"unix:{DIR}/pinion/agent.sock"))
            self.assertEqual(node["name"], name)
            return {one["name"] for one in node["machine"]["devices"] if one["kind"] == "network"}

        def as_another_user(spec):
            spec["containers"][0]["securityContext"]["runAsUser"] = 65532

        def waits_in_queues(name):
            kubectl("-n", NAMESPACE, "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")
            address = get(f"pod/{name}", "-n", NAMESPACE)["status"]["podIP"]
            metrics = eventually(30, "the rank is counted", lambda: [line for line in run(
                "curl", "-sf", f"http://{address}:9464/metrics", check=False).splitlines()
                if 'pod="counted"' in line and "page_faults_total" in line] and run("curl", "-sf", f"http://{address}:9464/metrics"))
            return 'pinion_container_run_queue_wait_seconds_total{namespace="default",pod="counted"' in metrics

        on_pci = {path.split("/")[4] for path in glob.glob("/sys/class/net/*/device") if "/pci" in os.path.realpath(path)}
        try:
            name = without("nri")
            says(name, "no connection to the runtime")
            self.assertFalse(get(f"pod/{name}", "-n", NAMESPACE)["status"]["containerStatuses"][0]["ready"])
            says(without("cgroup"), '"fence":"runtime"')
            says(without("state"), "pinion-agent: make state directory /run/pinion: Read-only file system")
            says(without(change=as_another_user), "Permission denied")
            apply(pod("counted", cpu=1))
            wait_ready("counted", 90)
            self.assertFalse(waits_in_queues(without(change=lambda spec: spec.pop("hostPID"))))
            self.assertEqual(devices_of(without("devices", "class")) & on_pci, set(), "they are their PCI addresses alone")
        finally:
            name = agent_of(whole)
        self.assertEqual(on_pci - devices_of(name), set())
        self.assertTrue(waits_in_queues(name))

    def test_4_a_rollout_of_the_extender_ends(self):
        before = set(extenders())
        kubectl("-n", NAMESPACE, "rollout", "restart", "deployment/pinion-extender")
        kubectl("-n", NAMESPACE, "rollout", "status", "deployment/pinion-extender", "--timeout=90s")
        eventually(30, "others, one of which leads", lambda: not before & set(extenders()) and len(leaders()) == 1)
        apply(pod("after-rollout", cpu=1))
        wait_ready("after-rollout")
        self.assertEqual(cpus_of_pod("after-rollout"), planned("after-rollout"))

    def test_5_with_all_extenders_lost_others_start_and_they_come_back(self):
        kubectl("-n", NAMESPACE, "scale", "deployment/pinion-extender", "--replicas=0")
        kubectl("-n", NAMESPACE, "delete", "pod", "-l", "app.kubernetes.io/name=pinion-extender", "--grace-period=0", "--force")
        self.assertEqual(extenders(), [])
        # Marked already, as the webhook is away as well.
        apply(marked_pod("needs-a-core"), pod("needs-none"))
        wait_ready("needs-none")
        # The scheduler gives up its connection to a pod that is gone after httpTimeout, 30 s.
        eventually(60, "the scheduler asked in vain", lambda: any(
            one.get("reason") == "SchedulerError" for one in get("pod/needs-a-core")["status"].get("conditions", [])))
        self.assertNotIn("nodeName", get("pod/needs-a-core")["spec"])
        kubectl("-n", NAMESPACE, "scale", "deployment/pinion-extender", "--replicas=2")
        kubectl("-n", NAMESPACE, "rollout", "status", "deployment/pinion-extender", "--timeout=90s")
        wait_ready("needs-a-core", 90)
        self.assertEqual(cpus_of_pod("needs-a-core"), planned("needs-a-core"))

    def test_6_a_rank_keeps_its_core_while_agent_kubelet_and_runtime_are_restarted(self):
        apply(pod("stays", cpu=1))
        wait_ready("stays")
        pid, has = pid_in("stays"), cpus_of_pod("stays")
        self.assertEqual(len(has), 1)

        kubectl("-n", NAMESPACE, "rollout", "restart", "daemonset/pinion-agent")
        kubectl("-n", NAMESPACE, "rollout", "status", "daemonset/pinion-agent", "--timeout=90s")
        self.assertEqual(cpus_of_process(pid), has)
        for part in ("kubelet", "containerd"):
            cluster("restart", part)
        apply(pod("comes-later"))
        wait_ready("comes-later", 120)
        self.assertEqual(cpus_of_process(pid), has)
        self.assertEqual(cpus_of_pod("comes-later") & has, set())

    def test_6b_a_rank_that_crashes_comes_back_to_its_core(self):
        apply(pod("beside"), pod("crashes", cpu=1, restartPolicy="Always",
                                 command="grep Cpus_allowed_list /proc/self/status; sleep 1; exit 1"))
        wait_ready("beside")
        seen = {}  # restart -> CPUs, as its own log says

        def has_come_back():
            status = get("pod/crashes")["status"].get("containerStatuses", [{}])[0]
            said = re.search(r"Cpus_allowed_list:\s*(\S+)", kubectl("logs", "crashes", check=False))
            if said:
                seen[status["restartCount"]] = said.group(1)
                core = cpus_of(said.group(1))
                # Also while the kubelet waits before it starts it again.
                self.assertEqual(cpus_of_pod("beside") & core, set(), status.get("state"))
            return status.get("restartCount", 0) >= 2 and len(seen) > 1
        eventually(90, "it was started two times more", has_come_back)
        self.assertEqual({frozenset(cpus_of(cpus)) for cpus in seen.values()}, {frozenset(planned("crashes"))}, seen)

    def test_6c_a_resize_in_place_gives_cores_back_and_takes_them(self):
        def resize(cpu):
            amount = {"cpu": cpu, "memory": "32Mi"}
            kubectl("patch", "pod", "grows", "--subresource=resize", "-p", json.dumps(
                {"spec": {"containers": [{"name": "rank", "resources": {"limits": amount, "requests": amount}}]}}))
        apply(pod("grows", cpu=1), pod("beside"))
        wait_ready("grows")
        wait_ready("beside")
        pid, core, everywhere = pid_in("grows"), cpus_of_pod("grows"), os.sched_getaffinity(0)
        self.assertEqual(core, planned("grows"))
        resize("500m")
        eventually(60, "half a CPU is of the shared ones", lambda: cpus_of_process(pid) == everywhere)
        eventually(30, "so is the core, for others", lambda: cpus_of_pod("beside") == everywhere)
        resize("1")
        eventually(60, "a whole one is a core", lambda: len(cpus_of_process(pid)) == 1)
        self.assertEqual(cpus_of_pod("beside") & cpus_of_process(pid), set())
        self.assertEqual(get("pod/grows")["status"]["containerStatuses"][0]["restartCount"], 0)

    def test_6g_containers_of_a_pod_that_states_its_cpus_as_a_whole_share_its_cores(self):
        whole = pod("whole", resources={"limits": {"cpu": "1", "memory": "64Mi"}})
        first, = whole["spec"]["containers"]
        whole["spec"]["containers"].append(dict(first, name="beside"))
        apply(whole, pod("other"))
        wait_ready("whole")
        wait_ready("other")
        self.assertEqual(get("pod/whole")["status"]["qosClass"], "Guaranteed")
        core = cpus_of_pod("whole")
        self.assertEqual(len(core), 1)
        one, = core
        told = get("pod/whole")["metadata"]["annotations"].get("pinion.dev/planned")
        self.assertEqual(told, f"rank={one} beside={one}", "not where the extender has planned it")
        seen = {name: cpus_of(kubectl("exec", "whole", "-c", name, "--", "sh", "-c",
                                      "grep Cpus_allowed_list /proc/self/status").partition(":")[2])
                for name in ("rank", "beside")}
        self.assertEqual(seen, {"rank": core, "beside": core})
        self.assertEqual(cpus_of_pod("other") & core, set())
        self.assertRegex(run(PINIONCTL, "ps", "--agent", f"unix:{DIR}/pinion/agent.sock"), r"whole.*beside .*\(with its pod\)")

    def test_6d_a_drained_node_gets_no_ranks_until_it_is_open_again(self):
        apply(pod("leaves", cpu=1))
        wait_ready("leaves")
        # Of one node both extenders cannot go: their budget keeps one, and it finds no other node.
        kubectl("drain", "pinion-node", "--ignore-daemonsets", "--force", "--timeout=90s",
                "--pod-selector", "app.kubernetes.io/name!=pinion-extender", limit=120)
        self.addCleanup(kubectl, "uncordon", "pinion-node")
        apply(pod("waits", cpu=1))
        kubectl("wait", "--for=condition=PodScheduled=False", "pod/waits", "--timeout=30s")
        kubectl("uncordon", "pinion-node")
        wait_ready("waits", 60)
        self.assertEqual(cpus_of_pod("waits"), planned("waits"))

    def test_6e_doctor_finds_nothing_wrong(self):
        apply(pod("asked-about", cpu=1))
        wait_ready("asked-about")  # so the scheduler has asked the leader
        for arguments, good in (
                (OF_THE_NODE, {"agent", "agent-ready", "fence", "agent-drift", "kubelet-cpu-manager", "kubelet-memory-manager", "nri",
                  "cgroup-cpuset", "certificates"}),
                (("cluster", *OF_THE_CLUSTER),
                 {"agents", "extender", "agents-silent", "scheduler", "webhook", "clocks"})):
            errors, found = errors_of_doctor(*arguments)
            self.assertEqual(errors, [])
            self.assertLessEqual(good, found)

    def test_0_kustomize_has_what_the_chart_has(self):
        run("scripts/manifests.sh", "--check")
        self.assertIn("kind: DaemonSet", kubectl("kustomize", "deploy/base"))

    def test_6f_a_service_gets_the_cpus_for_its_target_beside_a_rank(self):
        service.load_nginx()
        apply(pod("rank", cpu=1), service.service_pod(
            "web", {"metric": "sum(rate(requests_total[20s]))", "target": "1000000", "cpu": "50m..300m", "settle": "25s"}))
        wait_ready("rank")
        wait_ready("web")
        pid, core, quota = pid_in("web"), cpus_of_pod("rank"), service.Quota("web")
        self.assertAlmostEqual(quota.read(), 0.1)
        load = service.Load(service.address_of("web"))
        self.addCleanup(load.stop)
        eventually(120, "it has the most that it may have", lambda: abs(quota.read() - 0.3) < 0.001)
        # As much as it now has, and half of it, so that it needs half.
        served = eventually(60, "a rate", lambda: [rate for _, rate in prometheus("sum(rate(requests_total[20s]))") if rate])[0]
        kubectl("annotate", "pod", "web", "--overwrite", f"pinion.dev/service-target={served / 2:.2f}")
        eventually(150, "it has about half of it", lambda: 0.1 < quota.read() < 0.2)
        self.assertEqual(cpus_of_pod("rank"), core)
        self.assertEqual(cpus_of_process(pid) & core, set())
        self.assertEqual(get("pod/web")["status"]["containerStatuses"][0]["restartCount"], 0)
        self.assertEqual(load.failed, 0)
        self.assertIn("ServiceResized", kubectl("events", "--for", "pod/web"))

    def test_7_an_mpi_job_of_a_virtual_cluster_runs_on_lent_cores(self):
        ranks = min(4, len(os.sched_getaffinity(0)) - 1)
        wind = VirtualCluster("wind", "hpc", "10.96.0.88")
        self.addCleanup(wind.uninstall)
        wind.install()
        key = get("secret/wind-munge", "-n", "hpc")["data"]
        wind.install()
        self.assertEqual(get("secret/wind-munge", "-n", "hpc")["data"], key, "an upgrade makes another key")
        self.assertEqual(wind.borrowed_cpus(), 0)

        home = wind.give_hpcc(ranks=2 * ranks)
        with open(f"{home}/job.sh", "w") as file:
            file.write(f"""#!/bin/bash
#SBATCH --ntasks={ranks} --output=job.out
srun grep Cpus_allowed_list /proc/self/status
export LD_LIBRARY_PATH=$HOME
# More ranks than cores, so that several are there on a small machine, too.
mpirun.openmpi -n {2 * ranks} --oversubscribe --bind-to none sh -c 'grep Cpus_allowed_list /proc/self/status; exec ./hpcc'
until [ -e go-on ]; do sleep 0.1; done
(setsid sleep 4321 >/dev/null 2>&1 &)  # Slurm loses sight of it
""")
        job = wind.run("sbatch", "--parsable", "job.sh").strip()
        wind.eventually("the MPI program has ended", lambda: "End of HPC Challenge" in text_of(f"{home}/hpccoutf.txt"))
        self.assertIn("Success=1", text_of(f"{home}/hpccoutf.txt"))
        pods = get("pods", "-n", "hpc", "-l", "app.kubernetes.io/name=pinion-placeholder")["items"]
        self.assertEqual(len(pods), 1)
        lent = cpus_of(pods[0]["metadata"]["annotations"]["pinion.dev/planned"].partition("=")[2])
        self.assertEqual(len(lent), ranks)
        tasks = re.findall(r"Cpus_allowed_list:\s*(\S+)", text_of(f"{home}/job.out"))
        self.assertEqual([cpus_of(each) for each in tasks], [lent] * (3 * ranks), "of srun's tasks, then of mpirun's")
        self.assertEqual(wind.borrowed_cpus(), ranks)
        apply(pod("beside"))
        wait_ready("beside")
        self.assertEqual(cpus_of_pod("beside") & lent, set())
        shown = json.loads(pinionctl("vc", "--json"))
        self.assertEqual([(one["name"], one["controller"], one["readyNodes"], one["jobsRunning"], one["cpusLent"])
                          for one in shown], [("wind", "ready", 1, 1, ranks)])
        self.assertRegex(pinionctl("vc", "--jobs"), rf"(?m)^hpc/wind +{job}  runs +{ranks}  pinion-node")

        # One that can never run says so to its user.
        large = wind.run("sbatch", "--parsable", "--ntasks=1000", "--wrap=true").strip()
        wind.eventually("a comment", lambda: "pinion: waits" in wind.run("squeue", "-h", "-o", "%k", "-j", large))
        wind.run("scancel", large)
        open(f"{home}/go-on", "w").close()
        wind.eventually("all is over", lambda: wind.run("squeue", "-h") == "" and wind.borrowed_cpus() == 0)
        left = kubectl("-n", "hpc", "exec", "daemonset/wind-node", "-c", "slurm", "--",
                       "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        self.assertIn("slurmd", left)
        self.assertNotIn("4321", left, "what a job leaves is ended with it")
        # A node that comes back with another address is the same one.
        kubectl("-n", "hpc", "delete", "pod", "-l", "app.kubernetes.io/component=node")
        nodes = ("pods", "-n", "hpc", "-l", "app.kubernetes.io/component=node")
        wind.eventually("Slurm knows its address", lambda: [one["status"].get("podIP") for one in get(*nodes)["items"]] ==
                        re.findall(r"NodeAddr=(\S+)", wind.run("scontrol", "show", "node")))
        wind.eventually("it is idle", lambda: "idle\n" == wind.run("sinfo", "--noheader", "--format=%T"))
        self.assertEqual(wind.run("srun", "hostname").strip(), get(*nodes)["items"][0]["metadata"]["name"])

        # A controller that has lost its state is told of the nodes again.
        kubectl("-n", "hpc", "delete", "pod", "wind-controller-0")
        wind.eventually("it is there and knows the node", lambda: "idle\n" == wind.run(
            "sh", "-c", "sinfo --noheader --format=%T || true"), limit=240)

        # Another one, with a key of its own, is told nothing by this one.
        wave = VirtualCluster("wave", "hpc-2", "10.96.0.89")
        self.addCleanup(wave.uninstall)
        wave.install()
        said = wave.run("sh", "-c", "sed 's/(wave-controller)/(10.96.0.88)/' /etc/slurm/slurm.conf >/tmp/slurm.conf; "
                        "SLURM_CONF=/tmp/slurm.conf timeout 20 sinfo 2>&1 || true")
        self.assertNotIn("pinion-node", said)
        self.assertIn("slurm_load_partitions", said)
        self.assertIn("authentication error", kubectl("-n", "hpc", "logs", "wind-controller-0", "-c", "slurm"))

    def test_7b_unmarked_pods_start_whatever_the_scheduler_has(self):
        # docs/migrate.md, "Back", up to the extender's end; the first step of docs/install.md is the same.
        cluster("install", "-f", "deploy/chart/pinion/presets/default-scheduler.yaml", "--set", "scheduler.markPods=false")
        of_extenders = ("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=pinion-extender")
        eventually(60, "the former extenders are gone", lambda: len(get(*of_extenders)["items"]) == 2)
        apply(marked_pod("marked-before"))
        wait_ready("marked-before")
        self.assertEqual(cpus_of_pod("marked-before"), planned("marked-before"))
        kubectl("delete", "pod", "marked-before", "--grace-period=0", "--force")

        self.addCleanup(cluster, "adopt-scheduler")
        give_scheduler_its_former_configuration()
        apply(pod("unmarked", cpu=1))
        wait_ready("unmarked", 90)
        self.assertNotIn("pinion.dev/managed", json.dumps(get("pod/unmarked")["spec"]))
        self.assertEqual(len(cpus_of_pod("unmarked")), 1, "the agent gives a core without any plan")
        self.assertIsNone(planned("unmarked"))

    def test_8_a_second_scheduler_places_what_names_it(self):
        image = f"{DIR}/images/kube-scheduler.tar"
        run("scripts/oci.py", image, "localhost/pinion/kube-scheduler:v1", os.path.dirname(KUBECTL[0]) + "/kube")
        cluster("load", image)
        cluster("install", "-f", "deploy/chart/pinion/presets/second-scheduler.yaml",
                "--set", "scheduler.image=localhost/pinion/kube-scheduler,scheduler.tag=v1",
                "--set", "scheduler.command={kube,kube-scheduler}")
        apply(pod("by-the-second", cpu=1, schedulerName="pinion-scheduler"))
        wait_ready("by-the-second", 60)
        self.assertEqual(cpus_of_pod("by-the-second"), planned("by-the-second"))
        self.assertNotIn("pinion.dev/managed", json.dumps(get("pod/by-the-second")["spec"]))

    def test_9_uninstalled_only_what_the_page_names_is_left(self):
        # The second scheduler of test_8 is there.
        apply(pod("lives-on", cpu=1, schedulerName="pinion-scheduler"))
        wait_ready("lives-on")
        pid, core = pid_in("lives-on"), cpus_of_pod("lives-on")
        self.assertEqual(len(core), 1)
        cluster("helm", "uninstall", "pinion", "--namespace", NAMESPACE, "--wait")
        kinds = ("clusterroles,clusterrolebindings,mutatingwebhookconfigurations,deployments,daemonsets,services,configmaps,secrets,"
                 "roles,rolebindings,serviceaccounts,leases,poddisruptionbudgets,networkpolicies")
        # The Secrets that the extender has made go with its account, a moment later.
        eventually(60, "nothing of it is left", lambda: not get(kinds, "-A", "-l", "app.kubernetes.io/part-of=pinion")["items"])
        # What the extender has made itself need not have a label.
        left = {f"{one['kind']} {one['metadata']['name']}" for one in get(kinds, "-n", NAMESPACE)["items"]
                if one["metadata"]["name"] not in ("kube-root-ca.crt", "default")  # every namespace's
                and one["kind"] not in ("ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration")}
        self.assertEqual(left, set())
        node = get("node/pinion-node")
        self.assertNotIn("pinion.dev", json.dumps([node["metadata"].get("labels"), node["spec"].get("taints")]))
        apply(pod("life-goes-on"))
        wait_ready("life-goes-on")
        self.assertEqual(cpus_of_process(pid), core, "a rank keeps its core until the release")
        run(PINIONCTL, "release", "--state-dir", f"{DIR}/pinion")
        self.assertEqual(cpus_of_process(pid), os.sched_getaffinity(0))
        self.assertEqual(os.listdir(f"{DIR}/pinion"), ["agent.lock"])


class OnTwoNodes(unittest.TestCase):
    """Nodes that are drained, another version, and jobs of several nodes, on two that have CPUs for one large worker each."""

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cluster, "down")
        cluster("up", "--bare", limit=300)
        cluster("install", "-f", "deploy/chart/pinion/presets/default-scheduler.yaml", "--set", "extender.config.elastic=elastic")
        cluster("add-node")
        mpi.load_image()
        eventually(60, "each node has an agent", lambda: get(
            "daemonset/pinion-agent", "-n", NAMESPACE)["status"].get("numberReady") == 2)

    def setUp(self):
        self.no_cores_are_taken()

    def tearDown(self):
        kubectl("delete", "job,pod", "--all", "--grace-period=0", "--force", "--wait=true", check=False)

    def no_cores_are_taken(self):
        eventually(60, "no cores are taken", lambda: not any(cores_taken().values()))

    def jobs(self, *arguments):
        """pinionctl's table; nothing while nobody leads."""
        tls = (f"--{option}={DIR}/conf/pinion/{file}" for option, file in (("ca", "ca.crt"), ("cert", "tls.crt"), ("key", "tls.key")))
        return run(PINIONCTL, "jobs", f"--extender=https://{EXTENDER}:10271", *tls, *arguments, check=False)

    def shown(self, name):
        rows = json.loads(self.jobs("--json") or "[]")
        return next((row for row in rows if row["name"] == f"default/{name}"), {})

    def eventually_listed(self, pattern, limit=30):
        try:
            eventually(limit, pattern, lambda: re.search(f"(?m){pattern}$", self.jobs()))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.jobs()}") from None

    def scale(self, name, workers):
        run("env", f"PATH={os.path.dirname(KUBECTL[0])}:{os.environ['PATH']}", f"KUBECONFIG={DIR}/admin.kubeconfig",
            PINIONCTL, "scale", name, workers)

    def history(self, name):
        """What and why, the oldest step first, without the seconds that one took."""
        text = get(f"job/{name}")["metadata"]["annotations"].get("pinion.dev/rescale-history", "")
        return [re.sub(r" in \d+ s$", "", line.partition(" ")[2]) for line in reversed(text.splitlines())]

    def runs_with(self, name, count):
        """By index each worker's uid, node, first process and CPUs, as soon as nothing is under way."""
        eventually(150, f"{name} runs with {count}", lambda: [
            self.shown(name).get(key) for key in ("state", "workers", "readyWorkers")] == ["runs", count, count])
        workers = {}
        for one in get("pods", "-l", f"job-name={name}")["items"]:
            meta = one["metadata"]
            first = pid_in(meta["name"])
            cpus = cpus_of_process(first)
            self.assertEqual(cpus, planned(meta["name"]))
            self.assertEqual(len(cpus), elastic.CPUS)
            workers[int(meta["labels"]["batch.kubernetes.io/job-completion-index"])] = (
                meta["uid"], one["spec"]["nodeName"], first, cpus)
        self.assertEqual(sorted(workers), list(range(count)))
        return workers

    def assert_computes(self, workers):
        """With a rank in each, on its CPUs."""
        def runs():
            now = mpi.progress("run")
            return now if now and now[1] == len(workers) else None
        steps, _ = eventually(120, "all ranks run", runs)
        eventually(30, "they go on", lambda: (runs() or (0,))[0] > steps)
        for uid, _, _, cpus in workers.values():
            self.assertEqual([cpus_of_process(pid) for pid in mpi.ranks_of(uid)], [cpus])

    def test_an_mpi_job_makes_room_for_another_and_grows_back(self):
        apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "wave"},
               "spec": {"clusterIP": "None", "selector": {"job-name": "wave"}}}, elastic.wave())
        both = self.runs_with("wave", 2)
        self.assertEqual({node for _, node, _, _ in both.values()}, {"pinion-node", "pinion-node-2"})
        self.assert_computes(both)
        free = elastic.cpus_are_free
        started = [f"start: from 0 to 2 workers, as {free(2)}", "done: it went from 0 to 2 workers"]
        self.assertEqual(self.history("wave"), started)

        # The leader is lost, and then a more urgent job comes.
        leader, = leaders()
        kubectl("-n", NAMESPACE, "delete", "pod", leader, "--grace-period=0", "--force")
        apply(elastic.job("urgent", priority=9))
        urgent = self.runs_with("urgent", 1)
        self.assertNotIn(leader, leaders())
        one = self.runs_with("wave", 1)
        self.assertEqual(one, {0: both[0]}, "the worker that stays keeps process and core")
        self.assertEqual([node for _, node, _, _ in urgent.values()], [both[1][1]])
        self.assert_computes(one)
        shrunk = ["shrink: from 2 to 1 workers, to make room for urgent, of priority 9 above 0",
                  "resize: its application is ready to go from 2 to 1 workers", "done: it went from 2 to 1 workers"]
        self.assertEqual(self.history("wave"), started + shrunk)

        # Nothing is free for what comes now, and it is said why.
        apply(elastic.job("next", priority=5), elastic.job("huge", least=3))
        self.eventually_listed(rf"^default/next +Job +malleable +waits .*  needs {elastic.CPUS} CPUs?, 0 CPUs are free; "
                               "no other job may shrink for it")
        self.eventually_listed(rf"^default/huge .*  needs {3 * elastic.CPUS} CPUs, and only {2 * elastic.CPUS} CPUs are there")
        kubectl("delete", "job", "huge")
        self.scale("wave", "2")
        eventually(30, "the wish is known", lambda: self.shown("wave").get("requestedWorkers") == 2)
        elastic.end("urgent")
        self.runs_with("next", 1)
        self.assertEqual(self.history("next"), [f"start: from 0 to 1 workers, as {free(1)}", "done: it went from 0 to 1 workers"])
        kubectl("wait", "--for=condition=Complete", "job/urgent", "--timeout=30s")
        self.assertEqual(self.runs_with("wave", 1), one)
        elastic.end("next")
        again = self.runs_with("wave", 2)
        self.assertEqual(again[0], both[0])
        self.assert_computes(again)
        self.assertEqual(self.history("wave"), started + shrunk + [
            f"expand: from 1 to 2 workers, as its user wishes, and {free(1)}", "done: it went from 1 to 2 workers"])
        eventually(120, "the launcher is asked how far it is", lambda: re.search(
            r"(?m)^default/wave +progress .* 2: \d", self.jobs("--speeds")))

        kubectl("delete", "job", "wave")
        eventually(60, "its pods have gone, and its ConfigMap", lambda: "" == kubectl(
            "get", "pods", "-l", "job-name=wave") + kubectl("get", "configmap", "wave-elastic", "--ignore-not-found"))
        left = mpi.checkpoint("run")
        steps = int.from_bytes(left[:8], "little")
        self.assertGreater(steps, 0)
        self.assertEqual(mpi.undisturbed(steps), left, "not what a run without any rescale comes to")

    def drain(self, node):
        """As docs/operate.md says. Meanwhile one extender, at least, is there for all who ask."""
        self.addCleanup(kubectl, "uncordon", node)
        least = 2
        with subprocess.Popen([*KUBECTL, "drain", node, "--ignore-daemonsets", "--timeout=150s"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as drain:
            while drain.poll() is None:
                least = min(least, get("deployment/pinion-extender", "-n", NAMESPACE)["status"].get("availableReplicas", 0))
            self.assertEqual(drain.returncode, 0, drain.stdout.read())
        self.assertGreaterEqual(least, 1)
        version.wait_for_rollouts()
        eventually(30, "one leads", lambda: len(leaders()) == 1)
        stayed = get("pods", "-A", f"--field-selector=spec.nodeName={node}")["items"]
        self.assertEqual({one["metadata"]["ownerReferences"][0]["kind"] for one in stayed}, {"DaemonSet"})

    def ranks_on(self, nodes, job):
        """By node the name of the job's pod there, its first process and its CPUs, as soon as each has one, where it was planned."""
        def ready():
            found = {one["spec"].get("nodeName"): one["metadata"]["name"] for one in get("pods", "-l", f"job-name={job}")["items"]
                     if "deletionTimestamp" not in one["metadata"] and all(
                         container["ready"] for container in one["status"].get("containerStatuses", [{"ready": False}]))}
            return found if set(found) == set(nodes) else None
        ranks = {}
        for node, name in eventually(90, f"{job} runs on {nodes} alone", ready).items():
            pid = pid_in(name)
            ranks[node] = name, pid, cpus_of_process(pid)
            self.assertEqual(ranks[node][2], planned(name))
            self.assertEqual(len(ranks[node][2]), elastic.CPUS)
        return ranks

    def test_each_node_in_turn_is_drained_and_its_rank_goes_to_the_other(self):
        kubectl("cordon", NODES[1])
        apply(rank_job("moves"))
        self.ranks_on(NODES[:1], "moves")
        kubectl("uncordon", NODES[1])
        for node, other in (NODES, NODES[::-1]):
            self.drain(node)
            moved = self.ranks_on([other], "moves")
            eventually(30, "the agents know it", lambda: cores_taken() == {node: set(), other: moved[other][2]})
            # There is no room on the other one.
            apply(pod("waits", cpu=elastic.CPUS))
            kubectl("wait", "--for=condition=PodScheduled=False", "pod/waits", "--timeout=30s")
            kubectl("uncordon", node)
            wait_ready("waits", 60)
            self.assertEqual(get("pod/waits")["spec"]["nodeName"], node)
            self.assertEqual(cpus_of_pod("waits"), planned("waits"))
            self.assertEqual(self.ranks_on([other], "moves"), moved)
            kubectl("delete", "pod", "waits")
            eventually(30, "its cores are free", lambda: cores_taken()[node] == set())

    def test_a_gang_gets_back_the_rank_that_a_drain_has_taken_from_it(self):
        apply(rank_job("gang", ranks=2))
        ranks = self.ranks_on(NODES, "gang")
        for node, other in (NODES, NODES[::-1]):
            self.drain(node)
            waits = eventually(60, "its controller has made it again, and it waits", lambda: [
                one["metadata"]["name"] for one in get("pods", "-l", "job-name=gang", "--field-selector=spec.nodeName=")["items"]])
            kubectl("wait", "--for=condition=PodScheduled=False", f"pod/{waits[0]}", "--timeout=30s")
            eventually(30, "the agents know it", lambda: cores_taken() == {node: set(), other: ranks[other][2]})
            kubectl("uncordon", node)
            now = self.ranks_on(NODES, "gang")
            self.assertEqual(now[other], ranks[other], "who was not evicted keeps process and cores")
            ranks = now

    def test_an_upgrade_to_another_version_and_its_rollback_leave_ranks_where_they_are(self):
        ours, former = version.ours(), version.former()
        self.addCleanup(ours.install)
        former.install()
        self.assertEqual(version.running(), {former.tag})
        kubectl("cordon", NODES[1])
        apply(rank_job("stays"))
        (name, pid, cores), = self.ranks_on(NODES[:1], "stays").values()
        kubectl("uncordon", NODES[1])
        watch, churn = version.Watch(pid), version.Churn()
        self.addCleanup(watch.stop)
        apply(churn.job())
        eventually(60, "others come and go", lambda: len(churn.ran()) > 1)

        def roll_back():
            cluster("helm", "rollback", "pinion", "--namespace", NAMESPACE)
            version.wait_for_rollouts()
        for change, tag in ((ours.upgrade, ours.tag), (roll_back, former.tag)):
            began = time.time()
            change()
            ended = time.time()
            eventually(30, "all of the others have gone", lambda: version.running() == {tag})
            eventually(60, "pods that were made meanwhile have had their cores", lambda: churn.ran_of(began, ended))
        self.assertEqual(churn.faults(), [])
        self.assertEqual(watch.stop(), {frozenset(cores)})
        self.assertEqual(pid_in(name), pid)

    def assert_computes_to_its_end(self, run, pods, job, tasks, hosts):
        """With as many ranks in each of two pods, on the CPUs that were planned for it, until the program is told to stop."""
        eventually(150, "all ranks run", lambda: (mpi.progress(run) or (0, 0))[1] == tasks)
        self.assertEqual(kubectl("exec", f"job/{job}", "--", "sh", "-c", mpi.HOSTFILE),
                         "".join(f"{host} slots={tasks // 2}\n" for host in hosts))
        workers = [one for one in get("pods", "-l", pods)["items"] if planned(one["metadata"]["name"])]
        names = {one["metadata"]["name"] for one in workers}
        cores = {one["spec"]["nodeName"]: planned(one["metadata"]["name"]) for one in workers}
        self.assertEqual([len(each) for each in cores.values()], [elastic.CPUS] * 2)
        for one in workers:
            ranks = mpi.ranks_of(one["metadata"]["uid"])
            self.assertEqual([cpus_of_process(pid) for pid in ranks], [cores[one["spec"]["nodeName"]]] * (tasks // 2))
        self.assertEqual(cores_taken(), cores)
        switches = f'pinion_container_context_switches_total{{namespace="default",pod=~"{"|".join(names)}"}}'
        eventually(60, "Prometheus has what was counted", lambda: {
            labels["pod"] for labels, value in prometheus(switches) if value > 0} == names)
        open(f"{mpi.FOLDER}/{run}/stop", "w").close()

    def assert_result(self, run):
        left = mpi.checkpoint(run)
        steps = int.from_bytes(left[:8], "little")
        self.assertGreater(steps, 0)
        self.assertEqual(mpi.undisturbed(steps), left, "not what one process comes to")

    def test_an_indexed_job_of_an_mpi_program_runs_to_its_end_where_it_was_planned(self):
        tasks, job = 2 * elastic.CPUS, documented("apiVersion: batch/v1\nkind: Job\n")
        job["metadata"]["annotations"] |= {"pinion.dev/tasks": str(tasks), "pinion.dev/cpus-per-task": "1",
                                           "pinion.dev/memory-per-task": "256Mi"}
        job["spec"]["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
        spec = job["spec"]["template"]["spec"]
        solver = " ".join(mpi.solver("indexed"))
        spec["containers"][0]["command"] = ["sh", "-c", f'[ $JOB_COMPLETION_INDEX = 0 ] || exec sshd; exec mpirun {solver}']
        mpi.give_shared(spec)
        mpi.give_environment(spec, mpi.ENVIRONMENT)
        apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "wind"},
               "spec": {"clusterIP": "None", "selector": {"job-name": "wind"}}}, job)
        self.addCleanup(kubectl, "delete", "service", "wind")
        self.assert_computes_to_its_end("indexed", "job-name=wind", "wind", tasks, ("wind-0.wind", "wind-1.wind"))
        kubectl("wait", "--for=condition=Complete", "job/wind", "--timeout=60s")
        self.no_cores_are_taken()
        self.assert_result("indexed")

    def test_an_mpijob_of_a_stand_in_for_its_operator_runs_to_its_end_where_it_was_planned(self):
        self.addCleanup(kubectl, "delete", "mpijob", "wind", "--cascade=foreground", check=False)
        operator = mpi_operator.Operator()
        self.addCleanup(operator.stop)
        tasks, job = 2 * elastic.CPUS, documented("apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n")
        job["metadata"]["annotations"] |= {"pinion.dev/tasks": str(tasks), "pinion.dev/memory-per-task": "256Mi"}
        job["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
        launcher, worker = (job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"] for role in ("Launcher", "Worker"))
        launcher["containers"][0]["command"] = ["mpirun", "-n", str(tasks), *mpi.solver("mpijob")]
        mpi.give_environment(launcher, {**mpi.AS_ROOT, "OMPI_MCA_hwloc_base_binding_policy": "none"})
        mpi.give_shared(launcher)
        mpi.give_shared(worker)
        apply(job)
        cut = get("mpijob/wind")["spec"]
        self.assertEqual((cut["mpiReplicaSpecs"]["Worker"]["replicas"], cut["slotsPerWorker"]), (2, elastic.CPUS))
        self.assert_computes_to_its_end("mpijob", "training.kubeflow.org/job-name=wind", "wind-launcher", tasks,
                                        ("wind-worker-0.wind.default.svc", "wind-worker-1.wind.default.svc"))
        kubectl("wait", "--for=condition=Succeeded", "mpijob/wind", "--timeout=60s")
        self.no_cores_are_taken()
        self.assert_result("mpijob")
        operator.stop()

    def test_an_mpi_job_of_a_virtual_cluster_runs_on_lent_cores_of_two_nodes(self):
        wind = VirtualCluster("wind", "hpc", "10.96.0.88")
        self.addCleanup(wind.uninstall)
        wind.install()
        wind.eventually("two nodes are idle", lambda: wind.run("sinfo", "--noheader", "--Node", "--format=%T").split() == ["idle"] * 2)
        home = wind.give_hpcc(ranks=2)
        with open(f"{home}/job.sh", "w") as file:
            file.write("""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --output=job.out
task='echo rank $SLURMD_NODENAME $(grep Cpus_allowed_list /proc/self/status)'
srun sh -c "$task"
export LD_LIBRARY_PATH=$HOME
mpirun.openmpi -n 2 --bind-to none sh -c "$task; exec ./hpcc"
until [ -e go-on ]; do sleep 0.1; done
""")
        wind.run("sbatch", "job.sh")
        wind.eventually("the MPI program has ended", lambda: "End of HPC Challenge" in text_of(f"{home}/hpccoutf.txt"))
        self.assertIn("Success=1", text_of(f"{home}/hpccoutf.txt"))
        lent = {}  # by node
        for one in get("pods", "-n", "hpc", "-l", "app.kubernetes.io/name=pinion-placeholder")["items"]:
            lent[one["spec"]["nodeName"]] = cpus_of(one["metadata"]["annotations"]["pinion.dev/planned"].partition("=")[2])
        self.assertEqual(sorted(lent), ["pinion-node", "pinion-node-2"])
        ranks = re.findall(r"(?m)^rank (\S+) Cpus_allowed_list:\s*(\S+)$", text_of(f"{home}/job.out"))
        self.assertEqual(sorted((node, cpus_of(cpus)) for node, cpus in ranks), sorted(list(lent.items()) * 2),
                         "of srun's tasks and of mpirun's")
        open(f"{home}/go-on", "w").close()
        wind.eventually("all is over", lambda: wind.run("squeue", "-h") == "" and wind.borrowed_cpus() == 0)


class Kustomize(unittest.TestCase):
    """deploy/base, with an overlay that sets the images' tag, and where folders and the extender's Service are on this cluster."""

    def test_the_base_makes_its_certificates_and_ranks_are_pinned(self):
        self.addCleanup(cluster, "down")
        cluster("up", "--bare", limit=300)
        ours = version.ours()
        cluster("load", *ours.images)
        overlay = f"{DIR}/overlay"
        os.makedirs(overlay)
        folders = {"nri": f"{DIR}/nri", "kubelet": f"{DIR}/kubelet", "state": f"{DIR}/pinion"}
        agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "pinion-agent", "namespace": NAMESPACE},
                 "spec": {"template": {"spec": {"volumes": [
                     {"name": name, "hostPath": {"path": path}} for name, path in folders.items()]}}}}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "pinion-extender", "namespace": NAMESPACE},
                   "spec": {"clusterIP": EXTENDER}}
        with open(f"{overlay}/kustomization.yaml", "w") as file:
            json.dump({"resources": [os.path.relpath(f"{TOP}/deploy/base", overlay)],
                       "images": [{"name": f"localhost/pinion/{program}", "newTag": ours.tag} for program in version.PROGRAMS],
                       "patches": [{"patch": json.dumps(one)} for one in (agent, service)]}, file)
        kubectl("apply", "-k", overlay)
        version.wait_for_rollouts()
        cluster("adopt-scheduler")
        # It runs outside of pods, where no names of Services are known.
        with open(f"{DIR}/conf/scheduler.yaml") as file:
            text = file.read().replace("urlPrefix: https://pinion-extender.pinion-system.svc:", f"urlPrefix: https://{EXTENDER}:")
        with open(f"{DIR}/conf/scheduler.yaml", "w") as file:
            file.write(text)
        cluster("restart", "scheduler")
        apply(pod("rank", cpu=1), pod("beside"))
        wait_ready("rank")
        wait_ready("beside")
        core = cpus_of_pod("rank")
        self.assertEqual(core, planned("rank"))
        self.assertEqual(len(core - {0}), 1, "CPU 0 is reserved")
        self.assertEqual(cpus_of_pod("beside") & core, set())
        kubectl("delete", "pod", "rank", "beside")
        kubectl("delete", "-k", overlay, "--wait")
        left = get("clusterroles,clusterrolebindings,mutatingwebhookconfigurations", "-l", "app.kubernetes.io/part-of=pinion")["items"]
        self.assertEqual([one["metadata"]["name"] for one in left], [])
        self.assertEqual(kubectl("get", "namespace", NAMESPACE, "--ignore-not-found"), "")


class Migration(unittest.TestCase):
    """docs/migrate.md, there and back, on a node of which the kubelet keeps CPU 0."""

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cluster, "down")
        cluster("up", "--bare", limit=300)

    def kubelet_with(self, policy):
        path = f"{DIR}/conf/kubelet.yaml"
        with open(path) as file:
            text = re.sub(r"(?m)^(cpuManagerPolicy|reservedSystemCPUs):.*\n", "", file.read())
        with open(path, "w") as file:
            file.write(f'{text}cpuManagerPolicy: {policy}\nreservedSystemCPUs: "0"\n')
        if os.path.exists(f"{DIR}/kubelet/cpu_manager_state"):
            os.remove(f"{DIR}/kubelet/cpu_manager_state")
        cluster("restart", "kubelet")

    def install(self, preset, *more):
        # On a machine of two CPUs all that is not reserved is for one rank.
        cluster("install", "-f", f"deploy/chart/pinion/presets/{preset}.yaml", "--set-string", "agent.config.reservedSystemCPUs=0",
                "--set", "agent.resources.requests.cpu=0,extender.resources.requests.cpu=0", *more)

    def agents(self):
        return get("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=pinion-agent")["items"]

    def drain(self):
        kubectl("drain", "pinion-node", "--ignore-daemonsets", "--force", "--timeout=90s", limit=120)

    def assert_alone(self, name):
        apply(pod(name, cpu=1), pod(f"beside-{name}"))
        wait_ready(name)
        wait_ready(f"beside-{name}")
        core = cpus_of_pod(name)
        self.assertEqual(len(core - {0}), 1, core)
        self.assertEqual(len(core), 1)
        self.assertEqual(cpus_of_pod(f"beside-{name}") & core, set())

    def test_there_and_back(self):
        only_labelled = ("--set-string", "agent.nodeSelector.pinned-by=pinion")
        self.kubelet_with("static")
        self.assert_alone("by-the-kubelet")
        self.install("agents-only", *only_labelled)
        self.assertEqual(self.agents(), [])

        self.drain()
        self.kubelet_with("none")
        kubectl("label", "node", "pinion-node", "pinned-by=pinion")
        eventually(60, "the agent is there", self.agents)
        kubectl("-n", NAMESPACE, "rollout", "status", "daemonset/pinion-agent", "--timeout=60s")
        errors, good = errors_of_doctor(*OF_THE_NODE)
        self.assertEqual(errors, [])
        self.assertLessEqual({"agent", "kubelet-cpu-manager", "reserved-cpus"}, good)
        kubectl("uncordon", "pinion-node")
        self.assert_alone("by-the-agent")
        self.install("default-scheduler")
        kubectl("delete", "pod", "by-the-agent", "--wait")
        self.assert_alone("by-all")
        pid, core = pid_in("by-all"), cpus_of_pod("by-all")
        self.assertEqual(core, planned("by-all"))

        # Back: first the extender.
        self.install("default-scheduler", "--set", "scheduler.markPods=false")
        kubectl("-n", NAMESPACE, "rollout", "status", "deployment/pinion-extender", "--timeout=90s")
        give_scheduler_its_former_configuration()
        apply(marked_pod("marked"))
        kubectl("wait", "--for=condition=PodScheduled=False", "pod/marked", "--timeout=30s")
        self.assertIn("Insufficient pinion.dev/managed", get("pod/marked")["status"]["conditions"][0]["message"])
        kubectl("delete", "pod", "marked")
        kubectl("label", "nodes", "--all", "pinned-by=pinion")
        self.install("agents-only", *only_labelled)
        kubectl("-n", NAMESPACE, "rollout", "status", "daemonset/pinion-agent", "--timeout=60s")
        self.assertEqual(cpus_of_process(pid), core)
        self.assertEqual(extenders(), [])
        self.assertEqual(get("mutatingwebhookconfigurations", "-l", "app.kubernetes.io/part-of=pinion")["items"], [])

        self.drain()
        kubectl("label", "node", "pinion-node", "pinned-by-")
        eventually(60, "the agent is gone", lambda: not self.agents())
        run(PINIONCTL, "release", "--state-dir", f"{DIR}/pinion")
        self.kubelet_with("static")
        kubectl("uncordon", "pinion-node")
        self.assert_alone("by-the-kubelet-again")
        cluster("helm", "uninstall", "pinion", "--namespace", NAMESPACE, "--wait")
        apply(pod("life-goes-on"))
        wait_ready("life-goes-on")


if __name__ == "__main__":
    need_a_cluster()
    unittest.main(verbosity=2)
