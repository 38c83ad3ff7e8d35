"""The pictures of pages, each a function of what it shows (weftlab/teaching.py).

A family of `weft bench` has bars of rungs and curves of sweeps, machine beside machine. The last machine's
bars and lines are solid, those of another are hatched and dotted, with hollow markers. Values without a
ceiling stand on a logarithmic axis of their own.
"""

import itertools
import math
import pathlib

import pandas as pd

from weftlab import frame, measured, results, run_pictures, style

ROW_INCHES, FRAME_INCHES, CURVES_INCHES, COLUMN_INCHES = 0.27, 0.8, 3.3, 4.6
FRACTION = "fraction of the ceiling"


def quantities(shown):
    """The axes that the bars need: fractions first."""
    found = {what for by_machine in shown["bars"].values() for what, _ in by_machine.values()}
    return sorted(found, key=lambda what: (what != FRACTION, what))


def rungs_of(shown, what):
    return [rung for rung, by_machine in shown["bars"].items() if what in {w for w, _ in by_machine.values()}]


def value_text(value, what):
    if what == FRACTION:
        return "%.2f" % value
    return measured.rate(value, {"per second": "1/s"}.get(what, what))


def draw_bars(axes, shown, what):
    """Horizontal bars, a rung per row in the order of the ladder, with their values at their ends."""
    rungs, machines = rungs_of(shown, what), shown["machines"]
    high = 0.8 / len(machines)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
    for number, machine in enumerate(machines):
        for row, rung in enumerate(rungs):
            if machine in shown["bars"][rung]:
                value, y = shown["bars"][rung][machine][1], row + (number - (len(machines) - 1) / 2) * high
                colour, hatch = style.PALETTE[number], None if machine == machines[-1] else "///"
                axes.barh(y, value, high, color=colour, edgecolor="white", linewidth=0, hatch=hatch, zorder=2)
                place = {
                    "xytext": (3, 0),
                    "textcoords": "offset points",
                    "va": "center",
                    "size": 6.5,
                    "bbox": box,
                }
                axes.annotate(value_text(value, what), (value, y), **place)
    values = [value for by_machine in shown["bars"].values() for w, value in by_machine.values() if w == what]
    axes.set_yticks(range(len(rungs)), rungs, size=8)
    axes.set_ylim(len(rungs) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(what)
    if what == FRACTION:
        axes.set_xlim(0, 1.13 * max(values + [1]))
        axes.axvline(1, color=style.INK, lw=0.8, zorder=1)
    else:
        axes.set_xscale("log")
        axes.set_xlim(10 ** math.floor(math.log10(min(values)) - 0.3), 8 * max(values))


def is_geometric(values):
    values = sorted(value for value in values if value > 0)
    return len(values) > 3 and all(b >= 1.5 * a for a, b in zip(values[1:], values[2:]))


def parameter_axis(axes, name, values):
    """The parameter along x, by powers of two where it grows so."""
    if is_geometric(values):
        axes.set_xscale("symlog" if min(values) < 1 else "log", base=2)
        axes.xaxis.set_major_formatter(lambda x, _: measured.size(int(x)) if name == "bytes" else "%g" % x)
        axes.tick_params(axis="x", labelsize=8, rotation=30 if name == "bytes" else 0)
    axes.set_xlabel(name)


def draw_curves(axes, shown):
    """A sweep per rung and machine, over the parameter that is swept."""
    labels, along = [], set()
    for number, (rung, by_machine) in enumerate(shown["curves"].items()):
        for machine, points in by_machine.items():
            last = machine == shown["machines"][-1]
            look = dict(style.look(number), ls="-" if last else ":", markersize=4)
            x, y = zip(*sorted(points))
            axes.plot(x, y, **look, mfc=look["color"] if last else "white")
            along.update(x)
            if last:
                labels.append((x[-1], y[-1], rung, look["color"]))
    parameter_axis(axes, shown["along"], along)
    axes.set_ylabel(shown["curves of"])
    if shown["curves of"] == FRACTION:
        axes.set_ylim(0)
    else:
        axes.set_yscale("log")
    style.label_ends(axes, labels)


def panels_of(shown):
    """[(height in inches, function of axes)]."""
    found = []
    for what in quantities(shown):
        high = ROW_INCHES * len(rungs_of(shown, what)) + FRAME_INCHES
        found.append((high, lambda axes, what=what: draw_bars(axes, shown, what)))
    if shown["curves"]:
        found.append((CURVES_INCHES, lambda axes: draw_curves(axes, shown)))
    return found


def in_columns(panels):
    """The panels in one or two columns of nearly the same height."""
    ways = []
    for others in itertools.product((0, 1), repeat=len(panels) - 1):
        columns = [[p for p, side in zip(panels, (0,) + others) if side == which] for which in (0, 1)]
        ways.append([column for column in columns if column])
    return min(ways, key=height_of)


def height_of(columns):
    return max(sum(high for high, _ in column) for column in columns)


def draw_ladder(shown):
    """The bars of a family, and its curves."""
    columns = in_columns(panels_of(shown))
    figure = style.plt.figure(
        figsize=(COLUMN_INCHES * len(columns) + 0.4, height_of(columns) + 0.6), constrained_layout=True
    )
    grid = figure.add_gridspec(1, len(columns))
    for place, column in enumerate(columns):
        cells = grid[place].subgridspec(len(column), 1, height_ratios=[high for high, _ in column])
        for row, (_, draw_panel) in enumerate(column):
            draw_panel(figure.add_subplot(cells[row]))
    *others, last = shown["machines"]
    looks = ["%s: hatched, dotted" % name for name in others] + [last + ": solid" if others else last]
    style.titled(figure, "weft bench %s" % shown["family"], "; ".join(looks))
    return figure


# ---- others ----


def draw_times(times):
    """Times over ranks: {what: [(ranks, seconds)]}."""
    figure, axes = style.new_figure(8.5, 4.5)
    labels = []
    for number, (what, points) in enumerate(times.items()):
        look = style.look(number)
        ranks, microseconds = zip(*((count, 1e6 * seconds) for count, seconds in points))
        axes.plot(ranks, microseconds, **look)
        labels.append((ranks[-1], microseconds[-1], what, look["color"]))
    axes.set_yscale("log")
    style.rank_axis(axes, sorted({count for points in times.values() for count, _ in points}), "ranks")
    style.plain(axes.yaxis, 100)
    axes.set_ylabel("us")
    style.label_ends(axes, labels)
    return figure


def draw_others(folder, strong):
    """laplace beside other programs."""
    runs, _ = frame.read([str(pathlib.Path(folder) / strong)], "report")
    points = pd.DataFrame(results.others(folder), columns=["ranks", "gcells_per_s", "name"])
    return run_pictures.draw_beside(runs[runs["problem.kind"] == "laplace"], points)


def draw(folder, path, shown, digest):
    """Writes a picture as SVG; the digest stands in its metadata."""
    if "files" in shown:
        figure = draw_others(folder, shown["files"][0])
    else:
        figure = draw_times(shown["times"]) if "times" in shown else draw_ladder(shown)
    style.save(figure, [str(path)], "report", digest)
