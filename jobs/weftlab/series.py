"""Runs in series: those of one setting on several numbers of ranks, or several settings on one.

The same statistic everywhere: a point is the median of its runs' median steps, its whiskers reach
from the fastest run to the slowest, and its rate and efficiency are computed from the median. Of
runs on one rank on several GPUs, each alone, those on the slowest GPU count: what all of them
together can be held to.
"""

import dataclasses
import json
import re

import numpy as np
import pandas as pd


@dataclasses.dataclass
class Series:
    """Runs of one setting. `points` has a row per number of ranks, in rising order: ranks, cells,
    median, fastest and slowest (s), rate (cells per s), ceiling (the same), efficiency beside the
    fewest ranks, and run: the row of the run whose median step is the median."""

    label: str
    shown: dict  # setting and grid, as people read them
    points: pd.DataFrame
    runs: pd.DataFrame

    @property
    def last(self):
        return self.points.iloc[-1]


@dataclasses.dataclass
class Study:
    """Series of one mode: strong (the grid stays), weak (it grows with the ranks) or settings."""

    mode: str
    series: list
    runs: pd.DataFrame
    differ: list  # the keys of Series.shown whose values differ

    @property
    def scaling(self):
        """The series over several numbers of ranks."""
        return [s for s in self.series if len(s.points) > 1]

    def only(self, series):
        """The study of some of the series, which share more than all of them do."""
        return study_of(pd.concat([one.runs for one in series]).sort_index(), self.mode)


# ---- points ----


def on_the_slowest_gpu(runs):
    """Of runs on one rank those on the GPU whose median step is longest."""
    medians = runs["step_s.p50"].groupby(runs.gpus.map(str)).median()
    return runs[runs.gpus.map(str) == medians.idxmax()]


def point(runs):
    """The statistic of runs of one setting, grid and number of ranks."""
    if runs.ranks.iloc[0] == 1:
        runs = on_the_slowest_gpu(runs)
    ordered = runs.sort_values("step_s.p50", kind="stable")
    steps = ordered["step_s.p50"]
    return {
        "ranks": runs.ranks.iloc[0],
        "cells": runs.cells.iloc[0],
        "median": steps.median(),
        "fastest": steps.iloc[0],
        "slowest": steps.iloc[-1],
        "rate": runs.cells.iloc[0] / steps.median(),
        "ceiling": ordered.ceiling.median(),
        "run": ordered.iloc[(len(ordered) - 1) // 2],
    }


def points(runs):
    """A row per number of ranks, as Series.points."""
    table = pd.DataFrame([point(group) for _, group in runs.groupby("ranks")])
    per_rank = table.rate / table.ranks
    return table.assign(efficiency=per_rank / per_rank.iloc[0])


# ---- names ----

ORDER = ["kind", "dtype", "order", "grid", "sides", "machine", "device", "transport", "feed", "fuse"]
ORDER += ["norm_every", "lanes", "threads", "ranks_x", "ranks_y", "tune"]
BARE = re.compile("[0-9]+|auto|on|off")  # values that tell nothing without their key
MOST_LETTERS = 60  # of a value


def ranks_text(ranks, unit="ranks"):
    return f"{ranks:g} {unit if ranks != 1 else unit[:-1]}"


def unit_of(runs):
    """ "GPUs" where every rank of every run has one of its own."""
    own = runs.gpus.map(len) == runs.ranks
    return "GPUs" if (own & (runs.device == "cuda")).all() else "ranks"


def grid_text(run, mode):
    """The grid, in a weak study that of each rank."""
    nx, ny, ranks = run["grid.nx"], run["grid.ny"], run.ranks
    if mode != "weak":
        return f"{nx} x {ny}"
    return f"{nx} x {ny / ranks:g} per rank" if ny > 1 else f"{nx / ranks:g} per rank"


def shown_setting(runs, mode):
    """The setting, machine and grid of a series; behind a transport, a feed and a number of steps
    per pass stands in brackets what all of its runs used instead. Values that tell nothing are
    None: no norms, a free process grid, order and steps per pass of kinds that have none,
    threads of a GPU.
    """
    run = runs.iloc[0]
    shown = dict(json.loads(run.setting), machine=run.machine, grid=grid_text(run, mode))
    for key in ("transport", "feed", "fuse"):
        used = set(map(text_of, runs[key].dropna()))
        if shown[key] not in (None, "auto") and len(used) == 1 and used != {str(shown[key])}:
            shown[key] = f"{shown[key]} ({used.pop()})"
    nothing = {"norm_every": "0", "ranks_x": 0, "ranks_y": 0}
    shown.update({key: None for key, value in nothing.items() if shown[key] == value})
    if shown["kind"] in ("laplace", "custom", "transpose"):
        shown["order"] = None
    if shown["kind"] == "transpose":
        shown["fuse"] = None
    if shown["device"] == "cuda":
        shown["threads"] = None
    return shown


def value_text(key, value):
    value = text_of(value)
    return f"{key} {value}" if BARE.fullmatch(value) else value


def text_of(value):
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)  # pandas makes floats of whole numbers where some are missing
    return (value if isinstance(value, str) else json.dumps(value))[:MOST_LETTERS]


def label(shown, differ):
    """ "heat f32, staged, lanes 2": the values of the keys in `differ`."""
    parts = [value_text(key, shown[key]) for key in differ if shown[key] is not None]
    both = 2 if differ[:2] == ["kind", "dtype"] else 1
    return ", ".join([" ".join(parts[:both])] + parts[both:])


# ---- a study ----


def spanning(runs, shape):
    """How many groups of one setting and one shape go over several numbers of ranks."""
    return (runs.groupby(["setting", "machine", shape]).ranks.nunique() > 1).sum()


def grown(setting):
    """A setting in a weak study: where the whole process grid was asked for, it grows with the ranks."""
    keys = json.loads(setting)
    if keys.get("ranks_x") and keys.get("ranks_y"):
        keys.update(ranks_x=0, ranks_y=0)
    return json.dumps(keys)


def study_of(frame, mode=None):
    """The runs of a frame as a Study: of the mode that most settings make, or of the given one."""
    per_rank = frame.cells / frame.ranks
    runs = frame.assign(strong=frame["grid.nx"].map(str) + " " + frame["grid.ny"].map(str))
    runs = runs.assign(weak=per_rank.map(repr))
    in_weak = runs.assign(setting=runs.setting.map(grown))
    strong, weak = spanning(runs, "strong"), spanning(in_weak, "weak")
    chosen = "settings" if strong == weak == 0 else "strong" if strong >= weak else "weak"
    mode = mode or chosen
    shape = "weak" if mode == "weak" else "strong"
    runs = in_weak if mode == "weak" else runs
    groups = [group for _, group in runs.groupby(["setting", "machine", shape])]
    shown = [shown_setting(group, mode) for group in groups]
    differ = [key for key in ORDER if len({text_of(s[key]) for s in shown}) > 1]
    series = [Series(label(s, differ), s, points(g), g) for s, g in zip(shown, groups)]
    return Study(mode, series, frame, differ)


def commits(frame):
    found = list(dict.fromkeys(map(str, frame.git.dropna())))
    return ", ".join(found) if len(found) <= 3 else f"{len(found)} commits"


def problem_text(study):
    """What all series share: problem, grid, sides, steps per pass, norms, ranks, transport."""
    shared = {k: v for k, v in study.series[0].shown.items() if k not in study.differ}
    parts = [" ".join(text_of(shared[k]) for k in ("kind", "dtype") if shared.get(k))]
    parts += [f"order {shared['order']}"] if shared.get("order") is not None else []
    parts += [str(shared["grid"])] if "grid" in shared else []
    parts += [str(shared["sides"])] if shared.get("sides") not in (None, "periodic") else []
    parts += [value_text(k, shared[k]) for k in ("fuse", "norm_every") if shared.get(k) is not None]
    ranks = study.runs.ranks.unique()
    parts += [ranks_text(ranks[0], unit_of(study.runs))] if len(ranks) == 1 else []
    if shared.get("transport") not in (None, "auto"):
        parts.append(f"over {shared['transport']}")
    return ", ".join(part for part in parts if part)


def machine_text(frame):
    """Machine, hosts, date and commits of the runs, those of the last where they differ."""
    last, machines = frame.iloc[-1], frame.machine.unique()
    hosts = last["machine.hosts"]
    hosts = len(hosts) if isinstance(hosts, list) else 1
    parts = [machines[0]] if len(machines) == 1 else [f"{len(machines)} machines"]
    parts += [f"{hosts} host{'s' if hosts != 1 else ''}", str(last.started or "")[:10]]
    parts += [f"weft {last.version} ({commits(frame)})"]
    return ", ".join(part for part in parts if part)
