"""Which pictures a file of records makes: what jobs/plot draws."""

import re
from functools import partial

import pandas as pd

from weftlab import bench_pictures, frame, records, run_pictures, series, style, text

# ---- other files ----


def predicted_of(path, command):
    """The lines of `jobs/predict` as a frame: ranks, step_s, efficiency, beyond."""
    rows = []
    for record in records.parsed(path, command):
        row = {key: records.at(record, key) for key in ("ranks", "step_s", "efficiency")}
        if records.at(record, "predicted") is True and all(map(records.is_number, row.values())):
            rows.append(dict(row, beyond=bool(record.get("beyond"))))
    if not rows:
        text.fail(command, f"{path} holds no lines of jobs/predict")
    return pd.DataFrame(rows).sort_values("ranks")


# ---- what can be drawn ----


def without_failed(runs, path):
    """The runs whose verdict is not failed."""
    failed = runs.verdict == "failed"
    if failed.any():
        text.complain(f"{path}: left out {failed.sum()} runs with a failed verdict")
    return runs[~failed]


RUN_PICTURES = ("strong", "weak", "values", "phases")


def refuse(arguments, command, why):
    text.fail(command, f"{arguments.file}: {why}")


def scaling_text(study):
    """What a person wants to know of a scaling study, for the line that names its picture."""
    best = max(study.scaling, key=lambda s: s.last.efficiency).last
    told = f"efficiency {best.efficiency:.2f} on {best.ranks:g} ranks"
    many = f"{len(study.scaling)} settings, " if len(study.scaling) > 1 else ""
    return f": {study.mode} scaling, {many}{told}"


def draw_runs(runs, arguments, command):
    """The pictures of runs that are asked for, else those that can be made."""
    study = series.study_of(runs)
    of_one_count = sum(len(s.points) for s in study.series) > runs.ranks.nunique()
    possible = [
        *([study.mode] if study.scaling else []),
        *(["values"] if of_one_count or not study.scaling and len(study.series) > 1 else []),
        "phases",
    ]
    wanted = possible
    if arguments.what:
        wanted = [name for name in arguments.what if name in RUN_PICTURES]
    predicted = predicted_of(arguments.predicted, command) if arguments.predicted else None
    if predicted is not None and not {"strong", "weak"} & set(wanted):
        refuse(arguments, command, "no scaling study that --predicted could be drawn in")
    drawn = {}
    for name in wanted:
        if name in ("strong", "weak"):
            study = series.study_of(runs, name)
            if not study.scaling:
                refuse(arguments, command, f"no setting of a {name} study on several numbers of ranks")
            draw = partial(run_pictures.draw_scaling, runs, name, predicted)
            drawn["" if "" not in drawn else f"_{name}"] = draw, scaling_text(study)
        else:
            drawn[f"_{name}"] = partial(getattr(run_pictures, f"draw_{name}"), runs), ""
    return drawn


def sweep_name(family, swept, unit):
    """A part of a file's name, of other people's text."""
    name = re.sub("[^A-Za-z0-9._-]", "_", f"{family}_{swept}")[:100]
    return f"_{name}{'_calls' if unit == '1/s' else ''}"


def draw_points(points, arguments, command):
    """The pictures of rungs that are asked for, else those that can be made."""
    if len(points[["device", "machine_name"]].astype(str).drop_duplicates()) != 1:
        refuse(arguments, command, "records of more than one device and machine")
    sound = frame.newest(points)
    if sound.empty:
        refuse(arguments, command, "no verified record")
    wanted, drawn = arguments.what or ["roofline", "sweeps"], {}
    if "roofline" in wanted and len(bench_pictures.kernels_of(sound)):
        drawn["_roofline"] = partial(bench_pictures.draw_roofline, points), ""
    for *key, sweep in bench_pictures.sweeps_of(points) if "sweeps" in wanted else []:
        drawn[sweep_name(*key)] = partial(bench_pictures.draw_sweep, sweep), ""
    return drawn


def of_file(arguments, command):
    """The pictures of a file by the end of their names: a function that draws a figure, and what
    is told of it."""
    path = arguments.file
    runs, points = frame.read([path], command)
    if runs.empty and points.empty:
        text.fail(command, f"{path} holds no records of weft")
    runs = without_failed(runs, path)
    drawn = draw_runs(runs, arguments, command) if len(runs) else {}
    if len(points):
        drawn.update(draw_points(points, arguments, command))
    if not drawn:
        refuse(arguments, command, "nothing of this can be drawn")
    return drawn


def save_all(drawn, prefix, command):
    """Writes the pictures as PREFIX with the end of their names, and names them."""
    for end, (draw, told) in drawn.items():
        names = [prefix + end + ending for ending in (".png", ".svg")]
        style.save(draw(), names, command)
        print(text.printable(" and ".join(names) + told))
