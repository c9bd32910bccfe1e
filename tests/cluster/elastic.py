"""examples/elastic-wave on the cluster of scripts/cluster.sh, as docs/elastic.md tells its users, and jobs that are in its way."""
import os

from lab import IMAGE
from mpi import ENVIRONMENT, FOLDER, POINTS, WAVE, give_environment, give_shared

CPUS = len(os.sched_getaffinity(0)) - 1  # of a worker: all that a node can give

WORKER = f"""
[ "$JOB_COMPLETION_INDEX" = 0 ] || exec sshd
mkdir -p /shared/run
exec elastic-launcher 8080 /etc/elastic/hosts "$(cat /etc/elastic/wanted-workers)" /shared/run \\
  mpirun elastic-wave /shared/run {POINTS} 1000000000 20 >>/shared/output 2>&1
"""


def job(name, least=1, most=None, priority=0):
    """An elastic one, which runs until end() is called."""
    command = f"until [ -e /shared/end-of-{name} ]; do sleep 0.1; done"
    made = {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {"pinion.dev/elastic": "malleable"},
                         "annotations": {"pinion.dev/min-workers": str(least), "pinion.dev/max-workers": str(most or least),
                                         "pinion.dev/priority": str(priority), "pinion.dev/rescale-gap-seconds": "0"}},
            "spec": {"suspend": True, "completionMode": "Indexed", "parallelism": least, "completions": least,
                     "template": {"metadata": {"annotations": {"pinion.dev/job": name}}, "spec": {
                         "restartPolicy": "OnFailure",
                         "containers": [{"name": "rank", "image": IMAGE, "command": ["sh", "-c", command],
                                         "resources": {"limits": {"cpu": str(CPUS), "memory": "256Mi"}}}]}}}}
    give_shared(made["spec"]["template"]["spec"])
    return made


def end(name):
    with open(f"{FOLDER}/end-of-{name}", "w"):
        pass


def wave():
    made = job("wave", most=2)
    made["metadata"]["annotations"]["pinion.dev/acknowledge"] = "http:8080"
    spec = made["spec"]["template"]["spec"]
    spec["subdomain"] = "wave"
    spec["volumes"].append({"name": "size", "configMap": {"name": "wave-elastic"}})
    worker = spec["containers"][0]
    worker["volumeMounts"].append({"name": "size", "mountPath": "/etc/elastic"})
    worker |= {"image": WAVE, "command": ["sh", "-c", WORKER]}
    give_environment(spec, ENVIRONMENT)
    return made


def cpus_are_free(workers):
    """In the words of a step."""
    count = workers * CPUS
    return "1 CPU is free" if count == 1 else f"{count} CPUs are free"
