#!/usr/bin/env python3
"""Plays the papers' experiments with pinion-sim and writes docs/papers.md. Called by scripts/papers.sh.

Usage: papers.py PINION_SIM OUTPUT.md
"""
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

import bars
import combinations
import elastic
import mixed

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = range(1, 11)  # where placement goes by chance, the mean of so many runs
KINDS = {"dgemm": "DGEMM", "stream": "STREAM", "minife": "MiniFE", "fft": "FFT", "rr": "RandomRing"}
SCENARIOS = ["NONE", "CM", "CM_S", "CM_G", "CM_S_TG", "CM_G_TG", "OURS", "OURS_P"]
SPLITS = [1, 1.1, 1.25, 1.5, 2]


def data(name):
    return os.path.join(HERE, name)


class Player:
    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), folder
        self.model = os.path.join(folder, "model.yaml")

    def fit(self):
        done = subprocess.run([self.program, "fit", "--runs", data("baseline.yaml"), "--base", data("base.yaml"), "--out",
                               self.model], check=True, capture_output=True, text=True)
        return done.stdout

    def with_split(self, split):
        """The same with this model, but for what a worker loses that lies in two NUMA nodes."""
        player = Player(self.program, self.folder)
        player.model = os.path.join(self.folder, f"model-{split}.yaml")
        with open(self.model) as fitted, open(player.model, "w") as file:
            file.write(fitted.read().replace("}", f", split: {split}}}"))
        return player

    def play(self, model, scenario):
        """Means over the seeds: makespan, sums of wait, run and response, mean run time by kind."""
        sums, kinds = {}, {}
        for seed in SEEDS:
            per_job = os.path.join(self.folder, f"{model}-{scenario}.csv")
            done = subprocess.run([self.program, "run", "--generate", model, "--fleet", data("cluster.yaml"), "--scenario",
                                   scenario, "--model", self.model, "--seed", str(seed), "--per-job", per_job, "--json",
                                   "-"], check=True, capture_output=True, text=True)
            result = json.loads(done.stdout)
            values = {"makespan": result["makespan"], "wait": result["total_wait"], "run": result["total_run"]}
            values["response"] = values["wait"] + values["run"]
            for name, value in values.items():
                sums[name] = sums.get(name, 0) + value / len(SEEDS)
            with open(per_job) as file:
                rows = list(csv.DictReader(file))
            for row in rows:
                kinds.setdefault(row["kind"], []).append(float(row["end"]) - float(row["start"]))
        sums["kinds"] = {kind: sum(runs) / len(runs) for kind, runs in kinds.items()}
        return sums

    def play_all(self, model, scenarios):
        """The same by scenario, as many at a time as there are CPUs."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(scenarios, pool.map(lambda scenario: self.play(model, scenario), scenarios)))


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def both(seen, simulated):
    """'paper / simulated (difference)'."""
    if seen is None:
        return f"- / {simulated:.0f}"
    return f"{seen:.0f} / {simulated:.0f} ({100 * (simulated / seen - 1):+.0f} %)"


def change(results, scenario, base, figure="response"):
    return 100 * (1 - results[scenario][figure] / results[base][figure])


def gains(results, seen, pairs, figure):
    rows = []
    for scenario, base in pairs:
        paper = f"{change(seen, scenario, base, figure):.0f} %" if scenario in seen else "-"
        rows.append([f"{scenario} against {base}", paper, f"{change(results, scenario, base, figure):.0f} %"])
    return rows


def overview(results, seen, figures, calibrated=()):
    rows = []
    for scenario, result in results.items():
        known = seen.get(scenario, {})
        how = "calibrated" if scenario in calibrated else "predicted"
        rows.append([scenario, how] + [both(known.get(figure), result[figure]) for figure in figures])
    return table(["scenario", "run times"] + figures, rows)


def run_times(results, seen):
    rows = []
    for kind, name in KINDS.items():
        rows.append([name] + [both(seen.get(s, {}).get("kinds", {}).get(kind), r["kinds"][kind])
                              for s, r in results.items()])
    return table(["mean run time"] + list(results), rows)


def pairs_of(results, seen, figure):
    """By scenario: the paper's and ours."""
    return {scenario: (seen.get(scenario, {}).get(figure), result[figure]) for scenario, result in results.items()}


def draw(folder, seen, first, second, third):
    """Experiments 1 to 3 as pictures."""
    kinds = [(f"{scenario}: mean run time, s", {KINDS[kind]: (seen["experiment3"][scenario]["kinds"][kind], result["kinds"][kind])
                                                for kind in KINDS}, True) for scenario, result in third.items()]
    for number, panels in (
            (1, [("overall response, s", pairs_of(first, seen["experiment1"], "response"), False),
                 ("makespan, s (the paper has none)", pairs_of(first, seen["experiment1"], "makespan"), False)]),
            (2, [("overall response, s", pairs_of(second, seen["experiment2"], "response"), False),
                 ("makespan, s", pairs_of(second, seen["experiment2"], "makespan"), False)]),
            (3, [("makespan, s", pairs_of(third, seen["experiment3"], "makespan"), True)] + kinds)):
        with open(os.path.join(folder, f"fine-experiment{number}.svg"), "w") as file:
            file.write(bars.plot(f"Experiment {number}", panels))


def write(program, output):
    with open(data("measured.json")) as file:
        seen = json.load(file)
    with open(data("text.md")) as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        player = Player(program, folder)
        text = text.replace("@FIT@", player.fit().strip())
        with open(player.model) as file:
            text = text.replace("@MODEL@", file.read().strip())
        first = player.play_all("fine-grained-1", SCENARIOS)
        second = player.play_all("fine-grained-2", SCENARIOS)
        by_split = {split: player.with_split(split).play_all("fine-grained-2", ("CM_S_TG", "CM_G_TG", "OURS", "OURS_P"))
                    for split in SPLITS}
        third = player.play_all("fine-grained-2", ("KUBEFLOW", "VOLCANO"))
        pictures = os.path.join(os.path.dirname(os.path.abspath(output)), "papers")
        for mark, section in elastic.sections(player.program, table, seen["elastic"], pictures).items():
            text = text.replace(mark, section)
        draw(pictures, seen, first, second, third)
        for mark, section in mixed.sections(player.program, table).items():
            text = text.replace(mark, section)
        for mark, value in combinations.marks(player.program, folder, player.model, seen["experiment2"], second,
                                              third["KUBEFLOW"]).items():
            text = text.replace(mark, KINDS.get(value, value))
    against = [(s, b) for s in ("CM_S_TG", "CM_G_TG", "OURS", "OURS_P") for b in ("CM", "NONE")]
    text = text.replace("@FIRST@", overview(first, seen["experiment1"], ["run", "wait", "response"]) + "\n" + table(
        ["overall response", "paper", "simulated"], gains(first, seen["experiment1"], against, "response")))
    text = text.replace("@SECOND@", overview(second, seen["experiment2"], ["makespan", "wait", "run", "response"], ("NONE", "CM")))
    text = text.replace("@RUNS@", run_times(second, seen["experiment2"]))
    text = text.replace("@GAINS@", table(["overall response", "paper", "simulated"],
                                         gains(second, seen["experiment2"], against, "response")) + "\n" + table(
        ["makespan", "paper", "simulated"], gains(second, seen["experiment2"], against, "makespan")))
    text = text.replace("@THIRD@", overview(third, seen["experiment3"], ["makespan"]) + "\n" +
                        run_times(third, seen["experiment3"]))
    text = text.replace("@SPLITS@", table(["`split`"] + list(by_split[1]), [
        [str(split)] + [f"{result['response']:.0f}" for result in results.values()] for split, results in by_split.items()]))
    with open(output, "w") as file:
        file.write(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(*sys.argv[1:])
