"""Tells what got slower, and what faster, from A to B, beyond the noise.

Runs of one setting (of `weft run`: problem, grid, ranks and what was asked for; of `weft bench`:
rung and parameters) are compared by their median step or time. B is called slower or faster where
both hold:
  - the medians of the runs differ by more than PERCENT
  - the rank-sum test (Wilcoxon, Mann and Whitney; one-sided, exact up to 60 runs, ties counted)
    gives at most P, after Holm's correction for the number of settings: if nothing changed, the
    probability that any setting of the whole table is called slower is at most P. The column P
    shows corrected values.
The test assumes nothing about the noise, and so it needs runs: five of a setting in A and in B
suffice for up to 12 settings, eight for 600. A setting with fewer than five, or with fewer than
the number of settings takes, is marked ? and is never called slower, whatever it differs by.
Take the runs of A and B in turns: what changes on the machine between them counts as a change.

Exit status: 0 nothing slower, 1 something slower or runs with a failed verdict in B, 2 nothing to
compare, or too few runs of every setting, 3 pandas or scipy is missing.
"""

from weftlab import text


def percent_or_more(word):
    value = float(word)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def probability(word):
    value = float(word)
    if not 0 < value < 1:
        raise ValueError
    return value


def main():
    parser = text.parser("compare", __doc__)
    parser.add_argument("a", metavar="A.jsonl", help="records before the change")
    parser.add_argument("b", metavar="B.jsonl", help="records after it")
    least = "smaller differences do not count (default: 3)"
    parser.add_argument("--least", metavar="PERCENT", type=percent_or_more, default=3, help=least)
    alpha = "probability of a false alarm, of all settings together (default: 0.05)"
    parser.add_argument("--alpha", metavar="P", type=probability, default=0.05, help=alpha)
    arguments = parser.parse_args()
    text.leave_with_the_reader()
    text.need(parser.prog, "pandas", "scipy")
    from weftlab import ranksum  # pylint: disable=import-outside-toplevel

    return ranksum.compare(parser.prog, arguments.a, arguments.b, arguments.least, arguments.alpha)
