#!/usr/bin/env python3
"""Whether docs/api.md and the JSON of docs/jobs.md say what the agent's and the extender's sources say.

It reads texts alone."""
import re
import unittest

from reference_test import rows, section, text_of

PAGE = text_of("docs/api.md")


def number(path, pattern):
    """A constant of the sources."""
    digits = re.search(pattern + r"(?: =|[{=])? ?([\d'U]+(?: << [\dU]+)?)", text_of(path)).group(1)
    one, _, shift = re.sub("['U]", "", digits).partition(" << ")
    return int(one) << int(shift or 0)


def spans(text):
    return re.findall(r"`([^`]+)`", text)


def keys(source):
    """What is written into objects of JSON."""
    return set(re.findall(r'(?:\{|\[)"(\w+)"[,\]]', source))


class Node(unittest.TestCase):
    def test_every_method_is_there_and_no_other(self):
        methods = re.findall(r"^  rpc (\w+)\(", text_of("proto/pinion/v1/node.proto"), re.M)
        self.assertEqual(sorted(spans(cells[0])[0] for cells in rows(section(PAGE, "## Calling it"))), sorted(methods))

    def test_every_counter_is_there_and_no_other(self):
        source = text_of("agent/api/convert.cpp")
        counters = re.findall(r'\{"(\w+)", (?:engine|view\.nri)\.', source)
        self.assertGreater(len(counters), 15)
        self.assertIn('counters["refused." + reason]', source)
        stated = [name for cells in rows(section(PAGE, "## Counters of the agent")) for name in spans(cells[0])]
        self.assertEqual(sorted(stated), sorted([*counters, "refused.REASON"]))

    def test_every_limit_is_as_stated(self):
        server, door, times = "agent/api/server.cpp", "agent/api/door.h", "agent/api/watch_state.h"
        request, answer = (number(server, name) >> 20 for name in ("kMaxRequestBytes", "kMaxAnswerBytes"))
        watches = number("agent/api/figures.h", "most")
        limits = {
            "connections that have made a call": f"{number(door, 'peers.*most_proved')} at once",
            "connections that have made none":
                f"{number(door, 'peers{.most')} at once, {number(door, 'peers.*most_of_peer')} from one address (IPv6: one /64);",
            "connections whose first TLS message is not complete":
                f"{number(door, 'waiting{.most')} at once, {number(door, 'waiting.*most_of_peer')} from one address,",
            "from the connection to its first call": f"{number(door, 'prove') // 1000} s",
            "watches": f"{watches} at once",
            "calls on one connection": f"{number(server, 'kMaxStreams')} at once",
            "a request, an answer": f"{request} MiB, {answer} MiB",
            "requests in a `Plan`": f"{number('agent/api/plan.h', 'kMaxPlanned'):,}",
            "time between two messages of a watch":
                f"at least {number(times, 'least')} ms; "
                f"`min_interval_ms` up to {number('agent/api/watchers.cpp', 'kMaxInterval'):,}",
            "a TLS or HTTP/2 handshake": f"{number(server, 'kHandshakeMs') // 1000} s",
            "a connection without calls": f"closed after {number(server, 'kIdleMs') // 60000} minutes",
            "pings by the caller": f"at most one every {number(server, 'kLeastPingMs') // 1000} s",
        }
        stated = dict(re.findall(r"^\| (?!what \|)([^|]+) \| ([^|]+) \|$", section(PAGE, "## Limits"), re.M))
        self.assertEqual(sorted(stated), sorted(limits))
        for what, limit in limits.items():
            self.assertTrue(stated[what].startswith(limit), f"{what}: {limit}")
        # The agent's own affair.
        inner = {"kMaxMemory", "kMaxThreads", "kPingMs", "kPingAnswerMs"}
        named = {"kMaxRequestBytes", "kMaxAnswerBytes", "kMaxStreams", "kIdleMs", "kLeastPingMs", "kHandshakeMs"}
        self.assertEqual(set(re.findall(r"^constexpr (?:int|std::size_t) (k\w+) =", text_of(server), re.M)), inner | named)
        for sentence in (f"nothing else was sent for {number(times, 'heartbeat') // 1000} seconds,",
                         f"you read nothing for {number(times, 'patience') // 1000} seconds,",
                         f"there are {watches} watches already",
                         f"up to {number('agent/api/plan.h', 'kMaxPlanned'):,} requests",
                         f"read again every {number('agent/api/server.h', 'tls_reload')} seconds"):
            self.assertIn(sentence, " ".join(PAGE.split()))


class Json(unittest.TestCase):
    def test_every_field_of_fleet_and_jobs_is_there_and_no_other(self):
        source = text_of("cluster/extender/service/views.cpp")
        self.assertIn(f"kMostRowsShown = {2000:_};".replace("_", "'"), text_of("cluster/extender/service/views.h"))
        fleet = re.search(r"^std::string fleet_json\(.*?^}", source, re.M | re.S).group(0)
        speed = re.search(r"^static json speed_json\(.*?^}", source, re.M | re.S).group(0)
        body = re.search(r"^std::string jobs_json\(.*?^}", source, re.M | re.S).group(0)
        _, jobs, elastic, profiles, whole = re.split(r"for \(const \w+Row& |  json all = ", body)
        self.assertEqual(keys(whole), {"jobs", "elastic", "profiles", "notShown"})
        made = {"nodes": keys(fleet) - {"nodes"}, "jobs": keys(jobs), "elastic": keys(elastic) | keys(speed),
                "profiles": keys(profiles), "notShown": set()}
        stated, path = {}, ""
        for cells in rows(section(PAGE, "## JSON over HTTP")):
            for span in spans(cells[0]):
                path = path.rpartition(".")[0] + span if span.startswith(".") else span
                first, *others = path.replace("[]", "").split(".")
                stated.setdefault(first, set()).update(others)
            words = [word for word in spans(cells[1]) if re.fullmatch("[a-z]+", word) and word not in made["elastic"]]
            self.assertEqual([word for word in words if f'"{word}"' not in text_of("cluster/**/*.cpp")], [])
        self.assertEqual(stated, made)

    def test_every_field_of_a_plan_is_there_and_no_other(self):
        source = text_of("cluster/extender/jobs/job_plan_json.cpp")
        page = section(text_of("docs/jobs.md"), "## See it first")
        stated = {name.removesuffix("[]") for cells in rows(page) for cell in cells for name in spans(cell)}
        made = keys(source)
        self.assertGreater(len(made), 20)
        self.assertEqual(sorted(made - stated), [])
        self.assertEqual([name for name in sorted(stated) if f'"{name}"' not in source], ["null"])


if __name__ == "__main__":
    unittest.main()
