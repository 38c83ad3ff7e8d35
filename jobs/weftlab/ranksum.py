"""The rank-sum test of each setting of two files of records, corrected for their number.

weftlab/compare.py explains what is called slower.
"""

import json
import math
import sys

import numpy as np
import pandas as pd
from scipy import stats

from weftlab import frame, records, text

LEAST_RUNS = 5
MOST_EXACT = 60  # runs of A and B together: above, the normal distribution is close enough


# ---- settings ----


def run_setting(record):
    """What was asked of a run, with its grid and ranks."""
    grid = {key: record["grid"][key] for key in ("nx", "ny")}
    return {**frame.run_setting(record), **grid, "ranks": record["ranks"]}


def rung_setting(record):
    setting = {key: record.get(key) for key in ("device", "dtype", "swept", "ranks", "parameters")}
    return dict(setting, rung=f"{record['family']}/{record['rung']}")


def sample(record):
    """A record's setting as JSON, its seconds, and whether its result was right, wrong (False) or
    not looked at (None)."""
    if "rung" in record:
        setting, seconds = rung_setting(record), records.at(record, "time_s", "p50")
        right = record.get("verified")
    else:
        setting, seconds = run_setting(record), record["step_s"]["p50"]
        right = record.get("verdict") != "failed"
    return sys.intern(json.dumps(setting, sort_keys=True)), seconds, right


def samples_of(path, command):
    """A frame with one row per record of a file."""
    rows = [sample(record) for record in records.read([path], "any", command)]
    return pd.DataFrame(rows, columns=["setting", "seconds", "right"])


def seconds_by_setting(samples):
    """The seconds of each setting's good runs, sorted, as one list per setting."""
    timed = samples.seconds.map(lambda s: records.is_number(s) and s > 0)
    good = samples[timed & samples.right.map(bool)]
    return good.groupby("setting").seconds.apply(lambda s: sorted(map(float, s)))


def labels(settings):
    """Of settings as JSON: "key=value ..." of the keys whose values differ."""
    parsed = [json.loads(setting) for setting in settings]
    keys = sorted({key for setting in parsed for key in setting})
    differ = [k for k in keys if len({json.dumps(setting.get(k)) for setting in parsed}) > 1]
    return [" ".join(f"{k}={value_text(s[k])}" for k in differ if s.get(k) is not None) for s in parsed]


def value_text(value):
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


# ---- the test ----


def exact_tails(a, b):
    """tails(), by counting every choice of len(b) of all runs."""
    ranks = np.rint(2 * stats.rankdata([*a, *b])).astype(int)  # doubled: ties have halves
    of_b = ranks[len(a) :].sum()
    ways = np.zeros((len(b) + 1, ranks.sum() + 1))  # [k, s]: choices of k runs with the sum s
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank]
    at_least, at_most = ways[-1, of_b:].sum(), ways[-1, : of_b + 1].sum()
    return at_least / ways[-1].sum(), at_most / ways[-1].sum()


def tails(a, b):
    """The probabilities that the ranks of B sum to at least, and to at most, what they sum to, if
    A and B are alike: small ones speak for B slower, and for B faster."""
    if len(a) + len(b) <= MOST_EXACT:
        return exact_tails(a, b)
    return tuple(
        stats.mannwhitneyu(b, a, alternative=side, method="asymptotic").pvalue for side in ("greater", "less")
    )


def holm(probabilities):
    """Holm's correction of a series of probabilities for their number."""
    ordered = probabilities.sort_values()
    factors = np.arange(len(ordered), 0, -1)
    return (ordered * factors).cummax().clip(upper=1).reindex(probabilities.index)


def runs_needed(settings, alpha):
    """Runs of each setting in A and in B with which the test can give P <= alpha."""
    runs = LEAST_RUNS
    while settings > alpha * math.comb(2 * runs, runs):
        runs += 1
    return runs


def tested(both, least, alpha):
    """Of a frame with the lists A and B: sizes, medians, difference in percent, P and word."""
    table = pd.DataFrame(index=both.index)
    for side in "AB":
        table["runs_" + side] = both[side].map(len)
        table["median_" + side] = both[side].map(np.median)
    table["percent"] = 100 * (table.median_B / table.median_A - 1)
    enough = table[["runs_A", "runs_B"]].min(axis=1) >= LEAST_RUNS
    p = [tails(a, b) for a, b in zip(both.A[enough], both.B[enough])]
    p = pd.DataFrame(p, columns=["slower", "faster"], index=both.index[enough], dtype=float)
    p = p.apply(holm).reindex(both.index)
    smallest = [enough.sum() / math.comb(n + m, n) for n, m in zip(table.runs_A, table.runs_B)]
    table["P"] = p.min(axis=1)
    table["word"] = np.select(
        [
            (table.percent > least) & (p.slower <= alpha),
            (-table.percent > least) & (p.faster <= alpha),
            ~enough | (np.array(smallest) > alpha),
        ],
        ["slower", "faster", "?"],
        default="",
    )
    return table


# ---- the command ----


def print_table(table, names):
    width = max(7, *map(len, names))
    print(f"{'setting':<{width}}  runs  runs           A           B      B - A        P")
    for name, row in zip(names, table.itertuples()):
        before, after = text.seconds(row.median_A), text.seconds(row.median_B)
        probability = "-" if math.isnan(row.P) else f"{row.P:.2g}"
        print(
            f"{name:<{width}} {row.runs_A:>5} {row.runs_B:>5} {before:>11} {after:>11} "
            f"{row.percent:>+8.2f} % {probability:>8}  {row.word}"
        )


def compare(command, path_a, path_b, least, alpha):
    """Prints the settings of both files and what became of them; returns the exit status."""
    before, after = samples_of(path_a, command), samples_of(path_b, command)
    both = pd.concat(
        {"A": seconds_by_setting(before), "B": seconds_by_setting(after)}, axis=1, join="inner"
    ).sort_index()
    failed = sum(right is False for right in after.right)
    if both.empty and not failed:
        text.fail(command, "no setting stands in both files")
    table = tested(both, least, alpha)
    if len(table):
        print_table(table, labels(both.index))
    slower, faster, few = ((table.word == word).sum() for word in ("slower", "faster", "?"))
    runs = runs_needed(len(table), alpha)
    told = f"{slower} of {len(table)} settings slower, {faster} faster, of more than {least:g} %"
    print(told + (f"; {few} with too few runs to tell (?): run each {runs} times" if few else ""))
    if failed:
        print(f"{failed} runs of B have failed verdicts")
    if slower or failed:
        return 1
    if few == len(table):
        text.fail(command, f"too few runs: run each setting {runs} times for A and {runs} for B")
    return 0
