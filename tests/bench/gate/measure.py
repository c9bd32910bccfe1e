"""Runs the programs and reads what they measured."""
import json
import math
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass

from judge import in_base_unit
from rows import PROGRAMS

LIMIT_S = 300  # for one run of one program


class Failed(Exception):
    """A program did not do what it should; in words."""


@dataclass(frozen=True)
class Folders:
    bin: str
    go: str


def read(document):
    """Of Google Benchmark's JSON: by name and field what was measured, in the order of the file. The CPU time is cpu_ms."""
    found = {}
    for run in json.loads(document)["benchmarks"]:
        if run.get("error_occurred"):
            raise Failed(f"{run['name']}: {run.get('error_message')}")
        if run["run_type"] != "iteration":
            continue  # mean, median and the like
        if "cpu_time" in run:
            run["cpu_ms"] = in_base_unit(run["cpu_time"], run["time_unit"])
        for field, value in run.items():
            if isinstance(value, (int, float)):
                found.setdefault((run["name"], field), []).append(value)
    return found


def programs_of(rows):
    """Their names, each once, in the order of PROGRAMS."""
    names = {figure.program for row in rows for figure in (row.ours, row.baseline)}
    names |= {needed for name in names for needed in PROGRAMS[name].needs}
    return [name for name in PROGRAMS if name in names]


def filter_of(rows, program):
    names = {figure.name for row in rows for figure in (row.ours, row.baseline) if figure.program == program}
    return "^(" + "|".join(sorted(re.escape(name) for name in names)) + ")$"


def run(program, rows, folders, work):
    """What it measured, as read() gives it."""
    out = os.path.join(work, program + ".json")
    places = {"bin": folders.bin, "go": folders.go, "work": work, "out": out, "filter": filter_of(rows, program)}
    command = [word.format(**places) for word in PROGRAMS[program].command]
    # What builds Go's programs sets these; they would change how a Go program collects its garbage.
    environment = {name: value for name, value in os.environ.items() if name not in ("GOGC", "GOMEMLIMIT")}
    cpus = os.sched_getaffinity(0)
    if PROGRAMS[program].one_cpu:
        cpus = {max(cpus)}
    try:
        done = subprocess.run(command, env=environment, preexec_fn=lambda: os.sched_setaffinity(0, cpus),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            said = done.stdout.decode(errors="replace").splitlines()[-20:]
            raise Failed(f"{program} ended with {done.returncode}:\n" + "\n".join(said))
        with open(out, encoding="utf-8") as file:
            return read(file.read())
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
        raise Failed(f"{program}: {error}") from error


def of_turn(figure, measured):
    """The looks at a figure in one turn, in the base unit; never empty, all above zero."""
    values = measured[figure.program].get((figure.name, figure.field), [])
    if not values or not all(0 < value < math.inf for value in values):
        raise Failed(f"{figure.program} measured no {figure.field} of {figure.name}")
    return [in_base_unit(value, figure.field) for value in values]


def measure(rows, turns, folders, say):
    """By each row's key (ours, baseline) of each turn. In a turn each program runs once."""
    found = {row.key: [] for row in rows}
    for turn in range(turns):
        with tempfile.TemporaryDirectory(prefix="pinion-bench-") as work:
            measured = {name: run(name, rows, folders, work) for name in programs_of(rows)}
        for row in rows:
            found[row.key].append((of_turn(row.ours, measured), of_turn(row.baseline, measured)))
        say(f"turn {turn + 1} of {turns}")
    return found
