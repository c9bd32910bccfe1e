#!/usr/bin/env python3
"""Whether the soak's checker sees what is wrong: each case makes one thing wrong in a node where all is well."""
import unittest

import growth
import workload
from growth import Taken
from views import Container, Group, Pod, Views, differences, needed, pod_of


def one_node():
    """Four CPUs, 0 reserved: a rank on 1, a shared container on the rest, a rank that waits for more than there is."""
    def pods():
        return [Pod("uid-rank", "default/rank", cpus=1, whole_cpus=1, running={"id-rank": Container("default/rank", "rank", 1)}),
                Pod("uid-noise", "default/noise", cpus=0.1, running={"id-noise": Container("default/noise", "main")}),
                Pod("uid-large", "default/large", node="", cpus=3, whole_cpus=3)]

    def said(name, exclusive, cpus):
        return {"id": f"id-{name}", "namespace": "default", "pod": name, "name": "main", "pod_uid": f"uid-{name}",
                "started": True, "finished": False, "exclusive": exclusive, "cpus": cpus, "claim": cpus if exclusive else "",
                "trouble": ""}

    return Views(
        pods=pods(), kubelet=pods()[:2], runtime={"id-rank", "id-noise"},
        node={"sets": {"online": "0-3", "reserved": "0", "exclusive": "1"}, "largest": {"numa": 2}},
        containers=[said("rank", True, "1"), said("noise", False, "0,2-3")],
        groups={"id-rank": Group("uid-rank", frozenset({1}), {10: frozenset({1})}),
                "id-noise": Group("uid-noise", frozenset({0, 2, 3}), {20: frozenset({0, 2, 3}), 21: frozenset({2})})},
        group_pods={"uid-rank", "uid-noise"}, allocatable=3.5,
        fleet={"stale": False, "containers": 1, "numa": [{"freeCpus": 2}]},
        jobs=[{"name": "default/large", "kept": 0, "held": 0}],
        book={"pinion_extender_promises": 0, 'pinion_extender_pods{state="placed"}': 1, "pinion_extender_gangs": 0})


class Checker(unittest.TestCase):
    def setUp(self):
        self.views = one_node()

    def wrong(self):
        return {(one.kind, one.text) for one in differences(self.views)}

    def kinds(self):
        return {one.kind for one in differences(self.views)}

    def rank_said(self):
        return self.views.containers[0]

    def test_says_nothing_where_all_is_well(self):
        self.assertEqual(self.wrong(), set())

    def test_sees_who_does_not_know_a_container(self):
        for forget, who in ((lambda views: views.pods[1].running.clear(), "API server"),
                            (lambda views: views.kubelet.pop(), "kubelet"), (lambda views: views.containers.pop(), "agent"),
                            (lambda views: views.groups.pop("id-noise"), "cgroups"),
                            (lambda views: views.runtime.discard("id-noise"), "runtime")):
            self.views = one_node()
            forget(self.views)
            found = differences(self.views)
            self.assertTrue(any(one.kind == "view" and who in one.text for one in found), f"{who}: {found}")

    def test_sees_a_file_that_reaches_into_a_ranks_cores(self):
        self.views.groups["id-noise"].cpus = frozenset({0, 1, 2, 3})
        self.views.containers[1]["cpus"] = "0-3"
        self.assertEqual(self.wrong(), {("overlap", "default/noise/main may use 1 of default/rank/rank")})

    def test_sees_two_claims_of_one_cpu(self):
        self.views.containers[1].update(exclusive=True, claim="1-2")
        self.assertIn(("overlap", "CPU 1 is default/rank/main's and default/noise/main's"), self.wrong())
        self.assertIn(("leak", "default/noise/main has 1-2 alone and is not entitled"), self.wrong())

    def test_sees_drift_of_a_file_a_thread_and_a_trouble(self):
        self.views.groups["id-noise"].cpus = frozenset({0, 2})
        self.assertEqual(self.kinds(), {"drift"})
        self.views = one_node()
        self.views.groups["id-noise"].threads[21] = frozenset({1, 2})
        self.assertEqual(self.wrong(), {("drift", "thread 21 of default/noise/main may use 1,2, its group 0,2,3")})
        self.views = one_node()
        self.rank_said()["trouble"] = "write cpuset.cpus: EBUSY"
        self.assertEqual(self.wrong(), {("drift", "default/rank/rank: write cpuset.cpus: EBUSY")})

    def test_sees_a_rank_that_lost_its_cores(self):
        self.rank_said().update(exclusive=False, cpus="0-3", claim="")
        self.views.groups["id-rank"].cpus = frozenset({0, 1, 2, 3})
        self.assertIn(("lost pin", "default/rank/rank is to have 1 CPUs alone and has 0,1,2,3"), self.wrong())

    def test_sees_cores_that_are_held_for_nobody(self):
        self.rank_said()["pod_uid"] = "uid-gone"
        self.assertEqual(self.wrong(), {("leak", "the agent keeps 1 for default/rank/main, which is gone")})
        self.views = one_node()
        self.views.node["sets"]["exclusive"] = "1-2"
        self.assertEqual(self.kinds(), {"leak"})
        self.views = one_node()
        self.views.group_pods.add("uid-gone")
        self.assertEqual(self.wrong(), {("leak", "the group of pod uid-gone, which is gone, is there")})

    def test_sees_what_the_extenders_book_has_too_much(self):
        for change in (lambda views: views.fleet.update(containers=2), lambda views: views.fleet.update(numa=[{"freeCpus": 1}]),
                       lambda views: views.book.update(pinion_extender_promises=1), lambda views: views.jobs[0].update(kept=1),
                       lambda views: views.jobs[0].update(held=1), lambda views: views.book.update(pinion_extender_gangs=1),
                       lambda views: views.book.update({'pinion_extender_pods{state="placed"}': 2})):
            self.views = one_node()
            change(self.views)
            self.assertEqual(self.kinds(), {"leak"})
        self.views = one_node()
        self.views.fleet["stale"] = True
        self.assertEqual(self.kinds(), {"view"})

    def test_sees_who_neither_starts_nor_ends(self):
        self.views.pods[0].leaving = True
        self.views.pods[1].starting = True
        self.assertEqual(self.wrong(), {("stuck", "default/rank does not go"), ("stuck", "default/noise is bound and does not start")})

    def test_sees_who_waits_although_there_is_room(self):
        self.views.pods[2].whole_cpus = self.views.pods[2].cpus = 2
        self.assertEqual(self.wrong(), {("stuck", "default/large waits, and 2 CPUs are free in one NUMA node")})
        self.views.allocatable = 3  # requested: 1.1
        self.assertEqual(self.wrong(), set())
        # A member of a gang that is not whole waits rightly.
        self.views.allocatable = 4
        self.views.pods[2].gang, self.views.pods[2].gang_size = "default/wind", 2
        self.views.book["pinion_extender_gangs"] = 1
        self.assertEqual(self.wrong(), set())

    def test_reads_a_pod_as_the_api_server_writes_it(self):
        pod = pod_of({"metadata": {"uid": "u", "name": "wind-0", "namespace": "hpc",
                                   "annotations": {"pinion.dev/gang-size": "2", "pinion.dev/job": "wind"}},
                      "spec": {"nodeName": "pinion-node", "containers": [
                          {"name": "rank", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}},
                          {"name": "beside", "resources": {"limits": {"cpu": "50m"}, "requests": {"cpu": "50m"}}}]},
                      "status": {"phase": "Running", "qosClass": "Guaranteed", "containerStatuses": [
                          {"name": "rank", "containerID": "containerd://abc", "state": {"running": {}}},
                          {"name": "beside", "state": {"waiting": {}}}]}})
        self.assertEqual(pod, Pod("u", "hpc/wind-0", cpus=2.05, whole_cpus=2, gang="hpc/wind", gang_size=2,
                                  running={"abc": Container("hpc/wind-0", "rank", 2)}))

    def test_counts_init_containers_as_the_kubelet_does(self):
        def one(cpus, sidecar=False):
            return {"cpus": cpus, **({"restartPolicy": "Always"} if sidecar else {})}
        for inits, mains, wanted in (([], [2, 1], 3), ([one(2)], [1], 2), ([one(1)], [2], 2), ([one(1, sidecar=True)], [2], 3),
                                     ([one(1, sidecar=True), one(3)], [2], 4), ([one(3), one(1, sidecar=True)], [1], 3)):
            spec = {"initContainers": inits, "containers": [one(cpus) for cpus in mains]}
            self.assertEqual(needed(spec, lambda container: container["cpus"]), wanted, (inits, mains))


class Growth(unittest.TestCase):
    def test_of_one_that_is_flat_or_only_busy_now_and_then(self):
        looks = [Taken(900, 5, 20), Taken(1000, 9, 30), Taken(1100, 12, 35), Taken(1000, 9, 30), Taken(1050, 9, 30)]
        self.assertEqual(growth.grown(looks), Taken(0, 0, 0))

    def test_of_one_that_leaks(self):
        looks = [Taken(10000 * i, 9, 30 + i) for i in range(6)]
        self.assertEqual(growth.too_much("agent", growth.grown(looks)), ["rss_kib +20000", "descriptors +2"])
        self.assertEqual(growth.too_much("extender", growth.grown(looks)), ["rss_kib +20000"])

    def test_an_extender_may_have_the_connections_of_its_calls(self):
        def leads(descriptors):
            return growth.too_much("extender", growth.grown([Taken(29000, 43, each) for each in (62, 44, descriptors, descriptors)]))
        self.assertEqual(leads(67), [])
        self.assertEqual(leads(85), ["descriptors +41"])

    def test_nothing_is_said_of_one_that_lived_shortly(self):
        self.assertIsNone(growth.grown([Taken(1, 1, 1)] * 3))


class Steps(unittest.TestCase):
    def test_are_the_same_for_the_same_seed_and_round(self):
        self.assertEqual(workload.steps(7, 3, False), workload.steps(7, 3, False))
        self.assertNotEqual(workload.steps(7, 3, False), workload.steps(7, 4, False))

    def test_kill_every_part_and_spare_ours_at_last(self):
        def parts(spare_ours):
            return {step.part for number in range(50) for step in workload.steps(1, number, spare_ours)
                    if isinstance(step, workload.Kill)}
        self.assertEqual(parts(False), {*workload.PARTS, *workload.OURS})
        self.assertEqual(parts(True), set(workload.PARTS))


if __name__ == "__main__":
    unittest.main()
