#!/usr/bin/env python3
"""Whether the gate notices what is slower, lets pass what is not, and reads what it wrote."""
import json
import os
import unittest

import gate
import judge
import measure
import table
from judge import Result
from rows import PROGRAMS, ROWS, Figure, Program, Row, matching

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/benchmarks.md")
ROW = Row("a pod", "reference loop", Figure("one_bench", "pod", "cpu_ms"), Figure("one_bench", "loop", "cpu_ms"))
OTHER = Row("a gang", "Go", Figure("one_bench", "gang", "p50_us"), Figure("one_bench", "go", "cpu_ms"))


def of(ratio, noise=0.02):
    return Result(ours=ratio, baseline=1, ratio=ratio, noise=noise)


class Judge(unittest.TestCase):
    def test_the_least_look_of_a_turn_counts(self):
        self.assertEqual(judge.result([([9, 2, 3], [4, 8, 40])]).ratio, 0.5)

    def test_the_median_of_the_turns_counts(self):
        turns = [([it], [10]) for it in (10, 11, 90, 12, 1)]
        self.assertEqual(judge.result(turns).ratio, 1.1)

    def test_noise_is_half_of_the_range(self):
        turns = [([it], [10]) for it in (9, 10, 12)]
        self.assertAlmostEqual(judge.result(turns).noise, 0.15)

    def test_times_have_one_unit(self):
        for field, expected in (("ns", 0.003), ("p50_us", 3), ("create_ms", 3000), ("rss_mib", 3000)):
            self.assertAlmostEqual(judge.in_base_unit(3000, field), expected, msg=field)

    def test_verdicts(self):
        floor = 0.25
        here = 1 + floor
        elsewhere = here + judge.ELSEWHERE
        for name, recorded, now, same_kind, expected in (
            ("equal", of(1), of(1), True, "holds"),
            ("just within the floor", of(1), of(here - 0.01), True, "holds"),
            ("beyond the floor", of(1), of(here + 0.01), True, "worse"),
            ("within the record's noise", of(1, noise=0.5), of(1.45), True, "holds"),
            ("within its own noise", of(1), of(1.45, noise=0.5), True, "holds"),
            ("beyond its own noise", of(1), of(1.55, noise=0.5), True, "worse"),
            ("five times, of which one turn makes a noise", of(1), of(5.2, noise=5.3), True, "worse"),
            ("on another machine", of(1), of(elsewhere - 0.01), False, "holds"),
            ("beyond that", of(1), of(elsewhere + 0.01), False, "worse"),
            ("much better", of(1), of(0.5), True, "better"),
            ("a little better", of(1), of(0.9), True, "holds"),
            ("small ratios", of(0.004), of(0.008), True, "worse"),
        ):
            self.assertEqual(judge.verdict(floor, recorded, now, same_kind), expected, msg=name)


class Check(unittest.TestCase):
    """gate.check() with turns that are played."""

    def check(self, *rounds, rows=(ROW, OTHER), record=None, later=None):
        self.said = []
        self.asked = []
        played = list(rounds)

        def measure_turns(asked, times):
            self.asked.append((tuple(row.what for row in asked), times))
            return {row.key: of(ratio) for row, ratio in zip(asked, played.pop(0))}

        record = record or table.Record("m", "go1", {ROW.key: of(1), OTHER.key: of(2)}, {})
        return gate.check(rows, record, lambda row: True, measure_turns, self.said.append, later)

    def test_as_good_as_recorded(self):
        self.assertEqual(self.check((1.1, 1.9)), 0)
        self.assertEqual(self.asked, [(("a pod", "a gang"), 1)])

    def test_worse_once_is_measured_again_alone(self):
        self.assertEqual(self.check((2, 2), (1.1,)), 0)
        self.assertEqual(self.asked[1], (("a pod",), gate.AGAIN))
        self.assertTrue(any("measured again" in it for it in self.said))

    def test_worse_twice_fails(self):
        self.assertEqual(self.check((1, 9), (9,)), 1)
        self.assertEqual(sum(it.startswith("worse") for it in self.said), 2)

    def test_a_third_time_comes_later_where_it_is_asked_for(self):
        waits = []
        for third, fails in ((1.1, 0), (9, 1)):
            self.assertEqual(self.check((1, 9), (9,), (third,), later=lambda: waits.append(len(self.asked))), fails)
            self.assertEqual(self.asked[2], (("a gang",), gate.AGAIN))
        self.assertEqual(self.check((1, 9), (1.1,), later=lambda: waits.append(0)), 0)
        self.assertEqual(waits, [2, 2])

    def test_a_row_without_record_fails(self):
        with self.assertRaisesRegex(measure.Failed, "not recorded.*a gang"):
            self.check((1, 1), record=table.Record("m", "go1", {ROW.key: of(1)}, {}))


class Measured(unittest.TestCase):
    def document(self, *runs):
        return json.dumps({"context": {}, "benchmarks": list(runs)})

    def run_of(self, name, **more):
        return {"name": name, "run_type": "iteration", "cpu_time": 5.0, "time_unit": "us", **more}

    def test_each_look_is_kept(self):
        found = measure.read(self.document(self.run_of("a", p50_us=3.0), self.run_of("a", p50_us=4.0)))
        self.assertEqual(found["a", "p50_us"], [3.0, 4.0])
        self.assertEqual(found["a", "cpu_ms"], [0.005, 0.005])

    def test_means_are_left_out(self):
        found = measure.read(self.document(self.run_of("a"), self.run_of("a_mean", run_type="aggregate")))
        self.assertNotIn(("a_mean", "cpu_ms"), found)

    def test_a_benchmark_with_an_error_fails(self):
        with self.assertRaisesRegex(measure.Failed, "a: refused"):
            measure.read(self.document(self.run_of("a", error_occurred=True, error_message="refused")))

    def test_what_was_not_measured_fails(self):
        for name, found in (("not there", {}), ("zero", {("pod", "cpu_ms"): [0.0]})):
            with self.assertRaisesRegex(measure.Failed, "no cpu_ms of pod", msg=name):
                measure.of_turn(ROW.ours, {"one_bench": found})

    def test_a_program_that_fails_is_quoted(self):
        PROGRAMS["one_bench"] = Program("one_bench", ("/bin/sh", "-c", "echo no cgroups; exit 3"))
        self.addCleanup(PROGRAMS.pop, "one_bench")
        with self.assertRaisesRegex(measure.Failed, "one_bench ended with 3:\nno cgroups"):
            measure.measure((ROW,), 1, measure.Folders("", ""), print)

    def test_turns_of_a_program(self):
        written = self.document(self.run_of("pod", cpu_time=2.0), self.run_of("loop", cpu_time=8.0))
        written = written.replace("{", "{{").replace("}", "}}")
        PROGRAMS["one_bench"] = Program("one_bench", ("/bin/sh", "-c", "echo '" + written + "' > {out}"))
        self.addCleanup(PROGRAMS.pop, "one_bench")
        found = measure.measure((ROW,), 2, measure.Folders("", ""), lambda text: None)
        self.assertEqual(judge.result(found[ROW.key]).ratio, 0.25)
        self.assertEqual(len(found[ROW.key]), 2)

    def test_only_what_is_asked_for_runs(self):
        self.assertEqual(measure.programs_of(matching("Go's encoding")), ["extender_wire_bench", "extender-wire-go"])
        self.assertEqual(measure.filter_of((ROW,), "one_bench"), "^(loop|pod)$")


class Table(unittest.TestCase):
    EMPTY = "before\n" + table.BEGIN + table.END + "after\n"

    def test_what_is_written_is_read(self):
        record = table.Record("AMD EPYC, 2 CPUs", "go1.26.8", {
            ROW.key: Result(ours=0.00312, baseline=0.21, ratio=0.0149, noise=0.023),
            OTHER.key: Result(ours=1234.0, baseline=41.0, ratio=30.1, noise=0.1),
        }, {ROW.key: "abc", OTHER.key: "def"})
        written = table.write(self.EMPTY, record, (ROW, OTHER))
        self.assertIn("| a pod | 3.12 us | reference loop | 210 us | 0.0149 | 2.3 % | abc |", written)
        self.assertIn("| a gang | 1.23 s | Go | 41 ms | 30.1 | 10.0 % | def |", written)
        self.assertTrue(written.startswith("before\n") and written.endswith("after\n"))
        again = table.read(written)
        self.assertEqual((again.machine, again.go, again.commits), (record.machine, record.go, record.commits))
        self.assertAlmostEqual(again.rows[ROW.key].ratio, 0.0149)
        self.assertAlmostEqual(again.rows[ROW.key].noise, 0.023)
        self.assertAlmostEqual(again.rows[OTHER.key].ours, 1230)
        self.assertEqual(table.write(written, again, (ROW, OTHER)), written)

    def test_a_row_that_was_dropped_goes(self):
        record = table.Record("m", "go1", {ROW.key: of(1), OTHER.key: of(2)}, {ROW.key: "a", OTHER.key: "a"})
        self.assertNotIn("a gang", table.write(self.EMPTY, record, (ROW,)))

    def test_a_row_that_is_lacking_fails(self):
        with self.assertRaisesRegex(ValueError, "not recorded: a gang"):
            table.write(self.EMPTY, table.Record("m", "go1", {ROW.key: of(1)}, {ROW.key: "a"}), (ROW, OTHER))

    def test_some_rows_anew(self):
        commits = {row.key: "old" for row in ROWS}
        record = table.Record("m", "go1", {row.key: of(1) for row in ROWS}, commits)
        renewed = gate.renewed(record, ROWS[:1], {ROWS[0].key: of(3)}, "m", "go1", "new")
        self.assertEqual((renewed.rows[ROWS[0].key].ratio, renewed.commits[ROWS[0].key]), (3, "new"))
        self.assertEqual((renewed.rows[ROWS[1].key].ratio, renewed.commits[ROWS[1].key]), (1, "old"))
        with self.assertRaisesRegex(measure.Failed, "record all"):
            gate.renewed(record, ROWS[:1], {}, "another", "go1", "new")

    def test_the_document_has_each_row_once(self):
        with open(DOCUMENT, encoding="utf-8") as file:
            document = file.read()
        record = table.read(document)
        self.assertEqual(list(record.rows), [row.key for row in ROWS])
        self.assertEqual(table.write(document, record, ROWS), document)


if __name__ == "__main__":
    unittest.main()
