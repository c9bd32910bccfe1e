"""From what the turns measured to a ratio, and from two ratios to a verdict."""
import statistics
from dataclasses import dataclass

# In each turn a figure was looked at several times; whatever else the machine did made it larger, never smaller. So the
# least counts. Between turns (other processes, other addresses) it goes both ways: the median counts.

ELSEWHERE = 0.35  # a ratio may be worse by so much more on another machine than the record's, or beside another Go
MOST_NOISE = 1.0


@dataclass(frozen=True)
class Result:
    ours: float  # in ms, MiB, or a number: by the unit of the figure
    baseline: float
    ratio: float  # ours to the baseline: less is better
    noise: float  # half of the range of the turns' ratios, to the ratio


UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0}  # times become milliseconds


def in_base_unit(value, field):
    """A field ends with its unit."""
    return value * UNITS.get(field.rpartition("_")[2], 1.0)


def result(turns):
    """Of (ours, baseline) for each turn, both of them several looks in the base unit; none is empty."""
    least = [(min(ours), min(baseline)) for ours, baseline in turns]
    ratios = [ours / baseline for ours, baseline in least]
    ratio = statistics.median(ratios)
    return Result(
        ours=statistics.median(ours for ours, _ in least),
        baseline=statistics.median(baseline for _, baseline in least),
        ratio=ratio,
        noise=(max(ratios) - min(ratios)) / 2 / ratio,
    )


def margin(floor, recorded, now, same_kind):
    """By how much, to one, a ratio may be worse than the one recorded: the row's floor, or the noise where it is larger. A
    single turn of five times is no noise: that is measured again."""
    return max(floor if same_kind else floor + ELSEWHERE, recorded.noise, min(now.noise, MOST_NOISE))


def verdict(floor, recorded, now, same_kind):
    allowed = 1 + margin(floor, recorded, now, same_kind)
    if now.ratio > recorded.ratio * allowed:
        return "worse"
    return "better" if now.ratio * allowed < recorded.ratio else "holds"
