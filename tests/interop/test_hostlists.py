"""Slurm's host lists as python-hostlist reads them."""
import random

import hostlist
from support import cohort


def some_list(draw):
    def some_range():
        first = draw.choice(["0", "7", "08", "098", "1"])
        return draw.choice([first, f"{first}-{int(first) + draw.randint(0, 12)}"])

    def some_name():
        name = draw.choice(["n", "node", "gpu-", "10", ""])
        for _ in range(draw.randint(0, 2)):
            name += "[" + ",".join(some_range() for _ in range(draw.randint(1, 3))) + "]" + draw.choice(["", "x", "-ib", ".a.b"])
        return name or "m5"

    return ",".join(some_name() for _ in range(draw.randint(1, 4)))


def test_hosts_are_the_same():
    draw = random.Random(18)
    lists = [some_list(draw) for _ in range(300)]
    seen = cohort("hostlists", *lists).splitlines()
    assert len(seen) == len(lists)
    for text, hosts in zip(lists, seen):
        assert hosts.split() == hostlist.expand_hostlist(text, allow_duplicates=True), text
