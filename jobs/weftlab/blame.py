"""Which part of a machine is slow, from the figures of `weft check`.

Figures of one kind (like, alone or at once) are compared with each other in logarithms, where factors are
differences. A component's rate is its best round: load of others only ever makes it slower. A row's noise is
how far its components move beside each other from round to round. Each part of the machine (GPU, link, host,
link of hosts) has reaches: its points in one row in one role. A reach's effect is how far its median lies
from the median of the points that the part does not touch, in units of its error. The part whose slow reaches
explain most is a suspect; its effects are taken out, and the search begins anew.

All reaches of one shape are measured by one call of numpy. Cost: 10 to 20 ms for 8 ranks, seconds for 1024.
"""

import collections
import math

import numpy as np

LEAST = -math.log(1 - 0.03)  # no smaller difference counts
FLOOR = 0.005  # no machine repeats itself better
ROUNDS_ENOUGH = 7  # from this number of rounds on the order within rounds counts too
SUSPECTS_MOST = 8

Figure = collections.namedtuple("Figure", "like alone a b round rate noise")
Suspect = collections.namedtuple("Suspect", "part a b factor confidence slow others")
Slow = collections.namedtuple("Slow", "row role effect rate median")  # row: (like, alone); a reach
JOB = ("ring_", "alltoall_", "heat_all", "transpose_all")


def part_of(like):
    """The kind of part that a figure is of."""
    if like in ("pair_oneway", "pair_both"):
        return "link"
    if like in ("disk_write", "checkpoint"):
        return "disk"
    if like == "host_pair":
        return "host_link"
    return "job" if like.startswith(JOB) else "gpu"


# ---- statistics ----


def few(count):
    """How far a remote quantile of Student's distribution exceeds that of the normal one."""
    return 1 + 5 / count + 20 / count / count


def median(values):
    """Along the last axis: as np.median of finite values, in a tenth of its time."""
    ascending = np.sort(values, axis=-1)
    count = ascending.shape[-1]
    return (ascending[..., (count - 1) // 2] + ascending[..., count // 2]) / 2


def scatter(values):
    """A standard deviation from the median of deviations."""
    return 1.4826 * few(len(values)) * float(median(np.abs(values - median(values))))


def median_without(ascending, places):
    """For each line of places, themselves ascending: the median of all other values; NaN: there is none."""
    left = len(ascending) - places.shape[1]
    if left < 1:
        return np.full(len(places), np.nan)
    low, high = np.full(len(places), (left - 1) // 2), np.full(len(places), left // 2)
    for place in places.T:
        low, high = low + (place <= low), high + (place <= high)
    return (ascending[low] + ascending[high]) / 2


# ---- a row: figures of one kind ----


class Row:
    """Components of one kind, and how they moved over the rounds."""

    def __init__(self, key, figures):
        self.key, self.part = key, part_of(key[0])
        self.who = sorted({(f.a, f.b) for f in figures})
        place, rounds = {who: i for i, who in enumerate(self.who)}, sorted({f.round for f in figures})
        at, column = [place[f.a, f.b] for f in figures], {r: i for i, r in enumerate(rounds)}
        shape = (len(self.who), len(rounds))
        rates, repeats = np.full(shape, np.nan), np.zeros(shape)
        at = (at, [column[f.round] for f in figures])
        rates[at], repeats[at] = np.log([f.rate for f in figures]), [f.noise for f in figures]
        counts = (~np.isnan(rates)).sum(axis=1)
        self.rounds, self.x = int(counts.min()), np.nanmax(rates, axis=1)
        beside, places = self.in_rounds(rates)
        self.places = np.nansum(places, axis=1) / np.sqrt(counts)
        self.beside = np.sort(beside, axis=1)[np.arange(len(counts)), counts - 1 - counts // 10]
        repeat = repeats[np.arange(len(counts)), np.nanargmax(rates, axis=1)]
        self.noise = self.noise_of(beside, int(counts.max()), repeat)
        self.spread = self.spread_of(rates, int(counts.max()), repeat)

    def in_rounds(self, rates):
        """How far each rate lies from the median of the others of its round, and its place among them."""
        beside, places = np.full_like(rates, np.nan), np.full_like(rates, np.nan)
        for column in range(rates.shape[1]):
            there = ~np.isnan(rates[:, column])
            x = rates[there, column]
            order = np.argsort(x, kind="stable")
            place = np.argsort(order)
            others = median_without(x[order], place[:, None]) if len(x) > 1 else x
            beside[there, column] = x - others
            places[there, column] = (place - (len(x) - 1) / 2) / math.sqrt(max(1, len(x) ** 2 - 1) / 12)
        return beside, places

    def spread_of(self, rates, most, repeat):
        """How far a component's best round may lie from itself: what a reference is compared with."""
        steps = np.abs(np.diff(rates, axis=1))
        steps = steps[~np.isnan(steps)]
        moved = 1.0484 / most**0.25 * float(median(steps)) if len(steps) else 0.0
        return max(FLOOR, 0.0 if self.rounds >= 3 else float(median(repeat)), moved)

    def noise_of(self, beside, most, repeat):
        """The noise of a best round; of too few rounds that of the repeats counts too."""
        steps = np.abs(np.diff(beside, axis=1))
        steps = steps[~np.isnan(steps)]
        moved = 0.0
        if len(steps):
            moved = 1.0484 / most**0.25 * float(median(steps)) * few(len(steps)) * (1 + 2 / most)
        repeats = 0.0 if self.rounds >= 3 else float(median(repeat)) * (1 if most > 1 else 3)
        return max(FLOOR, repeats, moved)


def rows_of(figures):
    kinds = collections.defaultdict(list)
    for figure in figures:
        if figure.rate > 0:
            kinds[figure.like, figure.alone].append(figure)
    return [Row(key, kinds[key]) for key in sorted(kinds)]


# ---- what touches what ----


def touched(row, a, b, host):
    """(part, a, b, role) of each part that has a share in a figure of ranks a and b."""
    if row.part == "gpu":
        yield "gpu", a, -1, "own"
    elif row.part == "link":
        out, into = ("out", "in") if row.key[0] == "pair_oneway" else ("own", "own")
        yield "gpu", a, -1, out
        yield "gpu", b, -1, into
        yield "link", min(a, b), max(a, b), out if a < b else into
    elif row.part == "host_link":
        yield "host_link", a, b, "own"
    if row.part not in ("disk", "job") and len(set(host)) > 1:
        for first in {host[r] for r in (a, b) if r >= 0}:
            yield "host", first, -1, "own"


class Reaches:
    """All reaches as arrays, and batches of equal shape by which they are measured."""

    def __init__(self, rows, host):
        self.rows, of, in_row = rows, collections.defaultdict(list), collections.defaultdict(list)
        for number, row in enumerate(rows):
            for point, (a, b) in enumerate(row.who):
                for part, first, second, role in touched(row, a, b, host):
                    of[part, first, second, number, role].append(point)
                    in_row[part, first, second, number].append(point)
        self.keys, self.points = list(of), [np.array(points) for points in of.values()]
        self.lone = np.array([self.is_lone(i) for i in range(len(self.keys))], dtype=bool)
        self.candidates = collections.defaultdict(list)
        batches, kinds = collections.defaultdict(list), collections.defaultdict(list)
        left_out = []
        for i, (part, a, b, row, role) in enumerate(self.keys):
            self.candidates[part, a, b].append(i)
            kinds[row, part, role].append(i)
            left_out.append(self.points[i] if part == "link" else np.array(in_row[part, a, b, row]))
            batches[row, len(self.points[i]), len(left_out[i])].append(i)
        self.batches = [
            (
                rows[row],
                np.array(b),
                np.array([self.points[i] for i in b]),
                np.array([left_out[i] for i in b]),
            )
            for (row, _, _), b in batches.items()
        ]
        self.candidates = {who: np.array(own) for who, own in self.candidates.items()}
        self.kinds = [np.array(kind) for kind in kinds.values()]
        self.many = np.array([rows[key[3]].rounds >= ROUNDS_ENOUGH for key in self.keys], dtype=bool)

    def is_lone(self, i):
        """One pair tells nothing of the parts at its ends."""
        part, _, _, number, _ = self.keys[i]
        row = self.rows[number]
        pairs = {tuple(sorted(row.who[point])) for point in self.points[i]}
        return len(pairs) == 1 and row.part != part

    def ends_of(self, who, slow):
        """The GPUs at the ends of a link that have no other pair: each explains the same figures."""
        rows = {self.keys[i][3] for i in slow}
        pairs = {
            rank: [i for i in self.candidates.get(("gpu", rank, -1), ()) if self.keys[i][3] in rows]
            for rank in who[1:]
        }
        return [
            ("gpu", rank, -1)
            for rank, own in pairs.items()
            if who[0] == "link" and own and self.lone[own].all()
        ]

    def measure(self):
        """The effect of each reach, in logarithms and in errors."""
        count = len(self.keys)
        self.effect, self.error, self.places = np.zeros(count), np.zeros(count), np.zeros(count)
        self.median = np.full(count, np.nan)
        self.errors, self.out, self.steady = np.zeros(count), np.zeros(count), np.zeros(count, dtype=bool)
        self.ordered = np.zeros(count, dtype=bool)
        for row, reach, points, left_out in self.batches:
            self.measure_batch(row, reach, points, left_out)
        for kind in self.kinds:
            spread = scatter(self.effect[kind]) if len(kind) > 2 else 0
            known = kind[self.error[kind] > 0]
            self.errors[known] = self.effect[known] / np.maximum(spread, self.error[known])
            self.out[known] = self.effect[known] / max(spread / few(len(kind)), FLOOR)
            self.ordered[known] = self.many[known] & (len(kind) >= 5)

    def measure_batch(self, row, reach, points, left_out):
        order = np.argsort(row.x, kind="stable")
        places = np.sort(np.argsort(order)[left_out], axis=1)
        others, count = len(row.x) - left_out.shape[1], points.shape[1]
        if others < 1:
            return
        mine = np.sort(row.x[points], axis=1)
        self.median[reach] = median_without(row.x[order], places)
        self.effect[reach] = mine[:, count // 2] - self.median[reach]
        deviation = median(np.abs(mine - median(mine)[:, None]))
        own = (1.4826 * few(count) * deviation if count > 2 else 0) ** 2 + row.noise**2
        size = lambda n: n if n < 3 else n * 0.6366  # a median varies as a mean of two thirds as many does
        self.error[reach] = np.sqrt(own / size(count) + row.noise**2 / size(others))
        self.places[reach] = np.sort(row.places[points], axis=1)[:, count // 2]
        beside = np.sort(row.beside[points], axis=1)[:, count // 2]
        self.steady[reach] = beside < np.minimum(-LEAST, self.effect[reach] / 3)

    def explain(self, own, errors_least, order_least):
        """How much a candidate explains, its worst reach in errors, and its slow reaches."""
        known = own[~self.lone[own] & (self.error[own] > 0)]
        steady = known[self.steady[known]]
        slow = steady[(self.effect[steady] < -LEAST) & (self.errors[steady] < -errors_least)]
        explains, worst = float((self.errors[slow] ** 2).sum()), float(self.errors[steady].min(initial=0))
        together = float(self.errors[steady].sum()) / math.sqrt(max(1, len(steady)))
        if len(steady) > 1 and median(self.effect[steady]) < -LEAST and together < -errors_least:
            explains, worst = max(explains, together**2), min(worst, together)
            slow = steady[np.isin(steady, slow) | (self.errors[steady] < -2)]
        ordered = known[self.ordered[known]]
        beyond = -float(self.places[ordered].sum()) / math.sqrt(max(1, len(ordered))) / order_least
        last = (self.effect[ordered] < -LEAST) & (self.out[ordered] < -3)
        if beyond >= 1 and 2 * last.sum() > len(ordered):
            worst = min(worst, -beyond * errors_least)
            explains = max(explains, worst**2)
            slow = np.union1d(slow, ordered[self.effect[ordered] < -LEAST])
        return explains, worst, slow

    def evidence(self, reach):
        row = self.rows[self.keys[reach][3]]
        median = self.median[reach]
        return Slow(
            row.key,
            self.keys[reach][4],
            self.effect[reach],
            math.exp(median + self.effect[reach]),
            math.exp(median),
        )

    def figures(self, slow):
        """The points of reaches, over all rows."""
        return {(self.keys[i][3], int(point)) for i in slow for point in self.points[i]}

    def take_out(self, own, slow):
        """From here on that part is as the others."""
        for i in own:
            if self.effect[i] < 0 and (i in slow or self.errors[i] < -2):
                self.rows[self.keys[i][3]].x[self.points[i]] -= self.effect[i]


def suspects_of(rows, host):
    """The suspects, and the least number of errors that counts. host[rank]: the first rank there.

    Takes the suspects' effects out of the rows."""
    reaches, suspects = Reaches(rows, host), []
    candidates = reaches.candidates
    errors_least = math.sqrt(2 * math.log(100 * (len(reaches.keys) + len(candidates) + 1)))
    tail = 2 * math.log(100 * (len(candidates) + 1))
    order_least = math.sqrt(tail - math.log(2 * math.pi * tail))
    for _ in range(SUSPECTS_MOST):
        reaches.measure()
        named = {(s.part, s.a, s.b) for s in suspects}
        found = [
            (*reaches.explain(own, errors_least, order_least), who)
            for who, own in candidates.items()
            if who not in named
        ]
        found = sorted((f for f in found if f[0] > 0), key=lambda f: -f[0])
        touching, taken, before = [reaches.figures(f[2]) for f in found], set(), len(suspects)
        for (explains, worst, slow, who), mine in zip(found, touching):
            if explains < found[0][0] / 2 or who[0] != found[0][3][0] or mine & taken:
                continue
            taken |= mine
            like_it = [f[3] for f, theirs in zip(found, touching) if f[0] >= 0.8 * explains and mine & theirs]
            others = [other for other in like_it if other != who] + reaches.ends_of(who, slow)
            sure = min(0.99, 1 - math.exp(-3 * (worst / errors_least) ** 2)) / (1 + len(others))
            shown = [reaches.evidence(i) for i in sorted(slow, key=lambda i: reaches.errors[i])]
            factor = math.exp(min(s.effect for s in shown)) if shown else 1.0
            suspects.append(Suspect(*who, factor, sure, shown, others))
        for explains, _, slow, who in found:
            if any((s.part, s.a, s.b) == who for s in suspects[before:]):
                reaches.take_out(candidates[who], set(slow))
        if len(suspects) == before:
            break
    return suspects, errors_least
