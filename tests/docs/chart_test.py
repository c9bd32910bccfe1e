#!/usr/bin/env python3
"""What the charts make of values, by the helm of scripts/kube.sh --helm.

An installed release is asked for by the charts' own `lookup`; here it asks a server of ours that knows Secrets alone."""
import configparser
import contextlib
import glob
import http.server
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHART = "deploy/chart/pinion"
NAMESPACE = "pinion-system"
# The oldest that the chart says it takes, and the one of scripts/kube.sh.
KUBERNETES = ("1.30.0", "1.34.0")
PRESETS = {os.path.basename(path)[:-len(".yaml")]: os.path.relpath(path, TOP)
           for path in sorted(glob.glob(f"{TOP}/{CHART}/presets/*.yaml"))}
EXISTING = "certificates.mode=existing,certificates.caBundle=UEVN"
CERT_MANAGER = ("--api-versions", "cert-manager.io/v1")


def run(*command, check=True):
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def helm_path():
    path = run("scripts/kube.sh", "--where").stdout.strip() + "/helm"
    if not os.path.exists(path):
        raise unittest.SkipTest("no helm: scripts/kube.sh --helm")
    return path


def render(*arguments, chart=CHART, kubernetes=KUBERNETES[-1], check=True):
    return run(helm_path(), "template", "pinion", chart, "--namespace", NAMESPACE, "--kube-version", kubernetes, *arguments,
               check=check)


class Objects(dict):
    """Of a render: by (kind, name)."""

    def __init__(self, text):
        super().__init__()
        seen = {}
        for one in yaml.safe_load_all(text):
            if one is None:
                continue
            key = one["kind"], one["metadata"]["name"]
            spaces = seen.setdefault(key, set())
            if one["metadata"].get("namespace") in spaces:
                raise AssertionError(f"{key} twice")
            spaces.add(one["metadata"].get("namespace"))
            self[key] = one

    def names(self, kind):
        return {name for each, name in self if each == kind}

    def template(self, kind, name):
        return self[kind, name]["spec"]["template"]

    def config(self, name):
        """The settings in a ConfigMap of one file."""
        (text,) = self["ConfigMap", name]["data"].values()
        return yaml.safe_load(text)


def objects(*arguments, **options):
    return Objects(render(*arguments, **options).stdout)


def preset(name, *sets):
    arguments = ["-f", PRESETS[name]]
    for one in sets:
        arguments += ["--set", one]
    return arguments


@contextlib.contextmanager
def copied_chart():
    with tempfile.TemporaryDirectory() as folder:
        yield shutil.copytree(f"{TOP}/{CHART}", f"{folder}/pinion")


class Render(unittest.TestCase):
    """Every preset, with all that may be switched on."""

    VARIANTS = {
        "as it is": (),
        "fixed address": ("--set", "extender.service.clusterIP=10.96.0.77"),
        "cert-manager": CERT_MANAGER,
        "existing certificates": ("--set", EXISTING),
        "pod monitors": ("--set", "monitoring.enabled=true,monitoring.rules=true,monitoring.labels.release=prometheus"),
        "service monitors": ("--set", "monitoring.enabled=true,monitoring.kind=ServiceMonitor"),
        "rights of every setting": ("--set", "extender.config.podGroups=true,extender.config.startupTaint=true,"
                                    "extender.config.nodeResourceTopology=true,extender.config.elastic=ours,agent.partitions=true"),
        "Prometheus of services": ("--set", "extender.config.servicesPrometheus=https://prometheus,"
                                   "extender.prometheusSecret=prometheus,extender.prometheusToken=true"),
        "no agents": ("--set", "agent.enabled=false"),
        "one extender": ("--set", "extender.replicas=1"),
    }

    def test_what_a_pod_mounts_is_there_and_selectors_find_their_pods(self):
        self.assertEqual(sorted(PRESETS), ["agents-only", "default-scheduler", "second-scheduler"])
        for name in PRESETS:
            for variant, arguments in self.VARIANTS.items():
                for kubernetes in KUBERNETES if not arguments else KUBERNETES[-1:]:
                    with self.subTest(preset=name, variant=variant, kubernetes=kubernetes):
                        self.check(objects(*preset(name), *arguments, kubernetes=kubernetes), variant)

    def check(self, made, variant):
        secrets = made.names("Secret") | {one["spec"]["secretName"] for one in made.values() if one["kind"] == "Certificate"}
        secrets |= {"prometheus"}  # the operator's
        if variant != "cert-manager":  # those who have them, or the extender makes them
            secrets |= {"pinion-extender-tls", "pinion-agent-tls", "pinion-scheduler-tls"}
        labels = []
        for (kind, name), one in made.items():
            self.assertTrue(one["apiVersion"], name)
            if kind in ("Deployment", "DaemonSet"):
                pod = one["spec"]["template"]
                labels.append(pod["metadata"]["labels"])
                self.assertLessEqual(one["spec"]["selector"]["matchLabels"].items(), labels[-1].items())
                volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
                mounted = {each["name"] for container in pod["spec"]["containers"] for each in container["volumeMounts"]}
                self.assertEqual(mounted, set(volumes), f"of {name}")
                for volume in volumes.values():
                    if "configMap" in volume:
                        self.assertIn(volume["configMap"]["name"], made.names("ConfigMap"))
                    if "secret" in volume:
                        self.assertIn(volume["secret"]["secretName"], secrets)
        for (kind, name), one in made.items():
            if kind == "Service":
                wanted = dict(one["spec"]["selector"])
                wanted.pop("pinion.dev/leader", None)  # of the leader's own doing
                self.assertTrue(any(wanted.items() <= each.items() for each in labels), f"{name} selects no pod")

    def test_the_second_scheduler_has_an_image_that_is_there(self):
        # Helm has the server's own version at an installation alone: of --kube-version it takes the number.
        with copied_chart() as chart:
            path = f"{chart}/templates/scheduler.yaml"
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertIn(".Capabilities.KubeVersion.Version", text)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(".Capabilities.KubeVersion.Version", ".Values.global.version"))

            def image(*sets):
                made = objects(*preset("second-scheduler", *sets), chart=chart)
                return made.template("Deployment", "pinion-scheduler")["spec"]["containers"][0]["image"]

            for version in ("v1.33.4", "v1.33.4-gke.1245000", "v1.33.4-eks-3025e55", "v1.33.4+k3s1"):
                self.assertEqual(image(f"global.version={version}"), "registry.k8s.io/kube-scheduler:v1.33.4", version)
            self.assertEqual(image("global.version=v1.33.4,scheduler.tag=v1-own"), "registry.k8s.io/kube-scheduler:v1-own")

    def test_of_a_virtual_cluster(self):
        made = objects(chart="deploy/chart/virtual-cluster")
        self.assertIn(("StatefulSet", "pinion-controller"), made)
        self.assertNotIn("PodMonitor", {kind for kind, _ in made})
        # What a job that loses its cores may still run on those of others.
        self.assertIn("\nKillWait=5\n", made["ConfigMap", "pinion-slurm"]["data"]["slurm.conf"])

    def test_a_virtual_cluster_is_scraped_where_it_listens(self):
        made = objects("--set", "monitoring.enabled=true,monitoring.labels.release=prometheus",
                       chart="deploy/chart/virtual-cluster")
        monitor = made["PodMonitor", "pinion"]
        self.assertEqual(monitor["metadata"]["labels"]["release"], "prometheus")
        pod = made["StatefulSet", "pinion-controller"]["spec"]["template"]
        wanted = monitor["spec"]["selector"]["matchLabels"]
        self.assertLessEqual(wanted.items(), pod["metadata"]["labels"].items())
        port = monitor["spec"]["podMetricsEndpoints"][0]["port"]
        bridge, = [one for one in pod["spec"]["containers"] if one["name"] == "pinion-slurm"]
        number, = [one["containerPort"] for one in bridge["ports"] if one["name"] == port]
        settings = yaml.safe_load(made["ConfigMap", "pinion-bridge"]["data"]["slurm.yaml"])
        self.assertEqual(settings["listen"], f"0.0.0.0:{number}")
        self.assertIn({"ports": [{"port": port}]}, made["NetworkPolicy", "pinion"]["spec"]["ingress"])

    def test_helm_finds_no_fault(self):
        for chart in glob.glob(f"{TOP}/deploy/chart/*"):
            for values in [[]] + [["-f", path] for path in PRESETS.values() if path.startswith(os.path.relpath(chart, TOP))]:
                run(helm_path(), "lint", "--strict", "--kube-version", KUBERNETES[-1], chart, *values)

    def test_kustomize_has_what_the_chart_makes(self):
        helm_path()
        run("scripts/manifests.sh", "--check")

    def test_a_value_that_is_none_is_refused(self):
        for wrong in ("extender.replica=2", "scheduler.mode=third", "agent.config.nriSocket=/x",
                      "extender.config.elasticAgeing=600", "extender.config.elasticStrict=7d",
                      "extender.config.elasticRescalePercent=0", "extender.config.elasticBrokenPercent=0.5",
                      "agent.maxUnavailable=foo", "agent.maxUnavailable=0", "agent.maxUnavailable=0%",
                      "extender.config.listen=0.0.0.0:1", "extender.config.webListen=0.0.0.0:10270",
                      "extender.config.leaseName=mine", "extender.config.leaseNamespace=default",
                      "agent.config.metricsListen=0.0.0.0:9465", "agent.config.probeListen=0.0.0.0:0"):
            said = render("--set", wrong, check=False)
            self.assertNotEqual(said.returncode, 0, wrong)
            self.assertIn("values don't meet the specifications of the schema", said.stderr)

    def test_values_that_do_not_go_together_are_refused(self):
        user = "users[{0}].name={1},users[{0}].uid={2}".format
        cluster = "deploy/chart/virtual-cluster"
        for wrong, chart, error in (
                ("certificates.mode=existing", CHART, "certificates.caBundle: missing"),
                ("extender.prometheusToken=true", CHART, "extender.prometheusSecret, which is missing"),
                (user(0, "a", 2000) + "," + user(1, "a", 2001), cluster, "users: two have the name a"),
                (user(0, "a", 2000) + "," + user(1, "b", 2000), cluster, "users: two have the uid 2000")):
            said = render("--set", wrong, chart=chart, check=False)
            self.assertNotEqual(said.returncode, 0, wrong)
            self.assertIn(error, said.stderr)
        # Of the agents alone nobody asks the webhook.
        render("--set", "certificates.mode=existing,extender.enabled=false")
        render("--set", user(0, "a", 2000) + "," + user(1, "b", 2001), chart=cluster)

    def test_a_share_of_the_nodes_may_be_without_an_agent(self):
        agents = objects("--set", "agent.maxUnavailable=10%")["DaemonSet", "pinion-agent"]
        self.assertEqual(agents["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], "10%")

    def test_what_the_elastic_policy_goes_by_reaches_the_extender(self):
        right = {"elasticAgeing": "5m", "elasticPatience": 0, "elasticStrict": "0s", "elasticRescalePercent": 10,
                 "elasticBrokenPercent": 100}
        made = objects("--set", ",".join(f"extender.config.{key}={value}" for key, value in right.items()))
        self.assertLessEqual(right.items(), made.config("pinion-extender").items())

    def test_the_agents_listen_on_other_addresses_at_the_ports_of_their_pods(self):
        made = objects("--set-json", 'agent.config={"metricsListen":"[::]:9464","probeListen":"[::]:9466"}')
        said = made.config("pinion-agent")
        self.assertEqual((said["metricsListen"], said["probeListen"]), ("[::]:9464", "[::]:9466"))

    def test_bare_off_in_yaml_is_no_truth_value(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as values:
            values.write("extender: {config: {elastic: off}}\n")
            values.flush()
            self.assertEqual(objects("-f", values.name).config("pinion-extender")["elastic"], "off")

    def test_a_setting_that_is_none_is_left_to_the_program(self):
        made = objects("--set", "agent.config.reservedCpu=0,extender.config.keepTimes=30s")
        self.assertIn("reservedCpu", made.config("pinion-agent"))
        self.assertIn("keepTimes", made.config("pinion-extender"))


class Rights(unittest.TestCase):
    """The extender has a right only where a setting needs it."""

    def of(self, *sets):
        """Without those that every setting needs."""
        given = {(verb, resource, group) for rule in objects(*sets)["ClusterRole", "pinion-extender"]["rules"]
                 for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}
        return given - self.always

    def setUp(self):
        self.always = set()
        self.always = self.of("--set", "extender.config.elastic=off,extender.config.refusedTime=0")

    def test_to_evict_unless_refused_pods_stay(self):
        evict = {("create", "pods/eviction", "")}
        self.assertEqual(self.of(), evict)
        self.assertEqual(self.of("--set", "extender.config.refusedTime=10s"), evict)
        for never in ("0", "0s", "0ms", "0.0h"):
            self.assertEqual(self.of("--set-string", f"extender.config.refusedTime={never}"), set(), never)
        self.assertEqual(self.of("--set-json", "extender.config.refusedTime=0"), set())

    def test_to_resize_jobs_where_some_are_elastic(self):
        jobs = (("jobs", "batch"), ("mpijobs", "kubeflow.org"), ("jobs", "batch.volcano.sh"))
        sized = {(verb, *kind) for verb in ("list", "watch", "patch") for kind in jobs}
        for policy in ("min", "max", "moldable", "elastic", "ours"):
            self.assertEqual(self.of("--set", f"extender.config.elastic={policy},extender.config.refusedTime=0"), sized, policy)
        self.assertLessEqual({("get", *kind) for kind in jobs}, self.always)
        self.assertEqual(self.of("--set-json", 'extender.config={"elastic":false,"refusedTime":"0"}'), set())

    def test_of_other_settings(self):
        for sets, more in (("servicesPrometheus=http://prometheus", {("patch", "pods/resize", "")}),
                           ("startupTaint=true", {("patch", "nodes", "")}),
                           ("nodeResourceTopology=true", {(verb, "noderesourcetopologies", "topology.node.k8s.io")
                                                          for verb in ("create", "patch")}),
                           ("podGroups=true", {(verb, "podgroups", "scheduling.k8s.io") for verb in ("create", "get", "patch")})):
            self.assertEqual(self.of("--set", f"extender.config.refusedTime=0,extender.config.{sets}"), more, sets)


SECRETS = ("pinion-agent-tls", "pinion-extender-tls", "pinion-scheduler-tls")


RESOURCES = {"/api/v1": ("Secret", "ConfigMap"), "/apis/coordination.k8s.io/v1": ("Lease",)}


@contextlib.contextmanager
def api_server(secrets, others=()):
    """What helm's lookup needs of one: Secrets by name, and others by path. Yields options of helm."""
    others = dict(others)

    def answer(path):
        if path == "/version":
            return {"major": "1", "minor": "34", "gitVersion": "v" + KUBERNETES[-1]}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            version = {"groupVersion": "coordination.k8s.io/v1", "version": "v1"}
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
                {"name": "coordination.k8s.io", "versions": [version], "preferredVersion": version}]}
        if path in RESOURCES:
            return {"kind": "APIResourceList", "groupVersion": path.partition("/")[2].partition("/")[2],
                    "resources": [{"name": f"{kind.lower()}s", "kind": kind, "namespaced": True, "verbs": ["get"]}
                                  for kind in RESOURCES[path]]}
        folder, _, name = path.rpartition("/")
        return others.get(path) or (secrets.get(name) if folder == f"/api/v1/namespaces/{NAMESPACE}/secrets" else None)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            found = answer(self.path.partition("?")[0])
            body = json.dumps(found or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                                        "code": 404}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield ["--dry-run=server", "--kube-apiserver", f"http://127.0.0.1:{server.server_port}"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Certificates(unittest.TestCase):
    """Whoever makes them, what is mounted, said and allowed fits."""
    ADDRESS = ("--set", "extender.service.clusterIP=10.96.0.77")

    def upgrade(self, metadata, *arguments):
        """Where these Secrets are in the cluster."""
        there = {name: {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **metadata},
                        "data": {"tls.crt": "", "tls.key": "", "ca.crt": ""}} for name in SECRETS}
        with api_server(there) as options:
            return objects(*preset("second-scheduler"), *options, *arguments)

    def resources(self, made):
        return {resource for kind in ("Role", "ClusterRole") for rule in made[kind, "pinion-extender"]["rules"]
                for resource in rule["resources"]}

    def volume(self, made):
        volumes = made.template("Deployment", "pinion-extender")["spec"]["volumes"]
        return next(one for one in volumes if one["name"] == "tls")

    def check_by_the_extender(self, made):
        self.assertEqual(made.names("Secret") | made.names("Certificate"), set())
        self.assertIn("pinion-webhook.pinion-system.svc", made.config("pinion-extender")["certificateNames"].split(","))
        self.assertLessEqual({"secrets", "serviceaccounts", "mutatingwebhookconfigurations"}, self.resources(made))
        self.assertIn("emptyDir", self.volume(made))
        webhook = made["MutatingWebhookConfiguration", "pinion-extender"]
        self.assertNotIn("annotations", webhook["metadata"])
        for one in webhook["webhooks"]:
            self.assertNotIn("caBundle", one["clientConfig"], "an upgrade would take away what the extender has put there")

    def check_by_others(self, made):
        self.assertNotIn("certificateNames", made.config("pinion-extender"))
        self.assertEqual({"secrets", "serviceaccounts", "mutatingwebhookconfigurations"} & self.resources(made), set())
        self.assertEqual(self.volume(made)["secret"]["secretName"], "pinion-extender-tls")

    def test_the_extender_makes_them_where_nobody_else_does(self):
        self.check_by_the_extender(objects(*preset("second-scheduler")))
        self.check_by_others(objects(*preset("second-scheduler"), *CERT_MANAGER))
        self.check_by_others(objects(*preset("second-scheduler"), "--set", EXISTING))

    def test_they_have_the_same_names_whoever_makes_them(self):
        own = objects(*preset("default-scheduler"), *self.ADDRESS).config("pinion-extender")["certificateNames"].split(",")
        spec = objects(*preset("default-scheduler"), *self.ADDRESS, *CERT_MANAGER)["Certificate", "pinion-extender"]["spec"]
        self.assertEqual(own, spec["dnsNames"] + spec["ipAddresses"])
        self.assertIn("10.96.0.77", own)

    def test_cert_manager_that_comes_later_takes_nothing_over(self):
        ours = {"labels": {"app.kubernetes.io/part-of": "pinion"}}
        self.check_by_the_extender(self.upgrade(ours, *CERT_MANAGER))
        # Unless it is asked to.
        asked = self.upgrade(ours, "--set", "certificates.mode=cert-manager")
        self.check_by_others(asked)
        self.assertIn("pinion-extender", asked.names("Certificate"))

    def test_cert_manager_that_made_them_goes_on(self):
        made = self.upgrade({"annotations": {"cert-manager.io/issuer-name": "pinion-ca"}}, *CERT_MANAGER)
        self.check_by_others(made)
        self.assertIn("pinion-extender", made.names("Certificate"))


class Kept(unittest.TestCase):
    """What extenders write into."""
    PATHS = {("Lease", "pinion-extender"): f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/pinion-extender",
             ("ConfigMap", "pinion-profiles"): f"/api/v1/namespaces/{NAMESPACE}/configmaps/pinion-profiles"}

    def made(self, annotations):
        there = {path: {"apiVersion": "v1" if kind == "ConfigMap" else "coordination.k8s.io/v1", "kind": kind,
                        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations}}
                 for (kind, name), path in self.PATHS.items()}
        with api_server({}, there) as options:
            return set(objects(*preset("default-scheduler"), *options))

    def test_goes_with_the_release(self):
        self.assertLessEqual(set(self.PATHS), set(objects(*preset("default-scheduler"))))
        self.assertLessEqual(set(self.PATHS), self.made({"meta.helm.sh/release-name": "pinion"}))

    def test_that_they_have_made_themselves_is_left_to_them(self):
        self.assertEqual(set(self.PATHS) & self.made({}), set())


def notes(*arguments):
    """What helm says at the end: `helm template` leaves that out."""
    with copied_chart() as chart:
        shutil.move(f"{chart}/templates/NOTES.txt", f"{chart}/said.txt")
        with open(f"{chart}/templates/said.yaml", "w", encoding="utf-8") as file:
            file.write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: said}\n"
                       "data: {text: {{ tpl (.Files.Get \"said.txt\") . | toJson }}}\n")
        return objects(*arguments, "--show-only", "templates/said.yaml", chart=chart)["ConfigMap", "said"]["data"]["text"]


class TheClustersOwnScheduler(unittest.TestCase):
    """The steps of docs/install.md there and of docs/migrate.md back."""

    def setUp(self):
        self.unmarked = objects(*preset("default-scheduler", "scheduler.markPods=false"))
        self.marked = objects(*preset("default-scheduler"))

    def test_pods_are_marked_unless_that_is_put_off(self):
        self.assertEqual(self.marked.config("pinion-extender")["managedResource"], "pinion.dev/managed")
        self.assertNotIn("managedResource", self.unmarked.config("pinion-extender"))

    def test_its_file_is_the_same_before_and_after(self):
        for made in (self.unmarked, self.marked):
            (extender,) = made.config("pinion-scheduler")["extenders"]
            self.assertEqual(extender["managedResources"], [{"name": "pinion.dev/managed", "ignoredByScheduler": True}])

    def test_to_mark_or_not_restarts_the_extender_alone(self):
        self.assertNotEqual(self.marked.template("Deployment", "pinion-extender"),
                            self.unmarked.template("Deployment", "pinion-extender"))
        self.assertEqual(self.marked.template("DaemonSet", "pinion-agent"), self.unmarked.template("DaemonSet", "pinion-agent"))

    def test_helm_says_what_waits_until_it_has_its_file(self):
        self.assertIn("stay pending", notes(*preset("default-scheduler")))
        unmarked = notes(*preset("default-scheduler", "scheduler.markPods=false"))
        self.assertNotIn("stay pending", unmarked)
        self.assertIn("without --set scheduler.markPods=false", unmarked)
        self.assertNotIn("markPods", notes(*preset("second-scheduler")) + notes(*preset("agents-only")))

    def test_without_an_extender_nothing_changes_pods_and_nothing_schedules(self):
        made = objects(*preset("agents-only", "scheduler.mode=default"))
        self.assertEqual({kind for kind, _ in made} & {"MutatingWebhookConfiguration", "Deployment", "Secret", "Service"}, set())
        self.assertIn(("DaemonSet", "pinion-agent"), made)

    def test_a_second_scheduler_marks_nothing(self):
        self.assertNotIn("managedResource", objects(*preset("second-scheduler")).config("pinion-extender"))


def service_of_the_agent():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(f"{TOP}/deploy/systemd/pinion-agent.service")
    return unit["Service"]


class Service(unittest.TestCase):
    def test_the_kernel_ends_others_first_where_memory_is_short(self):
        self.assertEqual(service_of_the_agent()["OOMScoreAdjust"], "-999")
        pod = objects(*preset("agents-only")).template("DaemonSet", "pinion-agent")["spec"]
        self.assertEqual(pod["priorityClassName"], "system-node-critical")

    def test_what_release_reads_stays_when_the_agent_is_stopped(self):
        unit = service_of_the_agent()
        self.assertEqual(unit["RuntimeDirectory"], "pinion")
        # systemd.exec: "restart" keeps it over a restart alone.
        self.assertEqual(unit["RuntimeDirectoryPreserve"], "yes")

    def test_the_package_has_every_script_of_its_folder(self):
        with open(f"{TOP}/cmake/packages.cmake", encoding="utf-8") as file:
            packed = re.search(r"foreach\(file ([a-z ]+)\)", file.read()).group(1).split()
        self.assertEqual(sorted(packed), sorted(os.listdir(f"{TOP}/deploy/debian")))
        for name in packed:
            path = f"{TOP}/deploy/debian/{name}"
            if name != "conffiles":
                self.assertTrue(os.access(path, os.X_OK), f"dpkg cannot run {name}")
                run("sh", "-n", path)


class Restarts(unittest.TestCase):
    """A pod starts again where what it reads at its start alone has changed, and not without need."""

    def changed(self, name, *sets):
        """Whose pods an upgrade that sets these replaces."""
        before, after = (objects(*preset(name), "--set", EXISTING, *more)
                         for more in ([], ["--set", ",".join(sets)]))
        templates = [key for key in before if key[0] in ("Deployment", "DaemonSet")]
        return {name for kind, name in templates if before.template(kind, name) != after.template(kind, name)}

    def test_settings_of_the_agents_restart_the_extender_which_places_by_them(self):
        for name in ("default-scheduler", "second-scheduler"):
            self.assertEqual(self.changed(name, "agent.config.topologyManagerPolicy=single-numa-node"),
                             {"pinion-agent", "pinion-extender"})

    def test_settings_of_the_extender_restart_it_alone(self):
        self.assertEqual(self.changed("second-scheduler", "extender.config.keepTime=30s"), {"pinion-extender"})

    def test_the_schedulers_own_restart_it_alone(self):
        self.assertEqual(self.changed("second-scheduler", "extender.service.clusterIP=10.96.0.77"), {"pinion-scheduler"})


if __name__ == "__main__":
    unittest.main()
