"""What the programs of this folder do with the cluster of scripts/cluster.sh: its own tools, and pods to put on it."""
import json
import os
import re
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMESPACE = "pinion-system"
NODE = "pinion-node"
IMAGE = "localhost/pinion/busybox:1"
PINIONCTL = "build/package/out/bin/pinionctl"
DIR = os.environ["PINION_CLUSTER"] = os.path.realpath(os.environ.get("PINION_CLUSTER") or "/var/tmp/pinion-cluster-test")


def run(*command, check=True, stdin=None, limit=180):
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=limit, input=stdin)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


KUBECTL = [run("scripts/kube.sh", "--where").strip() + "/kubectl", f"--kubeconfig={DIR}/admin.kubeconfig"]


def need_a_cluster():
    """Or the program ends, as a skipped one."""
    if os.geteuid() != 0:
        print("it must be root")
        sys.exit(77)
    if not os.path.exists(KUBECTL[0]):
        print("not built: scripts/kube.sh --cluster")
        sys.exit(77)
    if re.search(r"(?m)^apiserver +pid", cluster("status", check=False)):
        sys.exit(f"somebody's cluster runs, which would be taken away at the end: PINION_CLUSTER={DIR} scripts/cluster.sh down")


def cluster(*arguments, **options):
    return run("scripts/cluster.sh", *arguments, **options)


def kubectl(*arguments, **options):
    return run(*KUBECTL, *arguments, **options)


def get(*arguments):
    return json.loads(kubectl("get", "-o", "json", *arguments))


def prometheus(query):
    """The value of each series: labels -> number."""
    said = json.loads(run("curl", "-sfG", "http://10.245.255.2:9090/api/v1/query", "--data-urlencode", f"query={query}"))
    return [(one["metric"], float(one["value"][1])) for one in said["data"]["result"]]


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
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def text_of(path):
    """Nothing where there is no such file, or no such process any more."""
    try:
        with open(path) as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def tree_of(controller):
    """The folder under which this controller's groups are, and whether it is of cgroup v1."""
    for line in text_of("/proc/mounts").splitlines():
        _, folder, kind, options = line.split()[:4]
        if kind == "cgroup" and controller in options.split(","):
            return folder, True
    return "/sys/fs/cgroup", False


def group_of(pid, controller):
    """The folder of the process's group, and whether it is of cgroup v1."""
    tree, first = tree_of(controller)
    for line in text_of(f"/proc/{pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers.split(",").count(controller) == first:
            return tree + path, first
    raise AssertionError(f"process {pid} has no group of {controller}")


def pid_of(uid):
    """Of the first process of the pod with that uid, in the host's numbers; None: it has none."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cgroup") as groups, open(f"/proc/{entry}/cmdline") as command:
                if uid in groups.read() and "2147483647" not in command.read():  # not the pause
                    return int(entry)
        except OSError:
            continue
    return None


def pid_in(name, namespace="default"):
    pid = pid_of(get(f"pod/{name}", "-n", namespace)["metadata"]["uid"])
    if pid is None:
        raise AssertionError(f"no process of pod {name}\n{state()}")
    return pid


def cpus_of_process(pid):
    with open(f"/proc/{pid}/status") as status:
        return cpus_of(re.search(r"Cpus_allowed_list:\s*(\S+)", status.read()).group(1))


def cpus_of_pod(name):
    return cpus_of_process(pid_in(name))


def planned(name):
    text = get(f"pod/{name}")["metadata"].get("annotations", {}).get("pinion.dev/planned", "")
    return cpus_of(text.partition("=")[2]) if text else None


def extenders():
    pods = get("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=pinion-extender")["items"]
    return [one["metadata"]["name"] for one in pods if "deletionTimestamp" not in one["metadata"]]


def leaders():
    pods = get("pods", "-n", NAMESPACE, "-l", "pinion.dev/leader=true")["items"]
    return [one["metadata"]["name"] for one in pods if "deletionTimestamp" not in one["metadata"]]


