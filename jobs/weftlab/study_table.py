"""The table of a study: medians, spreads, rates, and efficiency from the medians."""

import statistics

from weftlab import measured, records, text

WIDE_SPREAD = 0.03


def gpu_of(record):
    gpus = records.gpus_of(record)
    return str(gpus[0].get("uuid") or "") if gpus else ""


def per_gpu(runs):
    """The median steps of runs on one rank for each GPU it was alone on; of others all in one."""
    found = {}
    for run in runs:
        found.setdefault(gpu_of(run) if run["ranks"] == 1 else "", []).append(run["step_s"]["p50"])
    return list(found.values())


def row_of(point):
    """What the table says of a point that has runs. Of several GPUs the slowest one counts: what
    all of them together can be held to."""
    runs, times = point.records, per_gpu(point.records)
    medians = [statistics.median(of_one) for of_one in times]
    spreads = [(max(of_one) - min(of_one)) / statistics.median(of_one) for of_one in times]
    seconds, grid = max(medians), runs[0]["grid"]
    return {
        "label": point.label,
        "ranks": point.ranks,
        "runs": len(runs),
        "seconds": seconds,
        "spread": max(spreads),
        "rate": grid["nx"] * grid["ny"] / seconds,
        "ceiling": measured.median([measured.by_median_step(run) for run in runs], "fraction_of_ceiling"),
        "hidden": measured.median(runs, "overlap_hidden_fraction"),
        "medians": medians,
    }


def base_of(row, rows, mode):
    """What a row's rate stands beside: in a sweep the best on as many ranks, else fewest ranks."""
    if mode == "sweep":
        return max((r for r in rows if r["ranks"] == row["ranks"]), key=lambda r: r["rate"])
    return min((r for r in rows if r["label"] == row["label"]), key=lambda r: r["ranks"])


def part(value):
    return "-" if value is None else "%.3f" % value


def line_of(row, rows, mode, width):
    base, wide = base_of(row, rows, mode), row["spread"] > WIDE_SPREAD
    ratio = row["rate"] / base["rate"]
    cells = (row["label"], row["ranks"], row["runs"], text.seconds(row["seconds"]), 100 * row["spread"])
    line = "%-*s %6d %5d %11s %6.1f %%%s" % (width, *cells, "*" if wide else " ")
    line += "%10.4g %9.3f" % (row["rate"] / 1e9, ratio)
    if mode != "sweep":
        line += " %10.3f" % (ratio * base["ranks"] / row["ranks"])
    return line + " %8s %8s" % (part(row["ceiling"]), part(row["hidden"]))


def notes_of(points, rows):
    commits = sorted({str(run.get("git")) for point in points for run in point.records})
    if len(commits) > 1:
        yield "# records of several commits: " + ", ".join(commits)
    for row in rows:
        of = row["medians"]
        if len(of) > 1:
            line = "# one rank alone on each of %d GPUs: %.4g to %.4g us; the table has the slowest"
            yield line % (len(of), min(of) * 1e6, max(of) * 1e6)


def table(points, mode):
    """The lines of the table."""
    rows = [row_of(point) for point in points if point.records]
    if not rows:
        return ["no records yet"]
    width = max([6] + [len(row["label"]) for row in rows])
    columns = ("values", "ranks", "runs", "median", "spread", "GCells/s")
    heading = "%-*s %6s %5s %11s %8s %10s" % (width, *columns)
    last = "  of best" if mode == "sweep" else " speed-up efficiency"
    lines = ["", heading + " %s %8s %8s" % (last, "ceiling", "hidden")]
    lines += [line_of(row, rows, mode, width) for row in rows]
    wide = sum(row["spread"] > WIDE_SPREAD for row in rows)
    if wide:
        counts = (wide, len(rows))
        lines.append("* the repeats of %d of %d points differ by more than 3 %%" % counts)
    return lines + list(notes_of(points, rows))
