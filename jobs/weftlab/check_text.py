"""What jobs/judge prints: of one check verdict, suspects and figures; of several nodes the worst first."""

import math

import numpy as np

from weftlab import checks

NODES_SHOWN, FIGURES_SHOWN, LEAST_NOISE = 20, 15, 0.03
COLUMNS = ("median", "least", "of", "reference", "noise", "would see")
LINE = "%-30s %14s %14s %-14s %9s %8s %9s  %s"


def counted(count, word):
    return "%d %s%s" % (count, word, "" if count == 1 else "s")


def lines_of_check(check):
    """At most some 50 lines about one check."""
    parts = (len(check.ranks), counted(len(set(check.hosts)), "host"), counted(len(check.rounds), "round"))
    yield check.verdict + ": %d ranks on %s, %s" % parts
    if check.last.get("why"):
        yield str(check.last["why"])
    if check.silent:
        silent = check.silent[:NODES_SHOWN]
        yield "silent: " + ", ".join("rank %d (%s)" % (rank, check.hosts[rank]) for rank in silent)
    for number, s in enumerate(check.suspects[:NODES_SHOWN], 1):
        yield "%d. %s: %s, confidence %.2f: %s" % (number, s.name, s.slow, s.confidence, s.evidence)
    yield ""
    yield (LINE % ("", *COLUMNS, "")).rstrip()
    for line in table_of(check):
        yield (LINE % line).rstrip()
    for like in sorted({f["like"] for f in check.faults} - {row.key[0] for row in check.rows}):
        yield "%-30s %s" % (checks.name_of((like, False)), "wrong")


def table_of(check):
    """Name, COLUMNS and verdict of each row, as words."""
    for row, x in zip(check.rows, check.best):
        least = int(np.argmin(x))
        a, b = row.who[least]
        middle, judged = check.of_reference.get(row.key, (None, False))
        median, smallest = math.exp(np.median(x)), check.smallest(row)
        yield (
            checks.name_of(row.key),
            checks.rate(row.key, median),
            checks.rate(row.key, math.exp(x[least])) if len(x) > 1 else "",
            "" if len(x) < 2 else "rank %d" % a if b < 0 else "%d and %d" % (a, b),
            "-" if not middle else ("%.0f %%" if judged else "(%.0f %%)") % (100 * median / middle),
            "%.1f %%" % (100 - 100 * math.exp(-row.noise)),
            "-" if smallest >= 1 else "%.0f %%" % (100 * smallest),
            "wrong" if row.key[0] in check.slow_rows else "slow" if row.key in check.slow_rows else "",
        )


# ---- nodes next to each other ----


class Node:
    """The last check of a node, next to the others."""

    def __init__(self, name, check):
        self.name, self.check, self.verdict = name, check, check.verdict
        best = zip(check.rows, check.best)
        self.rates = {row.key: (math.exp(np.median(x)), row.noise) for row, x in best}
        self.below, self.worst = 1.0, None  # of all figures the one furthest below the nodes' median

    def why(self):
        if self.check.last.get("why"):
            return str(self.check.last["why"])
        if self.check.suspects:
            return "%s: %s" % (self.check.suspects[0].name, self.check.suspects[0].evidence)
        why = "%s: %.0f %% of the nodes' median" % (self.worst, 100 * self.below)
        return why if self.verdict == "slow" else ""


def compare(nodes):
    """(figure, median of the nodes, least, its part of it, its node); nodes that are slow next to the others
    become so."""
    for key in sorted({key for node in nodes for key in node.rates}):
        having = [node for node in nodes if key in node.rates]
        rates = np.array([node.rates[key][0] for node in having])
        median, name = float(np.median(rates)), checks.name_of(key)
        scatter = 4 * float(np.median(np.abs(rates - median))) / median
        for node, part in zip(having, rates / median):
            if part < node.below:
                node.below, node.worst = part, name
            if len(having) > 2 and 1 - part > max(LEAST_NOISE, scatter, node.rates[key][1]):
                node.verdict = max(node.verdict, "slow", key=checks.WEIGHT.get)
        least = int(rates.argmin())
        shown = (checks.rate(key, rate) for rate in (median, rates[least]))
        yield name, *shown, rates[least] / median, having[least].name


def lines_of_nodes(nodes):
    rows = sorted(compare(nodes), key=lambda row: row[3])
    nodes.sort(key=lambda node: (-checks.WEIGHT[node.verdict], node.below, node.name))
    counts = [(sum(node.verdict == word for node in nodes), word) for word in checks.WEIGHT]
    yield "%d nodes: %s" % (len(nodes), ", ".join("%d %s" % count for count in counts if count[0]))
    for node in nodes[:NODES_SHOWN]:
        line = "%-16s %-10s %4.0f %%  %s" % (node.name[:40], node.verdict, 100 * node.below, node.why())
        yield line[:140].rstrip()
    if len(nodes) > NODES_SHOWN:
        yield "and %d more, none worse than the last one" % (len(nodes) - NODES_SHOWN)
    yield ""
    for figure, median, least, part, name in rows[:FIGURES_SHOWN]:
        yield "%-26s %14s  least %14s  %4.0f %%  %s" % (figure, median, least, 100 * part, name[:40])
    if len(rows) > FIGURES_SHOWN:
        more = len(rows) - FIGURES_SHOWN
        yield "and %d more figures, whose least nodes are nearer to the median" % more
