"""Measures each row of rows.py in turns with its baseline, and holds the ratio against the one recorded in
docs/benchmarks.md. What is worse is measured once more, with three times as many turns, and must be worse again to
fail; with --gross a third time, a minute later."""
import argparse
import dataclasses
import sys
import time

from judge import margin, result, verdict
from machine import machine
from measure import Failed, Folders, measure
from rows import ROWS, Row, matching
from table import Record, read, shown, three_digits, write

TURNS = 5
GROSS = 1.0  # how much worse a ratio of the usual floor may be with --gross
AGAIN = 3  # times as many turns, for the record too
LATER_S = 60  # what others do to a shared machine may last longer than two measurements


def line(row, now, recorded, same_kind):
    unit = row.ours.field.rpartition("_")[2]
    beside = f"{shown(now.ours, unit)}, {row.beside} {shown(now.baseline, row.baseline.field.rpartition('_')[2])}"
    limit = recorded.ratio * (1 + margin(row.floor, recorded, now, same_kind))
    return (f"{verdict(row.floor, recorded, now, same_kind):6} {row.what}: {beside}; ratio {three_digits(now.ratio)}, recorded "
            f"{three_digits(recorded.ratio)}, allowed {three_digits(limit)}")


def check(rows, record, same_kind, measure_turns, say, later=None):
    """The number of rows that are worse each time. measure_turns(rows, how many times as many turns) gives results by
    key; same_kind(row): whether the record is of such a machine; later(): waits for a third time, None: there is none."""
    missing = [row for row in rows if row.key not in record.rows]
    if missing:
        raise Failed("not recorded, see scripts/bench.sh --record: " + "; ".join(", ".join(row.key) for row in missing))
    worse = rows
    for nth, times in enumerate((1, AGAIN) if later is None else (1, AGAIN, AGAIN)):
        if nth == 2:
            say("measured a third time, a while later")
            later()
        now = measure_turns(worse, times)
        for row in worse:
            say(line(row, now[row.key], record.rows[row.key], same_kind(row)))
        worse = [row for row in worse
                 if verdict(row.floor, record.rows[row.key], now[row.key], same_kind(row)) == "worse"]
        if worse and nth == 0:
            say(f"{len(worse)} of {len(rows)} worse than recorded: measured again, with {AGAIN} times as many turns")
        elif not worse:
            break
    return len(worse)


def renewed(record, rows, results, here, go, commit):
    """The record with these rows anew. Raises Failed where the others are of another machine."""
    if (record.machine, record.go) != (here, go):
        if len(rows) < len(ROWS):
            raise Failed(f"the others are recorded on {record.machine}, with {record.go}: record all, or there")
        record = Record()
    return Record(here, go, {**record.rows, **results}, {**record.commits, **{row.key: commit for row in rows}})


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("pattern", nargs="?", default="", help="only rows whose program, name or baseline matches")
    options.add_argument("--record", action="store_true", help="write the ratios down instead of judging them")
    options.add_argument("--gross", action="store_true", help="fail only where a ratio is twice the one recorded")
    options.add_argument("--turns", type=int, default=TURNS)
    options.add_argument("--document", required=True)
    options.add_argument("--bin", required=True, help="the folder of the C++ programs")
    options.add_argument("--go", required=True, help="the folder of the Go programs")
    options.add_argument("--go-version", required=True)
    options.add_argument("--commit", required=True)
    given = options.parse_args()

    began = time.monotonic()
    here = machine()

    def say(text):
        print(f"bench: {text}", flush=True)

    said = began

    def progress(text):
        nonlocal said
        if time.monotonic() - said >= 15:
            said = time.monotonic()
            say(f"{text}, {said - began:.0f} s")

    def measure_turns(rows, times):
        found = measure(rows, times * given.turns, Folders(given.bin, given.go), progress)
        return {key: result(turns) for key, turns in found.items()}

    rows = matching(given.pattern)
    if given.gross:
        # What a row's floor has above the usual one is its machine's doing here, too.
        rows = tuple(dataclasses.replace(row, floor=row.floor - Row.floor + GROSS) for row in rows)
    try:
        if not rows:
            raise Failed(f"no row matches '{given.pattern}'")
        with open(given.document, encoding="utf-8") as file:
            document = file.read()
        record = read(document)
        if given.record:
            record = renewed(record, rows, measure_turns(rows, AGAIN), here, given.go_version, given.commit)
            with open(given.document, "w", encoding="utf-8") as file:
                file.write(write(document, record, ROWS))
            say(f"{len(rows)} rows recorded in {given.document}, {time.monotonic() - began:.0f} s")
            return 0
        if record.machine != here:
            say(f"this is {here}; recorded on {record.machine}, so more is allowed")
        worse = check(rows, record, lambda row: record.machine == here and (
            not row.uses_go or record.go == given.go_version), measure_turns, say,
            (lambda: time.sleep(LATER_S)) if given.gross else None)
    except (Failed, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    say(f"{len(rows) - worse} of {len(rows)} ratios as good as recorded, {worse} worse, {time.monotonic() - began:.0f} s")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
