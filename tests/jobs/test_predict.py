"""jobs/predict: steps that were measured on 1, 2 and 4 GPUs come out within 10 % from the ceilings in their
records, what is said for other numbers of ranks is what the program would do there, and what no record covers
is named.
"""

import json
import math
import pathlib
import re

import pytest
from conftest import HEAT, OLDER, RESULTS, WEFT
from conftest import changed, deck, process, read, run, script, weft, write
from weftlab.predict_model import (
    TRANSPORTS, Case, Machine, exchange_alone, interval_daly, knows, parts_of_step, step_s, waste,
)  # fmt: skip

def of(*names):
    """The newest files of these questions, as an argument."""
    return ",".join(str(path) for name in names for path in sorted(RESULTS.glob(name + ".jsonl")))


MACHINES = ["h200x1/*-one-step", "h200x1/*-temporal-blocking", "h200x2/*-overlap", "h200x2/*-scaling"]
MACHINES += ["h200x4/*-scaling"]
NEWEST = of(*MACHINES, "h200x1/*-transposes")
RUNGS = of("h200x1/*-ladder", "h200x2/*-transports", "h200x4/*-transports")
OLD = OLDER / "h200x4"
WEAK, LINKS = OLD / "heat_weak.jsonl", OLD / "bench_links.jsonl"
ALL_OLD = ",".join(map(str, sorted(OLD.glob("*.jsonl"))))


@pytest.fixture(autouse=True)
def plate(folder):
    """A deck of its own name: jobs/predict asks the program once for each plan, in all tests together."""
    deck("plate.ini", *HEAT, "problem.dtype=f32", "grid.nx=16384", "grid.ny=16384", "time.steps=10")


def rows_of(*words):
    """What predict prints, and the records that it appends."""
    pathlib.Path("rows.jsonl").unlink(missing_ok=True)
    done = run("predict", "plate.ini", *words, "--output", "rows.jsonl")
    assert done.status == 0, done
    return done.out, read("rows.jsonl")


def checked(*words):
    """The status of --check, how far each step is off in percent, and how many of how many are far."""
    done = run("predict", *words)
    *lines, last = done.out.splitlines()[1:]
    off = [float(line.split()[-1].rstrip("*")) for line in lines]
    far = re.match(r"(\d+) of (\d+) steps are more than 10 %", last)
    return done.status, off, (int(far[1]), int(far[2]))


def test_of_the_newest_records_at_most_5_of_100_steps_are_more_than_10_percent_off():
    of_machines = [(6, of(machine), of(machine)) for machine in MACHINES]
    for least, measured, ceilings in [(229, NEWEST, f"{NEWEST},{RUNGS}"), *of_machines]:
        status, off, (far, steps) = checked("--from", ceilings, "--check", measured)
        assert steps >= least and far <= 0.05 * steps and status == (far > 0), measured
        assert off == sorted(off, key=abs)  # the worst stand at the end
    slow = [changed(r, step_s__p50=1.5 * r["step_s"]["p50"]) if r["ranks"] == 4 else r for r in read(WEAK)]
    status, _, counts = checked("--from", WEAK, "--check", write("slow", slow))
    assert (status, counts) == (1, (1, 3))


def test_simulated_ranks_from_16_to_256_tell_steps_norms_and_transposes_to_4096_within_15_percent():
    simulated = of("simulated/*-weak")
    for most in (256, 4096):
        few = write("few.jsonl", [record for record in read(simulated) if record["ranks"] <= most])
        _, off, (_, steps) = checked("--from", few, "--check", simulated)
        assert steps == 15 and max(map(abs, off)) <= 15


def test_of_equal_work_the_newest_counts_whatever_its_commit_and_the_order_of_the_files():
    slower = [changed(record, step_s__p50=1.5 * record["step_s"]["p50"]) for record in read(WEAK)]
    for name, year in (("old", 2026), ("new", 2027)):
        write(name, [changed(record, started="%d-01-01T00:00:00Z" % year) for record in slower])
    links = [changed(record, started="2026-01-01T00:00:00Z") for record in read(LINKS)]
    for time_s in [part["time_s"] for record in links for part in [record, *(record.get("sweep") or [])]]:
        time_s["p50"] *= 10
    write("old_links", links)

    def steps(transport, *files):
        words = ["--ranks", "1,2,4", "--mode", "weak", "grid.ny=1024", f"run.transport={transport}"]
        return [row["step_s"] for row in rows_of("--from", ",".join(map(str, files)), *words)[1]]

    assert steps("auto", WEAK) == steps("auto", WEAK, "old") != steps("auto", "new")
    assert steps("auto", "new", WEAK) == steps("auto", "new")
    newest = steps("aware", WEAK, LINKS)
    assert newest == steps("aware", WEAK, LINKS, "old_links") != steps("aware", WEAK, "old_links")


def test_what_no_record_covers_is_named_and_stands_in_records():
    words = ("--mode", "weak", "run.transport=peer", "--per-host", "8", "--ranks", "1,4,8,16")
    out, rows = rows_of("--from", WEAK, *words)
    both = ["ranks per host", "links between hosts"]
    assert [row["beyond"] for row in rows] == [[], [], both[:1], both]
    assert [line.split()[0] for line in out.splitlines() if re.match(r" .*\*$", line)] == ["8", "16"]
    for line in (
        r"\* The records have at most 4 ranks per host; more were not measured\.",
        r"\* No record has several hosts: the links between them were not measured\.",
        r"(between|copy) .*\(assumed, not measured\)",
        "peer .* whatever the size: the records have too few sizes to show a rate",
    ):
        assert re.search(f"^{line}$", out, re.M), (line, out)


def test_what_a_run_would_choose_how_many_steps_per_pass_over_which_transport_by_which_feed():
    def chosen(*words, records=f"{NEWEST},{RUNGS}"):
        return rows_of("--from", records, "time.steps=1000", "--ranks", *words)[1]

    alone = of("h200x1/*-one-step", "h200x1/*-temporal-blocking")  # all that a rank by itself asks

    several = [(row["transport"], row["feed"], row["hosts"]) for row in chosen("4,8", "--per-host", "4")]
    assert several == [("peer", "graph", 1), ("peer", "host", 2)]
    aware = [r for r in read(of("h200x2/*-overlap")) if r["ranks"] == 1 or r["transport"] == "aware"]
    assert chosen("2", records=write("aware", aware))[0]["transport"] == "aware"
    x = [changed(record, machine__processor="X") for record in read(of("h200x1/*-one-step"))]
    assert [row["fuse"] for row in chosen("1,4")] == [12, 12]
    for steps, words, records in (
        ([8], ["1", "run.fuse=10"], f",{OLDER}/fused_h200.jsonl"),  # a length that the kernels have
        ([4], ["1", "problem.order=6", "problem.alpha=0.1"], ""),
        ([8], ["1", "problem.kind=advect", "problem.order=4"], ""),  # by a wave's records
        ([1], ["1", "time.norm_every=2"], ""),
        ([1], ["1", "time.steps=10"], ""),
        ([1], ["1", "grid.nx=60", "grid.ny=4000000"], ""),  # as narrow as a run would not try
    ):
        found = chosen(*words, records=f"{alone}{records}")
        assert [row["fuse"] for row in found] == steps, words
    assert chosen("1", records=f"{ALL_OLD},{write('x', x)}")[0]["fuse"] == 1  # of two machines


def test_a_weak_study_to_100000_ranks():
    words = ("--mode", "weak", "--ranks", "1,4,8,64,100000", "--mtbf-hours", "50000", "--file-gbs", "100")
    _, rows = rows_of("--from", ALL_OLD, *words, "run.feed=openmp")
    one, four, eight, many, most = rows
    assert abs(four["step_s"] / 503.52e-6 - 1) < 0.02  # as measured
    assert (eight["hosts"], many["hosts"], most["grid"]["ny"]) == (1, 8, 1638400000)
    efficiency = [row["efficiency"] for row in rows]
    assert efficiency[0] == 1 and efficiency == sorted(efficiency, reverse=True) and efficiency[-1] > 0.9
    assert all(math.isclose(sum(row["parts_s"].values()), row["step_s"]) for row in rows)
    assert math.isclose(many["checkpoint_s"] * 100e9, 4 * 16384 * 16384 * 64)  # 4 bytes a cell
    young_s = math.sqrt(2 * one["checkpoint_s"] * 50000 * 3600)
    assert abs(one["interval_s"] / young_s - 1) < 0.01  # all but Daly's terms


# 1 TB/s, launches of 1 us, links of 10 us and 1 GB/s within a host, 20 us and 10 GB/s between hosts;
# 1000 x 1000 f64 cells per rank.
def test_by_hand_what_bytes_launches_messages_and_norms_of_a_step_add_up_to():
    machine = Machine(True, "", 1e-6, copies=[(1e6, 1e12)], between=(20e-6, 1e10))
    machine.exchange = {t: (10e-6, 1e9) for t in TRANSPORTS}
    machine.transposes = {"peer": {2: 3e11, 4: 1e11}}
    machine.norm_cell_s = 1e-12
    heat = dict(kind="heat", dtype="f64", radius=1, stencil="star", words=2, two_levels=False, transposes=0)
    heat["by_lines"] = False
    turn, sweep = dict(heat, words=4, transposes=1), dict(heat, words=4, transposes=2, by_lines=True)
    given = dict(problem=heat, per_host=4, graph=False, norm_every=0, steps=1, pass_cells=1.018e6, nx=1000)

    def case(ranks, ranks_x, transport="staged", form="overlapped", **more):
        shape = dict(ny=1000 * ranks, ranks=ranks, ranks_x=ranks_x, ranks_y=ranks // ranks_x)
        return Case(transport=transport, form=form, **{**given, **shape, **more})

    for us, part, one in (  # what no record covers; of one host the newest records tell
        (18.2, "step", case(4, 1, "peer", "in_kernel")),  # 16 MB, 1.4 launches, .8 for having neighbours
        (16 + 2.2 + 18 - 3.2, "step", case(4, 1, "nccl")),  # behind a fifth of the interior
        (40, "alone", case(4, 2, "aware")),  # rows of 500 cells, columns of 2000
        (1.25, "norm", case(4, 2, "aware", norm_every=2)),
        (21.6, "alone", case(16, 1)),  # two rows leave each host
        (138, "alone", case(16, 16)),  # columns of 16000 cells
        (42.5, "norm", case(16, 16, norm_every=1)),  # 2.5 launches, and 2 hops
        (45.6, "alone", case(16, 16, per_host=1)),
        (61.4, "step", case(4, 1, "peer", problem=turn)),  # 6 of 8 MB are sent; 32 us of memory
        (153.4, "step", case(4, 1, "peer", problem=sweep)),
        (861.4, "step", case(4, 1, "peer", problem=turn, per_host=2)),  # half leaves a host
    ):
        found = dict(parts_of_step(machine, one), alone=exchange_alone(machine, one))
        assert math.isclose({**found, "step": step_s(machine, one)}[part], us * 1e-6), (us, part, found)
    assert not knows(machine, case(4, 1, steps=4)) and not knows(machine, case(3, 1, "nccl", problem=turn))
    assert [machine.transpose_rate("peer", ranks) for ranks in (2, 3, 16)] == [3e11, 1e11, 1e11]
    for copy in ((1e8, 0.25e12), (1.02e8, 0.2e12)):
        machine.add_copy(*copy)
    assert len(machine.copies) == 2 and math.isclose(machine.copy_rate(1e7), 0.5e12)
    assert math.isclose(interval_daly(50, 10000), 1000 * (1 + 0.05 / 3 + 0.0025 / 9) - 50)
    assert interval_daly(50, 20) == 20 and math.isclose(waste(950, 50, 10000), 0.1)


def test_what_is_missing_or_wrong_is_said_in_one_sentence():
    write("foreign.jsonl", [{"a": 1}])
    write("streamed.jsonl", [changed(record, memory="host") for record in read(WEAK)])  # no pass in memory
    one_step = of("h200x1/*-one-step")
    for words, said in (
        ("plate.ini", "--from"),
        ("plate.ini --from nowhere.jsonl", "nowhere.jsonl: No such file"),
        ("plate.ini --from foreign.jsonl", "foreign.jsonl: no record"),
        ("plate.ini --from streamed.jsonl", "streamed.jsonl: no record"),
        (f"plate.ini --from {WEAK} ranks=4", "what is 'ranks=4'"),  # --ranks is meant
        (f"plate.ini --from {WEAK} --restart checkpoints", "--restart"),
        (f"plate.ini --from {WEAK} --ranks 1 run.memory=host", "run.memory = host: --json plans"),
        (f"--from {WEAK}", "a deck"),
        (f"plate.ini --from {WEAK} --check {WEAK}", "a deck, or --check"),
        (f"plate.ini --from {WEAK} --ranks 4,x", "--ranks: x; allowed"),
        (f"plate.ini --from {WEAK} --ranks 4 run.transport=mapped", "mapped costs on 4 ranks"),
        (f"plate.ini --from {one_step} --ranks 1 run.fuse=4", "no record shows what blocks of 4 steps"),
        (f"plate.ini --from {WEAK} --ranks 1000001", "1000001; allowed: a whole number from 1 to 1000000"),
        (f"plate.ini --from {WEAK} --ranks 4 grid.ny=3 run.ranks_x=1", "ranks = 4:"),
        (f"plate.ini --from {WEAK} --ranks 4 --output /nowhere/p.jsonl", "/nowhere"),
    ):
        done = run("predict", *words.split())
        assert done.status == (3 if said == "/nowhere" else 2), (words, done)
        assert done.err.count("predict: ") == 1 and said in done.err, (words, done)
    done = script("predict", "plate.ini", "--from", WEAK, WEFT="/nowhere/weft")
    told = "predict: /nowhere/weft: No such file or directory; WEFT names the program\n"
    assert (done.status, done.err) == (3, told)
    pathlib.Path("torn.jsonl").write_text(WEAK.read_text() + WEAK.read_text()[:300])
    counts = "3 runs and 0 rungs of bench; left out: 0 not modelled, 1 damaged"
    assert counts in rows_of("--from", "torn.jsonl", "--ranks", "1")[0]


def test_the_plan_in_json_is_what_ranks_that_are_here_choose():
    small = ("problem.alpha=0.2", "grid.nx=2000", "grid.ny=1500", "time.steps=100", "run.device=host")
    for words, n in (
        ("problem.kind=heat run.fuse=4 grid.boundary=neumann", 1), ("problem.kind=sweep run.fuse=1", 3),
        ("problem.kind=wave run.ranks_x=1 run.fuse=4", 4),
    ):  # fmt: skip
        deck("p.ini", *words.split(), *small, "output.record=none")
        dry = weft("run", "p.ini", "--dry-run", ranks=n if n > 1 else None)
        plan = json.loads(weft("run", "p.ini", "--dry-run", "--json", f"ranks={n}", f"per_host={n}"))
        several = lambda key, word: "%d %s%s" % (plan[key], word, "" if plan[key] == 1 else "s")
        chosen = f"transport {plan['transport']}, feed {plan['feed']}, {several('lanes', 'lane')}, "
        for line in (
            r"# .*process grid %d x %d" % (plan["ranks_x"], plan["ranks_y"]),
            r"# device .*, " + chosen + several("fuse", "step") + " per pass",
            r"# memory *%s MB.*" % re.escape("%.3g" % (plan["memory_bytes"] / 1e6)),
        ):
            assert re.search(f"^{line}$", dry, re.M), (words, n, line, dry)
    assert math.floor(plan["halo"]["bytes_along_y"]) == 64000  # to a neighbour, per block
    deck("s.ini", *HEAT, "grid.nx=10752", "grid.ny=242", "time.steps=999", "run.fuse=8", "run.ranks_x=1")
    cells = json.loads(weft("run", "s.ini", "--dry-run", "--json"))["pass"]["cells"]
    assert cells == 10752 * 242 + 7 * (10752 + 242)  # 7 rows and columns more in the mean
    for words in ("--json", "--dry-run --json ranks=0", "--dry-run --json answers=3", "--dry-run ranks=4"):
        done = process(WEFT, "run", "p.ini", *words.split())
        assert done.status == 2 and done.err.count("weft: ") == 1, (words, done)
