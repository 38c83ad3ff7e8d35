"""Judges records of `weft check`: which figures are slow, and which part of the machine explains most.

  judge check.jsonl                     one check: verdict, suspects with confidence and evidence, each figure
  judge checks                          a folder of NODE.jsonl (jobs/check.sbatch): the nodes, the worst first
  judge check.jsonl --page check.html   the same as one page for a browser, with maps of pairs and rounds

All rounds of a check count; of each node the last check. With several nodes each figure of a node, the
median of its parts, also stands next to the median of all nodes. A node is slow there where it lies further
below than 3 %, than its own noise, and than four times the median deviation of the nodes. A rank that is
silent is named.

Exit status: 0 all deliver, 1 some are slow or wrong, 2 there are no records, 3 a check is incomplete or numpy
is missing, 4 nothing could be judged. Records of machines without Python are judged elsewhere.
"""

import math
import sys

from weftlab import files, packages, records, text

COMMAND = "judge"
NODES_SHOWN, FIGURES_SHOWN, LEAST_NOISE = 20, 15, 0.03


def lines_of_check(check):
    """At most some 50 lines about one check."""
    from weftlab import checks  # pylint: disable=import-outside-toplevel

    suspects, hosts = check.suspects, len(set(check.hosts))
    yield "%s: %d ranks on %d host%s, %d round%s" % (
        check.verdict,
        len(check.ranks),
        hosts,
        "" if hosts == 1 else "s",
        len(check.rounds),
        "" if len(check.rounds) == 1 else "s",
    )
    if check.last.get("why"):
        yield str(check.last["why"])
    if check.silent:
        yield "silent: " + ", ".join(
            "rank %d (%s)" % (rank, check.hosts[rank]) for rank in check.silent[:NODES_SHOWN]
        )
    for number, s in enumerate(suspects[:NODES_SHOWN], 1):
        slow = "wrong bits" if s["factor"] is None else "%.0f %%" % (100 * s["factor"])
        yield "%d. %s: %s, confidence %.2f: %s" % (number, s["name"], slow, s["confidence"], s["evidence"])
    yield ""
    yield "%-30s %14s %14s %-14s %9s %8s %9s" % (
        "",
        "median",
        "least",
        "of",
        "reference",
        "noise",
        "would see",
    )
    for name, median, least, whose, reference, noise, smallest, slow in table_of(check):
        yield (
            "%-30s %14s %14s %-14s %9s %8s %9s  %s"
            % (name, median, least, whose, reference, noise, smallest, slow)
        ).rstrip()
    for like in sorted({f["like"] for f in check.faults} - {row.key[0] for row in check.rows}):
        yield "%-30s %s" % (checks.name_of((like, False)), "wrong")


def table_of(check):
    from weftlab import checks  # pylint: disable=import-outside-toplevel
    import numpy as np  # pylint: disable=import-outside-toplevel

    for row, x in zip(check.rows, check.best):
        least = int(np.argmin(x))
        a, b = row.who[least]
        whose = "" if len(x) < 2 else "rank %d" % a if b < 0 else "%d and %d" % (a, b)
        middle, judged = check.of_reference.get(row.key, (None, False))
        median = float(np.exp(np.median(x)))
        part = "-" if not middle else ("%.0f %%" if judged else "(%.0f %%)") % (100 * median / middle)
        smallest = check.smallest(row)
        word = "wrong" if row.key[0] in check.slow_rows else "slow" if row.key in check.slow_rows else ""
        yield (
            checks.name_of(row.key),
            checks.rate(row.key, median),
            checks.rate(row.key, float(np.exp(x[least]))) if len(x) > 1 else "",
            whose,
            part,
            "%.1f %%" % (100 - 100 * math.exp(-row.noise)),
            "-" if smallest >= 1 else "%.0f %%" % (100 * smallest),
            word,
        )


# ---- nodes next to each other ----


class Node:
    """The last check of a node, next to the others."""

    def __init__(self, name, check):
        import numpy as np  # pylint: disable=import-outside-toplevel

        self.name, self.check, self.verdict = name, check, check.verdict
        self.rates = {
            row.key: (float(np.exp(np.median(x))), row.noise) for row, x in zip(check.rows, check.best)
        }
        self.below, self.worst = 1.0, None  # of all figures the one furthest below the nodes' median

    def why(self):
        suspects = self.check.suspects
        if self.check.last.get("why"):
            return str(self.check.last["why"])
        if suspects:
            return "%s: %s" % (suspects[0]["name"], suspects[0]["evidence"])
        return (
            "%s: %.0f %% of the nodes' median" % (self.worst, 100 * self.below)
            if self.verdict == "slow"
            else ""
        )


def compare(nodes):
    """(figure, median of the nodes, least, its node); nodes that are slow next to the others become so."""
    from weftlab import checks  # pylint: disable=import-outside-toplevel
    import numpy as np  # pylint: disable=import-outside-toplevel

    rows = []
    for key in sorted({key for node in nodes for key in node.rates}):
        having = [node for node in nodes if key in node.rates]
        rates = np.array([node.rates[key][0] for node in having])
        median = float(np.median(rates))
        scatter = 4 * float(np.median(np.abs(rates - median))) / median
        for node in having:
            rate, noise = node.rates[key]
            if rate / median < node.below:
                node.below, node.worst = rate / median, checks.name_of(key)
            if len(having) > 2 and 1 - rate / median > max(LEAST_NOISE, scatter, noise):
                node.verdict = max(node.verdict, "slow", key=checks.WEIGHT.get)
        least = min(having, key=lambda node: node.rates[key][0])
        rows.append(
            (
                checks.name_of(key),
                checks.rate(key, median),
                checks.rate(key, least.rates[key][0]),
                least.rates[key][0] / median,
                least.name,
            )
        )
    return rows


def lines_of_nodes(nodes):
    from weftlab import checks  # pylint: disable=import-outside-toplevel

    rows = sorted(compare(nodes), key=lambda row: row[3])
    nodes.sort(key=lambda node: (-checks.WEIGHT[node.verdict], node.below, node.name))
    counts = [
        "%d %s" % (n, word) for word in checks.WEIGHT if (n := sum(node.verdict == word for node in nodes))
    ]
    yield "%d nodes: %s" % (len(nodes), ", ".join(counts))
    for node in nodes[:NODES_SHOWN]:
        yield ("%-16s %-10s %4.0f %%  %s" % (node.name[:40], node.verdict, 100 * node.below, node.why()))[
            :140
        ].rstrip()
    if len(nodes) > NODES_SHOWN:
        yield "and %d more, none worse than the last one" % (len(nodes) - NODES_SHOWN)
    yield ""
    for figure, median, least, part, name in rows[:FIGURES_SHOWN]:
        yield "%-26s %14s  least %14s  %4.0f %%  %s" % (figure, median, least, 100 * part, name[:40])
    if len(rows) > FIGURES_SHOWN:
        yield "and %d more figures, whose least nodes are nearer to the median" % (
            len(rows) - FIGURES_SHOWN
        )


def main():
    parser = text.parser(COMMAND, __doc__)
    parser.add_argument(
        "paths", nargs="+", metavar="FOLDER|FILE.jsonl", help="records, or a folder of NODE.jsonl"
    )
    parser.add_argument("--page", metavar="FILE.html", help="write a page for a browser")
    parser.add_argument(
        "--reference",
        metavar="FILE.json",
        help="of jobs/check_reference; or none (that of this GPU, where there is one)",
    )
    arguments = parser.parse_args()
    packages.need(COMMAND, "numpy")
    from weftlab import check_page, checks  # pylint: disable=import-outside-toplevel

    text.leave_with_the_reader()
    last = {}
    for hosts, rounds in checks.rounds_of(arguments.paths, COMMAND):
        last[hosts] = rounds
    if not last:
        text.fail(COMMAND, "%s: no records of weft check" % " ".join(arguments.paths))
    nodes = []
    for hosts, rounds in last.items():
        gpu = str(records.at(rounds[-1]["ranks"][0], "gpu") or "") if rounds[-1]["ranks"] else ""
        asked = arguments.reference
        reference = {"rates": {}} if asked == "none" else checks.reference_of(asked, gpu) if asked else None
        nodes.append(Node(hosts, checks.Check(rounds, reference)))
    for line in lines_of_check(nodes[0].check) if len(nodes) == 1 else lines_of_nodes(nodes):
        print(text.printable(line))
    if arguments.page:
        with files.replaced(arguments.page, COMMAND) as whole, open(whole, "w", encoding="utf-8") as page:
            page.write(check_page.page(nodes, table_of))
    return checks.STATUS[max((node.verdict for node in nodes), key=checks.WEIGHT.get)]


if __name__ == "__main__":
    sys.exit(main())
