"""The experiments of the elastic Charm++ paper (Bhosale et al., SC Workshops '25): Fig. 7, Fig. 8, Table 1."""
import concurrent.futures
import json
import os
import subprocess

SETS = range(1, 101)  # seeds of elastic-random: those of the authors' simulator, 16 random jobs each
PROCESSORS = 60
GAP = 180  # between a job's rescales, and in Fig. 8 between submissions, seconds
POLICIES = {"min": ["min"], "max": ["max"], "moldable": ["moldable"], "elastic": ["elastic"],
            "elastic, Fig. 2": ["elastic-fig2"], "OURS": ["ours"],
            "OURS, learning": ["ours", "--learn"]}
FIGURES = {"total": "total time, s", "utilisation": "utilisation, %", "response": "weighted mean response, s",
           "completion": "weighted mean completion, s"}

# Of pinion-sim run --generate: the job sets of Table 1. A is that of the latest version of the authors' simulator.
TABLE1 = {"A": "elastic-table1", "B": "elastic-table1-earlier"}


class Player:
    def __init__(self, program):
        self.program = program
        self.known = {}

    def play(self, model, policy, gap, *options):
        """The figures of one run."""
        done = subprocess.run([self.program, "run", "--generate", model, *options, "--processors", str(PROCESSORS),
                               "--rescale-gap", str(gap), "--json", "-", "--elastic"] + POLICIES[policy], check=True,
                              capture_output=True, text=True)
        result = json.loads(done.stdout)
        return {"total": result["makespan"], "utilisation": 100 * result["utilisation"],
                "response": result["wait"]["weighted_mean"], "completion": result["response"]["weighted_mean"],
                "rescales": result["rescales"]}

    def means(self, every, policy, gap):
        # Only these look at the gap.
        key = (every, policy, gap if policy.startswith(("elastic", "OURS")) else None)
        if key not in self.known:
            runs = [self.play("elastic-random", policy, gap, "--seed", str(number), "--submission-gap", str(every))
                    for number in SETS]
            self.known[key] = {name: sum(run[name] for run in runs) / len(runs) for name in runs[0]}
        return self.known[key]


def line_up(player):
    """All means of Fig. 7 and Fig. 8, by as many processes at a time as there are CPUs."""
    gaps, times = range(0, 301, 60), range(0, 1201, 240)
    wanted = [(every, policy, GAP) for every in gaps for policy in POLICIES]
    wanted += [(GAP, policy, gap) for gap in times for policy in POLICIES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda one: player.means(*one), wanted))
    seventh = {every: {policy: player.means(every, policy, GAP) for policy in POLICIES} for every in gaps}
    eighth = {gap: {policy: player.means(GAP, policy, gap) for policy in POLICIES} for gap in times}
    return seventh, eighth


def curves_table(table, results, what):
    """A table for each figure of merit, and one of rescales: a row for each policy, a column for each point."""
    points = list(results)
    parts = []
    for figure, name in FIGURES.items():
        rows = [[policy] + [f"{results[point][policy][figure]:.0f}" for point in points] for policy in POLICIES]
        parts.append(table([f"{name}; {what}"] + [str(point) for point in points], rows))
    rescales = [[policy] + [f"{results[point][policy]['rescales']:.1f}" for point in points]
                for policy in POLICIES if policy.startswith(("elastic", "OURS"))]
    parts.append(table([f"rescales of 16 jobs; {what}"] + [str(point) for point in points], rescales))
    return "\n".join(parts)


def best(results, figure, lowest):
    """At how many points this is so: (count, points)."""
    return sum(1 for at in results.values() if lowest(at, figure)), len(results)


def extreme(policy, sign):
    """Whether the policy is the lowest (1) or the highest (-1) of the paper's four."""
    elastic = policy if policy.startswith("elastic") else "elastic"

    def holds(at, figure):
        others = [sign * at[other][figure] for other in ("min", "max", "moldable", elastic) if other != policy]
        return sign * at[policy][figure] <= min(others) + 1e-9
    return holds


def below(policy, other):
    return lambda at, figure: at[policy][figure] < at[other][figure]


def said(count_of):
    count, of = count_of
    return "yes" if count == of else "no" if count == 0 else f"at {count} of {of}"


def rises(results, figure, policy):
    """At how many steps it does, and by how many seconds at least."""
    values = [at[policy][figure] for at in results.values()]
    steps = [b - a for a, b in zip(values, values[1:])]
    count = sum(1 for step in steps if step > 0)
    return said((count, len(steps))) + (f", by {min(steps):.1f} s or more" if count == len(steps) else "")


def claims_of(seventh, eighth, elastic):
    """What the paper's text says of its curves, and whether ours show it with this reading of its policy."""
    first, last = list(seventh)[0], list(seventh)[-1]
    ends = {first: seventh[first]}, {last: seventh[last]}
    apart = [max(at[p]["total"] for p in ("max", "moldable", elastic)) / min(
        at[p]["total"] for p in ("max", "moldable", elastic)) - 1 for at in (seventh[first], seventh[last])]
    nearer = [abs(eighth[t][elastic][f] / eighth[t]["moldable"][f] - 1) for f in FIGURES for t in (0, 1200)]
    return {
        ("7", "utilisation: elastic highest"): said(best(seventh, "utilisation", extreme(elastic, -1))),
        ("7", "utilisation: min lowest"): said(best(seventh, "utilisation", extreme("min", 1))),
        ("7", "total time: elastic lowest"): said(best(seventh, "total", extreme(elastic, 1))),
        ("7", "total time: min below max at the smallest gap"): said(best(ends[0], "total", below("min", "max"))),
        ("7", "total time: min above max at the largest gap"): said(best(ends[1], "total", below("max", "min"))),
        ("7", "total time: the other three converge"):
            f"{'yes' if apart[1] < apart[0] else 'no'}: {100 * apart[0]:.0f} % apart, {100 * apart[1]:.0f} % in the end",
        ("7", "response: min lowest"): said(best(seventh, "response", extreme("min", 1))),
        ("7", "response: elastic below max"): said(best(seventh, "response", below(elastic, "max"))),
        ("7", "response: elastic below moldable"): said(best(seventh, "response", below(elastic, "moldable"))),
        ("7", "completion: min highest"): said(best(seventh, "completion", extreme("min", -1))),
        ("7", "completion: max lowest at the smallest gap"): said(best(ends[0], "completion", extreme("max", 1))),
        ("7", "completion: elastic lowest at the largest gap"): said(best(ends[1], "completion", extreme(elastic, 1))),
        ("8", "total time of elastic rises with each step of the gap"): rises(eighth, "total", elastic),
        ("8", "response: min lowest"): said(best(eighth, "response", extreme("min", 1))),
        ("8", "elastic nears moldable, each figure"):
            said((sum(1 for a, b in zip(nearer[::2], nearer[1::2]) if b < a), len(FIGURES))),
        ("-", "OURS: total time below elastic's"): said(best(seventh, "total", below("OURS", elastic))),
        ("-", "OURS: response below elastic's"): said(best(seventh, "response", below("OURS", elastic))),
        ("-", "OURS: completion below elastic's"): said(best(seventh, "completion", below("OURS", elastic))),
    }


def claims(table, seventh, eighth):
    by_text, by_figure = (claims_of(seventh, eighth, elastic) for elastic in ("elastic", "elastic, Fig. 2"))
    return table(["Fig.", "what the text says", "elastic by the text", "elastic by Fig. 2"],
                 [list(key) + [by_text[key], by_figure[key]] for key in by_text])


def first_table(table, player, seen):
    """The table, and the weighted completions as marks of the text: @A OURS@."""
    parts, marks = [], {}
    for name, model in TABLE1.items():
        rows = []
        for policy in POLICIES:
            run = player.play(model, policy, GAP)
            paper = seen.get(policy)
            cells = []
            for figure, digits in (("total", 0), ("utilisation", 1), ("response", 0), ("completion", 0)):
                papers = "- / -" if paper is None else " / ".join(f"{value:.{digits}f}" for value in paper[figure])
                cells.append(f"{papers} / {run[figure]:.{digits}f}")
            rows.append([policy] + cells + [str(run["rescales"])])
            marks[f"@{name} {policy}@"] = f"{run['completion']:.0f}"
        parts.append(table([f"set {name}"] + list(FIGURES.values()) + ["rescales"], rows))
    return {"@TABLE1@": "\n".join(parts)} | marks


COLORS = {"min": "#888888", "max": "#d69e2e", "moldable": "#38a169", "elastic": "#2b6cb0", "elastic, Fig. 2": "#319795",
          "OURS": "#c53030",
          "OURS, learning": "#9f7aea"}


def plot(results, title, axis):
    """Four panels, a line for each policy, as SVG."""
    width, height, left, top = 380, 220, 60, 40
    points = list(results)
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="920" height="640"><style>text{font:12px sans-serif;fill:#222}'
             'path{fill:none;stroke-width:2}.x{stroke:#888;stroke-width:1}svg{background:#fff}</style>',
             f'<text x="20" y="20">{title}</text>']
    for panel, (figure, name) in enumerate(FIGURES.items()):
        x0, y0 = left + panel % 2 * (width + 70), top + panel // 2 * (height + 60)
        most = max(at[policy][figure] for at in results.values() for policy in POLICIES)
        parts.append(f'<text x="{x0}" y="{y0 - 6}">{name}</text>'
                     f'<path class="x" d="M{x0} {y0}V{y0 + height}H{x0 + width}"/>'
                     f'<text x="{x0 - 6}" y="{y0 + 10}" text-anchor="end">{most:.0f}</text>'
                     f'<text x="{x0 - 6}" y="{y0 + height}" text-anchor="end">0</text>')
        for point in (points[0], points[-1]):
            parts.append(f'<text x="{x0 + width * point / points[-1]:.0f}" y="{y0 + height + 16}" text-anchor="middle">{point} s'
                         '</text>')
        for policy, color in COLORS.items():
            line = " ".join(f"{x0 + width * point / points[-1]:.1f},{y0 + height * (1 - at[policy][figure] / most):.1f}"
                            for point, at in results.items())
            parts.append(f'<path stroke="{color}" d="M{line}"/>')
    parts.append(f'<text x="{left}" y="600">{axis}</text>')
    for number, (policy, color) in enumerate(COLORS.items()):
        parts.append(f'<text x="{left + 115 * number}" y="624" style="fill:{color}">{policy}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def sections(program, table, seen, pictures):
    """What takes the place of the marks in the text; writes the pictures into a folder."""
    player = Player(program)
    seventh, eighth = line_up(player)
    os.makedirs(pictures, exist_ok=True)
    for name, svg in (("elastic-fig7.svg", plot(seventh, "Fig. 7: rescale gap 180 s", "gap between submissions")),
                      ("elastic-fig8.svg", plot(eighth, "Fig. 8: a submission each 180 s", "rescale gap"))):
        with open(os.path.join(pictures, name), "w") as file:
            file.write(svg)
    return {"@CLAIMS@": claims(table, seventh, eighth), "@SEVENTH@": curves_table(table, seventh, "gap, s:"),
            "@EIGHTH@": curves_table(table, eighth, "rescale gap, s:")} | first_table(table, player, seen)
