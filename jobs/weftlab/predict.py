"""Predicts the time of a step on any number of ranks, from the ceilings in a machine's records.

What a run would choose there (process grid, transport, steps per pass, form, feed) is the program's own
plan, by `weft run --dry-run --json`; the model answers what its trial would measure (docs/predict.md).
WEFT names the program (build/weft). Of runs of equal work in the records the newest counts.

Exit status: 0 done, 1 --check: a step is more than 10 % off, 2 a mistake in the command or deck, 3 the
program is missing or an output cannot be written.
"""

import argparse
import json
import math
import re
from dataclasses import replace

from weftlab import text
from weftlab.files import check as check_output
from weftlab.predict_fit import read_records
from weftlab.predict_model import interval_daly, knows, parts_of_step, step_s, waste
from weftlab.predict_plan import ask, case_of, plan_of, unknown

RANKS_MOST = 1000000

# ---- the command line ----


def positive(word):
    if not re.fullmatch(r"[0-9.]+(e[-+]?[0-9]+)?", word) or not 0 < float(word) < math.inf:
        raise argparse.ArgumentTypeError(f"{word}; allowed: a number above 0")
    return float(word)


def whole(word):
    if not re.fullmatch("[0-9]+", word) or not 1 <= int(word) <= RANKS_MOST:
        raise argparse.ArgumentTypeError(f"{word}; allowed: a whole number from 1 to {RANKS_MOST}")
    return int(word)


def counts(word):
    return [whole(part) for part in word.split(",")]


files = lambda words: words.split(",")
OPTIONS = (  # name, type, default, argument, help
    ("from", files, None, "FILE,...", "records of the machine: runs, and rungs of bench"),
    ("ranks", counts, [1, 2, 4, 8, 16, 32, 64], "1,2,4,...", "(1 to 64)"),
    ("per-host", whole, 8, "N", "ranks per host (8)"),
    ("mode", str, "strong", "strong|weak", "weak: the deck's grid per rank, stacked along y, in 1D along x"),
    ("between-us", positive, None, "US", "latency of an exchange between hosts (20, or from records)"),
    ("between-gbs", positive, None, "GB/s", "out of each host (25, or from records)"),
    ("file-gbs", positive, None, "GB/s", "into a file, all ranks together (default: from a record)"),
    ("mtbf-hours", positive, None, "H", "mean time between failures of one host, for checkpoints"),
    ("output", str, None, "FILE.jsonl", "append the rows as records, for jobs/plot --predicted"),
    ("check", files, None, "FILE,...", "in place of a deck: compare predicted steps of these runs with"
     " measured ones; if --from names the same files, exchanges take the time that the run measured"),
)


def arguments_of():
    parser = text.parser("predict", __doc__)
    parser.add_argument("deck", nargs="?", metavar="DECK", help="and any section.key=value that changes it")
    for name, kind, default, argument, said in OPTIONS:
        parser.add_argument("--" + name, type=kind, default=default, metavar=argument, help=said)
    given, words = parser.parse_known_args()
    if given.deck and "=" in given.deck:
        words, given.deck = [given.deck, *words], None
    for word in words:
        if "." not in word.partition("=")[0] or "=" not in word:
            parser.error(f"what is '{word}'")
    if not vars(given)["from"]:
        parser.error("--from FILE,... is needed: records of a machine")
    if given.mode not in ("strong", "weak"):
        parser.error(f"--mode {given.mode}; allowed: strong, weak")
    if bool(given.deck) == bool(given.check) or (words and given.check):
        parser.error("a deck, or --check in place of one, is needed")
    return parser.prog, given, words


def assume(machine, given):
    """What was not measured is assumed, and said."""
    measured, both = machine.between is not None, (given.between_us, given.between_gbs)
    machine.between_assumed = not measured
    alpha_s, rate = machine.between or (20e-6, 25e9)
    machine.between = (both[0] * 1e-6 if both[0] else alpha_s, both[1] * 1e9 if both[1] else rate)
    if given.file_gbs:
        machine.file_bytes_per_s = given.file_gbs * 1e9
    return "measured" if measured else "given" if all(both) else "assumed, not measured"


# ---- what is said ----


def seconds(s):
    """An interval of checkpoints may be hours."""
    units = (("us", 1e-6, 1e-3), ("ms", 1e-3, 1), ("s", 1, 120), ("min", 60, 7200), ("h", 3600, math.inf))
    return next((f"{s / of:.3g} {unit}" for unit, of, most in units if s < most), "-")


def link(of, where):
    if math.isfinite(of[1]):
        return f"{seconds(of[0])}, {of[1] * 1e-9:.4g} GB/s {where}"
    return f"{seconds(of[0])} whatever the size: the records have too few sizes to show a rate"


def print_machine(read, between):
    machine = read.machine
    said = f"{text.printable(machine.name)}: {len(read.runs)} runs and {read.rungs} rungs of bench"
    if read.left_out or read.damaged:
        said += f"; left out: {read.left_out} not modelled, {read.damaged} damaged or foreign"
    print(f"machine      {said}")
    if read.older:
        print(f"             left out: {read.older} runs with a newer one of equal work")
    small, large = (machine.copies[at][1] * 1e-9 for at in (0, -1))
    launch = seconds(machine.launch_s) + " per launch" + " (assumed, not measured)" * machine.launch_assumed
    print(f"copy         {large:.4g} GB/s per device, {small:.4g} for a small field; {launch}")
    for transport, of in machine.exchange.items():
        print(f"{transport:<12} {link(of, 'with each neighbour')}")
    print(f"between      hosts: {link(machine.between, 'out of each')} ({between})\n")


def row_of(machine, plan, given, between):
    """What a run comes to, as a record (docs/contract.md)."""
    case = case_of(plan)
    parts = parts_of_step(machine, case)
    write_s = plan["state_bytes"] / machine.file_bytes_per_s
    mtbf_s = (given.mtbf_hours or math.nan) * 3600 / case.hosts
    interval_s = interval_daly(write_s, mtbf_s)
    beyond = ["ranks per host"] * (case.per_host > machine.ranks_per_host)
    beyond += ["links between hosts"] * (case.hosts > 1 and machine.between_assumed)
    return {
        "program": "weft", "predicted": True, "mode": given.mode, "from": ",".join(vars(given)["from"]),
        "between": between, "beyond": beyond,
        "problem": {key: plan["problem"][key] for key in ("kind", "dtype", "radius")}, "grid": plan["grid"],
        "ranks": case.ranks, "hosts": case.hosts, "ranks_x": case.ranks_x, "ranks_y": case.ranks_y,
        "fuse": case.steps, "transport": case.transport, "feed": "graph" if case.graph else "host",
        "step_s": sum(parts.values()), "efficiency": case.cells / sum(parts.values()), "parts_s": parts,
        "bottleneck": max(parts, key=parts.get), "memory_bytes": plan["memory_bytes"],
        "checkpoint_s": write_s, "interval_s": interval_s, "waste": waste(interval_s, write_s, mtbf_s),
    }  # fmt: skip


ROW = "{:>6} {:>6} {:>10} {:<6} {:<5} {:>4} {:>7} {:>6}  {:<10} {:>7} {:>7} {:>7} {:>5}{}"
HEAD = "ranks hosts grid via feed fuse step effic. bottleneck GB/rank to_file every lost".split() + [""]


def print_row(row):
    grid, via = f"{row['ranks_x']} x {row['ranks_y']}", row["transport"] if row["ranks"] > 1 else "-"
    lost = "-" if math.isnan(row["waste"]) else f"{100 * row['waste']:.1f}"
    print(ROW.format(row["ranks"], row["hosts"], grid, via, row["feed"], row["fuse"], seconds(row["step_s"]),
                     f"{row['efficiency']:.3f}", row["bottleneck"], f"{row['memory_bytes'] * 1e-9:.3g}",
                     seconds(row["checkpoint_s"]), seconds(row["interval_s"]), lost,
                     "*" if row["beyond"] else ""))  # fmt: skip


def append(command, path, row):
    finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
    check_output(path, command)
    try:
        with open(path, "a") as file:
            file.write(json.dumps(finite) + "\n")
    except OSError as error:
        text.fail(command, f"{path}: {error.strerror}", text.ENVIRONMENT_FAILURE)


def planned(command, machine, given, words, ranks):
    """The plan of the deck; in a weak study of one whose grid is that of each rank."""
    plan = ask(given.deck, *words) if given.mode == "weak" else None
    if isinstance(plan, dict):
        axis = "nx" if plan["grid"]["ny"] == 1 else "ny"
        words = [*words, f"grid.{axis}={plan['grid'][axis] * ranks}"]
    if not isinstance(plan, str):
        plan = plan_of(machine, (given.deck, *words), ranks, given.per_host)
    why = plan if isinstance(plan, str) else unknown(machine, plan, case_of(plan))
    if why:
        text.fail(command, f"ranks = {ranks}: {why}")
    return plan


def predict_deck(command, read, given, words, between):
    first, beyond = None, set()
    for ranks in given.ranks:
        plan = planned(command, read.machine, given, words, ranks)
        row = row_of(read.machine, plan, given, between)
        if first is None:
            first, problem, grid = row["efficiency"], plan["problem"], plan["grid"]
            print(f"predicted    {problem['kind']}, {problem['dtype']}, radius {problem['radius']}, "
                  f"{grid['nx']} x {grid['ny']} cells on {ranks} ranks, {given.mode}")  # fmt: skip
            print_machine(read, between)
            print(ROW.format(*HEAD))
        row["efficiency"] /= first
        print_row(row)
        beyond.update(row["beyond"])
        if given.output:
            append(command, given.output, row)
    print("\neffic.: rate per rank relative to the first line; to_file: time of a checkpoint; every: Daly's\n"
          "interval; lost: percentage of the time spent on writing and failures.")  # fmt: skip
    if "ranks per host" in beyond:
        most = read.machine.ranks_per_host
        print(f"* The records have at most {most} ranks per host; more were not measured.")
    if "links between hosts" in beyond:
        print("* No record has several hosts: the links between them were not measured.")
    return 0


# ---- measured beside predicted ----

CHECKED = "{:<20} {:>4} {:<13} {:>13} {:>5} {:<12} {:<10} {:>8} {:>9} {:>7}{}"
CHECKED_HEAD = "file line problem cells ranks transport steps measured predicted %".split() + [""]


def print_checked(run, predicted_s, off):
    case, problem = run.case, run.case.problem
    moved = f"{case.transport if case.ranks > 1 else 'none'} {'graph' if case.graph else 'host'}"
    form = f"{case.steps} fused" if case.steps > 1 else "transposed" if problem["transposes"] else case.form
    print(CHECKED.format(text.printable(run.file)[:20], run.line,
                         f"{problem['kind'][:9]}{problem['radius']} {problem['dtype']}",
                         f"{case.nx:.0f}x{case.ny:.0f}", f"{case.ranks_x}x{case.ranks_y}", moved, form,
                         seconds(run.step_s), seconds(predicted_s), f"{off:+.1f}",
                         "*" if abs(off) > 10 else ""))  # fmt: skip


def check(command, read, given):
    measured = read_records(given.check, True, command)
    own, checked = given.check == vars(given)["from"], []
    for run in measured.runs:
        case = run.case if own else replace(run.case, exchange_s=0)
        if knows(read.machine, case):
            predicted_s = step_s(read.machine, case)
            checked.append((run, predicted_s, 100 * (predicted_s / run.step_s - 1)))
    if not checked:
        text.fail(command, "--check: no run there can be predicted")
    checked.sort(key=lambda row: abs(row[2]))
    print(CHECKED.format(*CHECKED_HEAD))
    for row in checked:
        print_checked(*row)
    far = sum(abs(off) > 10 for _, _, off in checked)
    print(f"{far} of {len(checked)} steps are more than 10 % off (*), the worst {checked[-1][2]:+.1f} %; "
          f"{measured.left_out} not modelled, {len(measured.runs) - len(checked)} with a transport or a "
          "block of steps that no record measured")  # fmt: skip
    return int(far > 0)


def main():
    command, given, words = arguments_of()
    text.leave_with_the_reader()
    try:
        read = read_records(vars(given)["from"], False, command)
        between = assume(read.machine, given)
        if given.check:
            return check(command, read, given)
        return predict_deck(command, read, given, words, between)
    except FileNotFoundError as error:
        why = f"{error.filename}: {error.strerror}; WEFT names the program"
        text.fail(command, why, text.ENVIRONMENT_FAILURE)
