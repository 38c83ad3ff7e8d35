"""Pictures of runs: functions that draw a frame of runs (weftlab.frame) and return a figure."""

import numpy as np
import pandas as pd

from weftlab import series, style, text
from weftlab.frame import WHOLE_RUN

MOST_LINES, MOST_ROWS, MOST_BARS = 7, 80, 40


def title(figure, what, study, *how):
    what = ": ".join(part for part in (what, series.problem_text(study)) if part)
    style.titled(figure, what, series.machine_text(study.runs), *how)


# ---- scaling ----


def scaling_study(frame, mode):
    """Of the series over several numbers of ranks those with the highest rates."""
    study = series.study_of(frame, mode)
    return study.only(sorted(study.scaling, key=lambda s: -s.last.rate)[:MOST_LINES])


def joined(points, ranks, column):
    """A column at each of `ranks`, nan where there is no point: a line ends there."""
    return points.set_index("ranks")[column].reindex(ranks).to_numpy(dtype=float)


def draw_times(axes, study, shown, ranks):
    """Median step over ranks, and the ideal lines."""
    unit, per_second = style.seconds_unit(max(s.points.slowest.max() for s in shown))
    ideals = []
    for number, line in enumerate(shown):
        look = style.look(number)
        median, fastest, slowest = (
            per_second * joined(line.points, ranks, key) for key in ("median", "fastest", "slowest")
        )
        axes.errorbar(ranks, median, [median - fastest, slowest - median], **look)
        first = line.points.iloc[0]
        along = np.array([first.ranks, line.last.ranks], dtype=float)
        ideal = (
            first["median"] * per_second * (first.ranks / along if study.mode == "strong" else along / along)
        )
        axes.plot(along, ideal, color=style.GREY, ls=(0, (4, 3)), lw=1, zorder=1)
        ideals.append(ideal[-1])
    axes.set_ylabel(f"time per step [{unit}]")
    return ideals, per_second


def time_axis(axes, least, most):
    """Logarithmic where the times span more than a factor of two."""
    if most > 2 * least:
        axes.set_yscale("log")
        axes.set_ylim(least / 1.5, most * 1.5)
        style.plain(axes.yaxis, most / least)
    else:
        axes.set_ylim(0, most * 1.25)


def draw_predicted(axes, predicted, column):
    """Hollow marks, grey where no record covers them, which no line joins."""
    for beyond, colour in ((False, style.INK), (True, "#a0a0a0")):
        points = predicted[predicted.beyond == beyond]
        axes.plot(points.ranks, points[column], "o", mfc="none", mec=colour, ms=7, mew=1.2, zorder=5)


def predicted_labels(predicted, column):
    labels = []
    for beyond, words in ((False, "predicted"), (True, "predicted, beyond the records")):
        points = predicted[predicted.beyond == beyond]
        if len(points):
            last = points.iloc[-1]
            labels.append((last.ranks, last[column], words, style.GREY))
    return labels


def draw_scaling(frame, mode=None, predicted=None):
    """Time per step and parallel efficiency over the ranks, one line per setting, and the ideal
    lines. `predicted`: a frame with ranks, step_s, efficiency and beyond."""
    study = scaling_study(frame, mode)
    shown = sorted(study.series, key=lambda s: s.label)
    ranks = np.array(sorted({n for s in shown for n in s.points.ranks}))
    longest = max(len(s.label) for s in shown)
    width, height = 11 + 0.065 * longest, 4.6 + 0.12 * max(len(shown) - 4, 0)
    figure, (left, right) = style.new_figure(width, height, 2)
    ideals, per_second = draw_times(left, study, shown, ranks)
    times = [per_second * t for s in shown for t in (s.points.fastest.min(), s.points.slowest.max())]
    all_ranks = list(ranks)
    if predicted is not None:
        predicted = predicted.assign(step=predicted.step_s * per_second)
        draw_predicted(left, predicted, "step")
        draw_predicted(right, predicted, "efficiency")
        times += list(predicted.step)
        all_ranks += list(predicted.ranks)
    labels = []
    for number, line in enumerate(shown):
        look = style.look(number)
        right.plot(ranks, joined(line.points, ranks, "efficiency"), **look)
        labels.append((line.last.ranks, line.last.efficiency, line.label or "measured", look["color"]))
    right.axhline(1, color=style.GREY, ls=(0, (4, 3)), lw=1, zorder=1)
    right.set_ylabel("parallel efficiency")
    right.set_ylim(0, 1.1 * max([1] + [s.points.efficiency.max() for s in shown]))
    for axes in (left, right):
        style.rank_axis(axes, all_ranks, series.unit_of(frame))
    time_axis(left, min(times + ideals), max(times))
    both = shown if longest <= 16 else []
    ends = [(s.last.ranks, s.last["median"] * per_second, s.label) for s in both]
    ends = [(*end, style.look(number)["color"]) for number, end in enumerate(ends)]
    style.label_ends(left, ends + [(ranks[-1], ideals[-1], "ideal", style.GREY)])
    if predicted is not None:
        labels += predicted_labels(predicted, "efficiency")
    style.label_ends(right, labels + [(max(all_ranks), 1, "ideal", style.GREY)])
    title(figure, f"{study.mode.capitalize()} scaling", study)
    return figure


# ---- settings beside their ceilings ----


def natural(words):
    """Sorts "order 2" before "order 10"."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in words.split(" ")]


def rows_of(study):
    """A row per setting and number of ranks, the first at the bottom: those of one problem by
    their rate."""
    ranks = {n for s in study.series for n in s.points.ranks}
    unit = series.unit_of(study.runs)
    rows = []
    for line in study.series:
        problem = [line.shown[k] for k in ("kind", "dtype", "grid", "order", "norm_every")]
        for point in line.points.itertuples():
            name = [series.ranks_text(point.ranks, unit)] if len(ranks) > 1 else []
            name = ": ".join(name + ([line.label] if line.label else []))
            key = (-point.ranks, [natural(str(part)) for part in problem])
            rows.append((key, point.rate, name, point))
    problems = sorted({repr(row[0]): row[0] for row in rows}.values(), reverse=True)
    place = {repr(key): i for i, key in enumerate(problems)}
    return sorted(rows, key=lambda row: (place[repr(row[0])], row[1]))[-MOST_ROWS:]


def draw_values(frame):
    """What each setting reaches beside the copies of the same run, and the fraction."""
    study = series.study_of(frame)
    rows = rows_of(study)
    points = pd.DataFrame([row[3] for row in rows])
    factor, letter = text.scaled(points.rate.max())
    heights = np.arange(len(rows))
    figure, axes = style.new_figure(10, 1.6 + 0.235 * len(rows))
    ceilings = points.ceiling / factor
    axes.plot(ceilings, heights, "|", color=style.GREY, ms=9, mew=1.6)
    rate, low, high = (points.cells / points[k] / factor for k in ("median", "slowest", "fastest"))
    axes.errorbar(rate, heights, xerr=[rate - low, high - rate], fmt="o", color=style.PALETTE[0])
    axes.set_yticks(heights, [style.literal(row[2]) or "measured" for row in rows], fontsize=9)
    axes.set(xlim=(0, 1.04 * np.nanmax([high.max(), ceilings.max()])), ylim=(-0.7, len(rows) - 0.3))
    if rate.max() > 12 * rate.min():
        axes.set_xscale("log")
        axes.set_xlim(0.8 * low.min(), 1.25 * np.nanmax([high.max(), ceilings.max()]))
        style.plain(axes.xaxis, rate.max() / rate.min())
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"{letter}Cells/s")
    beside = {"xycoords": ("axes fraction", "data"), "va": "center", "size": 9}
    for height, fraction in zip(heights, points.rate / points.ceiling):
        if np.isfinite(fraction):
            axes.annotate(f"{fraction:.3f}"[:5], (1.02, height), **beside)
    axes.annotate("of |", (1.02, len(rows)), color=style.GREY, **beside)
    how = "Dots: median run. Bars: from the slowest to the fastest run. "
    title(figure, "Rate by setting", study, how + "|: ceiling, device copies in the same run.")
    return figure


# ---- where the time goes ----


def shown_runs(frame):
    """Of a scaling study the fastest setting, else every setting and number of ranks: the study,
    names and median runs from the top down, and the setting where it is one of several."""
    study = series.study_of(frame)
    if not study.scaling:
        rows = rows_of(study)[::-1][:MOST_BARS]
        return study, [row[2] or "measured" for row in rows], [row[3].run for row in rows], ""
    unit, fastest = series.unit_of(frame), max(study.scaling, key=lambda s: s.last.rate)
    names = [series.ranks_text(ranks, unit) for ranks in fastest.points.ranks]
    setting = f"The fastest of {len(study.series)} settings: {fastest.label}." if fastest.label else ""
    return study.only([fastest]), names, list(fastest.points.run), setting


def phase(run, names):
    """Seconds of phases together, mean over ranks."""
    return sum(np.nan_to_num(float(run[f"phases.{name}.mean_s"] or 0)) for name in names)


def draw_phases(frame):
    """The parts of whole runs end to end."""
    study, names, runs, setting = shown_runs(frame)
    figure, axes = style.new_figure(7 + 0.08 * max(map(len, names)), 2.3 + 0.3 * len(runs))
    heights = np.arange(len(names))[::-1]
    axes.set_yticks(heights, [style.literal(name) for name in names], fontsize=9)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(axis="y", visible=False)
    left = np.zeros(len(runs))
    colours = [*style.PALETTE[:6], "#bbbbbb"]
    for (part, phases), colour in zip(WHOLE_RUN.items(), colours):
        seconds = np.array([phase(run, phases) for run in runs])
        axes.barh(heights, seconds, 0.6, left, color=colour, ec="white", lw=0.5, label=part)
        left += seconds
    for height, total in zip(heights, left):
        axes.annotate(
            f"{total:.3g} s", (total, height), (4, 0), textcoords="offset points", va="center", size=9
        )
    axes.set_xlim(0, 1.12 * max(left.max(), 1e-9))
    axes.set_xlabel("the whole run [s], mean over ranks")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncol=4, frameon=False, fontsize=9, borderpad=0)
    title(figure, "Where the time goes", study, setting)
    return figure


# ---- beside other programs ----


def draw_beside(frame, others):
    """The rate over the ranks, under what copies allow and beside other programs' points, a frame
    with ranks, gcells_per_s and name. One line for each number of steps per pass."""
    unit = series.unit_of(frame)
    figure, axes = style.new_figure(8.5, 5)
    ranks = sorted({*frame.ranks, *others.ranks})
    labels = []
    for number, (fuse, runs) in enumerate(frame.groupby("fuse")):
        look = style.look(number)
        points = series.points(runs)
        rate, bound = (joined(points, ranks, "rate") / 1e9, fuse * joined(points, ranks, "ceiling") / 1e9)
        axes.plot(ranks, rate, **look)
        axes.plot(ranks, bound, color=look["color"], ls=":", lw=1.3)
        name = "weft" if fuse == 1 else f"weft, {fuse:g} steps per pass"
        last = points.iloc[-1]
        labels.append((last.ranks, last.rate / 1e9, name, look["color"]))
        each = "" if fuse == 1 else f", {fuse:g} steps each"
        if np.isfinite(last.ceiling):
            labels.append((last.ranks, fuse * last.ceiling / 1e9, f"bound by copies{each}", look["color"]))
        if number == 0:
            first = points.iloc[0]
            ideal = first.rate / 1e9 * np.array([1, max(ranks) / first.ranks])
            axes.plot([first.ranks, max(ranks)], ideal, color=style.GREY, ls=(0, (4, 3)), lw=1, zorder=1)
            labels.append((max(ranks), ideal[-1], "ideal", style.GREY))
    for number, (name, points) in enumerate(others.groupby("name", sort=False), 1):
        look = dict(style.look(-number), ls="none", mfc="white", mew=1.5, ms=8)
        axes.plot(points.ranks, points.gcells_per_s, **look)
        last = points.iloc[-1]
        labels.append((last.ranks, last.gcells_per_s, name, look["color"]))
    axes.set_yscale("log")
    style.rank_axis(axes, ranks, unit)
    style.plain(axes.yaxis, 100)
    axes.set_ylabel("GCells/s")
    style.label_ends(axes, labels)
    title(figure, "Beside other programs", series.study_of(frame))
    return figure
