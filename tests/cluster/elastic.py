"""examples/elastic-wave on the cluster of scripts/cluster.sh, as docs/elastic.md tells its users, and jobs that are in its way."""
import os

from lab import DIR, IMAGE, cluster, run, text_of

WAVE = "localhost/pinion/elastic-wave:1"
PROGRAMS = "build/release/bin"
CPUS = len(os.sched_getaffinity(0)) - 1  # of a worker: all that a node can give
POINTS = 48
FOLDER = f"{DIR}/wave"  # that all pods share
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ENVIRONMENT = {**AS_ROOT, "OMPI_MCA_orte_keep_fqdn_hostnames": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_plm_rsh_agent": "remote"}

# The cluster has no DNS, and the image no ssh server: what mpirun would have ssh do in another pod goes there by a pipe.
REMOTE = """#!/bin/sh
host=$1
shift
[ "$host" = "$(hostname).wave" ] && exec sh -c "$*"
printf '%s\\n' "$*" >"/shared/$host/command"
read -r status <"/shared/$host/status"
exit "$status"
"""
WORKER = f"""
if [ "$JOB_COMPLETION_INDEX" = 0 ]; then
  exec elastic-launcher 8080 /etc/elastic/hosts "$(cat /etc/elastic/wanted-workers)" /shared/run \\
    mpirun elastic-wave /shared/run {POINTS} 1000000000 20 >>/shared/output 2>&1
fi
cd "/shared/$(hostname).wave"
trap exit TERM
exec 3<>command
while read -r line <&3; do
  sh -c "$line"
  echo $? >status
done
"""


def load_wave():
    """Launcher and program in an image that has Debian's Open MPI, as that of a virtual cluster; and what its pods share."""
    for host in ("wave-0.wave", "wave-1.wave"):
        os.makedirs(f"{FOLDER}/{host}")
        for pipe in ("command", "status"):
            os.mkfifo(f"{FOLDER}/{host}/{pipe}")
    os.makedirs(f"{FOLDER}/run")
    remote, image = f"{FOLDER}/remote", f"{DIR}/images/wave.tar"
    with open(remote, "w") as file:
        file.write(REMOTE)
    os.chmod(remote, 0o755)
    run("scripts/oci.py", image, WAVE, f"{PROGRAMS}/elastic-launcher", "--root", run("scripts/slurm_root.sh").strip(),
        "--file", f"/usr/bin/elastic-wave={PROGRAMS}/elastic-wave", "--file", f"/usr/bin/remote={remote}")
    cluster("load", image)


def job(name, least=1, most=None, priority=0):
    """An elastic one, which runs until end() is called."""
    command = f"until [ -e /shared/end-of-{name} ]; do sleep 0.1; done"
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {"pinion.dev/elastic": "malleable"},
                         "annotations": {"pinion.dev/min-workers": str(least), "pinion.dev/max-workers": str(most or least),
                                         "pinion.dev/priority": str(priority), "pinion.dev/rescale-gap-seconds": "0"}},
            "spec": {"suspend": True, "completionMode": "Indexed", "parallelism": least, "completions": least,
                     "template": {"metadata": {"annotations": {"pinion.dev/job": name}}, "spec": {
                         "restartPolicy": "OnFailure",
                         "containers": [{"name": "rank", "image": IMAGE, "command": ["sh", "-c", command],
                                         "resources": {"limits": {"cpu": str(CPUS), "memory": "256Mi"}},
                                         "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}],
                         "volumes": [{"name": "shared", "hostPath": {"path": FOLDER}}]}}}}


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
    worker |= {"image": WAVE, "command": ["sh", "-c", WORKER],
               "env": [{"name": name, "value": value} for name, value in ENVIRONMENT.items()]}
    return made


def progress():
    """Steps done and ranks that run; None: they do not all run."""
    said = text_of(f"{FOLDER}/run/progress").split()
    return tuple(map(int, said)) if len(said) == 2 else None


def ranks_of(uid):
    """Processes of the program in that pod."""
    processes = (entry for entry in os.listdir("/proc") if entry.isdigit())
    return [int(one) for one in processes if text_of(f"/proc/{one}/comm") == "elastic-wave" and uid in text_of(f"/proc/{one}/cgroup")]


def cpus_are_free(workers):
    """In the words of a step."""
    count = workers * CPUS
    return "1 CPU is free" if count == 1 else f"{count} CPUs are free"


def checkpoint(folder):
    with open(f"{folder}/checkpoint", "rb") as file:
        return file.read()


def undisturbed(steps):
    """The checkpoint of a run of so many steps by one process here."""
    folder = f"{FOLDER}/undisturbed"
    os.makedirs(folder)
    run("env", *(f"{name}={value}" for name, value in AS_ROOT.items()), f"{PROGRAMS}/elastic-wave", folder, str(POINTS), str(steps))
    return checkpoint(folder)
