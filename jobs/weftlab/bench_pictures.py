"""Pictures of `weft bench`: functions that draw a frame of points (weftlab.frame) and return a
figure. They draw what frame.newest() leaves: verified points of the last record of each setting."""

import json

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from weftlab import frame, measured, series, style, text

STENCILS = {"star": "o", "box": "s", "wave": "D", "maxChange": "v"}
TYPES = {"f32": style.PALETTE[0], "f64": style.PALETTE[1]}
TRANSPORTS = ("staged", "mapped", "aware", "peer", "nccl", "mpi", "link")
SMALL_BYTES, LARGE_BYTES = 2**16, 2**15  # up to here latency is drawn, from here on bandwidth


def machine_text(points):
    """The machine, the ranks, the date and the commits of points."""
    last, ranks = points.iloc[-1], frame.numbers(points, "ranks").dropna().unique()
    parts = [last.machine_name] + [series.ranks_text(n) for n in ranks if len(ranks) == 1]
    parts += [str(last.started)[:10], f"weft {last.version} ({series.commits(points)})"]
    return ", ".join(parts)


def mark(dtype):
    """Filled for f32, hollow for f64: types are told apart without colour, too."""
    colour = TYPES[dtype]
    return {"color": colour, "mfc": colour if dtype == "f32" else "white", "ls": "none"}


# ---- the roofline ----


def kernels_of(points):
    """The points of family roofline that have a type of data."""
    return points[(points.family == "roofline") & points.dtype.isin(list(TYPES))]


def draw_roof(axes, copy, fma, **look):
    """Flops per byte times the copy's rate, up to the rate of fused multiply-adds."""
    flops_per_byte = np.array([0.05, np.clip(fma / copy, 0.05, 100), 100])
    axes.plot(flops_per_byte, np.minimum(flops_per_byte * copy, fma) / 1e12, **look)


def along_slope(axes, slope, words, colour, named):
    """Text on the slope of a roof, unless one that is as steep has its name, in `named`."""
    if any(0.95 < slope / other < 1.05 for other in named):
        return
    named.append(slope)
    axes.text(
        0.06,
        1.2 * 0.06 * slope / 1e12,
        words,
        rotation=np.degrees(np.arctan(1.2 * slope / 1e12)),
        rotation_mode="anchor",
        transform_rotates_text=True,
        size=9,
        color=style.darker(colour),
        in_layout=False,  # the layout knows nothing of turned text
    )


def with_flops(points):
    """Points that have both coordinates of the roofline, with y in Tflop/s."""
    found = points[points.flops_per_byte.notna() & points.rate.notna()]
    return found.assign(y=found.rate.astype(float) * found.flops_per_byte.astype(float) / 1e12)


def draw_fused(axes, points, dtype, ceilings, named):
    """Blocks of several steps: T steps in one pass cannot exceed T times the copy's slope. Returns
    labels of the points."""
    copy, fma = ceilings
    of_type = (points.family == "fused") & (points.rung == "production") & (points.dtype == dtype)
    fused = with_flops(points[of_type])
    if fused.empty:
        return []
    steps = set(fused["parameters.steps"]) & {4, 12}
    for several in sorted(steps):
        look = {"color": TYPES[dtype], "ls": ":", "lw": 1.2}
        draw_roof(axes, several * copy, fma, **look)
        along_slope(axes, several * copy, f"{several:g} steps per pass", TYPES[dtype], named)
    axes.plot(fused.flops_per_byte, fused.y, marker="p", ms=7, **mark(dtype))
    top = fused.loc[fused.y.idxmax()]
    return [(top.flops_per_byte, top.y, f"fused {dtype}, {top['parameters.steps']:g} steps", TYPES[dtype])]


def draw_roofs(axes, points):
    """The ceilings of each type of data, and its kernels under them."""
    kernels, labels, named = kernels_of(points), [], []
    for dtype, colour in TYPES.items():
        of_type = kernels[kernels.dtype == dtype]
        copy, fma = (of_type[f"ceilings.{name}"].astype(float).max() for name in ("copy", "fma"))
        if not copy > 0 or not fma > 0:
            continue
        draw_roof(axes, copy, fma, color=colour, ls="-" if dtype == "f32" else "--", lw=1.8)
        labels.append((100, fma / 1e12, f"fma {dtype}: {measured.rate(fma, 'flop/s')}", colour))
        along_slope(axes, copy, f"copy: {measured.rate(copy, 'B/s')}", colour, named)
        for rung, marker in STENCILS.items():
            found = with_flops(of_type[of_type.rung == rung])
            if len(found):
                axes.plot(found.flops_per_byte, found.y, marker=marker, **mark(dtype))
                last = found.loc[found.flops_per_byte.astype(float).idxmax()]
                labels.append((last.flops_per_byte, last.y, f"{rung} {dtype}", colour))
        labels += draw_fused(axes, points, dtype, (copy, fma), named)
    axes.set(xscale="log", yscale="log", xlim=(0.05, 100), ylabel="Tflop/s")
    axes.set_xlabel("flops per byte, counted from the algorithm")
    style.plain(axes.xaxis)
    style.plain(axes.yaxis)
    style.label_ends(axes, labels)


def fractions_of(points):
    """Name, type and fraction of each row from the top down: the message comes last, and of it only
    the deepest."""
    kernels = kernels_of(points)
    radius = kernels.get("parameters.radius", kernels["at"]).astype(float)
    names = [rung if np.isnan(r) else f"{rung} r={r:g}" for rung, r in zip(kernels.rung, radius)]
    deepest = radius.groupby(kernels.rung).transform("max")
    message = kernels.rung == "pack"
    rows = kernels.assign(name=names, message=message)[~message | radius.isna() | (radius == deepest)]
    return rows.sort_values("message", kind="stable")


def draw_fractions(axes, points):
    rows = fractions_of(points)
    names = list(dict.fromkeys(rows.name))
    height = {name: len(names) - i for i, name in enumerate(names)}
    for dtype in TYPES:
        found = rows[(rows.dtype == dtype) & rows.fraction_of_ceiling.notna()]
        if found.empty:
            continue
        fractions = found.fraction_of_ceiling.astype(float).clip(upper=1.2)
        look = dict(mark(dtype), marker="o", label=dtype, clip_on=False, zorder=3)
        axes.plot(fractions, found.name.map(height), **look)
    axes.axvline(1, color=style.GREY, ls=(0, (4, 3)), lw=1)
    axes.set(xlim=(0, 1.2), ylim=(0, len(names) + 1))
    axes.set_yticks(range(len(names), 0, -1), [style.literal(name) for name in names], fontsize=9)
    axes.set_xlabel("fraction of the ceiling; more is drawn at 1.2")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncol=2, frameon=False, fontsize=9)


def draw_roofline(points):
    """Flop/s over flops per byte under the ceilings of the same run, and each kernel's fraction of
    its ceiling."""
    points = frame.newest(points)
    figure, (left, right) = style.new_figure(14, 6.6, 2, gridspec_kw={"width_ratios": (1.15, 1)})
    draw_roofs(left, points)
    draw_fractions(right, points)
    how = "Left: larger radii lie further right. "
    how += "Right: the ceiling is copy (reductions: read) or fma, whichever bounds the kernel."
    style.titled(figure, "Roofline: weft's production kernels", machine_text(points), how)
    return figure


# ---- sweeps ----


def sweeps_of(points):
    """The sweeps of each family, parameter and unit: [(family, parameter, unit, points)]."""
    points = frame.newest(points)
    points = points[points["at"].notna() & points.rate.notna() & (points.family != "roofline")]
    several = points.groupby("record")["at"].transform("nunique") > 1
    groups = points[several].fillna({"unit": ""}).groupby(["family", "swept", "unit"])
    return [(*key, group) for key, group in groups]


def series_names(points):
    """Names of the records of a sweep: rung, and what they do not share."""
    settings = points.groupby("record", sort=False).setting.first().map(json.loads)
    flat = settings.map(lambda s: {**s["parameters"], "ranks": s["ranks"], "dtype": s["dtype"]})
    keys = sorted({key for one in flat for key in one})
    differ = [k for k in keys if len({str(one[k]) for one in flat if one.get(k) is not None}) > 1]
    names = {}
    for record, one in flat.items():
        parts = [str(one["dtype"])] if "dtype" in differ else []
        parts += [f"{k}={one[k]}" for k in differ if k != "dtype" and one.get(k) is not None]
        names[record] = " ".join([series.text_of(settings[record]["rung"]), *parts])
    return names


def look_of(family, name, number):
    """Of the exchange's rungs a colour stands for the transport, a dash for the neighbours."""
    look = style.look(number)
    if family == "halo":
        place = next((i for i, t in enumerate(TRANSPORTS) if name.startswith(t)), None)
        look["color"] = "#999999" if place is None else style.PALETTE[place]
        paired = "_pair" in name or "_oneway" in name
        look["ls"] = "--" if paired else "-." if "_grid" in name else "-"
    return look


def binary_text(value, _):
    for factor, letter in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if value >= factor:
            return f"{value / factor:g} {letter}B"
    return f"{value:g} B"


def parameter_axis(axes, swept, values):
    """Logarithmic where the values span an order of magnitude, bytes as bytes."""
    values = sorted(set(values))
    first, last = values[0], values[-1]
    wide = last >= 12 * first
    if wide and first > 0:
        axes.set_xscale("log", base=2)
        style.plain(axes.xaxis)
    if wide and (swept == "bytes" or first >= 1024):
        axes.xaxis.set_major_formatter(FuncFormatter(binary_text))
    if wide and len(values) <= 10:
        axes.xaxis.set_major_locator(FixedLocator(values))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(style.literal(swept))


def value_axis(axes, values, label):
    if max(values) >= 12 * min(values):
        axes.set_yscale("log")
        style.plain(axes.yaxis, max(values) / min(values))
    else:
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    axes.set_ylabel(style.literal(label))


def draw_lines(axes, lines, value, look):
    """A line per record with whiskers from the slow tenth of the samples to the fastest. `value`
    makes of a frame of points and a column of time_s what is drawn. Returns what label_ends
    takes, and all values."""
    labels, values = [], []
    for name, points in lines:
        middle = value(points, "p50")
        ends = np.array([value(points, key) for key in ("p90", "min")])
        below, above = middle - np.fmin(*ends), np.fmax(*ends) - middle
        style_of = look[name]
        axes.errorbar(points["at"], middle, np.fmax([below, above], 0), ms=4.5, **style_of)
        labels.append((points["at"].iloc[-1], middle[-1], name, style_of["color"]))
        values += list(middle)
    return labels, values


def times(points, key):
    """Microseconds."""
    return 1e6 * frame.numbers(points, f"time_s.{key}").to_numpy()


def rates(factor):
    """A function from points and a column of time_s to the rate, in units of `factor`."""

    def rate(points, key):
        seconds = frame.numbers(points, "time_s.p50") / frame.numbers(points, f"time_s.{key}")
        own = frame.numbers(points, "rate").to_numpy() / factor
        return own * seconds.to_numpy() if key != "p50" else own

    return rate


def shared_ceiling(points):
    """Name and largest rate of the ceiling that all points have, or None twice."""
    names, rates_of = points.ceiling_name.unique(), frame.numbers(points, "ceiling")
    one = len(names) == 1 and points.dtype.nunique(dropna=False) == 1 and rates_of.notna().all()
    return (str(names[0]), rates_of.max()) if one and names[0] else (None, None)


def draw_rates(axes, points, lines, look):
    """The rate over the parameter."""
    unit = points.unit.iloc[0]
    factor, letter = text.scaled(frame.numbers(points, "rate").max())
    labels, values = draw_lines(axes, lines, rates(factor), look)
    name, ceiling = shared_ceiling(points)
    if name:
        axes.axhline(ceiling / factor, color=style.GREY, ls=(0, (4, 3)), lw=1.2)
        labels.append((points["at"].max(), ceiling / factor, f"ceiling: {name}", style.GREY))
    parameter_axis(axes, points.swept.iloc[0], points["at"])
    value_axis(axes, values, f"{letter} calls/s".strip() if unit == "1/s" else letter + unit)
    style.label_ends(axes, labels, 8)


def draw_latencies(axes, points, lines, look):
    """Microseconds over the size of small messages."""
    labels, values = draw_lines(axes, lines, times, look)
    parameter_axis(axes, points.swept.iloc[0], points["at"])
    value_axis(axes, values, "time [µs]")
    style.label_ends(axes, labels, 8)


def lines_of(points, names):
    """The points of each record by its name, by the parameter."""
    return [(names[r], p.sort_values("at")) for r, p in points.groupby("record", sort=False)]


def draw_sweep(points):
    """One sweep of sweeps_of(): latency of small and bandwidth of large messages where bytes were
    swept, else the rate over the parameter. A line per rung and setting."""
    names = series_names(points)
    family, swept = points.family.iloc[0], points.swept.iloc[0]
    look = {name: look_of(family, name, i) for i, name in enumerate(names.values())}
    small, large = points[points["at"] <= SMALL_BYTES], points[points["at"] >= LARGE_BYTES]
    timed = frame.numbers(points, "time_s.p50").notna().all()
    split = swept == "bytes" and points.unit.iloc[0] == "B/s" and timed
    height = max(4.4, 1.6 + 0.17 * len(names))
    if split and small["at"].nunique() > 1 and large["at"].nunique() > 1:
        figure, (left, right) = style.new_figure(14, height, 2)
        draw_latencies(left, small, lines_of(small, names), look)
        draw_rates(right, large, lines_of(large, names), look)
        what = f"{family}: latency of small and bandwidth of large messages"
    else:
        figure, axes = style.new_figure(10, height)
        draw_rates(axes, points, lines_of(points, names), look)
        what = f"{family}: rate over {swept}"
    how = "Whiskers reach from the slow tenth of the samples to the fastest."
    style.titled(figure, what, machine_text(points), how)
    return figure
