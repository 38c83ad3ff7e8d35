"""Which records of a file count: the options --kind, --ranks, --where and --last of commands."""

import argparse
import math

from weftlab import text


def add_options(parser):
    """Adds --kind, --ranks, --where and --last."""
    group = parser.add_argument_group("which records")
    group.add_argument("--kind", help="problem.kind of a run, family of a rung")
    group.add_argument("--ranks", metavar="N,N...", type=rank_counts, help="on these numbers of ranks")
    where = "where a key has this value, as in asked.transport=peer; all of several must hold"
    add = group.add_argument
    add("--where", metavar="KEY=VALUE", type=condition, action="append", default=[], help=where)
    last = "of the runs of one setting, grid and number of ranks only the last N"
    add("--last", metavar="N", type=positive, help=last)


def positive(word):
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word} is not a whole number from 1 on")
    return int(word)


def rank_counts(word):
    return [positive(part) for part in word.split(",")]


def condition(word):
    key, equals, value = word.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{word} is not KEY=VALUE")
    return key, value


def same(value, word):
    """Whether a value of a record is what a person wrote for it: 1024 for 1024.0, true for True."""
    if value is None or isinstance(value, float) and math.isnan(value):  # as pandas has it
        return word == "null"
    if isinstance(value, bool):
        return word == str(value).lower()
    try:
        return float(value) == float(word)
    except (TypeError, ValueError):
        return str(value) == word


def passing(frame, arguments, conditions):
    """The rows of one frame that the filters let through."""
    for key, word in conditions:
        if key not in frame:
            return frame[:0]
        frame = frame[frame[key].map(lambda value, word=word: same(value, word)).astype(bool)]
    if arguments.ranks:
        frame = frame[frame.ranks.isin(arguments.ranks)]
    if arguments.last and "problem.kind" in frame:
        of_one = ["setting", "machine", "grid.nx", "grid.ny", "ranks"]
        frame = frame.groupby(of_one, sort=False).tail(arguments.last)
    return frame


def filtered(runs, points, arguments, command):
    """The rows of both frames that the filters let through. A key that no record has, and filters
    that let nothing through, end the command."""
    for key, _ in arguments.where:
        if key not in runs and key not in points:
            text.fail(command, f"--where {key}: no record has this key")
    kind = [arguments.kind] if arguments.kind is not None else []
    runs = passing(runs, arguments, arguments.where + [("problem.kind", k) for k in kind])
    points = passing(points, arguments, arguments.where + [("family", k) for k in kind])
    if runs.empty and points.empty:
        text.fail(command, "no record passes the filters")
    return runs, points
