#!/usr/bin/env -S python3 -B
"""The chart as it stands, on a real cluster of one node (scripts/cluster.sh): real kubelet, containerd and control plane.

Needs root, what scripts/kube.sh --cluster, runtime.sh and package.sh --images make, and build/release has examples/elastic-wave.
Each case says in its name what an operator sees. The cluster is up for the cases of a class, and down after them. The
quickstart comes last, is executed line by line, and brings one up and down itself: unittest takes the classes by their names."""
import json
import os
import re
import shutil
import subprocess
import unittest

import elastic
import service
from lab import (DIR, IMAGE, KUBECTL, NAMESPACE, PINIONCTL, TOP, apply, cluster, cpus_of, cpus_of_pod, cpus_of_process, eventually,
                 extenders, get, kubectl, leaders, need_a_cluster, pid_in, planned, pod, prometheus, run, text_of, wait_ready)

os.environ["PINION_PACKAGED"] = "yes"  # scripts/test.sh has built the images
# Programs here have other names, and files lie elsewhere.
OF_THE_NODE = ("--kubelet-config", f"{DIR}/conf/kubelet.yaml", "--containerd-config", f"{DIR}/c/config.toml")  # for doctor
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


def hpcc_input(order, ranks):
    """hpccinf.txt is read by position; Debian's example says what each line is."""
    with open("/usr/share/doc/hpcc/examples/_hpccinf.txt") as file:
        lines = file.read().splitlines()
    for line, value in ((5, order), (7, 32), (10, 1), (11, ranks)):
        lines[line] = str(value)
    return "\n".join(lines) + "\n"


class VirtualCluster:
    """A release of its chart, with the home of all pods in a folder here."""

    def __init__(self, name, namespace, address):
        self.name, self.namespace, self.address = name, namespace, address
        self.home = f"{DIR}/home-{name}"

    def install(self):
        os.makedirs(self.home, exist_ok=True)
        cluster("load", "build/package/out/pinion-slurm.tar")
        image = get("daemonset/pinion-agent", "-n", NAMESPACE)["spec"]["template"]["spec"]["containers"][0]["image"]
        cluster("helm", "upgrade", "--install", self.name, "deploy/chart/virtual-cluster", "--namespace", self.namespace,
                "--create-namespace", "--set", f"image.tag={image.rpartition(':')[2]},image.pullPolicy=Never",
                "--set", f"home.hostPath={self.home},controller.state.size=,controller.clusterIP={self.address}",
                "--set", "controller.bridge.image=localhost/pinion/pause:1", "--wait", "--timeout", "2m")
        self.eventually("a node", lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T"))

    def uninstall(self):
        cluster("helm", "uninstall", self.name, "--namespace", self.namespace, "--wait")
        kubectl("delete", "namespace", self.namespace)

    def run(self, *command, check=True):
        return kubectl("-n", self.namespace, "exec", f"deployment/{self.name}-login", "-c", "hpc", "--", *command, check=check)

    def give_hpcc(self, ranks):
        """The program, what it needs and its input, in the home of the chart's user, which is returned."""
        run("scripts/deps.sh", "demo", limit=600)
        home = f"{self.home}/hpc"
        shutil.copy("/usr/bin/hpcc", home)
        shutil.copy(os.path.realpath("/lib/x86_64-linux-gnu/libblas.so.3"), f"{home}/libblas.so.3")
        with open(f"{home}/hpccinf.txt", "w") as file:
            file.write(hpcc_input(order=200, ranks=ranks))
        return home

    def borrowed_cpus(self):
        """As the agents count them."""
        agents = get("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=pinion-agent")["items"]
        metrics = "".join(run("curl", "-sf", f"http://{agent['status']['podIP']}:9464/metrics") for agent in agents)
        found = re.findall(rf'(?m)^pinion_container_borrowed_cpus\{{.*namespace="{self.namespace}".*\}} (\d+)$', metrics)
        return sum(map(int, found))

    def eventually(self, what, holds, limit=90):
        def logs():
            return "\n".join(kubectl("-n", self.namespace, "logs", what, "--all-containers", "--tail=20", check=False)
                             for what in (f"statefulset/{self.name}-controller", f"daemonset/{self.name}-node"))
        try:
            return eventually(limit, what, holds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{logs()}\n{self.run('scontrol', 'show', 'job', check=False)}") from None


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
        left = get(kinds, "-A", "-l", "app.kubernetes.io/part-of=pinion")["items"]
        self.assertEqual([f"{one['kind']} {one['metadata']['name']}" for one in left], [])
        # What the extender has made itself has no label: docs/operate.md, "Uninstall". Profiles are there if jobs ran long enough.
        left = {f"{one['kind']} {one['metadata']['name']}" for one in get(kinds, "-n", NAMESPACE)["items"]
                if one["metadata"]["name"] not in ("kube-root-ca.crt", "default")  # every namespace's
                and one["kind"] not in ("ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration")}
        self.assertEqual(left - {"ConfigMap pinion-profiles"}, {"Lease pinion-extender"})
        for what in ("lease/pinion-extender", "configmap/pinion-profiles"):
            kubectl("-n", NAMESPACE, "delete", what, "--ignore-not-found")
        node = get("node/pinion-node")
        self.assertNotIn("pinion.dev", json.dumps([node["metadata"].get("labels"), node["spec"].get("taints")]))
        apply(pod("life-goes-on"))
        wait_ready("life-goes-on")
        self.assertEqual(cpus_of_process(pid), core, "a rank keeps its core until the release")
        run(PINIONCTL, "release", "--state-dir", f"{DIR}/pinion")
        self.assertEqual(cpus_of_process(pid), os.sched_getaffinity(0))
        self.assertEqual(os.listdir(f"{DIR}/pinion"), ["agent.lock"])


class OnTwoNodes(unittest.TestCase):
    """Jobs of docs/elastic.md and docs/virtual-clusters.md, on two nodes that have CPUs for one worker each."""

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cluster, "down")
        cluster("up", "--bare", limit=300)
        cluster("install", "-f", "deploy/chart/pinion/presets/default-scheduler.yaml", "--set", "extender.config.elastic=elastic")
        cluster("add-node")
        elastic.load_wave()
        eventually(60, "each node has an agent", lambda: get(
            "daemonset/pinion-agent", "-n", NAMESPACE)["status"].get("numberReady") == 2)

    def jobs(self, *arguments):
        """pinionctl's table; nothing while nobody leads."""
        tls = (f"--{option}={DIR}/conf/pinion/{file}" for option, file in (("ca", "ca.crt"), ("cert", "tls.crt"), ("key", "tls.key")))
        return run(PINIONCTL, "jobs", "--extender=https://10.96.0.77:10271", *tls, *arguments, check=False)

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
            now = elastic.progress()
            return now if now and now[1] == len(workers) else None
        steps, _ = eventually(120, "all ranks run", runs)
        eventually(30, "they go on", lambda: (runs() or (0,))[0] > steps)
        for uid, _, _, cpus in workers.values():
            self.assertEqual([cpus_of_process(pid) for pid in elastic.ranks_of(uid)], [cpus])

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
        left = elastic.checkpoint(f"{elastic.FOLDER}/run")
        steps = int.from_bytes(left[:8], "little")
        self.assertGreater(steps, 0)
        self.assertEqual(elastic.undisturbed(steps), left, "not what a run without any rescale comes to")


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
