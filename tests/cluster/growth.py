"""What a program takes of the machine over its life: memory, threads, descriptors."""
import collections
import os
import re

Taken = collections.namedtuple("Taken", "rss_kib threads descriptors")
# What an instance may have more at its end than at its begin, both at their least. Of two minutes, the first of their lives, were
# seen up to 1,540 KiB, by the allocator's steps, and a thread or two, which gRPC adds to its pool under load. The extender keeps
# connections to the API server for a minute after their use, each of three descriptors: one that came to lead was seen to go from
# 44 to 67, with seven more of them, and back within minutes.
ALLOWED = {"agent": Taken(rss_kib=4096, threads=4, descriptors=0), "extender": Taken(rss_kib=4096, threads=4, descriptors=40)}
LEAST = 4  # looks at one instance, or nothing is said of it


def taken(pid):
    with open(f"/proc/{pid}/status") as status:
        text = status.read()
    return Taken(int(re.search(r"VmRSS:\s*(\d+)", text).group(1)), int(re.search(r"Threads:\s*(\d+)", text).group(1)),
                 len(os.listdir(f"/proc/{pid}/fd")))


def grown(looks):
    """Of the second half's least against the first half's; without the first look, at which it may not have seen all yet. The
    least, as a call that is under way takes threads and descriptors and gives them back."""
    if len(looks) < LEAST:
        return None
    rest = looks[1:]
    half = len(rest) // 2
    return Taken(*(min(late) - min(early) for early, late in zip(zip(*rest[:half + 1]), zip(*rest[half:]))))


def too_much(program, growth):
    return [f"{name} {by:+}" for name, by, limit in zip(Taken._fields, growth, ALLOWED[program]) if by > limit]
