"""What our policies, in all combinations, make of the fine-grained paper's experiments, and what no order could do better."""
import concurrent.futures
import itertools
import json
import os
import re
import subprocess

import bound

HERE = os.path.dirname(os.path.abspath(__file__))
QUEUES = ["fcfs", "easy", "fair", "ours", "shortest"]
PLACEMENTS = ["first-fit", "least", "most", "paper", "ours"]
GRANULARITIES = ["auto", "granularity", "scale", "none"]


def options(queue, placement, granularity):
    return ["--queue", queue, "--placement", placement, "--granularity", granularity]


def play(program, model, words):
    """The overall response and the makespan, in seconds."""
    done = subprocess.run([program, "run", "--fleet", os.path.join(HERE, "cluster.yaml"), "--model", model,
                           "--json", "-"] + words, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    return result["total_wait"] + result["total_run"], result["makespan"]


def with_limits(folder, seconds):
    """Experiment 2 with twice these run times as the limits that its users state."""
    with open(bound.SECOND) as file:
        text = file.read()
    path = os.path.join(folder, "limits.yaml")
    with open(path, "w") as file:
        file.write(re.sub(r"kind: (\w+), request: \d+", lambda m: f"kind: {m[1]}, request: {2 * seconds[m[1]]:.0f}", text))
    return path


def marks(program, folder, model, seen, second, kubeflow):
    """What takes the place of the marks in the text. `second`: experiment 2 by scenario; `kubeflow`: that of experiment 3."""
    every = list(itertools.product(QUEUES, PLACEMENTS, GRANULARITIES))
    first, both = (["--generate", f"fine-grained-{number}"] for number in (1, 2))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        alike = list(pool.map(lambda one: play(program, model, first + options(*one)), every))
        responses = list(pool.map(lambda one: play(program, model, both + options(*one))[0], every))
    best = min(range(len(every)), key=responses.__getitem__)
    limits = ["--jobs", with_limits(folder, seen["CM"]["kinds"])]
    limited = {queue: play(program, model, limits + options(queue, *every[best][1:]))[0] for queue in ("easy", "shortest")}
    ours, least_wait, least_run = second["OURS_P"], *bound.least_response(model)
    kind, submit, takes = bound.last_to_end(model)
    same = alike.count(alike[0])
    return {name: text if isinstance(text, str) else f"{text:.0f}" for name, text in {
        "@COMBINATIONS@": len(every), "@BEST@": " ".join(options(*every[best])), "@BESTRESPONSE@": responses[best],
        "@GAIN@": f"{100 * (1 - responses[best] / min(ours['response'], second['CM_G_TG']['response'])):.1f}",
        "@ALIKE@": "all" if same == len(every) else f"{same}", "@OURSRESPONSE@": ours["response"], "@OURSRUN@": ours["run"],
        "@LEASTWAIT@": least_wait, "@LEASTRUN@": least_run, "@LEAST@": least_wait + least_run,
        "@LESS@": 100 * (1 - (least_wait + least_run) / ours["response"]),
        "@LIMITED@": limited["easy"], "@LIMITEDSHORTEST@": limited["shortest"],
        "@LEASTMAKESPAN@": submit + takes, "@LASTKIND@": kind, "@LASTSUBMIT@": submit, "@LASTTAKES@": takes,
        "@WORK@": least_run / bound.PLACES, "@OURSMAKESPAN@": ours["makespan"], "@KUBEFLOWMAKESPAN@": kubeflow["makespan"],
        "@FINEST@": 100 * (1 - seen["CM_G_TG"]["run"] / seen["CM_S_TG"]["run"])}.items()}
