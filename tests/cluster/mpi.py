"""MPI programs in pods: an image with Debian's Open MPI and examples/elastic-wave, and what stands in for ssh."""
import os

from lab import DIR, cluster, run, text_of

WAVE = "localhost/pinion/elastic-wave:1"
PROGRAMS = "build/release/bin"
POINTS = 48
FOLDER = f"{DIR}/wave"  # in all pods: /shared
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ENVIRONMENT = {**AS_ROOT, "OMPI_MCA_orte_keep_fqdn_hostnames": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}

# The cluster has no DNS, and the image no ssh server: what mpirun would have ssh do in another pod goes there by a pipe.
SSH = """#!/bin/sh
while :; do
  case $1 in
    -o) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=${1%%.*}
shift
[ "$host" = "$(hostname)" ] && exec sh -c "$*"
until [ -p "/shared/$host/status" ]; do sleep 0.1; done
printf '%s\\n' "$*" >"/shared/$host/command"
read -r status <"/shared/$host/status"
exit "$status"
"""
SSHD = """#!/bin/sh
mkdir -p "/shared/$(hostname)"
cd "/shared/$(hostname)"
[ -p status ] || mkfifo command status
trap exit TERM
exec 3<>command
while read -r line <&3; do
  sh -c "$line"
  echo $? >status
done
"""
HOSTFILE = 'cat "$OMPI_MCA_orte_default_hostfile"'  # in a pod, what mpirun reads


def load_image():
    """On all nodes."""
    os.makedirs(FOLDER, exist_ok=True)
    image, files = f"{DIR}/images/wave.tar", [f"/usr/bin/elastic-wave={PROGRAMS}/elastic-wave"]
    for path, text in {"/usr/bin/ssh": SSH, "/usr/sbin/sshd": SSHD}.items():
        local = f"{FOLDER}/{os.path.basename(path)}"
        with open(local, "w") as file:
            file.write(text)
        os.chmod(local, 0o755)
        files.append(f"{path}={local}")
    run("scripts/oci.py", image, WAVE, f"{PROGRAMS}/elastic-launcher", "--root", run("scripts/slurm_root.sh", limit=900).strip(),
        *(word for file in files for word in ("--file", file)))
    cluster("load", image)


def give_shared(spec):
    """The folder of all pods, to a pod's spec and its first container."""
    spec.setdefault("volumes", []).append({"name": "shared", "hostPath": {"path": FOLDER}})
    spec["containers"][0].setdefault("volumeMounts", []).append({"name": "shared", "mountPath": "/shared"})


def give_environment(spec, variables):
    spec["containers"][0].setdefault("env", []).extend({"name": name, "value": value} for name, value in variables.items())


def solver(folder):
    """The program, in a new folder of that name; it runs until there is a file "stop"."""
    os.makedirs(f"{FOLDER}/{folder}")
    return ["elastic-wave", f"/shared/{folder}", str(POINTS), "1000000000", "20"]


def progress(folder):
    """Steps done and ranks that run; None: they do not all run."""
    said = text_of(f"{FOLDER}/{folder}/progress").split()
    return tuple(map(int, said)) if len(said) == 2 else None


def ranks_of(uid):
    """Processes of the program in that pod."""
    processes = (entry for entry in os.listdir("/proc") if entry.isdigit())
    return [int(one) for one in processes if text_of(f"/proc/{one}/comm") == "elastic-wave" and uid in text_of(f"/proc/{one}/cgroup")]


def checkpoint(folder):
    with open(f"{FOLDER}/{folder}/checkpoint", "rb") as file:
        return file.read()


def undisturbed(steps):
    """The checkpoint of a run of so many steps by one process here."""
    folder = f"undisturbed-{steps}"
    os.makedirs(f"{FOLDER}/{folder}")
    run("env", *(f"{name}={value}" for name, value in AS_ROOT.items()), f"{PROGRAMS}/elastic-wave", f"{FOLDER}/{folder}", str(POINTS),
        str(steps))
    return checkpoint(folder)
