#!/usr/bin/env python3
"""The chart as it stands, on a real cluster of one node (scripts/cluster.sh): real kubelet, containerd and control plane.

Needs root, and what scripts/kube.sh --cluster, runtime.sh and package.sh --images make. Each case says in its name what an
operator sees. The cluster is up for the cases of Cluster, and down after them. Then the quickstart is executed, line by line,
and brings one up and down itself: unittest takes the classes by their names."""
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMESPACE = "pinion-system"
IMAGE = "localhost/pinion/busybox:1"
DIR = os.environ.setdefault("PINION_CLUSTER", "/var/tmp/pinion-cluster-test")
os.environ["PINION_PACKAGED"] = "yes"  # scripts/test.sh has built the images


def run(*command, check=True, stdin=None, limit=180):
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=limit, input=stdin)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def cluster(*arguments, **options):
    return run("scripts/cluster.sh", *arguments, **options)


def kubectl(*arguments, **options):
    return run(*KUBECTL, *arguments, **options)


def get(*arguments):
    return json.loads(kubectl("get", "-o", "json", *arguments))


def eventually(seconds, what, holds):
    """Until it is true; its last answer is part of the failure."""
    end = time.monotonic() + seconds
    while True:
        answer = holds()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}: {answer!r}\n{state()}")
        time.sleep(0.2)  # between looks, not instead of one


def state():
    pods = kubectl("get", "pods", "-A", "-o", "wide", check=False)
    events = kubectl("get", "events", "-A", "--sort-by=.lastTimestamp", check=False)
    logs = kubectl("-n", NAMESPACE, "logs", "-l", "app.kubernetes.io/part-of=pinion", "--tail=15", "--prefix", check=False)
    return "\n".join([pods, "\n".join(events.splitlines()[-25:]), logs])


def pod(name, cpu=None, command="sleep 3600", annotations=None, requests=None, **spec):
    """With `cpu` Guaranteed, with `requests` alone Burstable, without both BestEffort."""
    resources = {"limits": {"cpu": str(cpu), "memory": "32Mi"}} if cpu else {"requests": requests} if requests else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, **spec,
                     "containers": [{"name": "rank", "image": IMAGE, "command": ["sh", "-c", command],
                                     "resources": resources}]}}


def apply(*objects):
    for one in objects:
        kubectl("apply", "-f", "-", stdin=json.dumps(one))


def wait_ready(name, seconds=60):
    kubectl("wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={seconds}s", limit=seconds + 30)


def cpus_of(text):
    cpus = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def pid_in(name):
    """Of the pod's first process, in the host's numbers: containerd knows it."""
    uid = get(f"pod/{name}")["metadata"]["uid"]
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cgroup") as groups, open(f"/proc/{entry}/cmdline") as command:
                if uid in groups.read() and "2147483647" not in command.read():  # not the pause
                    return int(entry)
        except OSError:
            continue
    raise AssertionError(f"no process of pod {name}\n{state()}")


def cpus_of_process(pid):
    with open(f"/proc/{pid}/status") as status:
        return cpus_of(re.search(r"Cpus_allowed_list:\s*(\S+)", status.read()).group(1))


def cpus_of_pod(name):
    return cpus_of_process(pid_in(name))


def planned(name):
    text = get(f"pod/{name}")["metadata"]["annotations"].get("pinion.dev/planned", "")
    return cpus_of(text.partition("=")[2]) if text else None


def extenders():
    pods = get("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=pinion-extender")["items"]
    return [one["metadata"]["name"] for one in pods if "deletionTimestamp" not in one["metadata"]]


def leaders():
    pods = get("pods", "-n", NAMESPACE, "-l", "pinion.dev/leader=true")["items"]
    return [one["metadata"]["name"] for one in pods if "deletionTimestamp" not in one["metadata"]]


def text_of(path):
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def pinionctl(*arguments):
    return run("build/package/out/bin/pinionctl", *arguments, "--kubectl", KUBECTL[0], "--kubeconfig", f"{DIR}/admin.kubeconfig")


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

    def borrowed_cpus(self):
        """As the agent counts them."""
        agent = get("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=pinion-agent")["items"][0]
        metrics = run("curl", "-sf", f"http://{agent['status']['podIP']}:9464/metrics")
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
        with open(f"{TOP}/docs/quickstart.md") as file:
            blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.M | re.S)
        self.assertGreater(len(blocks), 5)
        said = run("bash", "-euo", "pipefail", "-c", "".join(blocks), limit=400)
        self.assertRegex(said, r"(?m)^Cpus_allowed_list:\s*\d+$")
        pinned, where = re.search(r"Cpus_allowed_list:\s*(\S+)\nrank=(\S+)", said).groups()
        self.assertEqual(pinned, where)
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
        cluster("up", limit=300)

    @classmethod
    def tearDownClass(cls):
        cluster("down")

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
        managed = pod("needs-a-core", cpu=1)
        managed["spec"]["containers"][0]["resources"]["limits"]["pinion.dev/managed"] = "1"
        apply(managed, pod("needs-none"))
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

    def test_0_kustomize_has_what_the_chart_has(self):
        run("scripts/manifests.sh", "--check")
        self.assertIn("kind: DaemonSet", kubectl("kustomize", "deploy/base"))

    def test_7_an_mpi_job_of_a_virtual_cluster_runs_on_lent_cores(self):
        run("scripts/deps.sh", "demo", limit=600)  # hpcc
        ranks = min(4, len(os.sched_getaffinity(0)) - 1)
        wind = VirtualCluster("wind", "hpc", "10.96.0.88")
        self.addCleanup(wind.uninstall)
        wind.install()
        key = get("secret/wind-munge", "-n", "hpc")["data"]
        wind.install()
        self.assertEqual(get("secret/wind-munge", "-n", "hpc")["data"], key, "an upgrade makes another key")
        self.assertEqual(wind.borrowed_cpus(), 0)

        home = f"{wind.home}/hpc"
        shutil.copy("/usr/bin/hpcc", home)
        shutil.copy(os.path.realpath("/lib/x86_64-linux-gnu/libblas.so.3"), f"{home}/libblas.so.3")
        with open(f"{home}/hpccinf.txt", "w") as file:
            file.write(hpcc_input(order=200, ranks=2 * ranks))
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
        marked = pod("marked-before", cpu=1)
        marked["spec"]["containers"][0]["resources"]["limits"]["pinion.dev/managed"] = "1"
        apply(marked)
        wait_ready("marked-before")
        self.assertEqual(cpus_of_pod("marked-before"), planned("marked-before"))
        kubectl("delete", "pod", "marked-before", "--grace-period=0", "--force")

        self.addCleanup(cluster, "adopt-scheduler")
        with open(f"{DIR}/conf/scheduler.yaml", "w") as file:
            json.dump({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                       "clientConnection": {"kubeconfig": f"{DIR}/scheduler.kubeconfig"},
                       "leaderElection": {"leaderElect": False}}, file)
        cluster("restart", "scheduler")
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


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("it must be root")
        sys.exit(77)
    folder = run("scripts/kube.sh", "--where").strip()
    KUBECTL = [f"{folder}/kubectl", f"--kubeconfig={DIR}/admin.kubeconfig"]
    if not os.path.exists(KUBECTL[0]):
        print("not built: scripts/kube.sh --cluster")
        sys.exit(77)
    unittest.main(verbosity=2)
