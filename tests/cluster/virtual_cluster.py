"""A release of the chart virtual-cluster on the cluster of scripts/cluster.sh, and an MPI program for its jobs."""
import os
import re
import shutil

from lab import DIR, NAMESPACE, cluster, eventually, get, kubectl, run


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
