"""The mixed load of the virtual-cluster paper (Zervas et al.): services and HPC jobs on five servers."""
import concurrent.futures
import json
import os
import subprocess

SHARES = [0.15, 0.25, 0.35]  # of the services, of all CPU time: the paper does not say it
CROWDED = [1, 1.4, 2]  # what it costs an HPC job that twice the CPUs are wanted: neither
CHOSEN = (0.25, 1.4)


def play(program, share, crowded):
    done = subprocess.run([program, "mixed", "--services", str(share), "--crowded", str(crowded), "--json"], check=True,
                          capture_output=True, text=True)
    return {row["policy"]: row for row in json.loads(done.stdout)}


def relative(rows, policy, figure="seconds"):
    base = rows["least-loaded"][figure]
    return f"{100 * (rows[policy][figure] / base - 1):+.0f} %" if base and rows[policy][figure] else "-"


def sections(program, table):
    guesses = [(share, crowded) for share in SHARES for crowded in CROWDED]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = dict(zip(guesses, pool.map(lambda guess: play(program, *guess), guesses)))
    chosen = runs[CHOSEN]
    rows = []
    for policy, row in chosen.items():
        seconds, utilisation = row["paper_seconds"], row["paper_utilisation"]
        rows.append([policy, f"{seconds:.0f}" if seconds else "-", f"{row['seconds']:.0f}",
                     relative(chosen, policy, "paper_seconds"), relative(chosen, policy),
                     f"{100 * utilisation:.0f} %" if utilisation else "-", f"{100 * row['utilisation']:.0f} %",
                     f"{row['hpc_stretch']:.2f}", f"{row['services_seconds']:.0f}"])
    main = table(["policy", "paper: total, s", "here", "paper: against least loaded", "here", "paper: utilisation", "here",
                  "HPC run time", "services end, s"], rows)
    others = [[f"{100 * share:.0f} %", str(crowded)] + [relative(run, policy) for policy in run if policy != "least-loaded"]
              for (share, crowded), run in runs.items()]
    varied = table(["services' share", "crowded"] + [policy for policy in chosen if policy != "least-loaded"], others)
    return {"@MIXED@": main, "@GUESSES@": varied}
