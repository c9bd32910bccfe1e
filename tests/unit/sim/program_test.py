#!/usr/bin/env python3
"""pinion-sim as a program: same input and seed, same bytes; wrong use says what is wrong.

Usage: program_test.py PINION_SIM [means]
"""
import gzip
import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile

FLEET = '- {name: n, count: 8, topology: "synthetic:package:2 [numa(memory=64GB)] l3:1 core:9 pu:1", reserved-cpus: "0,9"}\n'


def swf(*jobs):
    """Lines of these fields, and the others unknown."""
    return "".join(" ".join((job.split() + ["-1"] * 18)[:18]) + "\n" for job in jobs)


def outputs(program, folder, seed):
    """The bytes of the table, the JSON, the jobs and the picture."""
    files = {"--json": folder + "/out.json", "--per-job": folder + "/out.csv", "--svg": folder + "/out.svg"}
    words = [word for pair in files.items() for word in pair]
    done = subprocess.run([program, "run", "--generate", "lublin", "--limit", "300", "--load", "0.9", "--overestimate", "3",
                           "--fleet", folder + "/fleet.yaml", "--placement", "random", "--queue", "easy", "--seed",
                           str(seed), "--check"] + words, check=True, capture_output=True)
    return [done.stdout] + [open(path, "rb").read() for path in files.values()]


def refused(program, code, words, text, **how):
    done = subprocess.run([program] + words, capture_output=True, text=True, **how)
    if done.returncode != code or text not in done.stderr + done.stdout:
        sys.exit(f"{words}: exit code {done.returncode}, {done.stderr or done.stdout!r}; expected {code} and {text!r}")


ELASTIC = """
- {name: long, min: 2, max: 8, times: {2: 400, 4: 200, 8: 100}, restart: 1, rebalance: 1}
- {name: short, submit: 20, min: 4, max: 4, run: 30, priority: 5}
"""


def elastic(program, folder):
    """long has 8 workers; short makes it shrink to 4 at 20, starts at 22 when that has ended, and ends at 52; long expands."""
    with open(folder + "/elastic.yaml", "w") as file:
        file.write(ELASTIC)
    runs = []
    for _ in range(2):
        done = subprocess.run([program, "run", "--jobs", folder + "/elastic.yaml", "--processors", "8", "--elastic", "elastic",
                               "--rescale-gap", "20", "--check", "--json", "-", "--per-job", folder + "/elastic.csv"],
                              check=True, capture_output=True, text=True)
        with open(folder + "/elastic.csv") as file:
            runs.append((done.stdout, file.read()))
    if runs[0] != runs[1]:
        sys.exit("the same elastic jobs gave other bytes")
    result, lines = json.loads(runs[0][0]), runs[0][1].splitlines()
    # 19 s of 100 by 20, half as fast from 22 to 52, the rest from 54: 19 + 15 + 66.
    expected = ["short,20,22,52,4,30,,5,4,,,,0,4@22", "long,0,0,120,8,100,,0,8,,,,2,8@0;4@20;8@52"]
    if lines[1:] != expected or result["rescales"] != 2 or result["rescaling"] != 4 or result["utilisation"] != 1:
        sys.exit(f"elastic jobs: {lines[1:]}, {result}; expected {expected}")


def knobs(program, folder):
    """Each option reaches the policy."""
    waits = ("- {name: a, run: 1000, tasks: 4, change: rigid}\n- {name: b, submit: 1, run: 10, tasks: 8, min: 8}\n"
             "- {name: c, submit: 100, run: 10, tasks: 4, change: rigid}\n")
    ages = ("- {name: a, run: 100, tasks: 8, min: 8}\n- {name: b, submit: 1, run: 10, tasks: 8, min: 8}\n"
            "- {name: c, submit: 60, run: 10, tasks: 8, min: 8, priority: 1}\n")
    grows = ("- {name: a, run: 1000, tasks: 4, min: 4, max: 8, restart: 10, gap: 0}\n"
             "- {name: b, run: 100, tasks: 4, change: rigid}\n")
    for jobs, options, expected in (
            # By its age b goes before c, which has less work.
            (waits, ("--elastic-ageing", "30"), "c,100,100,"),
            (waits, ("--elastic-ageing", "30", "--elastic-patience", "50"), "c,100,100,"),  # it ends before b can begin
            (waits, ("--elastic-ageing", "30", "--elastic-patience", "50", "--elastic-strict", "40"), "c,100,1010,"),
            (ages, (), "c,60,100,"), (ages, ("--elastic-ageing", "30"), "c,60,110,"),
            (grows, (), "4@0;8@200"), (grows, ("--elastic-rescale-percent", "50"), "4@0;8@100")):
        with open(folder + "/knobs.yaml", "w") as file:
            file.write(jobs)
        done = subprocess.run([program, "run", "--jobs", folder + "/knobs.yaml", "--processors", "8", "--elastic", "ours",
                               "--per-job", "-", *options], check=True, capture_output=True, text=True)
        if expected not in done.stdout:
            sys.exit(f"{jobs} {options}: {done.stdout}; expected {expected}")


def paper_mixes(program, folder):
    """Each model runs; what it draws, it draws by the seed."""
    with open(folder + "/kinds.yaml", "w") as file:
        file.write("kinds: {dgemm: {seconds: 9}, stream: {seconds: 5}, minife: {seconds: 8}, fft: {seconds: 2}, rr: {seconds: 4}}\n")
    fine = ["--fleet", folder + "/fleet.yaml", "--model", folder + "/kinds.yaml"]
    elastic_paper = ["--processors", "60", "--elastic", "ours"]
    for model, words, jobs, drawn in (
            ("fine-grained-1", fine, 10, False), ("fine-grained-2", fine, 20, False), ("fine-grained-random", fine, 20, True),
            ("elastic-random", elastic_paper, 16, True), ("elastic-table1", elastic_paper, 16, False),
            ("elastic-table1-earlier", elastic_paper, 16, False),
            ("virtual-clusters", ["--processors", "320", "--queue", "easy"], None, True)):
        first, again, other = (subprocess.run([program, "run", "--generate", model, *words, "--seed", seed, "--check",
                                               "--per-job", "-"], check=True, capture_output=True, text=True)
                               for seed in ("1", "1", "2"))
        if first.stderr or first.stdout != again.stdout or (first.stdout != other.stdout) != drawn:
            sys.exit(f"{model}: {first.stderr}, or what it draws is not by the seed")
        if jobs is not None and len(first.stdout.splitlines()) != 1 + jobs:
            sys.exit(f"{model}: {first.stdout}; expected {jobs} jobs")


def example_of_the_page(program, folder):
    """What docs/simulator.md shows of elastic jobs is what comes out, and a job does rescale."""
    root = os.path.dirname(os.path.abspath(__file__)) + "/../../.."
    with open(root + "/docs/simulator.md") as file:
        blocks = file.read().split("```\n")
    at = next(at for at, block in enumerate(blocks) if block.startswith("cat > fleet.yaml"))
    path = os.path.dirname(os.path.abspath(program)) + ":" + os.environ["PATH"]
    done = subprocess.run(["sh", "-ec", blocks[at]], cwd=folder, env=os.environ | {"PATH": path}, check=True,
                          capture_output=True, text=True)
    rescales = [line.split(",")[-2] for line in done.stdout.splitlines()[1:]]
    if done.stdout != blocks[at + 2] or "2" not in rescales:
        sys.exit(f"docs/simulator.md: {blocks[at + 2]!r}, and here {done.stdout!r}")


ON_NODES = """
- {name: long, min: 4, max: 16, times: {4: 400, 8: 200, 16: 100}, restart: 1, rebalance: 1}
- {name: short, submit: 20, min: 8, max: 8, run: 30, priority: 5}
"""


def elastic_on_nodes(program, folder):
    """The same on a node of twice 8 CPUs; workers are placed one by one, so long and short end with so many CPUs of it."""
    with open(folder + "/one.yaml", "w") as file:
        file.write(FLEET.replace("count: 8", "count: 1"))
    with open(folder + "/elastic.yaml", "w") as file:
        file.write(ON_NODES)
    with open(folder + "/model.yaml", "w") as file:
        file.write("kinds: {}\n")
    runs = []
    for policy in "elastic", "elastic", "max":
        files = {"--per-job": folder + "/nodes.csv", "--svg": folder + "/nodes.svg", "--json": folder + "/nodes.json"}
        words = [word for pair in files.items() for word in pair]
        subprocess.run([program, "run", "--jobs", folder + "/elastic.yaml", "--fleet", folder + "/one.yaml", "--elastic", policy,
                        "--rescale-gap", "20", "--model", folder + "/model.yaml", "--check"] + words, check=True, capture_output=True)
        runs.append([open(path).read() for path in files.values()])
    if runs[0] != runs[1] or runs[0] == runs[2]:
        sys.exit("elastic jobs on nodes: the same gave other bytes, or another policy the same")
    lines, result = runs[0][0].splitlines(), json.loads(runs[0][2])
    expected = ["short,20,22,52,8,30,,5,8,1,2,,0,8@22", "long,0,0,120,16,100,,0,16,1,2,,2,16@0;8@20;16@52"]
    if lines[1:] != expected or result["utilisation"] != 1 or result["fragmentation"] != 0:
        sys.exit(f"elastic jobs on nodes: {lines[1:]}, {result}; expected {expected}")
    # Each worker takes a NUMA node's most, so there is no room for the launcher, though enough CPUs are free.
    with open(folder + "/four.yaml", "w") as file:
        file.write(FLEET.replace("count: 8", "count: 4"))
    with open(folder + "/odd.yaml", "w") as file:
        file.write("- {name: odd, run: 60, tasks: 8, cpus-per-task: 5, min: 8, max: 8, launcher: 4}\n")
    refused(program, 1, ["run", "--jobs", folder + "/odd.yaml", "--fleet", folder + "/four.yaml", "--elastic", "ours"],
            "wait although nothing runs")


def without_effect(program, folder):
    """Options that could change nothing are refused, by their names."""
    jobs = ["run", "--generate", "lublin", "--limit", "5"]
    pool, fleet = jobs + ["--processors", "64"], jobs + ["--fleet", folder + "/fleet.yaml"]
    for words, text in (
            (pool + ["--scenario", "CM"], "--scenario"), (pool + ["--granularity", "scale"], "--granularity"),
            (pool + ["--depth", "5"], "--depth"), (pool + ["--search", "5"], "--search"),
            (pool + ["--placement", "ours"], "give a --fleet"), (pool + ["--model", "x.yaml"], "--model"),
            (pool + ["--elastic", "min", "--learn"], "--learn"),
            (pool + ["--elastic", "min", "--elastic-ageing", "60"], "--elastic-ageing: has no effect but with --elastic ours"),
            (pool + ["--elastic-patience", "60"], "--elastic-patience: has no effect but with --elastic ours"),
            (pool + ["--elastic", "ours", "--elastic-broken-percent", "60"], "give a --fleet"),
            (pool + ["--elastic", "ours", "--elastic-ageing", "0.5"], "--elastic-ageing: Value 0.5 not in range"),
            (pool + ["--elastic", "ours", "--elastic-patience", "-1"], "--elastic-patience: Value -1 not in range"),
            (pool + ["--elastic", "ours", "--elastic-strict", "nan"], "--elastic-strict: nan is no number"),
            (pool + ["--elastic", "ours", "--elastic-rescale-percent", "0"], "--elastic-rescale-percent"),
 (pool + ["--malleable", "0.5:2"], "--elastic"),
            (pool + ["--elastic", "ours", "--malleable", "2"], "MOST is missing"),
            (fleet + ["--placement", "pool", "--granularity", "scale"], "--granularity"),
            (fleet + ["--placement", "least", "--search", "5"], "--search"),
            (fleet + ["--queue", "fcfs", "--depth", "5"], "--depth"),
            (["run", "--generate", "elastic", "--processors", "60"], "elastic-table1-earlier"),
            (["run", "--generate", "elastic-random", "--processors", "60", "--load", "1"], "--load: has no effect but with"),
            (["run", "--generate", "fine-grained-2", "--processors", "60", "--overestimate", "2"], "--overestimate: has no"),
            (pool + ["--submission-gap", "5"], "--submission-gap: has no effect but with the elastic paper's"),
            (["run", "--generate", "elastic-random", "--processors", "60", "--submission-gap", "-1"], "--submission-gap"),
            (["run", "--generate", "elastic-random", "--processors", "60", "--seed", "0"], "--seed: the sets of elastic-random"),
            (["run", "--generate", "elastic-random", "--processors", "60", "--seed", "1000001"], "from 1 to 1000000"),
            (["run", "--generate", "elastic-table1", "--processors", "60", "--elastic", "ours", "--malleable", "0.5:2"],
             "the jobs of elastic-table1 are elastic"),
            (pool + ["--per-job", folder + "/x", "--svg", folder + "/./x"], "--svg"),
            (pool + ["--per-job", ""], "--per-job: the name of a file is missing"),
            (["run", "--jobs", "", "--processors", "4"], "--jobs"),
            (pool + ["--load", "nan"], "--load: nan is no number"), (pool + ["--overestimate", "nan"], "--overestimate"),
            (pool + ["--elastic", "min", "--rescale-gap", "-NaN"], "--rescale-gap"),
            (["mixed", "--crowded", "nan"], "--crowded"), (["mixed", "--services", "nan"], "--services"),
            (pool + ["--per-job", "-", "--json", "-"], "--per-job")):
        refused(program, 2, words, text)


def files(program, folder):
    """No folder or device is read as a file; nothing is written over what is read, and nothing is written half."""
    pool = ["run", "--processors", "4"]
    for words in (pool + ["--jobs", "/tmp"], pool + ["--trace", "/tmp"], ["run", "--generate", "lublin", "--fleet", "/tmp"],
                  ["run", "--generate", "lublin", "--fleet", folder + "/fleet.yaml", "--model", "/tmp"],
                  ["fit", "--runs", "/tmp"]):
        refused(program, 1, words, "read /tmp: Is a directory\n")
    refused(program, 1, pool + ["--jobs", "/dev/zero"], "/dev/zero is larger than 64 MiB\n")
    there = os.open("/tmp", os.O_RDONLY)
    for option in "--trace", "--jobs":
        refused(program, 1, pool + [option, "-"], "read standard input: Is a directory\n", stdin=there)
    os.close(there)

    trace, link, out = folder + "/half.swf", folder + "/link.swf", folder + "/half.csv"
    text = swf("1 0 -1 60 4") + "2 1 -1 6\n"
    with open(trace, "w") as file:
        file.write(text)
    os.link(trace, link)
    refused(program, 2, pool + ["--trace", trace, "--per-job", link], "is already what --trace reads")
    with open(trace) as file:
        refused(program, 2, pool + ["--trace", "-", "--json", trace], "is already what --trace reads", stdin=file)
    refused(program, 2, ["fit", "--runs", trace, "--out", trace], "is already what --runs reads")
    with open(out, "w") as file:
        file.write("old")
    os.chmod(out, 0o640)
    before = sorted(os.listdir(folder))
    refused(program, 1, pool + ["--trace", trace, "--per-job", out], "line 2: 4 fields")
    with open(trace) as file, open(out) as kept:
        if file.read() != text or kept.read() != "old" or sorted(os.listdir(folder)) != before:
            sys.exit(f"a trace that ends too early: {os.listdir(folder)}, or another text in the files")
    with open(trace, "w") as file:
        file.write(swf("1 0 -1 60 4"))
    os.symlink(out, folder + "/link.csv")
    refused(program, 0, pool + ["--trace", trace, "--per-job", folder + "/link.csv"], "makespan")
    with open(out) as file:
        if len(file.readlines()) != 2 or os.stat(out).st_mode & 0o777 != 0o640 or not os.path.islink(folder + "/link.csv"):
            sys.exit("--per-job: a file that was there is not what it should be")
    with open(out, "r+") as file:
        refused(program, 1, pool + ["--trace", trace, "--svg", "/dev/full"], "write /dev/full: No space left")
        subprocess.run([program] + pool + ["--trace", trace, "--json", "/dev/stdout"], check=True, stdout=file)
        if os.fstat(file.fileno()).st_nlink != 1:
            sys.exit("/dev/stdout: the shell's file was replaced")


def example_of_the_help(program, folder):
    text = subprocess.run([program, "run", "--help"], check=True, capture_output=True, text=True).stdout
    with open(folder + "/help.yaml", "w") as file:
        file.write(text[text.index("  - {name: node"):])
    refused(program, 0, ["run", "--generate", "lublin", "--limit", "5", "--fleet", folder + "/help.yaml"], "makespan")


def fit_of_one_run(program, folder):
    with open(folder + "/runs.yaml", "w") as file:
        file.write("{tasks: 16, kinds: {dgemm: cpu, stream: memory}, experiments: [{name: CM, runs: [[dgemm, 0, 1189]]}]}\n")
    done = subprocess.run([program, "fit", "--runs", folder + "/runs.yaml"], check=True, capture_output=True, text=True)
    if not re.search(r"CM +dgemm +1189.0 +\S+ +-\n", done.stdout) or "(leave-one-out): -\nof one run only" not in done.stdout \
            or "  stream:" in done.stdout or "kind stream has no run" not in done.stderr:
        sys.exit(f"a fit of one run: {done.stdout}{done.stderr}")
    never = "kind dgemm has no pinned run"
    pinned = "{tasks: 16, kinds: {dgemm: cpu}, experiments: [{name: CM, pinned: true, runs: [[dgemm, 0, 1189]]}]}\n"
    with open(folder + "/pinned.yaml", "w") as file:
        file.write(pinned)
    other = subprocess.run([program, "fit", "--runs", folder + "/pinned.yaml"], check=True, capture_output=True, text=True)
    if never not in done.stderr or never in other.stderr:
        sys.exit(f"kinds without pinned runs: {done.stderr!r}, {other.stderr!r}")


def to_standard_output(program):
    words = [program, "run", "--generate", "lublin", "--limit", "5", "--processors", "64"]
    done = subprocess.run(words + ["--per-job", "-"], check=True, capture_output=True, text=True)
    if not done.stdout.startswith("job,submit,") or len(done.stdout.splitlines()) != 6 or done.stderr or os.path.exists("-"):
        sys.exit(f"--per-job -: {done.stdout!r}, {done.stderr!r}")


def malleable(program, folder):
    """Two jobs of 4 on 8 processors: the first one has both halves until the second one comes."""
    with open(folder + "/two.swf", "w") as file:
        file.write(swf("1 0 -1 100 4", "2 50 -1 100 4"))
    words = [program, "run", "--trace", folder + "/two.swf", "--processors", "8", "--elastic", "elastic", "--rescale-gap", "0",
             "--per-job", "-"]
    def sizes(*more):
        done = subprocess.run(words + list(more), check=True, capture_output=True, text=True)
        return [line.split(",")[-1] for line in done.stdout.splitlines()[1:]], done.stderr
    if sizes("--malleable", "0.5:4:0") != (["8@0", "8@50"], ""):
        sys.exit(f"--malleable: {sizes('--malleable', '0.5:4:0')}")
    rigid, said = sizes()
    if rigid != ["", ""] or said.count("\n") != 1 or "--malleable" not in said:
        sys.exit(f"--elastic with a trace: {rigid}, {said!r}")
    with open(folder + "/rigid.yaml", "w") as file:
        file.write("- {run: 100, tasks: 4}\n")
    refused(program, 0, ["run", "--jobs", folder + "/rigid.yaml", "--processors", "8", "--elastic", "ours"], "no job is elastic")
    refused(program, 2, ["run", "--jobs", folder + "/rigid.yaml", "--processors", "8", "--elastic", "ours", "--malleable", "1:2"],
            "--malleable")


def progress(program):
    """On a terminal a bar with the time left; of two that run side by side, none from the one without."""
    endless = [program, "run", "--generate", "lublin", "--limit", "100000000", "--processors", "1024",
               "--largest", "64"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(endless, stdout=subprocess.DEVNULL, stderr=theirs) as shown, \
            subprocess.Popen(endless, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as silent:
        try:
            os.close(theirs)
            text = b""
            while shown.poll() is None and len(re.findall(rb"\r\033\[K\[#* *\] +\d+ %, \d+ s left", text)) < 3:
                if not select.select([ours], [], [], 60)[0]:
                    sys.exit(f"no progress on a terminal: {text!r}")
                text += os.read(ours, 4096)
            silence = not select.select([silent.stderr], [], [], 0)[0]
            ended = shown.poll(), silent.poll()
        finally:
            shown.kill()
            silent.kill()
    os.close(ours)
    if not silence or ended != (None, None):
        sys.exit(f"progress where there is no terminal, or the programs have ended: {ended}, {text!r}")


def services(program, folder):
    one = [program, "services", "--plant", "latency", "--load", "steps", "--policy", "ours"]
    runs = []
    for seed in "1", "1", "2":
        done = subprocess.run(one + ["--seed", seed, "--per-second", folder + "/services.csv"], check=True, capture_output=True)
        with open(folder + "/services.csv") as file:
            runs.append((done.stdout, file.read()))
    if runs[0] != runs[1] or runs[0][1] == runs[2][1] or len(runs[0][1].splitlines()) != 1 + 12 * 1200:
        sys.exit("services: the same seed gave other bytes, another the same, or seconds are missing")
    refused(program, 1, ["services", "--plant", "linear", "--load", "steps", "--per-second", folder + "/x.csv"], "--policy")
    refused(program, 2, ["services", "--plant", "square"], "saturating")


def mixed(program):
    one = [program, "mixed", "--policy", "least-loaded", "--seeds", "1", "--check", "--json"]
    first, again, other = (subprocess.run(one + ["--seed", seed], check=True, capture_output=True).stdout for seed in "115")
    if first != again or first == other or json.loads(first)[0]["paper_seconds"] != 11200:
        sys.exit("mixed: the same seed gave other bytes, another the same, or the paper's figure is missing")
    refused(program, 2, ["mixed", "--policy", "best"], "least-loaded")
    refused(program, 2, ["mixed", "--services", "1"], "--services")


def means(program):
    """Of several seeds the figures are the mean."""
    def seconds(*seeds):
        done = subprocess.run([program, "mixed", "--policy", "least-loaded", "--json", *seeds], check=True,
                              capture_output=True)
        return json.loads(done.stdout)[0]["seconds"]
    one, two, both = (seconds("--seed", seed, "--seeds", count) for seed, count in (("1", "1"), ("2", "1"), ("1", "2")))
    if one == two or abs(both - (one + two) / 2) > 1e-6 * both:
        sys.exit(f"mixed: seeds 1 and 2 give {one} and {two}, both together {both}")


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/fleet.yaml", "w") as file:
            file.write(FLEET)
        first, again, other = (outputs(program, folder, seed) for seed in (1, 1, 2))
        if first != again:
            sys.exit("the same input and seed gave other bytes")
        if any(a == b for a, b in zip(first, other)):
            sys.exit("another seed gave the same bytes")
        with open(folder + "/bad.swf", "w") as file:
            file.write("1 0 -1 60\n")
        with open(folder + "/jobs.yaml", "w") as file:
            file.write("- {kind: stream, tasks: 4}\n- {run: 5, tasks: 400}\n")
        with open(folder + "/large.yaml", "w") as file:
            file.write("- {run: 5, tasks: 40, count: 2}\n")
        with open(folder + "/empty.yaml", "w") as file:
            file.write("[]\n")
        with gzip.open(folder + "/packed.swf.gz", "wb") as file:
            file.write(b"1 0 -1 60 4\n")
        refused(program, 2, ["run", "--processors", "4"], "--trace")
        refused(program, 2, ["run", "--generate", "lublin", "--processors", "4", "--queue", "lifo"], "fcfs")
        refused(program, 1, ["run", "--trace", folder + "/none.swf", "--processors", "4"], "No such file")
        refused(program, 1, ["run", "--trace", folder + "/bad.swf", "--processors", "4"], "line 1: 4 fields")
        refused(program, 1, ["run", "--jobs", folder + "/large.yaml", "--processors", "4"], "none of 2 jobs could ever start")
        refused(program, 1, ["run", "--jobs", folder + "/empty.yaml", "--processors", "4"], "no jobs")
        refused(program, 1, ["run", "--trace", folder + "/packed.swf.gz", "--processors", "4"],
                f"zcat {folder}/packed.swf.gz | pinion-sim run --trace -")
        refused(program, 2, ["frob"], "frob")
        refused(program, 2, ["run", "--generate", "lublin", "--processors", "4", "--seed", "-1"], "--seed: -1 is below 0")
        refused(program, 0, ["--version"], "0.1.0")
        done = subprocess.run([program, "run", "--trace", "-", "--processors", "4"], capture_output=True, text=True,
                              input=chr(0x1f) + "binary")
        if done.returncode != 1 or "standard input is compressed" not in done.stderr:
            sys.exit(f"a compressed trace on standard input: {done.stderr!r}")
        without_effect(program, folder)
        files(program, folder)
        example_of_the_help(program, folder)
        fit_of_one_run(program, folder)
        to_standard_output(program)
        malleable(program, folder)
        refused(program, 1, ["run", "--jobs", folder + "/jobs.yaml", "--processors", "4"], "no --model says that of kind")
        with open(folder + "/zero.yaml", "w") as file:
            file.write("kinds: {stream: {seconds: 0}}\n")
        refused(program, 1, ["run", "--jobs", folder + "/jobs.yaml", "--fleet", folder + "/fleet.yaml", "--model",
                             folder + "/zero.yaml"], "zero.yaml says no seconds of kind stream")
        refused(program, 1, ["run", "--generate", "lublin", "--processors", "4", "--per-job", folder + "/no/x.csv"], "write")
        refused(program, 2, ["run", "--generate", "lublin", "--processors", "4", "--elastic", "most"], "moldable")
        refused(program, 2, ["run", "--generate", "lublin", "--processors", "4", "--elastic", "ours", "--queue", "easy"],
                "--queue")
        refused(program, 2, ["run", "--generate", "lublin", "--processors", "4", "--rescale-gap", "5"], "--elastic")
        refused(program, 0, ["run", "--help"], "fcfs")
        progress(program)
        elastic(program, folder)
        knobs(program, folder)
        paper_mixes(program, folder)
        refused(program, 1, ["run", "--generate", "fine-grained-1", "--processors", "32"], "no --model says that of kind dgemm")
        elastic_on_nodes(program, folder)
        os.mkdir(folder + "/page")
        example_of_the_page(program, folder + "/page")
        services(program, folder)
        mixed(program)
        os.remove(folder + "/bad.swf")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(sys.argv[1])
    elif sys.argv[2:] == ["means"]:
        means(sys.argv[1])
    else:
        sys.exit(__doc__)
