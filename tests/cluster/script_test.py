#!/usr/bin/env python3
"""scripts/cluster.sh with programs that only sleep, as root in namespaces of its own: whom it ends, what it deletes and which
images it installs; and how scripts/package.sh names those.
Process 1 is this program, which reaps nobody's children but its own."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "a) Z (b"  # of the programs that sleep: /proc/PID/stat has it in parentheses
OWNER, NETWORK = "/run/pinion-cluster", "/run/netns/pinion-cluster"


def write(path, text="", mode=0o755):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def text_of(path):
    with open(path) as file:
        return file.read().strip()


def state(pid):
    """As R, S, or Z; None: it is gone."""
    try:
        return text_of(f"/proc/{pid}/stat").rpartition(") ")[2][0]
    except OSError:
        return None


@unittest.skipIf(os.geteuid() != 0, "it must be root")
class Script(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        self.dir, self.data = f"{self.top}/cluster", f"{self.top}/data"
        write(f"{self.data}/dear")
        scripts, programs = f"{self.top}/scripts", f"{self.top}/programs"
        os.makedirs(scripts)
        shutil.copy(f"{HERE}/../../scripts/cluster.sh", scripts)
        for name in ("kube.sh", "runtime.sh"):
            write(f"{scripts}/{name}", f"#!/bin/sh\necho {programs}\n")
        os.makedirs(programs)
        self.sleeper = shutil.copy(shutil.which("sleep"), f"{programs}/{NAME}")
        for name in ("etcd", "kube", "kube-controller-manager", "node", "2.1/containerd"):
            write(f"{programs}/{name}", f"#!/bin/sh\nexec '{self.sleeper}' 1000\n")
        for name in (f"{programs}/{one}" for one in ("kubectl", "helm", "2.1/ctr", "runc")):
            write(name, "#!/bin/sh\n")
        for name in (f"{scripts}/deps.sh", f"{scripts}/oci.py", f"{self.top}/path/sysctl"):  # the last is of the whole machine
            write(name, "#!/bin/sh\n")
        self.environment = {**os.environ, "PATH": f"{self.top}/path:{os.environ['PATH']}"}

    def run_in(self, cwd, folder, *command):
        return subprocess.run(command, cwd=cwd, env={**self.environment, "PINION_CLUSTER": folder}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=60)

    def call(self, *arguments, folder=None):
        return self.run_in(self.top, folder or self.dir, "scripts/cluster.sh", *arguments)

    def well(self, *arguments, **options):
        done = self.call(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def refused(self, why, *arguments, **options):
        done = self.call(*arguments, **options)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(why, done.stdout)

    # On a busy machine one that was killed takes a while to be gone, and one that was started to come to rest.
    def wait_for(self, states):
        deadline = time.monotonic() + 30
        while not (seen := {state(pid) for pid in self.pids().values()}) <= states:
            self.assertLess(time.monotonic(), deadline, seen)
            time.sleep(0.01)

    def kill_all(self):
        for pid in self.pids().values():
            os.kill(pid, 9)
        self.wait_for({None, "Z"})

    def assert_all_run(self):
        self.wait_for({"S"})

    def up(self, **options):
        self.well("up", "--bare", **options)
        self.addCleanup(self.call, "down", **options)

    def program(self, *command):
        return self.run_in(f"{self.top}/tests/cluster", self.dir, sys.executable, "-B", *command)

    def pids(self):
        return {name: int(text_of(f"{self.dir}/pids/{name}")) for name in os.listdir(f"{self.dir}/pids") if "." not in name}

    def stranger(self):
        process = subprocess.Popen([self.sleeper, "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def test_down_takes_all_of_it_away_though_nobody_reaps(self):
        self.up()
        pids = self.pids()
        self.assertEqual(set(pids), {"etcd", "apiserver", "controller_manager", "scheduler", "containerd", "kubelet", "proxy"})
        status = self.well("status")
        for name, pid in pids.items():
            self.assertRegex(status, rf"(?m)^{name} +pid {pid}$")
        self.well("restart", "controller_manager")
        self.assertEqual(state(pids["controller_manager"]), "Z")
        self.refused("it runs already", "up", "--bare")
        pids = self.pids()
        self.well("down")
        self.assertEqual({state(pid) for pid in pids.values()}, {"Z"})
        self.assertFalse(any(os.path.exists(path) for path in (self.dir, OWNER, NETWORK)))
        self.well("down")

    def test_what_up_has_not_made_is_left_alone(self):
        for command in (("up", "--bare"), ("down",), ("restart", "kubelet"), ("load", "/dev/null"), ("add-node",)):
            self.refused(f"{self.data} has no {self.data}/.pinion-cluster", *command, folder=self.data)
        self.assertEqual(os.listdir(self.data), ["dear"])
        self.refused("there is no cluster in", "restart", "kubelet")
        self.assertFalse(os.path.exists(self.dir))
        for folder in (f"{self.top}/a blank", "/"):
            self.refused("PINION_CLUSTER may have", "down", folder=folder)

    def test_nothing_is_deleted_through_mounts(self):
        os.symlink(self.top, f"{self.top}/link")
        folder = f"{self.top}/link/cluster/"
        self.up(folder=folder)
        for name in ("plain", "a blank"):  # the second is not found by its name
            os.makedirs(f"{self.dir}/{name}")
            subprocess.run(["mount", "--bind", self.data, f"{self.dir}/{name}"], check=True)
        self.refused("unmount what is mounted there", "down", folder=folder)
        self.assertFalse(os.path.ismount(f"{self.dir}/plain"))
        self.assertEqual(os.listdir(self.data), ["dear"])
        subprocess.run(["umount", f"{self.dir}/a blank"], check=True)
        self.well("down", folder=folder)
        self.assertFalse(os.path.exists(self.dir))
        self.assertEqual(os.listdir(self.data), ["dear"])

    def test_a_number_that_is_another_process_s_by_now_is_not_believed(self):
        self.up()
        kubelet, stranger = self.pids()["kubelet"], self.stranger()
        write(f"{self.dir}/pids/kubelet", f"{stranger}\n")
        self.assertRegex(self.well("status"), r"(?m)^kubelet +does not run$")
        self.well("restart", "etcd")
        write(f"{self.dir}/pids/etcd.start")  # of one that ended at once
        self.assertRegex(self.well("status"), r"(?m)^etcd +does not run$")
        self.well("down")
        self.assertEqual(state(stranger), "S")
        os.kill(kubelet, 9)

    def test_up_starts_anew_after_the_machine_s_restart(self):
        self.up()
        self.kill_all()
        subprocess.run(["ip", "netns", "del", "pinion-cluster"], check=True)
        os.remove(OWNER)
        write(f"{self.dir}/etcd/old")
        self.well("up", "--bare")
        self.assertFalse(os.path.exists(f"{self.dir}/etcd/old"))
        self.assert_all_run()

    def test_a_cluster_of_another_folder_is_left_alone_while_it_runs(self):
        self.up()
        other = f"{self.top}/other"
        for command in (("up", "--bare"), ("down",)):
            self.refused(f"the cluster of {self.dir} runs: PINION_CLUSTER={self.dir} ", *command, folder=other)
        self.assert_all_run()
        self.assertTrue(os.path.exists(NETWORK))
        self.kill_all()
        self.up(folder=other)
        self.assertEqual(text_of(OWNER), other)
        self.refused(f"the cluster of {other} runs", "down")
        self.well("down", folder=other)
        self.well("down")
        self.assertFalse(os.path.exists(self.dir))

    def test_installs_what_was_packed_last(self):
        """And no other image that is there."""
        for name in ("curl", "prometheus"):
            write(f"{self.top}/path/{name}", f"#!/bin/sh\n[ {name} = curl ] || exec '{self.sleeper}' 1000\n")
        shutil.copytree(f"{HERE}/../../deploy/prometheus", f"{self.top}/deploy/prometheus")
        self.environment["PINION_PACKAGED"] = "yes"
        self.up()
        tags = ("0.1.0-abc", "0.1.0-abc.dirty-1", "0.1.0-abc.dirty-2")
        write(f"{self.top}/programs/2.1/ctr",
              "#!/bin/sh\n" + "".join(f"echo localhost/pinion/pinion-agent:{tag}\n" for tag in tags))
        os.makedirs(f"{self.top}/build/package/out")
        write(f"{self.top}/program", "#!/bin/sh\n")
        for tag in tags:
            for program in ("pinion-agent", "pinion-extender"):
                image = f"{self.top}/build/package/out/{program}.tar"
                subprocess.run([f"{HERE}/../../scripts/oci.py", image, f"localhost/pinion/{program}:{tag}", f"{self.top}/program"],
                               check=True, stdout=subprocess.DEVNULL)
            self.well("install")
            self.assertIn(f'image: {{tag: "{tag}", pullPolicy: Never}}', text_of(f"{self.dir}/values.yaml"))

    def test_a_cluster_that_does_not_come_up_is_not_left_behind_by_the_tests(self):
        shutil.copytree(HERE, f"{self.top}/tests/cluster")
        write(f"{self.top}/programs/kubectl", '#!/bin/sh\ncase "$*" in *create*) echo no such thing; exit 1 ;; esac\n')
        programs = (("cluster_test.py", "Cluster"), ("cluster_test.py", "Migration"), ("soak.py", "1"), ("service.py",))
        for program in programs:
            done = self.program(*program)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("cluster: starting Kubernetes", done.stdout)
            self.assertFalse(os.path.exists(self.dir) or os.path.exists(NETWORK), program)
        write(f"{self.top}/programs/kubectl", "#!/bin/sh\n")
        self.up()
        for program in programs:
            self.assertIn("somebody's cluster runs", self.program(*program).stdout)
        self.assert_all_run()


class Packages(unittest.TestCase):
    """scripts/package.sh with a compiler that only copies."""

    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        os.makedirs(f"{self.top}/scripts")
        for name in ("package.sh", "oci.py"):
            shutil.copy(f"{HERE}/../../scripts/{name}", f"{self.top}/scripts")
        for name in ("job_submit.lua", "cgroup.conf", "epilog.sh"):
            write(f"{self.top}/cluster/slurm/{name}")
        write(f"{self.top}/scripts/deps.sh", "#!/bin/sh\n")
        write(f"{self.top}/path/cmake", '#!/bin/sh\necho "${3#*=}" >commit\n')  # -DPINION_COMMIT=
        write(f"{self.top}/path/objcopy", '#!/bin/sh\nshift $(($# - 2))\ncp "$1" "$2"\n')
        write(f"{self.top}/scripts/build.sh", """#!/bin/sh -e
mkdir -p build/package/bin
commit=$(cat commit)
for program in pinion-agent pinion-extender pinion-slurm pinionctl; do
  { echo "#!/bin/sh"; echo "echo 0.1.0${commit:++$commit}"; cat source; } >build/package/bin/$program
  chmod 755 build/package/bin/$program
done
""")
        self.edit("first")

    def edit(self, what):
        write(f"{self.top}/source", f"# {what}\n")

    def git(self, *arguments):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.top, check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    def tag(self):
        """By what is printed, and the same in the image."""
        done = subprocess.run(["scripts/package.sh", "--images", "--no-slurm"], cwd=self.top, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60,
                              env={**os.environ, "PATH": f"{self.top}/path:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stdout)
        (tag,) = re.findall(r"(?m)^IMAGE \((.*)\)", done.stdout)
        for program in ("pinion-agent", "pinion-extender"):
            with tarfile.open(f"{self.top}/build/package/out/{program}.tar") as image:
                (one,) = json.load(image.extractfile("index.json"))["manifests"]
            self.assertEqual(one["annotations"]["org.opencontainers.image.ref.name"], tag)
        return tag

    def test_other_programs_have_another_tag(self):
        alone = self.tag()  # in no checkout
        self.assertRegex(alone, r"^0\.1\.0-[0-9a-f]{8}$")
        self.git("init", "-q")
        self.git("add", "source")
        self.git("commit", "-qm", "first")
        version = f"0.1.0-{self.git('rev-parse', '--short=12', 'HEAD')}"
        self.assertEqual(self.tag(), version)
        tags = [alone]
        for what in ("second", "third"):
            self.edit(what)
            tags.append(self.tag())
            self.assertRegex(tags[-1], rf"^{version}\.dirty-[0-9a-f]{{8}}$")
            self.assertEqual(self.tag(), tags[-1])
        write(f"{self.top}/cluster/slurm/epilog.sh", "true\n")  # which the image of a virtual cluster has
        tags.append(self.tag())
        self.assertEqual(len(set(tags)), len(tags))


if __name__ == "__main__":
    if os.geteuid() == 0 and os.getpid() != 1:
        os.execvp("unshare", ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                              sys.executable, "-B", os.path.abspath(__file__), *sys.argv[1:]])
    if os.getpid() == 1:
        for folder in ("/run", "/sys/fs/cgroup"):
            subprocess.run(["umount", "--recursive", "--lazy", folder], stderr=subprocess.DEVNULL)
            subprocess.run(["mount", "-t", "tmpfs", "private", folder], check=True)
    unittest.main()
