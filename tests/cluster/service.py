#!/usr/bin/env -S python3 -B
"""tests/bench/service.sh: nginx with a target on the cluster of scripts/cluster.sh, under a load that steps, beside a pinned
rank. The extender asks the cluster's Prometheus and the kubelet resizes; first by the paper's loop, then by ours."""
import argparse
import collections
import http.client
import http.server
import os
import random
import statistics
import subprocess
import sys
import threading
import time

from lab import (DIR, apply, cluster, cpus_of_pod, eventually, get, group_of, kubectl, need_a_cluster, pid_in, pod, run, text_of,
                 wait_ready)

NGINX = "localhost/pinion/nginx:1"
NGINX_PROGRAM = "/usr/sbin/nginx"  # in its Debian package, and in the image that is made of it
PORT = 8080
HERE = "10.245.255.1"  # of this end of the cluster's network
BUCKETS = [0.02 * 1.25 ** i for i in range(30)]  # seconds
PAGE_KIB = 64          # of the page "1"; those of "1.5" and "2" are as many times larger
RANK = "while :; do awk 'BEGIN { for (i = 0; i < 2500000; i++) x += i }'; cut -d ' ' -f 1 /proc/uptime; done"

# CPUs are spent by compressing.
CONFIGURATION = f"""
user root root;
daemon off;
worker_processes 1;
pid /tmp/nginx.pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  gzip on;
  gzip_comp_level 9;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  server {{ listen {PORT}; root /srv; default_type text/html; }}
}}
"""


def load_nginx():
    """Debian's, in an image, with pages of words."""
    work = f"{DIR}/nginx"
    os.makedirs(work, exist_ok=True)
    subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", "nginx"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    package = next(name for name in os.listdir(work) if name.endswith(".deb"))
    run("dpkg-deb", "-x", f"{work}/{package}", f"{work}/root")
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(2000)]
    files = {"/etc/nginx/nginx.conf": CONFIGURATION}
    for size in ("1", "1.5", "2"):
        files[f"/srv/{size}"] = " ".join(draw.choices(words, k=20000))[:int(float(size) * PAGE_KIB * 1024)]
    options = []
    for path, text in files.items():
        local = f"{work}/{os.path.basename(path)}"
        with open(local, "w") as file:
            file.write(text)
        options += ["--file", f"{path}={local}"]
    run("scripts/oci.py", f"{work}/nginx.tar", NGINX, f"{work}/root{NGINX_PROGRAM}", "--path", NGINX_PROGRAM, *options)
    cluster("load", f"{work}/nginx.tar")


class Load:
    """Asks a server for pages, and tells Prometheus how many it got and how long they took.

    `clients` ask again as soon as they are answered; with `rate` requests come by chance, so many a second, whatever became of
    those before, and their time counts from when they were to begin."""

    def __init__(self, address, clients=4, rate=None):
        self.address, self.rate, self.page = address, rate, "1"
        self.lock = threading.Lock()
        self.done = threading.Event()
        self.ended = collections.deque()        # (when, seconds) of the last answers
        self.counts = [0] * (len(BUCKETS) + 1)  # the last: all
        self.failed = 0
        self.next = time.monotonic()
        self.draw = random.Random(1)
        outer = self

        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = outer.metrics().encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer((HERE, 0), Page)
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(clients)]
        self.threads.append(threading.Thread(target=self.server.serve_forever, daemon=True))
        for thread in self.threads:
            thread.start()
        self.target_file = f"{DIR}/prometheus/targets/load.yaml"
        with open(self.target_file, "w") as file:
            file.write(f'- targets: ["{HERE}:{self.server.server_port}"]\n')

    def metrics(self):
        with self.lock:
            counts = list(self.counts)
        lines = [f'request_seconds_bucket{{le="{bound:.4f}"}} {count}' for bound, count in zip(BUCKETS, counts)]
        return "\n".join([*lines, f'request_seconds_bucket{{le="+Inf"}} {counts[-1]}', f"requests_total {counts[-1]}", ""])

    def begin_of_next(self):
        if self.rate is None:
            return time.monotonic()
        with self.lock:
            self.next += self.draw.expovariate(self.rate)
            return self.next

    def ask(self):
        connection = None
        while True:
            begin = self.begin_of_next()
            if self.done.wait(max(0, begin - time.monotonic())):
                if connection:
                    connection.close()
                return
            try:
                connection = connection or http.client.HTTPConnection(self.address, PORT, timeout=20)
                connection.request("GET", f"/{self.page}", headers={"Accept-Encoding": "gzip"})
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    raise http.client.HTTPException(str(answer.status))
            except (OSError, http.client.HTTPException):
                connection, self.failed = None, self.failed + 1
                self.done.wait(0.1)
                continue
            now = time.monotonic()
            with self.lock:
                self.ended.append((now, now - begin))
                self.counts[-1] += 1
                for i, bound in enumerate(BUCKETS):
                    self.counts[i] += now - begin <= bound

    def last(self, seconds):
        """How long each of the requests of the last seconds took."""
        end = time.monotonic()
        with self.lock:
            while self.ended and self.ended[0][0] < end - 60:
                self.ended.popleft()
            return [took for when, took in self.ended if when >= end - seconds]

    def stop(self):
        self.done.set()
        self.server.shutdown()
        for thread in self.threads:
            thread.join()
        self.server.server_close()
        os.remove(self.target_file)


def service_pod(name, annotations, limit="100m"):
    made = pod(name, annotations={f"pinion.dev/service-{key}": value for key, value in annotations.items()})
    made["spec"]["containers"] = [{"name": "nginx", "image": NGINX,
                                   "resources": {"limits": {"cpu": limit, "memory": "64Mi"}, "requests": {"cpu": "20m"}}}]
    return made


def address_of(name):
    return get(f"pod/{name}")["status"]["podIP"]


class Quota:
    """What the kernel lets a container use: CPUs."""

    def __init__(self, name):
        group, first = group_of(pid_in(name), "cpu")
        self.files = [f"{group}/{file}" for file in (("cpu.cfs_quota_us", "cpu.cfs_period_us") if first else ("cpu.max",))]

    def read(self):
        quota, period = " ".join(map(text_of, self.files)).split()
        return float(quota) / float(period)


def keep_others_off(cpus):
    """Host daemons are no pods: an operator keeps them off the ranks' cores. containerd starts containers, which inherit it."""
    others = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0) - cpus))
    parts = [part for part in os.listdir(f"{DIR}/pids") if "." not in part and part != "containerd"]
    for pid in [text_of(f"{DIR}/pids/{part}") for part in parts] + [str(os.getpid())]:
        run("taskset", "-acp", others, pid)


# ---- The bench

Kind = collections.namedtuple("Kind", "annotations performance steps load")
Sample = collections.namedtuple("Sample", "phase cpus performance")


def throughput(target):
    """The page gets dearer."""
    def performance(load):
        return len(load.last(10)) / 10 / target
    # In thousands: below 1,000, of whatever unit, the paper's loop sees no load.
    return Kind({"metric": "1000 * sum(rate(requests_total[20s]))", "target": f"{1000 * target:.0f}", "cpu": "50m..700m",
                 "settle": "25s"},
                performance, [("page", page) for page in ("1", "2", "1.5", "1")], {"clients": 4})


def latency(seconds, rate):
    """More requests come. `rate`: of those that half a CPU can answer."""
    def performance(load):
        took = load.last(20)
        return seconds / statistics.quantiles(took, n=10)[-1] if len(took) > 10 else 0
    return Kind({"metric": "histogram_quantile(0.9, sum by (le) (rate(request_seconds_bucket[20s])))", "target": f"{seconds:.3f}",
                 "direction": "at-most", "cpu": "50m..700m", "settle": "25s"},
                performance, [("rate", rate * part) for part in (0.4, 0.8, 0.6, 0.3)], {"clients": 32})


def iterations():
    """Seconds of each of the rank's, with when they ended, by the machine's uptime."""
    ends = [float(line) for line in kubectl("logs", "rank").split()]
    return [(end, end - begin) for begin, end in zip(ends, ends[1:])]


def uptime():
    return float(text_of("/proc/uptime").split()[0])


def rank_between(begin, end):
    return statistics.median(took for when, took in iterations() if begin + 2 < when < end)


def play(kind, policy, seconds):
    """Samples, one a second, and the seconds of one of the rank's iterations meanwhile."""
    apply(service_pod("web", {**kind.annotations, "policy": policy}))
    wait_ready("web")
    quota, begin, samples = Quota("web"), uptime(), []
    field, first = kind.steps[0]
    load = Load(address_of("web"), **kind.load, **({"rate": first} if field == "rate" else {}))
    try:
        for phase, (field, value) in enumerate(kind.steps):
            setattr(load, field, value)
            for _ in range(seconds):
                time.sleep(1)
                samples.append(Sample(phase, quota.read(), kind.performance(load)))
        restarts = get("pod/web")["status"]["containerStatuses"][0]["restartCount"]
        if restarts or load.failed:
            raise AssertionError(f"{restarts} restarts, {load.failed} requests failed")
    finally:
        load.stop()
    rank = rank_between(begin, uptime())
    kubectl("delete", "pod", "web", "--wait=true")
    return samples, rank


def overshoot(samples):
    """By how much the CPUs went past those at the end of a phase, on the side away from the phase before: the mean."""
    worst, before = [], samples[0].cpus
    for phase in sorted({one.phase for one in samples}):
        cpus = [one.cpus for one in samples if one.phase == phase]
        end = cpus[-1]
        past = max(cpus) / end - 1 if end >= before else end / min(cpus) - 1
        worst.append(max(0, past))
        before = end
    return statistics.mean(worst)


def row(what, policy, samples, rank):
    near = statistics.mean(0.9 <= one.performance <= 1.1 for one in samples)
    kept = statistics.mean(one.performance >= 0.9 for one in samples)
    resizes = sum(one.cpus != other.cpus for one, other in zip(samples, samples[1:]))
    print(f"{what:<12} {policy:<6} {100 * near:>9.1f} {100 * kept:>11.1f} {100 * overshoot(samples):>11.1f} "
          f"{sum(one.cpus for one in samples):>11.1f} {resizes:>7} {rank:>6.2f} s", flush=True)


def bench(seconds, file):
    apply(pod("rank", cpu=1, command=RANK))
    wait_ready("rank")
    keep_others_off(cpus_of_pod("rank"))
    load_nginx()
    # How dear a page is here.
    apply(service_pod("probe", {}, limit="500m"))
    wait_ready("probe")
    load = Load(address_of("probe"))
    time.sleep(15)  # what is measured
    most = len(load.last(10)) / 10
    load.stop()
    kubectl("delete", "pod", "probe", "--wait=true")
    begin = uptime()
    eventually(60, "the rank has run alone", lambda: sum(when > begin + 2 for when, _ in iterations()) > 10)
    print(f"half a CPU answers {most:.1f} requests a second; the rank alone takes {rank_between(begin, uptime()):.2f} s an iteration")
    print(f"{'TARGET':<12} {'POLICY':<6} {'ON TARGET %':>11} {'NOT BELOW %':>11} {'OVERSHOOT %':>11} {'CPU SECONDS':>11} {'RESIZES':>7} "
          f"{'RANK':>8}", flush=True)
    kinds = {"throughput": throughput(0.4 * most), "latency": latency(0.15, most)}
    for what, kind in kinds.items():
        for policy in ("paper", "ours"):
            samples, rank = play(kind, policy, seconds)
            row(what, policy, samples, rank)
            if file:
                file.writelines(f"{what},{policy},{second},{one.phase},{one.cpus:.3f},{one.performance:.4f}\n"
                                for second, one in enumerate(samples))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120, help="of each of the four steps of a load [120]")
    parser.add_argument("--csv", type=argparse.FileType("w"), help="second by second, for a plot")
    asked = parser.parse_args()
    need_a_cluster()
    if asked.csv:
        asked.csv.write("target,policy,second,step,cpus,performance\n")
    try:
        cluster("up", limit=300)
        bench(asked.seconds, asked.csv)
    finally:
        cluster("down")
    return 0


if __name__ == "__main__":
    sys.exit(main())
