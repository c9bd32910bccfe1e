"""The record: a table in a Markdown document, between two marks."""
import re
from dataclasses import dataclass, field

from judge import Result

BEGIN = "<!-- recorded: begin -->\n"
END = "<!-- recorded: end -->\n"
HEAD = """| what | Pinion | beside it | takes | ratio | noise | commit |
|---|---|---|---|---|---|---|
"""
ABOUT = re.compile(r"^Recorded on (?P<machine>.*), with (?P<go>go\S+)\.$", re.MULTILINE)


@dataclass
class Record:
    machine: str = ""
    go: str = ""
    rows: dict = field(default_factory=dict)  # by key: Result
    commits: dict = field(default_factory=dict)  # by key: at which it was measured


def three_digits(value):
    """As a reader writes it: 0.0148, 1.27, 34.5, 210."""
    text = f"{value:.3g}"
    return text if "e" not in text else f"{value:.0f}" if value >= 1 else f"{value:.9f}".rstrip("0")


SIZES = (("us", 1e-3), ("ms", 1.0), ("s", 1e3))


def shown(value, unit):
    if unit not in ("ns", "us", "ms"):
        return three_digits(value) + {"mib": " MiB"}.get(unit, "")
    name, size = max((it for it in SIZES if it[1] <= value), key=lambda it: it[1], default=SIZES[0])
    return f"{three_digits(value / size)} {name}"


def base_value(text):
    number, _, unit = text.partition(" ")
    return float(number) * dict(SIZES).get(unit, 1.0)


def read(document):
    """Raises ValueError where the table is not as written by write(), or not there at all; an empty one has no rows."""
    inside = document.partition(BEGIN)[2].partition(END)[0]
    if not inside and BEGIN + END in document:
        return Record()
    about = ABOUT.search(inside)
    if not about:
        raise ValueError("no line 'Recorded on MACHINE, with GO.'")
    record = Record(about["machine"], about["go"])
    for line in inside.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("what", "---"):
            continue
        what, ours, beside, baseline, ratio, noise, commit = cells
        key = (what, beside)
        if key in record.rows:
            raise ValueError(f"twice: {what}, {beside}")
        record.rows[key] = Result(base_value(ours), base_value(baseline), float(ratio), float(noise.rstrip(" %")) / 100)
        record.commits[key] = commit
    return record


def write(document, record, rows):
    """The document with those rows of the record, in their order. Raises ValueError where the record lacks one."""
    lacking = [", ".join(row.key) for row in rows if row.key not in record.rows]
    if lacking:
        raise ValueError("not recorded: " + "; ".join(lacking))
    lines = []
    for row in rows:
        it = record.rows[row.key]
        cells = (row.what, shown(it.ours, row.ours.field.rpartition("_")[2]), row.beside,
                 shown(it.baseline, row.baseline.field.rpartition("_")[2]), three_digits(it.ratio),
                 f"{100 * it.noise:.1f} %", record.commits[row.key])
        lines.append("| " + " | ".join(cells) + " |\n")
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN.strip()} and {END.strip()}")
    about = f"Recorded on {record.machine}, with {record.go}.\n\n"
    return before + begin + about + HEAD + "".join(lines) + end + after
