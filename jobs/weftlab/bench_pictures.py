"""The pictures of plot_bench, by matplotlib."""

import itertools
import logging
import warnings

import matplotlib
import numpy as np

matplotlib.use("Agg")  # no window
# pylint: disable=wrong-import-position
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from weftlab import records
from weftlab.plot_bench import other_settings, points_of

# Okabe and Ito's
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"]
DASHES = ["-", "--", ":", "-."]
MARKERS = "os^DvPX*<>p"
GREY = "#777777"
MESSAGES = ("faceCopy", "pack", "unpack")

logging.getLogger("matplotlib").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", message="Glyph .* missing")
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "weft", "font.size": 10})
plt.rcParams.update({"axes.grid": True, "grid.color": "#cccccc", "grid.linewidth": 0.6})


def literal(words):
    """Text in which a dollar begins no formula."""
    return words.replace("$", r"\$")


def save(figure, name):
    figure.savefig(name + ".png", dpi=100)
    figure.savefig(name + ".svg", metadata={"Date": None})
    plt.close(figure)


def scaled(value):
    """The factor and the letter of a value: 1e9 and "G" for 3.2e9."""
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return factor, letter
    return 1, ""


def rate_text(rate, unit):
    factor, letter = scaled(rate)
    return f"{rate / factor:.3g} {letter}{unit}"


# ---- the roofline ----


def ceilings_of(kernels):
    """Bytes per second of a copy and flop/s of fused multiply-adds, or None."""
    found = {}
    for kernel in kernels:
        found.update(kernel.get("ceilings") or {})
    return found.get("copy"), found.get("fma")


def under_the_roof(kernels):
    """Flops per byte and Tflop/s of each point that has both."""
    points = [point for kernel in kernels for point in points_of(kernel)]
    with_both = [point for point in points if point.get("flops_per_byte") and point.get("rate")]
    return [(p["flops_per_byte"], p["rate"] * p["flops_per_byte"] / 1e12) for p in with_both]


def draw_points(axes, points, **look):
    if points:
        axes.plot(*zip(*points), linestyle="none", markersize=6, **look)


def draw_fused(axes, chosen, dtype, ceilings, colour):
    """Sweeps of several steps: of T steps in one pass no more than T times the copy's slope can
    come."""
    fused = [
        dict(record, sweep=[point for point in points_of(record) if point.get("verified")])
        for record in chosen
        if (record["family"], record["rung"], record.get("dtype")) == ("fused", "production", dtype)
    ]
    points = under_the_roof(fused)
    if not points:
        return
    steps = {number_at(point, "steps") for record in fused for point in points_of(record)}
    for several in sorted(steps & {4, 12}):
        label = f"{several} steps per sweep, {dtype}"
        draw_roof(axes, several * ceilings[0], ceilings[1], color=colour, ls=":", lw=1, label=label)
    fill = colour if dtype == "f32" else "none"
    draw_points(axes, points, marker="p", color=colour, mfc=fill, label=f"fused {dtype}")


def draw_roof(axes, copy, fma, **look):
    flops_per_byte = np.array([0.05, np.clip(fma / copy, 0.05, 100), 100])
    axes.plot(flops_per_byte, np.minimum(flops_per_byte * copy, fma) / 1e12, **look)


def draw_roofs(axes, chosen, kernels):
    """The ceilings of each type of data, and its kernels under them."""
    for dtype, colour, dash in (("f32", PALETTE[0], "-"), ("f64", PALETTE[1], "--")):
        of_type = [kernel for kernel in kernels if kernel["dtype"] == dtype]
        copy, fma = ceilings_of(of_type)
        if not copy or not fma:
            continue
        label = f"{dtype}: copy {rate_text(copy, 'B/s')}, fma {rate_text(fma, 'flop/s')}"
        draw_roof(axes, copy, fma, color=colour, ls=dash, lw=2, label=label)
        fill = colour if dtype == "f32" else "none"
        for rung, marker in zip(("star", "box", "line", "wave", "maxChange"), "os^Dv"):
            points = under_the_roof([kernel for kernel in of_type if kernel["rung"] == rung])
            label = f"{rung} {dtype}"
            draw_points(axes, points, marker=marker, color=colour, mfc=fill, label=label)
        draw_fused(axes, chosen, dtype, (copy, fma), colour)
    axes.set(xscale="log", yscale="log", xlim=(0.05, 100), ylabel="Tflop/s")
    axes.set_xlabel("flops per byte, counted from the algorithm")
    axes.set_title("larger radii lie further right", fontsize=10)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.legend(loc="lower right", fontsize=8)


def number_at(point, parameter):
    value = records.at(point, "parameters", parameter)
    return value if records.is_number(value) else None


def rows_of(kernels):
    """Name, type and fraction of the ceiling of each row from the top down: messages come last, and
    of those only the deepest."""
    rows, deepest = [], {}
    for kernel in kernels:
        for point in points_of(kernel):
            radius, rung = number_at(point, "radius"), kernel["rung"]
            name = rung if radius is None else f"{rung} r={radius}"
            fraction = point.get("fraction_of_ceiling")
            rows.append((rung, radius or 0, name, kernel["dtype"], fraction))
            deepest[rung] = max(deepest.get(rung, 0), radius or 0)
    shown = [row for row in rows if row[0] not in MESSAGES]
    for message in MESSAGES:
        shown += [row for row in rows if row[0] == message and row[1] == deepest[message]]
    return [row[2:] for row in shown]


def draw_fractions(axes, kernels):
    rows = rows_of(kernels)
    names = list(dict.fromkeys(name for name, _, _ in rows))
    height = {name: len(names) - i for i, name in enumerate(names)}
    for dtype, colour in (("f32", PALETTE[0]), ("f64", PALETTE[1])):
        fill = colour if dtype == "f32" else "none"
        points = [
            (min(fraction, 1.2), height[name])
            for name, of_type, fraction in rows
            if of_type == dtype and records.is_number(fraction)
        ]
        draw_points(axes, points, marker="o", color=colour, mfc=fill, label=dtype, clip_on=False)
    axes.axvline(1, color=GREY, ls="--", lw=1)
    axes.set(xlim=(0, 1.2), ylim=(0, len(names) + 1))
    axes.set_yticks(range(len(names), 0, -1), [literal(name) for name in names], fontsize=9)
    axes.set_xlabel("of the ceiling (more is drawn at 1.2)")
    axes.set_title("fraction of what bounds it: copy (reductions: read) or fma", fontsize=10)
    axes.legend(loc="upper left")


def roofline(chosen, machine, name):
    """Draws NAME.png and NAME.svg."""
    kernels = [r for r in chosen if r["family"] == "roofline" and r.get("dtype") in ("f32", "f64")]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 6.4), constrained_layout=True)
    figure.suptitle(literal(f"roofline: weft's production kernels\n{machine}"))
    draw_roofs(left, chosen, kernels)
    draw_fractions(right, kernels)
    save(figure, name)


# ---- sweeps ----


def series_names(sweeps):
    """Sweeps are told apart by their rung and by what they do not share."""
    others = [other_settings(sweep) for sweep in sweeps]
    keys = sorted({key for other in others for key in other})
    values = {k: {str(other[k]) for other in others if other.get(k) is not None} for k in keys}
    differ = [key for key in keys if len(values[key]) > 1]
    types = len({sweep.get("dtype") for sweep in sweeps}) > 1
    for sweep, other in zip(sweeps, others):
        parts = [sweep["rung"]] + ([str(sweep.get("dtype"))] if types else [])
        parts += [f"{key}={other[key]}" for key in differ if other.get(key) is not None]
        yield " ".join(parts)


def look_of(family, name, number):
    """Colour and dash of a series. Of the exchange's rungs a colour stands for the transport, a
    dash for the neighbours: link_both, peer_ring, aware_grid ..."""
    if family != "halo":
        return PALETTE[number % 7], DASHES[number // 7 % 4]
    transports = ("link", "mpi", "staged", "mapped", "aware", "peer", "nccl")
    place = next((i for i, t in enumerate(transports) if t + "_" in name), len(transports))
    paired = "_pair" in name or "_oneway" in name
    return PALETTE[max(6 - place, 0)], "--" if paired else "-." if "_grid" in name else "-"


def samples_of(sweep, swept):
    """Parameter, rate, and the rates of the slow tenth and of the fastest sample, sorted."""
    samples = []
    for point in sweep["sweep"]:
        parameter, rate = records.at(point, "parameters", swept), point.get("rate")
        if not point.get("verified") or parameter is None or not rate:
            continue
        times = [records.at(point, "time_s", key) for key in ("p50", "p90", "min")]
        if not all(records.is_number(time) and time > 0 for time in times):
            times = [1, 1, 1]
        samples.append((parameter, rate, times[0] / times[1] * rate, times[0] / times[2] * rate))
    return sorted(samples)


def binary_text(value, _):
    for factor, letter in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if value >= factor:
            return f"{value / factor:g} {letter}B"
    return f"{value:g} B"


def shared_ceiling(sweeps):
    """Name and rate of the ceiling that all points have, or None twice."""
    points = [(sweep, point) for sweep in sweeps for point in sweep["sweep"]]
    names = {(str(p.get("ceiling_name") or ""), str(sweep.get("dtype"))) for sweep, p in points}
    rates = [sweep["ceiling"] for sweep in sweeps if sweep.get("ceiling")]
    name = names.pop()[0] if len(names) == 1 else ""
    return (name, max(rates)) if name and rates else (None, None)


def scale_axes(axes, swept, parameters, rates):
    """Logarithmic axes where the values span an order of magnitude, bytes as bytes; called when all
    is drawn."""
    first, last = min(parameters), max(parameters)
    wide = last >= 12 * first
    if wide and first > 0:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    if wide and (swept == "bytes" or first >= 1024):
        axes.xaxis.set_major_formatter(FuncFormatter(binary_text))
    if max(rates) >= 12 * min(rates):
        axes.set_yscale("log")
        if max(rates) < 1000 * min(rates):
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])


def sweep(family, swept, unit, sweeps, machine, name):
    """Draws NAME.png and NAME.svg, the rate over the swept parameter with one line per rung and
    setting; returns False where no point is to be drawn."""
    drawn = [(n, samples_of(s, swept)) for n, s in zip(series_names(sweeps), sweeps)]
    samples = list(itertools.chain.from_iterable(samples for _, samples in drawn))
    if not samples:
        return False
    parameters, rates = [s[0] for s in samples], [s[1] for s in samples]
    factor, letter = scaled(max(rates))
    figure, axes = plt.subplots(figsize=(10, 4.2 + 0.09 * len(drawn)), constrained_layout=True)
    for number, (label, points) in enumerate(drawn):
        if not points:
            continue
        x, y, slow, fast = (np.array(column, dtype=float) for column in zip(*points))
        whiskers = np.maximum([y - slow, fast - y], 0) / factor
        colour, dash = look_of(family, label, number)
        look = {"color": colour, "ls": dash, "marker": MARKERS[number % len(MARKERS)]}
        axes.errorbar(x, y / factor, whiskers, label=literal(label), ms=4, lw=1.5, **look)
    ceiling, rate = shared_ceiling(sweeps)
    if ceiling:
        label = literal(f"ceiling: {ceiling}")
        axes.axhline(rate / factor, color=GREY, ls=":", lw=2, label=label)
    scale_axes(axes, swept, parameters, rates)
    axes.set_title(literal(f"{family}: rate over {swept}\n{machine}"))
    axes.set_xlabel(literal(swept))
    axes.set_ylabel(literal(f"{letter} calls/s".strip() if unit == "1/s" else letter + unit))
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9)
    save(figure, name)
    return True
