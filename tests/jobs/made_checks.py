"""Checks of machines that never were, for jobs/judge: hosts with as many GPUs each, rates that load of others
lowers, and a part that is slow on purpose.

A machine is right where the wanted part alone is blamed, in the figures that `figures_of` makes of it.
"""

import dataclasses
import itertools

import numpy as np
from weftlab import blame

GPU = {
    "copy": 4.2e12,
    "read": 4.5e12,
    "fma_f32": 5.1e13,
    "fma_f64": 2.6e13,
    "to_host": 5.5e10,
    "from_host": 5.6e10,
    "heat_single": 5.3e11,
    "heat_blocks": 4.3e12,
    "transpose": 4.0e11,
}
JOB = {
    "ring_peer": 3.5e11,
    "alltoall_staged": 2e10,
    "heat_all": 5e11,
    "disk_write": 2.4e9,
    "checkpoint": 2.1e9,
}
MACHINES = ((2, 1), (3, 1), (4, 1), (8, 1), (16, 2), (4, 4), (8, 4), (256, 32))


@dataclasses.dataclass
class Machine:
    ranks: int
    hosts: int = 1
    rounds: int = 3
    load: float = 0.004  # a rate is its best one times exp(-load |g|), g normal
    noise: float = 0.001  # what repeats tell of it
    seed: int = 7
    slow: object = None  # of (like, a, b, round): is it slow?
    by: float = 1

    def host(self, rank):
        return rank // (self.ranks // self.hosts)


def components(m):
    """(like, alone, a, b, rate) of all that is measured."""
    each, firsts = m.ranks // m.hosts, range(0, m.ranks, m.ranks // m.hosts)
    for alone in (False, True):
        for like, rate in GPU.items():
            yield from ((like, alone, r, -1, rate) for r in range(m.ranks))
        if alone and m.ranks >= 64:
            continue
        for a in range(m.ranks):
            for b in range(a // each * each, (a // each + 1) * each):
                if a != b:
                    yield "pair_oneway", alone, a, b, 4.0e11
                if a < b:
                    yield "pair_both", alone, a, b, 3.9e11
    yield from (("host_pair", False, a, b, 4.5e10) for a in firsts for b in firsts if a < b)
    yield from ((like, False, -1, -1, rate) for like, rate in JOB.items())


def figures_of(m):
    random, all_of_them = np.random.default_rng(m.seed), list(components(m))
    loads = np.exp(-m.load * np.abs(random.standard_normal((len(all_of_them), m.rounds))))
    return [
        blame.Figure(
            like, alone, a, b, r, rate * load * (m.by if m.slow and m.slow(like, a, b, r) else 1), m.noise
        )
        for (like, alone, a, b, rate), of_rounds in zip(all_of_them, loads)
        for r, load in enumerate(of_rounds)
    ]


def suspects_of(m):
    each = m.ranks // m.hosts
    host = [r // each * each for r in range(m.ranks)]
    return blame.suspects_of(blame.rows_of(figures_of(m)), host)[0]


# ---- what is slow ----


def gpu(rank):
    return lambda like, a, b, r: b < 0 and a == rank


def link(one, other):
    return lambda like, a, b, r: {a, b} == {one, other}


# ---- machines that must be judged right, one by one ----

DOUBT = "it cannot be told which"


def cases(m):
    """By which factor what is slow, and whom to blame: a part, None for nobody, or DOUBT."""
    each = m.ranks // m.hosts
    third, last = 3 if m.ranks > 3 else 1, m.ranks - each
    yield 1, gpu(third), None
    yield 0.81, gpu(third), ("gpu", third, -1)
    yield 0.7, lambda like, a, b, r: a == 0 and like.startswith("fma"), ("gpu", 0, -1)
    yield 0.6, lambda like, a, b, r: r > 0 and gpu(1)(like, a, b, r), None
    if each > 1 and m.ranks > 2:
        pairs_of_2 = lambda like, a, b, r: b >= 0 and like != "host_pair" and 2 in (a, b)
        yield 0.5, pairs_of_2, ("gpu", 2, -1) if each > 2 else DOUBT
        yield 0.6, link(0, 1), ("link", 0, 1)
    if each > 1:
        yield 0.6, lambda like, a, b, r: like == "pair_oneway" and (a, b) == (1, 0), ("link", 0, 1)
    if m.hosts > 1:
        copies = lambda like, a, b, r: like in ("to_host", "from_host") and m.host(a) == m.hosts - 1
        yield 0.5, copies, ("host" if each > 1 else "gpu", last, -1)
    if m.hosts > 2:
        yield 0.5, lambda like, a, b, r: like == "host_pair" and each in (a, b), ("host", each, -1)
        yield 0.5, link(0, 2 * each), ("host_link", 0, 2 * each)


def judged(m, by, slow, wanted):
    """Was it right, and what was said?"""
    found = suspects_of(dataclasses.replace(m, by=by, slow=slow))
    who = [(s.part, s.a, s.b) for s in found]
    right = who == ([wanted] if wanted else []) and all(abs(s.factor - by) < 0.03 for s in found)
    if wanted == DOUBT:
        right = found and all(s.confidence <= 0.5 for s in found)
    return right, "%d ranks on %d hosts, wanted %s: %s" % (m.ranks, m.hosts, wanted, [s[:5] for s in found])


def machines():
    for shape in (*MACHINES, (1024, 128)):
        m = Machine(*shape)
        of_it = itertools.islice(cases(m), 2 if m.ranks > 256 else None)  # seconds each
        yield from (judged(m, *case) for case in of_it)


# ---- trials in noise ----

NOISY = {
    "loud": dict(ranks=8, rounds=4, load=0.3, noise=0.1, by=0.407),  # by three times the load
    "crowded": dict(ranks=4, rounds=3, load=0.1, noise=10, by=0.5),  # repeats scatter more than rounds
    "loaded": dict(ranks=4, rounds=8, load=1, noise=10, by=0.25),  # only the order within rounds tells
    "quiet": dict(ranks=2, rounds=3, load=0.004, noise=0.004, by=1 / 1.05),
    "two": dict(ranks=2, rounds=2, load=0.3, noise=0.1),
}
TRIALS = {  # name: machine, what is slow in trial i, who
    "nobody": ("loud", lambda i: None, None),
    "nobody_of_two": ("two", lambda i: None, None),
    "nobody_crowded": ("crowded", lambda i: None, None),
    "nobody_loaded": ("loaded", lambda i: None, None),
    "nobody_quiet": ("quiet", lambda i: None, None),
    "gpu": ("loud", lambda i: gpu(i % 7), lambda i: ("gpu", i % 7, -1)),
    "gpu_of_two": ("quiet", lambda i: gpu(i % 2), lambda i: ("gpu", i % 2, -1)),
    "link": ("loud", lambda i: link(i % 7, 7), lambda i: ("link", i % 7, 7)),
    "gpu_crowded": ("crowded", lambda i: gpu(i % 3), lambda i: ("gpu", i % 3, -1)),
    "link_crowded": ("crowded", lambda i: link(i % 3, 3), lambda i: ("link", i % 3, 3)),
    "link_loaded": ("loaded", lambda i: link(i % 3, 3), lambda i: ("link", i % 3, 3)),
}


def trial(name, i):
    machine, slow, who = TRIALS[name]
    found = suspects_of(Machine(**NOISY[machine], seed=1000003 * i + 17, slow=slow(i)))
    return [(s.part, s.a, s.b) for s in found] == ([who(i)] if who else [])
