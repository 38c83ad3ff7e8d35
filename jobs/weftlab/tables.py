"""The tables that pages show, rendered as Markdown from the results alone.

A table is a function of the folder of results that returns its header and rows; TABLES names them.
A figure is the median over the repeats of a run of its median step. Fractions are of what copies of
the same size moved on all GPUs in the same run. Figures that no record has are a dash.
"""

import fractions
import inspect
import itertools
import json
import pathlib
import statistics

from weftlab import measured, records, results, ways
from weftlab.measured import DASH, fraction, gcells, like, median, rate, rungs, runs, seconds, size, step

ONE_GPU = {"h100x1": "H100", "h200x1": "H200"}


# ---- one GPU ----

BIG = {"nx": 16384, "ny": 16384}
ODD = {"nx": 10007, "ny": 9973}


def pick(chosen, **wanted):
    return [record for record in chosen if like(record, **wanted)]


def by_type(machines, cell, **wanted):
    """A cell per machine and type of data."""
    return [cell(pick(chosen, dtype=dtype, **wanted)) for chosen in machines for dtype in ("f32", "f64")]


def type_header(first):
    return [first] + ["%s, %s" % (name, dtype) for name in ONE_GPU.values() for dtype in ("f32", "f64")]


def of_one_gpu(folder, question, first, lines, cell, **wanted):
    """A table with a row per name and what it wants of the runs that answer questions on one GPU."""
    machines = [runs(folder, machine, *question.split()) for machine in ONE_GPU]
    return type_header(first), [[name] + by_type(machines, cell, **{**wanted, **own}) for name, own in lines]


def one_step(folder):
    heat = "heat, order %d, %s"
    orders = [(heat % (n, "16384 x 16384"), dict(BIG, kind="heat", order=n)) for n in range(2, 17, 2)]
    odd = [(heat % (n, "10007 x 9973"), dict(ODD, kind="heat", order=n)) for n in (2, 8, 16)]
    others = [
        ("wave, order 4, 16384 x 16384", dict(BIG, kind="wave", order=4)),
        ("laplace, 20480 x 20480", {"kind": "laplace", "norms": 0}),
        ("laplace, a norm every step", {"kind": "laplace", "norms": 1}),
        ("box of 3 x 3, 16384 x 16384", dict(BIG, kind="custom")),
        ("heat in 1D, order 6, 2^28 cells", {"kind": "heat", "ny": 1}),
        ("advect, order 8, 16384 x 16384", dict(BIG, kind="advect", order=8)),
        ("sweep, order 4, 16384 x 16384", dict(BIG, kind="sweep", order=4)),
    ]
    lines, cell = orders + odd + others, measured.step_and_fraction
    return of_one_gpu(folder, "one-step kinds", "one step at a time", lines, cell, single=True)


def temporal_blocking(folder):
    lines = [
        ("heat, order %d, %s" % (order, sides), dict(BIG, kind="heat", order=order, boundary=sides))
        for sides, orders in (("periodic", (2, 4, 6, 8)), ("dirichlet", (2, 4, 6)))
        for order in orders
    ]
    lines += [
        ("heat, order 2, 10007 x 9973", dict(ODD, kind="heat", order=2)),
        ("wave, order 2", dict(BIG, kind="wave", order=2)),
        ("wave, order 4", dict(BIG, kind="wave", order=4)),
        ("laplace, 20480 x 20480, a norm every 12 steps", {"kind": "laplace"}),
        ("box of 3 x 3", dict(BIG, kind="custom")),
    ]

    def cell(chosen):
        if not chosen:
            return DASH
        block, cells = median(chosen, "fuse"), median(chosen, "gcells_per_s")
        return "%d: %s, %.1f" % (block, gcells(cells), median(chosen, "fraction_of_ceiling"))

    return of_one_gpu(folder, "temporal-blocking", "16384 x 16384 unless named", lines, cell)


def small_grids(folder):
    lines = [
        ("%d x %d, %s" % (n, n, name), {"nx": n, "asked": asked})
        for n in (256, 512, 1024, 2048, 4096)
        for name, asked in (("one step at a time", 1), ("several steps per launch where that pays", 0))
    ]
    cell = lambda chosen: step(median(chosen, "step_s", "p50"))
    return of_one_gpu(folder, "small-grids", "heat, order 2: time of a step", lines, cell)


def transposes(folder):
    lines = [("%d x %d" % of, {"nx": of[0], "ny": of[1]}) for of in ((16384, 16384), (12289, 16411))]
    return of_one_gpu(folder, "transposes", "`B += A^T; A += 1`", lines, measured.step_and_fraction)


def checkpoints(folder):
    rows = []
    for machine, name in ONE_GPU.items():
        chosen = runs(folder, machine, "checkpoints")
        plain, written = ([r for r in chosen if records.at(r, "checkpoint", "count") == n] for n in (0, 1))
        if not (plain and written):
            continue
        alone, beside = (median(group, "phases", "loop", "max_s") for group in (plain, written))
        wrote = statistics.median(r["checkpoint"]["bytes"] / r["checkpoint"]["write_s"] for r in written)
        waited = seconds(median(written, "checkpoint", "stall_s"))
        rows.append(
            [name, seconds(alone), "%+.2f %%" % (100 * (beside / alone - 1)), waited, rate(wrote, "B/s")]
        )
    asked = "heat 8192 x 8192, f64, 8000 steps, one file of 512 MiB"
    return [asked, "loop without", "with", "steps waited", "written at"], rows


def power(folder):
    rows = []
    for name, orders, asked in (("one step at a time", (2, 8, 16), 1), ("blocks", (2, 4, 8), 0)):
        for order, dtype in itertools.product(orders, ("f32", "f64")):
            row = ["heat 16384 x 16384, %s, %s, order %d" % (dtype, name, order)]
            for machine in ONE_GPU:
                chosen = pick(runs(folder, machine, "power"), order=order, asked=asked, dtype=dtype)
                watts, joules = median(chosen, "power", "power_w"), median(chosen, "power", "update_j")
                row += [gcells(median(chosen, "gcells_per_s")), DASH if watts is None else "%.0f W" % watts]
                row += [DASH if joules is None else "%.2f nJ" % (joules * 1e9)]
            rows.append(row)
    each = [word for name in ONE_GPU.values() for word in (name, "power", "per update")]
    return ["several seconds at full load", *each], rows


def processor(folder):
    chosen, rows = runs(folder, "cpu", "processor"), []
    how = {"one step at a time": 1, "blocks where they pay": 0}
    lines = [
        ("heat, order %d, %s" % (order, name), {"kind": "heat", "order": order, "asked": asked})
        for order in (2, 8)
        for name, asked in how.items()
    ]
    for name, wanted in lines + [(kind, {"kind": kind}) for kind in ("laplace", "transpose")]:
        rows.append([name] + by_type([chosen], measured.step_and_fraction, **wanted))
    return ["8192 x 8192 on %d threads" % (median(chosen, "machine", "threads") or 0), "f32", "f64"], rows


# ---- several GPUs ----


def scaling(folder):
    strong, weak = (runs(folder, "h200x4", question) for question in ("strong", "weak"))
    lines = (
        ("strong: heat 16384 x 16384, f64", strong, dict(BIG, kind="heat", single=True)),
        ("strong: the same in blocks of steps", strong, dict(BIG, kind="heat", single=False)),
        ("strong: heat 4096 x 4096, f32", strong, {"kind": "heat", "nx": 4096, "single": True}),
        (
            "strong: laplace 20480 x 20480, f32, a norm every step",
            strong,
            {"kind": "laplace", "single": True},
        ),
        ("strong: the same, 12 steps per pass and norm", strong, {"kind": "laplace", "single": False}),
        ("weak: heat 16384 x 16384 per GPU, f32", weak, {"kind": "heat", "single": True}),
        ("weak: the same in blocks of steps", weak, {"kind": "heat", "single": False}),
    )
    rows = []
    for name, chosen, wanted in lines:
        row, per_rank = [name], None
        for ranks in (1, 2, 4):
            group = pick(chosen, ranks=ranks, **wanted)
            cells = median(group, "gcells_per_s")
            per_rank = per_rank or cells
            known = ranks > 1 and cells and per_rank
            efficiency = ", %.2f" % (cells / per_rank / ranks) if known else ""
            row.append(measured.step_and_cells(group) + efficiency)
        rows.append(row)
    return ["", "one H200", "two: efficiency", "four: efficiency"], rows


def overlap(folder):
    chosen, grids, rows = runs(folder, "h200x2", "overlap"), ((16384, 16384), (16384, 1024)), []
    for transport in ("peer", "nccl", "aware", "staged"):
        row = ["`%s`" % transport]
        for nx, ny in grids:
            group = pick(chosen, transport=transport, nx=nx, ny=ny, single=True)
            hidden = median(group, "overlap_hidden_fraction")
            row += [step(median(group, "step_s", "p50")), fraction(hidden)]
        rows.append(row)
    return ["heat on two H200s, f32"] + [word for of in grids for word in ("%d x %d" % of, "hidden")], rows


def transports(folder):
    """The ring of two neighbours by transport."""
    last = {r["rung"]: r for r in rungs(folder, "h200x2", "transports") if r.get("verified")}
    sizes = (8, 1 << 15, 1 << 18, 1 << 21, 1 << 26)
    rows = []
    for transport in ("peer", "nccl", "aware", "mapped", "staged"):
        rung = last.get(transport + "_ring")
        if rung:
            at = {p["parameters"]["bytes"]: p for p in rung.get("sweep") or [rung]}
            at.setdefault(rung["parameters"]["bytes"], rung)
            cells = [seconds(at[n]["time_s"]["p50"]) if n in at else DASH for n in sizes]
            rows.append(["`%s`" % transport] + cells + [rate(rung.get("rate"), rung.get("unit"))])
    header = ["a ring of two H200s, each way to each neighbour", *map(size, sizes), "rate of the last"]
    return header, rows


def sent_by_a_rank(cells, dtype, ranks):
    """Bytes that each rank sends when a matrix of that many cells is transposed."""
    return cells * {"f32": 4, "f64": 8}[dtype] / ranks * (ranks - 1) / ranks


def distributed_transposes(folder):
    links = [r["rate"] for r in rungs(folder, "h200x4", "transports") if r["rung"] == "link_both"]
    link = statistics.median(links) if links else None
    chosen = runs(folder, "h200x4", "transposes")
    rows = []
    for dtype in ("f64", "f32"):
        groups = [pick(chosen, dtype=dtype, ranks=ranks) for ranks in (1, 2, 4)]
        if any(groups):
            row = ["16384 x 16384, %s" % dtype]
            for ranks, group in zip((1, 2, 4), groups):
                took = median(group, "step_s", "p50")
                least = sent_by_a_rank(16384 * 16384, dtype, ranks) / link if took and link else None
                row += [step(took)] + ([fraction(least / took if least else None)] if ranks > 1 else [])
            rows.append(row)
    return ["`B += A^T; A += 1`", "one H200", "two", "of the links", "four", "of the links"], rows


def weak_times(folder):
    """{what: {ranks: seconds}} of a grid that grows with simulated ranks; norms and checkpoints have runs of
    their own."""
    times = {}
    for record in runs(folder, "simulated", "weak"):
        kind, every = record["problem"]["kind"], records.norm_every(record)
        if every:
            found = {"a norm": records.at(record, "phases", "norm", "max_s") / (record["steps"] // every)}
            found["a checkpoint's agreement"] = records.at(record, "phases", "checkpoint", "max_s")
        else:
            found = {"a step of %s" % kind: record["step_s"]["p50"]}
        if kind == "heat" and not every:
            found["the start"] = records.at(record, "phases", "start_up", "max_s")
        for what, value in found.items():
            times.setdefault(what, {})[record["ranks"]] = value
    return times


def weak_tables(folder):
    """{kind: {ranks: bytes}}: what a rank allocates beyond what it does on the fewest ranks, per rank."""
    held = {}
    for record in runs(folder, "simulated", "weak"):
        if not records.norm_every(record):
            bytes_of = held.setdefault("%s: bytes per rank" % record["problem"]["kind"], {})
            bytes_of[record["ranks"]] = records.at(record, "machine", "simulated", "allocated_bytes")
    for bytes_of in held.values():
        fewest = bytes_of.pop(min(bytes_of))
        bytes_of.update({ranks: (most - fewest) / ranks for ranks, most in bytes_of.items()})
    return held


def simulated(folder):
    times, held = weak_times(folder), weak_tables(folder)
    counts = sorted({count for of_ranks in times.values() for count in of_ranks})
    words = [(seconds, of_ranks) for of_ranks in times.values()]
    words += [("{:.0f}".format, of_ranks) for of_ranks in held.values()]
    rows = [[str(n)] + [word(of[n]) if n in of else DASH for word, of in words] for n in counts]
    return ["ranks"] + list(times) + list(held), rows


def others(folder):
    """Beside NVIDIA's own programs: the same problem, cells per second."""
    rows = [[name, str(gpus), gcells(cells), ""] for gpus, cells, name in results.others(folder)]
    weft = runs(folder, "h200x4", "strong", "scaling")
    for name, is_single in (("weft, a norm every step", True), ("weft, 12 steps per pass and norm", False)):
        for ranks in (1, 2, 4):
            group = pick(weft, kind="laplace", ranks=ranks, single=is_single)
            reached = gcells(median(group, "gcells_per_s")), fraction(median(group, "fraction_of_ceiling"))
            rows.append([name, str(ranks), *reached])
    return ["laplace 20480 x 20480, f32", "H200s", "cells", "of copies"], rows


# ---- what was measured on what ----


def headline(folder):
    """The table of the README."""
    ones = [runs(folder, machine, "one-step", "temporal-blocking", "transposes") for machine in ONE_GPU]
    four = runs(folder, "h200x4", "scaling", "overlap", "strong", "weak", "transposes")
    heat = dict(BIG, kind="heat", order=2, boundary="periodic")
    laplace = {"kind": "laplace", "norms": 1, "single": True}
    lines = (  # name, what is wanted of one GPU, and of four
        (
            "heat, f32, one step at a time",
            dict(heat, single=True, dtype="f32"),
            {"ny": 65536, "transport": "peer"},
        ),
        (
            "heat, f32, 12 steps per pass over memory, the same bits",
            dict(heat, single=False, dtype="f32"),
            {"nx": 28960, "dtype": "f32"},
        ),
        (
            "heat, f64, 12 steps per pass",
            dict(heat, single=False, dtype="f64"),
            {"nx": 28960, "dtype": "f64"},
        ),
        ("laplace, f32, a norm every step", dict(laplace, dtype="f32"), laplace),
        (
            "transpose `B += A^T; A += 1`, f64",
            dict(BIG, kind="transpose", dtype="f64"),
            {"kind": "transpose", "dtype": "f64"},
        ),
    )

    def cell(group):
        cells, of_copies = (median(group, key) for key in ("gcells_per_s", "fraction_of_ceiling"))
        return "%s, %s" % (gcells(cells), fraction(of_copies)) if group else DASH

    rows = [
        [name] + [cell(pick(of, **wanted)) for of in ones] + [cell(pick(four, ranks=4, **wanted_four))]
        for name, wanted, wanted_four in lines
    ]
    header = ["cells per second, and as a fraction of copies", *("one " + n for n in ONE_GPU.values())]
    return [*header, "four H200s"], rows


def machines(folder):
    """What each machine is, once; index.tsv has the commit of the program of each file."""
    rows = {}
    for row in results.read(folder):
        if row["superseded by"] or not row["file"].endswith(".jsonl"):
            continue
        kind = "check" if row["file"].endswith("-check.jsonl") else "any"
        first = next(iter(records.read([str(folder / row["file"])], kind, "report")))
        machine = first["machine"]
        driver, mpi = machine.get("driver") or "no GPU", machine["mpi"].split(",")[0]
        of = results.question_of(row["file"])[0]
        rows[of, records.machine_of(first), driver, mpi, machine["hdf5"]] = None
    return ["results", "GPU or processor", "driver", "MPI", "HDF5"], [list(row) for row in rows]


# Where the records of a family of `weft bench` are: the machines' names, and the question.
LADDER_OF_ONE_GPU = {machine: (name, "ladder") for machine, name in ONE_GPU.items()}
OF_TWO_GPUS = {"h200x2": ("two H200s", "transports")}
LADDER_MACHINES = {"halo": OF_TWO_GPUS, "alltoall": OF_TWO_GPUS}


def ladder_records(folder, family):
    """{machine: {rung: record}} of the verified rungs of a family; of a rung measured twice, the last."""
    found = {}
    for machine, (name, question) in LADDER_MACHINES.get(family, LADDER_OF_ONE_GPU).items():
        of_family = [r for r in rungs(folder, machine, question) if r["family"] == family]
        found[name] = {rung["rung"]: rung for rung in of_family if rung.get("verified")}
    return found


def swept(record):
    """The parameter that the points of a rung's sweep differ in, or None."""
    points = [point["parameters"] or {} for point in record.get("sweep") or []]
    return next((key for key in (points or [{}])[0] if len({point.get(key) for point in points}) > 1), None)


def last_of(record):
    return {**record, **(record.get("sweep") or [{}])[-1]}


def last_point(record):
    """ ", stride 32": where the last point of a rung's sweep stands."""
    key = swept(record)
    value = key and last_of(record)["parameters"][key]
    return ", %s %s" % (key, size(value) if "bytes" in key else value) if key else ""


def ladder(folder, family):
    """A family of `weft bench`: the last point of each rung."""
    by_machine = ladder_records(folder, family)
    rows = []
    for rung in dict.fromkeys(rung for found in by_machine.values() for rung in found):
        row = ["`%s`" % rung + max(last_point(found.get(rung, {})) for found in by_machine.values())]
        ceiling = None
        for found in by_machine.values():
            last = last_of(found.get(rung, {}))
            row += [rate(last.get("rate"), last.get("unit")), fraction(last.get("fraction_of_ceiling"))]
            ceiling = last.get("ceiling_name") or ceiling
        rows.append(row + [ceiling or DASH])
    header = [word for name in by_machine for word in (name, "of it")]
    return ["`weft bench %s`" % family, *header, "ceiling"], rows


def should(folder):
    """What rungs of `weft bench` should reach by limits.tsv, and did: the figure's part of it."""
    found = [{"%(family)s/%(rung)s" % r: r for r in rungs(folder, machine, "ladder")} for machine in ONE_GPU]
    rows = []
    for line in (folder / "limits.tsv").read_text().splitlines()[3:]:
        rung, at, times, *limits, words, why = line.split("\t")
        row = ["`%s` %s" % (rung, at), words]
        for limit, of in zip(limits, found):
            record = of[rung]
            points = {"%s=%d" % x: p["rate"] for p in record["sweep"] for x in p["parameters"].items()}
            limit = (of[limit]["rate"] if limit in of else float(limit)) * fractions.Fraction(times)
            reached = points.get(at, record["rate"])
            row += [rate(reached, record["unit"]), fraction(reached / limit)]
        rows.append(row + [why])
    return ["rung", "should reach", "H100", "of it", "H200", "of it", "why"], rows


def test_runs(folder):
    """The last run of all tests on each model and number of GPUs (tests/run leaves BUILD/tests.json)."""
    path, last = pathlib.Path(folder) / "tests.jsonl", {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        run = json.loads(line)
        last[(run["gpu"], run["gpus"])] = run
    keys = ("commit", "date", "passed", "failed", "skipped", "minutes", "gpu_minutes")
    header = ["machine", *keys[:-2], "minutes with builds", "of them with GPUs"]
    rows = [
        ["%d x %s, %d CPUs" % (gpus, gpu, run["cpus"])] + [str(run[key]) for key in keys]
        for (gpu, gpus), run in sorted(last.items())
    ]
    return header, rows or [["none yet"] + [DASH] * len(keys)]


OF_ONE = (one_step, temporal_blocking, small_grids, transposes, checkpoints, power, processor)
OF_SEVERAL = (scaling, overlap, transports, distributed_transposes, simulated, others)
ALL = (headline, *OF_ONE, *OF_SEVERAL, machines, test_runs, ladder, should)
TABLES = {function.__name__.replace("_", "-"): function for function in ALL}
TABLES["ways"] = ways.table


def takes(function, *arguments):
    """Whether there is a function, and can be called with these arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    return True


def markdown(header, rows):
    lines = [header, ["---"] * len(header)] + rows
    return "".join("| %s |\n" % " | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
