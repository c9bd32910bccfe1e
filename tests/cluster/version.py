"""Another version of Pinion on the cluster of scripts/cluster.sh, and what is watched while one takes the other's place."""
import datetime
import json
import os
import tarfile
import threading

from lab import DIR, IMAGE, NAMESPACE, TOP, cluster, cpus_of, cpus_of_process, get, kubectl, planned, run, text_of

PROGRAMS = {"pinion-agent": "0", "pinion-extender": "65532:65532"}  # and its user, as scripts/package.sh has it
FORMER = os.environ.get("PINION_FORMER")  # a checkout of another commit, in which scripts/package.sh --images --no-slurm has run


class Version:
    """Of a checkout in which the images were made."""

    def __init__(self, checkout, tag=None):
        self.chart = f"{checkout}/deploy/chart/pinion"
        self.images = [f"{checkout}/build/package/out/{program}.tar" for program in PROGRAMS]
        self.tag = tag or tag_of(self.images[0])

    def upgrade(self, *options):
        """In the words of docs/operate.md, and until all runs."""
        cluster("helm", "upgrade", "pinion", self.chart, "--namespace", NAMESPACE, "-f", f"{DIR}/values.yaml",
                "-f", f"{self.chart}/presets/default-scheduler.yaml", "--set", f"extender.config.elastic=elastic,image.tag={self.tag}",
                *options, limit=240)
        wait_for_rollouts()

    def install(self):
        """In place of what is there."""
        cluster("helm", "uninstall", "pinion", "--namespace", NAMESPACE, "--wait")
        self.upgrade("--install")
        cluster("adopt-scheduler")


def ours():
    return Version(TOP)


def former():
    """Loaded on all nodes; where there is no other, the same programs by another name."""
    if FORMER:
        made = Version(FORMER)
        images = made.images
    else:
        made, images = Version(TOP, "former"), []
        for program, user in PROGRAMS.items():
            images.append(f"{DIR}/images/{program}-former.tar")
            run("scripts/oci.py", images[-1], f"localhost/pinion/{program}:{made.tag}", f"build/package/out/bin/{program}",
                "--user", user)
    cluster("load", *images)
    return made


def tag_of(image):
    with tarfile.open(image) as tar:
        index = json.load(tar.extractfile("index.json"))
    return index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"]


def wait_for_rollouts():
    for what in ("daemonset/pinion-agent", "deployment/pinion-extender"):
        kubectl("-n", NAMESPACE, "rollout", "status", what, "--timeout=150s")


def running():
    """Tags of the agents and extenders that are there."""
    pods = get("pods", "-n", NAMESPACE, "-l", f"app.kubernetes.io/name in ({','.join(PROGRAMS)})")["items"]
    return {one["spec"]["containers"][0]["image"].rpartition(":")[2] for one in pods if "deletionTimestamp" not in one["metadata"]}


class Watch(threading.Thread):
    """Where a process was allowed to run, from look to look."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seen, self.done = pid, set(), threading.Event()
        self.start()

    def run(self):
        while not self.done.wait(0.02):  # between looks
            try:
                self.seen.add(frozenset(cpus_of_process(self.pid)))
            except OSError:
                self.seen.add("it has ended")
                return

    def stop(self):
        self.done.set()
        self.join()
        return self.seen


class Churn:
    """Ranks of one CPU that come and go. One that started while no agent was there gets its core a little later; then it takes a
    folder that is called like the core, which it can do if nobody else has it."""

    FOLDER = f"{DIR}/churn"
    COMMAND = """
cpus() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; }
until cpu=$(cpus) && [ "${cpu#*[-,]}" = "$cpu" ]; do sleep 0.1; done
busybox mkdir "/churn/$NODE.$cpu" || echo "$HOSTNAME came to $NODE.$cpu, which another has" >>/churn/faults
sleep 1
[ "$(cpus)" = "$cpu" ] || echo "$HOSTNAME was moved from $NODE.$cpu to $(cpus)" >>/churn/faults
busybox rmdir "/churn/$NODE.$cpu"
echo "$HOSTNAME $cpu" >>/churn/ran
"""

    def __init__(self):
        os.makedirs(self.FOLDER)

    def job(self):
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "churn"},
                "spec": {"completions": 1000, "parallelism": 2, "template": {"spec": {
                    "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                    "volumes": [{"name": "churn", "hostPath": {"path": self.FOLDER}}],
                    "containers": [{"name": "rank", "image": IMAGE, "command": ["sh", "-c", self.COMMAND],
                                    "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                                    "resources": {"limits": {"cpu": "1", "memory": "32Mi"}},
                                    "volumeMounts": [{"name": "churn", "mountPath": "/churn"}]}]}}}}

    def ran(self):
        """By pod, the core of each that has ended."""
        return {pod: cpus_of(cpu) for pod, cpu in map(str.split, text_of(f"{self.FOLDER}/ran").splitlines())}

    def ran_of(self, begin, end):
        """Those of them whose pods were made between two times."""
        ran = self.ran()
        made = {one["metadata"]["name"]: datetime.datetime.fromisoformat(one["metadata"]["creationTimestamp"].replace("Z", "+00:00"))
                for one in get("pods", "-l", "job-name=churn")["items"]}
        return {name: core for name, core in ran.items() if begin < made[name].timestamp() < end}

    def faults(self):
        elsewhere = [f"{name} was planned on {planned(name)} and ran on {core}" for name, core in self.ran().items()
                     if planned(name) not in (None, core)]
        return [*text_of(f"{self.FOLDER}/faults").splitlines(), *elsewhere]
