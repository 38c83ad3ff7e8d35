"""A machine as its records tell of it: ceilings of runs and of `weft bench`, and what these leave open.

Links are fitted by least squares. Costs of a step and of a pass are what the model without them leaves of the
steps that pay them.
"""

import concurrent.futures
import math
import re
from dataclasses import dataclass, field

from weftlab import predict_plan, records, text
from weftlab.predict_model import (
    INFINITY, NAN, TRANSPORTS, Case, Machine, knows, link_bytes, messages, pass_s, step_s,
)  # fmt: skip


@dataclass
class Run:
    """A record of weft run that the model speaks of."""

    case: Case
    step_s: float  # the median; where not every step or block has a norm the mean, which has the norms' share
    copy_bytes_per_s: float  # of one device
    file: str
    line: int


@dataclass
class Read:
    machine: Machine = None
    runs: list = field(default_factory=list)
    older: int = 0  # runs whose place a newer one of equal work took
    left_out: int = 0  # not modelled: several streams, columns cut with in-kernel exchange, other machines
    damaged: int = 0
    rungs: int = 0  # those of use


# ---- lines ----


def lines_of(paths, command, read):
    """Records of runs and rungs, with file and line."""
    for path in paths:
        for number, record in enumerate(records.parsed(path, command), 1):
            if records.is_run(record) or records.is_rung(record):
                yield record, path.rsplit("/", 1)[-1], number
            else:
                read.damaged += 1


def number_of(record, *keys):
    value = records.at(record, *keys)
    return value if records.is_number(value) else NAN


def hosts_of(record):
    hosts = records.at(record, "machine", "hosts")
    return len(hosts) if isinstance(hosts, list) else 0


def fused(record):
    return max(1, record.get("fuse") or 1)


def words_of(record):
    """Words of a deck that has the record's problem and sides. A list goes on in lines that are indented."""
    found, section = {}, ""
    for line in re.sub(r"\n[ \t]+", " ", str(record.get("deck", ""))).split("\n"):
        section = line.strip("[]") if line.startswith("[") else section
        key, _, value = line.partition(" = ")
        found[f"{section}.{key}"] = value
    for section, key in (("problem", "kind dtype order alpha"), ("grid", "x_low x_high y_low y_high")):
        for name in key.split():
            found.setdefault(f"{section}.{name}", records.at(record, "problem", name))
    keys = r"problem[.](kind|dtype|order|alpha|weights|factors)|grid[.][xy]_(low|high)"
    return tuple(f"{key}={value}" for key, value in found.items() if re.fullmatch(keys, key) and value)


def question_of(record):
    """The words that `weft run` is asked by for what a record does not tell: facts of its kind, and the cells
    of its pass on as many ranks. A single step's are those of its kind on any grid."""
    steps, across = fused(record), 1 if record["grid"]["ny"] == 1 else 4096
    on = {"ranks": 1, "ranks_x": 1, "ranks_y": 1, "nx": 4096, "ny": across}
    if steps > 1:
        on = {key: int(record["grid"].get(key) or record[key]) for key in on}
    return (
        "/dev/null", *words_of(record), f"grid.nx={on['nx']}", f"grid.ny={on['ny']}", f"ranks={on['ranks']}",
        f"run.ranks_x={on['ranks_x']}", f"run.ranks_y={on['ranks_y']}", f"run.fuse={steps}",
        f"run.device={record['device']}", "time.steps=1000000",
    )  # fmt: skip


def is_modelled(record):
    """Visits are no passes in memory, nor are those in registers."""
    inside = record.get("step_form") == "in_kernel" or fused(record) > 1
    return (
        hosts_of(record) > 0
        and all(records.is_positive(record.get(key)) for key in ("ranks_x", "ranks_y"))
        and record.get("device") in ("host", "cuda")
        and record.get("memory") != "host"
        and not record.get("persistent")
        and record.get("verdict") != "failed"
        and (record.get("lanes") or 1) == 1
        and record.get("transport") in TRANSPORTS
        and not (inside and record["ranks_x"] > 1)
        and number_of(record, "ceiling_bytes_per_s") > 0
    )


def run_of(record, file, line):
    """None where the model does not cover it, or the program has no block of that length any more."""
    plan = predict_plan.ask(*question_of(record)) if is_modelled(record) else ""
    if isinstance(plan, str) or plan["fuse"] != fused(record):
        return None
    every, alone_s = records.norm_every(record), number_of(record, "overlap", "comm_s")
    own = {key: record[key] for key in ("ranks", "ranks_x", "ranks_y", "transport", "feed", "grid")}
    own.update(norm_every=every, step_form=record.get("step_form") or "overlapped")
    own["per_host"] = -(-record["ranks"] // hosts_of(record))
    case = predict_plan.case_of(
        {**plan, **own},
        exchange_s=alone_s if alone_s > 0 else 0,
        sides=tuple(word.split(" ")[0] for word in words_of(record) if word.startswith("grid.")),
    )
    taken_s = number_of(record, "step_s", "mean" if every > case.steps else "p50")
    return Run(case, taken_s, record["ceiling_bytes_per_s"] / case.ranks, file, line)


# ---- links ----


def fitted_line(points, least_spread):
    """alpha + x / beta by least squares of the relative error. Where the variance of x is less than that part
    of its mean square, all of it is alpha, and beta infinite."""
    if not points:
        return None
    powers = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1))
    w, x, y, xx, xy = (sum(u**i * s**j / s**2 for u, s in points) for i, j in powers)
    det = w * xx - x * x
    if det > least_spread * w * xx:
        slope = (w * xy - x * y) / det
        alpha = (y - slope * x) / w
        if slope > 0 and alpha > 0:
            return alpha, 1 / slope
    return min(s for _, s in points), INFINITY


def read_rung(machine, record, scans):
    """False if it is of no use. Of scans over sizes the newest counts; records of single sizes together,
    where there is no scan."""
    family, (transport, _, what) = record.get("family"), str(record.get("rung")).rpartition("_")
    if record.get("verified") is not True or not records.is_positive(record.get("ranks")):
        return False
    if transport not in TRANSPORTS:
        return is_launch(record)
    if family == "alltoall" and what == "slabs":
        machine.transposes.setdefault(transport, {})[record["ranks"]] = number_of(record, "rate")
        return True
    sweep, known = record.get("sweep") or [], scans.setdefault(transport, {"scanned": False, "points": []})
    if family == "halo" and what == "ring" and (len(sweep) > 1 or not known["scanned"]):
        points = [(number_of(point, "parameters", "bytes"), number_of(point, "time_s", "p50"))
                  for point in (sweep if len(sweep) > 1 else [record])]  # fmt: skip
        points = [(size, s) for size, s in points if size > 0 and s > 0]
        scans[transport] = {"scanned": len(sweep) > 1, "points": points + known["points"] * (len(sweep) < 2)}
    return family == "halo" and what == "ring"


def is_launch(record):
    return (record.get("family"), record.get("rung"), record.get("verified")) == ("launch", "pipelined", True)


def fit_links(read, scans):
    """By bench, else by the exchanges that runs took alone. Of sizes that differ by less than about a factor
    of three: what differs there is not the rate."""
    points = {}
    for case in (run.case for run in read.runs if run.case.ranks > 1 and run.case.exchange_s > 0):
        far = case.hosts > 1
        count = messages(case, far)
        key = "between" if far else case.transport
        points.setdefault(key, []).append((link_bytes(case, far) / count, case.exchange_s / count))
    points.update({transport: scan["points"] for transport, scan in scans.items() if scan["points"]})
    read.machine.exchange = {key: fitted_line(points[key], 0.2) for key in TRANSPORTS if key in points}
    read.machine.between = fitted_line(points.get("between"), 0.2)


# ---- costs of steps ----


def mean(values):
    """The x that makes the sum of ((x - value) / scale)^2 smallest, from pairs of both; not below 0."""
    values = list(values)
    return max(0, sum(x / s**2 for x, s in values) / sum(1 / s**2 for _, s in values)) if values else None


def paying(read, pays):
    """Runs that the model knows, and how many of their steps share one payment."""
    return [(run, pays(run.case)) for run in read.runs if pays(run.case) and knows(read.machine, run.case)]


def fit_cost(read, pays, costs, key):
    """costs[key]: what the model without it leaves of the steps of those runs that pay it."""
    fallback, costs[key] = costs[key], 0
    paid = [(run.step_s - step_s(read.machine, run.case), run.step_s, n) for run, n in paying(read, pays)]
    left = [(beyond_s * n, s * n) for beyond_s, s, n in paid]
    costs[key] = mean(left) if left else fallback


def fit_steps(read):
    machine = read.machine

    def pays(graph, inside, of):
        def once(case):
            own = (case.graph, case.form == "in_kernel", case.norm_every, case.steps)
            return own == (graph, inside, 0, 1) and not case.problem["transposes"] and of(case)

        return once

    for graph in (False, True):
        fit_cost(read, pays(graph, True, lambda case: case.ranks == 1), machine.inkernel_s, graph)
        fit_cost(read, pays(graph, True, lambda case: case.ranks > 1), machine.neighbours_s, graph)
        for t in TRANSPORTS:
            over = pays(graph, False, lambda case: case.transport == t)
            fit_cost(read, over, machine.overlapped_s, (t, graph))


def fit_norm(read):
    """By the doublings of the hosts, where runs have several numbers of them."""
    machine = read.machine

    def pays(case):
        return 0 if case.problem["transposes"] or case.steps > 1 else case.norm_every

    fit_cost(read, pays, vars(machine), "norm_s")
    mean_s, machine.norm_s, machine.norm_hop_s = machine.norm_s, 0, 0
    points = [(math.ceil(math.log2(run.case.hosts)), (run.step_s - step_s(machine, run.case)) * n)
              for run, n in paying(read, pays)]  # fmt: skip
    line = fitted_line([(hops, s) for hops, s in points if s > 0], 1e-9) or (mean_s, INFINITY)
    several = math.isfinite(line[1])
    machine.norm_s, machine.norm_hop_s = (line[0], 1 / line[1]) if several else (mean_s, NAN)


def fit_efficiency(read):
    """Of the largest grid of each kind, type and radius on one rank, on which launches are nothing."""
    machine, largest = read.machine, {}
    for run in read.runs:
        case = run.case
        beyond = case.ranks > 1 or case.steps > 1 or case.norm_every > 0 or run.step_s < 20 * machine.launch_s
        if not beyond and case.cells > largest.get(case.of, 0):
            largest[case.of], size = case.cells, case.problem["words"] * case.bytes
            rate = size / (run.step_s - machine.inkernel_s[case.graph])
            machine.efficiency[case.of] = min(1.1, rate / machine.copy_rate(size))


def fit_transposes(read):
    """Of numbers of ranks for which bench has no rung: the time of a byte that is sent, by the whole step."""
    found = {}
    for run in read.runs:
        case = run.case
        if case.problem["transposes"] == 1 and case.ranks > 1:
            byte_s = run.step_s / (case.bytes * (case.ranks - 1) / case.ranks)
            found.setdefault((case.transport, case.ranks), []).append((byte_s, byte_s))
    for (transport, ranks), values in found.items():
        read.machine.transposes.setdefault(transport, {}).setdefault(ranks, 1 / mean(values))


def fit_passes(read):
    """The cells' time of each kernel: of its largest grid, on which what is fixed is least. And what passes
    take beyond their cells, of either feed. Each wants the other."""
    machine = read.machine
    blocks = [run for run in read.runs if run.case.steps > 1 and not run.case.norm_every]
    timed = [run for run in blocks if run.case.ranks == 1]
    for _ in range(4):
        largest, of = {}, {}
        for run in timed:
            case, known = run.case, largest.get(run.case.kernel, 0)
            if case.pass_cells < 0.9 * known:
                continue
            if case.pass_cells > 1.1 * known:
                of[case.kernel] = []
            largest[case.kernel] = max(known, case.pass_cells)
            cells_s = max(0, run.step_s * case.steps - machine.pass_fixed_s[case.graph])
            of[case.kernel].append(cells_s / case.pass_cells)
            machine.pass_cell_s[case.kernel] = sum(of[case.kernel]) / len(of[case.kernel])
        for graph in (False, True):
            taken = [(run, run.step_s * run.case.steps) for run in timed if run.case.graph == graph]
            rest = [(s - pass_s(machine, run.case), s) for run, s in taken]
            machine.pass_fixed_s[graph] = mean(rest) if rest else machine.pass_fixed_s[graph]

    def neighbours(case):
        return case.steps if case.steps > 1 and case.ranks > 1 and not case.norm_every else 0

    fit_cost(read, neighbours, vars(machine), "pass_neighbours_s")


def add_copies(read):
    """Copies are of a whole field, read and written; and launched, which a step pays apart. Those of which
    the launch is a large part tell of the memory only where there are no others, and then that it takes half
    their time at least."""
    launch_s = read.machine.launch_s
    copies = [(2 * run.case.bytes, 2 * run.case.bytes / run.copy_bytes_per_s) for run in read.runs]
    long = [(size, size / s) for size, s in copies if s >= 8 * launch_s]
    for size, rate in long or [(size, size / (s - min(launch_s, s / 2))) for size, s in copies]:
        read.machine.add_copy(size, rate)


# ---- all of them ----


def add_run(read, run, every):
    """Takes the place of an older one of equal work, unless every run is wanted."""
    for i, other in enumerate([] if every else read.runs):
        if other.case.work == run.case.work:
            read.runs[i] = run
            read.older += 1
            return
    read.runs.append(run)


def machine_of(lines, newest_last):
    """Of records of a host and of GPUs the GPUs count, and of several sorts of them the first that is
    named."""
    runs = [record for record, _, _ in lines if "rung" not in record]
    on_gpu = [record for record in runs if record.get("device") == "cuda"]
    launches = [number_of(r, "time_s", "p50") for r, _, _ in newest_last if on_gpu and is_launch(r)]
    name = records.at((on_gpu or runs or [{}])[0], "machine", "processor")
    return Machine(bool(on_gpu), str(name or ""), launches[-1] if launches else NAN)


def read_records(paths, every, command):
    """Of runs of equal work, and of rungs, the one that started last counts; with `every` all runs are
    kept."""
    read, scans = Read(), {}
    lines = list(lines_of(paths, command, read))
    newest_last = sorted(lines, key=lambda line: str(line[0].get("started", "")))
    read.machine = machine = machine_of(lines, newest_last)
    own = ("cuda" if machine.cuda else "host", machine.name)
    ours = [line for line in newest_last if hosts_of(line[0])
            and (line[0].get("device"), records.at(line[0], "machine", "processor")) == own]  # fmt: skip
    asked = {question_of(record) for record, _, _ in ours if "rung" not in record and is_modelled(record)}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # each is a process, for which a thread waits
        list(pool.map(lambda words: predict_plan.ask(*words), asked))
    for record, file, number in ours:
        run = None if "rung" in record else run_of(record, file, number)
        if run:
            add_run(read, run, every)
        elif "rung" in record and read_rung(machine, record, scans):
            read.rungs += 1
        else:
            read.left_out += "rung" not in record
            continue
        rate = number_of(record, "checkpoint", "bytes_per_s")
        machine.file_bytes_per_s = rate if rate > 0 else machine.file_bytes_per_s
        machine.ranks_per_host = max(machine.ranks_per_host, -(-record["ranks"] // hosts_of(record)))
    read.left_out += sum("rung" not in record for record, _, _ in lines)
    read.left_out -= sum("rung" not in record for record, _, _ in ours)
    if not read.runs:
        text.fail(command, "%s: no record of a weft run that the model covers" % ",".join(paths))
    add_copies(read)
    fit_links(read, scans)
    for fit in (fit_efficiency, fit_transposes, fit_steps, fit_norm, fit_passes):
        fit(read)
    return read
