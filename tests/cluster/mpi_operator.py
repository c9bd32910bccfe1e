"""Stands in for the mpi-operator: makes of each MPIJob what the real one makes, in the form of objects that were captured of it
(tests/unit/extender_jobs/data), and ends the job with its launcher. It knows Open MPI alone, and launchers that do not work."""
import json
import threading

import lab

DATA = f"{lab.TOP}/tests/unit/extender_jobs/data"
GROUP = "kubeflow.org"
CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"mpijobs.{GROUP}"},
       "spec": {"group": GROUP, "scope": "Namespaced", "names": {"kind": "MPIJob", "plural": "mpijobs", "singular": "mpijob"},
                "versions": [{"name": "v2beta1", "served": True, "storage": True, "subresources": {"status": {}},
                              "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def captured(body, job):
    with open(f"{DATA}/{body}.json") as file:
        made = json.load(file)["request"]["object"]
    # "j1" is what the captured job is called.
    made = json.loads(json.dumps(made).replace(made["metadata"]["namespace"], "default").replace("j1", job["metadata"]["name"]))
    made["metadata"]["ownerReferences"] = owned_by(job)
    return made


def owned_by(job):
    return [{"apiVersion": job["apiVersion"], "kind": "MPIJob", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"],
             "controller": True, "blockOwnerDeletion": True}]


def joined(own, added):
    """Without what the API server has put into the captured ones."""
    return own + [one for one in added if not one["name"].startswith("kube-api-access")]


def fill(made, template):
    """A captured pod, with what the user's template says."""
    for kind in ("labels", "annotations"):
        made["metadata"].setdefault(kind, {}).update(template.get("metadata", {}).get(kind, {}))
    added, own = made["spec"], template["spec"]
    container, users = added["containers"][0], own["containers"][0]
    first = dict(users, command=users.get("command") or container["command"])
    for key in ("env", "volumeMounts"):
        first[key] = joined(users.get(key, []), container[key])
    made["spec"] = {**added, **own, "volumes": joined(own.get("volumes", []), added["volumes"]),
                    "containers": [first, *own["containers"][1:]]}


def workers_of(job):
    workers = job["spec"]["mpiReplicaSpecs"]["Worker"]
    for index in range(workers["replicas"]):
        made = captured("mpijob_worker_pod", job)
        fill(made, workers["template"])
        made["metadata"]["name"] = made["spec"]["hostname"] = f"{job['metadata']['name']}-worker-{index}"
        made["metadata"]["labels"]["training.kubeflow.org/replica-index"] = str(index)
        yield made


def launcher_of(job):
    made = captured("mpijob_launcher_job", job)
    made["spec"]["template"]["metadata"].pop("ownerReferences")
    pod = made["spec"]["template"]
    fill(pod, job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"])
    for variable in pod["spec"]["containers"][0]["env"]:
        if variable["name"] == "OMPI_MCA_orte_set_default_slots":
            variable["value"] = str(job["spec"]["slotsPerWorker"])
    return made


def beside(job):
    """Service, hostfile and keys."""
    name, spec = job["metadata"]["name"], job["spec"]
    hosts = [f"{name}-worker-{index}.{name}.default.svc" for index in range(spec["mpiReplicaSpecs"]["Worker"]["replicas"])]
    found = {"hostfile": "".join(f"{host} slots={spec['slotsPerWorker']}\n" for host in hosts),
             "discover_hosts.sh": "#!/bin/sh\n" + "".join(f"echo {host}\n" for host in hosts)}
    keys = {"ssh-privatekey": "nobody asks", "ssh-publickey": "nobody asks"}  # mpi.py has no ssh server
    for kind, called, content in (
            ("Service", name, {"spec": {"clusterIP": "None", "selector": {"training.kubeflow.org/job-name": name}}}),
            ("ConfigMap", f"{name}-config", {"data": found}), ("Secret", f"{name}-ssh", {"stringData": keys})):
        yield {"apiVersion": "v1", "kind": kind, "metadata": {"name": called, "ownerReferences": owned_by(job)}, **content}


class Operator(threading.Thread):
    """In the namespace default."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stopping = threading.Event()
        self.failed = None
        lab.apply(CRD)
        lab.kubectl("wait", "--for=condition=Established", f"crd/{CRD['metadata']['name']}", "--timeout=30s")
        self.start()

    def stop(self):
        """Raises what has ended it before."""
        self.stopping.set()
        self.join()
        if self.failed:
            raise self.failed

    def run(self):
        try:
            while not self.stopping.wait(0.5):  # between looks
                for job in lab.get("mpijobs.kubeflow.org")["items"]:
                    if "completionTime" not in job.get("status", {}):
                        self.tend(job)
        except Exception as error:  # told by stop()
            self.failed = error

    def tend(self, job):
        name = job["metadata"]["name"]
        there = {(one["kind"], one["metadata"]["name"]): one for one in lab.get("pods,jobs,services,configmaps,secrets")["items"]}
        wanted = [*beside(job), *workers_of(job), launcher_of(job)]
        missing = [one for one in wanted if (one["kind"], one["metadata"]["name"]) not in there]
        if missing:
            lab.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": missing}))
        launcher = there.get(("Job", f"{name}-launcher"), {}).get("status", {})
        if "completionTime" not in launcher:
            return
        status = {"completionTime": launcher["completionTime"], "conditions": [
            {"type": "Succeeded", "status": "True", "reason": "MPIJobSucceeded", "lastTransitionTime": launcher["completionTime"]}]}
        lab.kubectl("patch", "mpijob", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
        if job["spec"].get("runPolicy", {}).get("cleanPodPolicy", "None") in ("Running", "All"):
            lab.kubectl("delete", "pod", "-l", f"training.kubeflow.org/job-name={name},training.kubeflow.org/job-role=worker",
                        "--wait=false")
