"""The experiments of the elastic Charm++ paper (Bhosale et al., SC Workshops '25): Fig. 7, Fig. 8, Table 1."""
import concurrent.futures
import json
import os
import random
import subprocess

SETS = 100  # of 16 random jobs each
JOBS = 16
PROCESSORS = 60
GAP = 180  # between a job's rescales, and in Fig. 8 between submissions, seconds
POLICIES = {"min": ["min"], "max": ["max"], "moldable": ["moldable"], "elastic": ["elastic"], "OURS": ["ours"],
            "OURS, learning": ["ours", "--learn"]}
FIGURES = {"total": "total time, s", "utilisation": "utilisation, %", "response": "weighted mean response, s",
           "completion": "weighted mean completion, s"}

# Workers: least, most; time steps; seconds of a step with so many; seconds of load balancing in a rescale. The launcher
# computes too, so what the paper calls 8 PEs are 7 workers.
CLASSES = [
    (1, 7, 40000, {1: 0.003, 3: 0.0017, 7: 0.000996}, 0.006),
    (3, 15, 40000, {3: 0.012, 7: 0.0067, 15: 0.0037}, 0.01563),
    (7, 31, 40000, {7: 0.049, 15: 0.03, 31: 0.019}, 0.181229),
    (15, 59, 10000, {15: 0.13, 31: 0.075, 59: 0.046}, 0.728237),
]
# Seconds of a restart: 0.143006 for each PE, and 0.162208.
RESTART, RESTART_PER_WORKER = 0.162208 + 0.143006, 0.143006

# The job sets of the authors' simulator: class, priority. A is that of its latest version.
SET_A = list(zip([2, 1, 1, 0, 3, 3, 0, 3, 1, 1, 0, 3, 0, 1, 1, 1], [2, 3, 4, 4, 2, 1, 4, 1, 4, 3, 4, 1, 5, 3, 3, 3]))
SET_B = list(zip([2, 3, 2, 1, 0, 1, 1, 1, 0, 1, 1, 2, 0, 1, 1, 1], [2, 1, 3, 3, 4, 3, 3, 3, 5, 3, 3, 2, 4, 3, 3, 3]))


def random_sets():
    draw = random.Random(42)
    return [[(draw.choice([0, 1, 2, 3]), draw.randint(1, 5)) for _ in range(JOBS)] for _ in range(SETS)]


def jobs_file(jobs, every):
    """JSON, which is YAML."""
    entries = []
    for number, (kind, priority) in enumerate(jobs):
        least, most, steps, step, balance = CLASSES[kind]
        entries.append({"name": f"j{number}", "submit": number * every, "min": least, "max": most, "launcher": 1,
                        "priority": priority, "times": {str(w): round(s * steps, 6) for w, s in step.items()},
                        "restart": RESTART, "restart-per-worker": RESTART_PER_WORKER, "rebalance": balance})
    return json.dumps(entries)


class Player:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.known = {}

    def play(self, key, jobs, every, policy, gap):
        """The figures of one run."""
        path = os.path.join(self.folder, f"elastic-{key}-{every}.json")
        if not os.path.exists(path):
            with open(path + f".{policy}.{gap}", "w") as file:
                file.write(jobs_file(jobs, every))
            os.replace(path + f".{policy}.{gap}", path)
        done = subprocess.run([self.program, "run", "--jobs", path, "--processors", str(PROCESSORS), "--rescale-gap", str(gap),
                               "--json", "-", "--elastic"] + POLICIES[policy], check=True, capture_output=True, text=True)
        result = json.loads(done.stdout)
        return {"total": result["makespan"], "utilisation": 100 * result["utilisation"],
                "response": result["wait"]["weighted_mean"], "completion": result["response"]["weighted_mean"],
                "rescales": result["rescales"]}

    def means(self, sets, every, policy, gap):
        # Only these two look at the gap.
        key = (every, policy, gap if policy == "elastic" or policy.startswith("OURS") else None)
        if key not in self.known:
            runs = [self.play(number, jobs, every, policy, gap) for number, jobs in enumerate(sets)]
            self.known[key] = {name: sum(run[name] for run in runs) / len(runs) for name in runs[0]}
        return self.known[key]
