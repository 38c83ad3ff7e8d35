"""Ranks nodes by their records of `weft check`, one check per node (jobs/check.sbatch).

Of each node the last record counts. Each figure of a node, the median of its components, stands
beside the median of all nodes; a node is slow beside the others where a figure lies further below
than 3 %, than its own noise, and than four times the median deviation of the nodes. At most 40
lines are printed: the nodes, the worst first, then the figures.

Exit status: 0 all deliver, 1 some are slow or wrong, 2 there are no records, 3 a check is
incomplete.
"""

import pathlib
import statistics
import sys

from weftlab import measured, records, text

COMMAND = "check_summary"
WEIGHT = {"delivers": 0, "slow": 1, "wrong": 2, "incomplete": 3}
STATUS = {"delivers": 0, "slow": 1, "wrong": 1, "incomplete": 3}
NODES_SHOWN, FIGURES_SHOWN, LEAST_NOISE = 20, 15, 0.03
UNITS = (("heat", "cells/s"), ("transpose", "cells/s"), ("fma", "flop/s"))


class Node:
    """One node's last check."""

    def __init__(self, name, check):
        self.name, self.check = name, check
        self.figures = {figure_of(row): row for row in check["rows"] if is_figure(row)}
        self.verdict = check["verdict"]
        self.below, self.worst = 1.0, None  # of all figures the one furthest below the nodes' median

    def why(self):
        suspects = self.check.get("suspects") or []
        if self.check.get("why"):
            return self.check["why"]
        if suspects:
            return "%s: %s" % (suspects[0].get("name"), suspects[0].get("evidence"))
        return "%s: %.0f %% of the nodes' median" % (self.worst, 100 * self.below) if self.worst and self.verdict != "delivers" else ""


def is_figure(row):
    return records.is_text(records.at(row, "like")) and records.is_number(row.get("median")) and row["median"] > 0


def figure_of(row):
    return row["like"] + (", alone" if row.get("alone") else "")


def name_of(record):
    return " ".join(sorted({str(records.at(rank, "host")) for rank in record["check"]["ranks"]}))


def nodes_of(paths):
    """The nodes of files and folders of files."""
    files = [str(file) for path in paths for file in (sorted(pathlib.Path(path).glob("*.jsonl")) if pathlib.Path(path).is_dir() else [path])]
    last = {}
    for record in records.read(files, "check", COMMAND) if files else ():
        last[name_of(record)] = Node(name_of(record), record["check"])
    return list(last.values())


def compare(nodes):
    """(figure, median of the nodes, least, its node) of each figure; nodes that are slow beside the others become so."""
    rows = []
    for figure in sorted({figure for node in nodes for figure in node.figures}):
        having = [node for node in nodes if figure in node.figures]
        rates = [node.figures[figure]["median"] for node in having]
        median = statistics.median(rates)
        scatter = 4 * statistics.median(abs(rate - median) for rate in rates) / median
        for node in having:
            fraction = node.figures[figure]["median"] / median
            noise = node.figures[figure].get("noise")
            if fraction < node.below:
                node.below, node.worst = fraction, figure
            if len(having) > 2 and 1 - fraction > max(LEAST_NOISE, scatter, noise if records.is_number(noise) else 0):
                node.verdict = max(node.verdict, "slow", key=WEIGHT.get)
        least = min(having, key=lambda node: node.figures[figure]["median"])
        rows.append((figure, median, least.figures[figure]["median"], least.name))
    return rows


def unit_of(figure):
    return next((unit for start, unit in UNITS if figure.startswith(start)), "B/s")


def lines_of(nodes):
    rows = compare(nodes)
    nodes.sort(key=lambda node: (-WEIGHT[node.verdict], node.below, node.name))
    counts = ["%d %s" % (n, word) for word in WEIGHT if (n := sum(node.verdict == word for node in nodes))]
    yield "%d node%s: %s" % (len(nodes), "" if len(nodes) == 1 else "s", ", ".join(counts))
    for node in nodes[:NODES_SHOWN]:
        yield ("%-16s %-10s %4.0f %%  %s" % (node.name[:40], node.verdict, 100 * node.below, node.why()))[:140].rstrip()
    if len(nodes) > NODES_SHOWN:
        yield "and %d more, none worse than the last one" % (len(nodes) - NODES_SHOWN)
    yield ""
    rows.sort(key=lambda row: row[2] / row[1])
    for figure, median, least, name in rows[:FIGURES_SHOWN]:
        unit = unit_of(figure)
        yield "%-26s %14s  least %14s  %4.0f %%  %s" % (figure, measured.rate(median, unit), measured.rate(least, unit), 100 * least / median, name[:40])
    if len(rows) > FIGURES_SHOWN:
        yield "and %d more figures, whose least nodes are nearer to the median" % (len(rows) - FIGURES_SHOWN)


def main():
    parser = text.parser(COMMAND, __doc__)
    parser.add_argument("paths", nargs="+", metavar="FOLDER|FILE.jsonl", help="records, or a folder of NODE.jsonl")
    arguments = parser.parse_args()
    text.leave_with_the_reader()
    nodes = nodes_of(arguments.paths)
    if not nodes:
        text.fail(COMMAND, "%s: no records of weft check" % " ".join(arguments.paths))
    for line in lines_of(nodes):
        print(text.printable(line))
    return STATUS[max((node.verdict for node in nodes), key=WEIGHT.get)]


if __name__ == "__main__":
    sys.exit(main())
