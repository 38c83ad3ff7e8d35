"""jobs/plot draws a file of runs or rungs: what can be made of it, from medians, and nothing joined or
named that was not measured.
"""

import json
import math
import pathlib
import re

import pytest
from conftest import RESULTS, changed, printed, read, refused, run, weft, write

pyplot = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("pandas")
from weftlab import bench_pictures, frame, pictures, run_pictures, series, style


def texts(name):
    """All words of an SVG."""
    return re.findall(">([^<]+)<", pathlib.Path(name).read_text("utf-8"))


def has(name, *words):
    """Each of these words is within a text of the picture."""
    found = texts(name)
    assert [word for word in words if not any(word in one for one in found)] == [], found


def runs_of(path):
    return frame.read([path], "test")[0]


# ---- runs ----


def test_damaged_and_foreign_lines_and_failed_runs_are_left_out_the_rest_drawn_as_without(study, one_record):
    assert printed("plot", write("made.jsonl", study), "good").splitlines() == [
        "good.png and good.svg: strong scaling, efficiency 1.00 on 4 ranks",
        *(f"good_{kind}.png and good_{kind}.svg" for kind in ("values", "phases")),
    ]
    about = (one_record["git"], one_record["started"][:10], one_record["machine"]["processor"])
    has("good.svg", "ideal", "ranks", "Strong scaling: heat f64, order 2, 400 x 300, fuse", *about)
    has("good_values.svg", "lanes 1", "Rate by setting: heat f64")
    write("bad.jsonl", study + [changed(one_record, verdict="failed", step_s__p50=1e-9)])
    open("bad.jsonl", "a").write('Killed\n{"schema":1}{"schema":1}\n\n[1, 2]\n{"loss": 0.5}\n{"ranks":')
    assert run("plot", "bad.jsonl", "bad").err.splitlines() == [
        "bad.jsonl: left out 5 lines: 3 damaged, 2 of another kind",
        "bad.jsonl: left out 1 runs with a failed verdict",
    ]
    for kind in ("", "_values", "_phases"):
        assert open(f"bad{kind}.svg").read() == open(f"good{kind}.svg").read()


def test_a_point_is_the_median_of_its_runs_and_lines_join_neighbours_that_were_measured(study):
    one = [record for record in study if record["asked"]["lanes"] == 1]
    two = [record for record in one if record["ranks"] != 2]
    gap = [changed(record, asked__lanes=2, step_s__p50=2 * record["step_s"]["p50"]) for record in two]
    lines = run_pictures.draw_scaling(runs_of(write("gap", one + gap))).axes[-1].lines
    drawn = {line.get_marker(): [round(y, 3) for y in line.get_ydata()] for line in lines}
    assert drawn["o"] == [1, 1, 1] and drawn["s"][::2] == [1, 1] and math.isnan(drawn["s"][1])
    write("two", two + [changed(two[0], step_s__p50=4 * two[0]["step_s"]["p50"])])  # their mean is another
    points = series.study_of(runs_of("two")).series[0].points
    us = lambda column: [round(1e6 * s) for s in points[column]]
    assert us("median") == [1000, 250] and us("fastest") == [1000, 230] and us("slowest")[1] == 270
    assert round(1e6 * points.run[1]["step_s.p50"]) == 230  # it is drawn in phases
    # on one rank on each of two GPUs, those on the slower one count
    alone = lambda i: dict(machine__gpus=[{"uuid": "GPU-%d" % i}], step_s__p50=1e-3 * (1 - 0.1 * i))
    write("each.jsonl", [changed(one[0], **alone(i)) for i in (0, 1, 1)] + one[2:])
    told = "each.png and each.svg: strong scaling, efficiency 1.00 on 4 ranks"
    assert told in printed("plot", "each.jsonl").splitlines()


def test_predicted_points_are_hollow_grey_where_no_record_covers_them_and_not_joined(study, one_record):
    write("p.jsonl", [
        dict(ranks=ranks, step_s=step_s, efficiency=efficiency, beyond=beyond, predicted=True)
        for ranks, step_s, efficiency, beyond in ((2, 5e-4, 0.99, []), (8, 2e-4, 0.7, [""]), (9, "", 1, []))
    ])  # fmt: skip
    write("s.jsonl", [record for record in study if record["asked"]["lanes"] == 1])
    figure = run_pictures.draw_scaling(runs_of("s.jsonl"), predicted=pictures.predicted_of("p.jsonl", "test"))
    hollow = [line for line in figure.axes[-1].lines if line.get_mfc() == "none"]
    assert [(line.get_ls(), line.get_mec(), *map(list, line.get_data())) for line in hollow] == [
        ("None", "#222222", [2], [0.99]), ("None", "#a0a0a0", [8], [0.7]),
    ]  # fmt: skip
    printed("plot", "s.jsonl", "--predicted", "p.jsonl", "--what", "strong")
    has("s.svg", "predicted", "predicted, beyond the records")
    write("one", [one_record])
    refused("plot", "s.jsonl --predicted one", "one --predicted p.jsonl")


def test_a_mixture_is_drawn_as_settings_and_options_choose(study, one_record):
    wave = dict(grid__nx=401, problem__kind="wave", asked__tune="off")
    mixed = [changed(record, **(wave if record["ranks"] == 2 else {})) for record in study]
    write("m.jsonl", [record for record in mixed if record["ranks"] < 4])
    names = [line.split()[0] for line in printed("plot", "m.jsonl").splitlines()]
    assert names == ["m_values.png", "m_phases.png"]
    assert any(re.match("2 ranks: wave( f64)?, 401 x 300", word) for word in texts("m_values.svg"))
    assert printed("plot", "m.jsonl", "one", "--what", "values") == "one_values.png and one_values.svg\n"
    other = {2: {"problem__kind": "wave"}}  # what is not in a picture is not in its title
    write("beside.jsonl", [changed(record, **other.get(record["asked"]["lanes"], {})) for record in study])
    printed("plot", "beside.jsonl", "s", "--what", "strong")
    has("s.svg", "Strong scaling: heat f64, order 2, 400 x 300, ", "measured")
    refused("plot", "m.jsonl --what strong", "m.jsonl --what nothing", "m.jsonl a b", "nowhere.jsonl")
    assert run("plot", "m.jsonl", "nowhere/x").status == 3
    one = changed(one_record, asked__ranks_x=1, asked__ranks_y=1)  # one line: the process grid grows, too
    four = changed(one, ranks=4, grid={"nx": 800, "ny": 600}, asked__ranks_x=2, asked__ranks_y=2)
    write("w.jsonl", [one, four])
    assert re.search("weak scaling, efficiency .* on 4 ranks", printed("plot", "w.jsonl", "--what", "weak"))


def test_measured_files_of_every_kind_of_runs_and_rungs_can_be_drawn(monkeypatch):
    def draw(figure, *_):  # once; to lay it out and to write a file take three times as long
        figure.set_layout_engine("none")
        figure.draw_without_rendering()
        pyplot.close(figure)

    monkeypatch.setattr(style, "save", draw)
    for question in ("h200x1/*one-step", "h200x4/*scaling", "h100x1/*ladder", "h200x2/*transports"):
        for file in RESULTS.glob(question + ".jsonl"):
            assert "_" in printed("plot", file, "drawn")
    page = (RESULTS.parents[1] / "docs/teaching.md").read_text("utf-8")
    for words in re.findall("^weft (bench .*output=mine.jsonl)$", page, re.M):
        weft(*words.split(), "device=host", "n=30000", "ceiling_bytes=1M", "samples=3")
    printed("plot", "mine.jsonl")


# ---- weft bench ----


def test_the_roofline_of_both_types_of_data_and_a_sweep_that_has_a_line_for_each_rung_and_setting():
    small = ("device=host", "nx=64", "ny=48", "ceiling_bytes=1M", "samples=5", "output=r.jsonl")
    weft("bench", "roofline", *small)
    weft("bench", "roofline", "fused/production", "dtype=f64", *small)
    records = read("r.jsonl")
    star, box = ([r for r in records if (r["rung"], r["dtype"]) == (n, "f32")][0] for n in ("star", "box"))
    assert star["flops_per_byte"] == 8.125  # of radius 8: 2 * 33 - 1 flops for 8 bytes
    said = printed("plot", "r.jsonl")
    assert said == "r_roofline.png and r_roofline.svg\nr_fused_steps.png and r_fused_steps.svg\n"
    assert open("r_roofline.png", "rb").read(4) == b"\x89PNG"
    words = ("star f32", "box f64", "star r=8", "fingerprint", "pack r=8", "fused f64", "12 steps per pass")
    has("r_roofline.svg", records[0]["git"], *words)
    wide = changed(star, parameters__nx=65)
    for point in wide["sweep"]:
        point["parameters"]["nx"] = 65
    write("s.jsonl", [changed(record, family="sweeps") for record in (star, box, wide)])
    assert printed("plot", "s.jsonl", "other") == "other_sweeps_radius.png and other_sweeps_radius.svg\n"
    has("other_sweeps_radius.svg", "star nx=64", "star nx=65", "box nx=64")


def test_of_a_rung_and_setting_the_last_record_is_drawn_but_a_sweep_before_a_point_and_no_wrong_one():
    rung = dict(family="f", rung="r", dtype="f32", verified=True, swept="k", parameters={"n": 1, "k": 1})
    rung["sweep"] = [{"parameters": {"k": 1}}, {"parameters": {"k": 2}}]
    others = ({}, dict(rate=2), dict(rate=3, sweep=rung["sweep"][:1]), dict(rate=4, verified=False),
              dict(rate=5, parameters__n=2), dict(rate=6, parameters__k=2, dtype="f64"))  # fmt: skip
    records = [changed(rung, **keys) for keys in others]
    write("r.jsonl", records)
    assert sorted(frame.newest(frame.read(["r.jsonl"], "test")[1]).rate) == [2, 2, 5, 5, 6, 6]
    write("wrong.jsonl", [changed(record, verified=False) for record in records])
    write("none.jsonl", [changed(r, sweep=[dict(p, verified=False) for p in r["sweep"]]) for r in records])
    write("two.jsonl", [changed(rung, machine__processor=name, rate=1) for name in ("one", "another")])
    refused("plot", "wrong.jsonl", "none.jsonl", "two.jsonl")


def test_small_messages_are_drawn_by_their_latency_large_ones_by_their_bandwidth_with_whiskers():
    ring = dict(device="cuda", family="halo", dtype="f32", unit="B/s", verified=True, ranks=2, swept="bytes")
    ring.update(schema=1, started="2026-11-23T", machine={"processor": "a GPU"})

    def point(s, size):
        times = {"min": 0.9 * s, "p50": s, "p90": 1.5 * s}
        return {"parameters": {"bytes": size}, "rate": size / s, "verified": True, "time_s": times}

    write("h.jsonl", [
        dict(ring, rung=name, sweep=[point(s + n / 1e11, n) for n in (8, 4096, 65536, 1048576)])
        for name, s in (("peer_ring", 5e-6), ("mpi_ring", 2e-5))
    ])  # fmt: skip
    ((*_, points),) = bench_pictures.sweeps_of(frame.read(["h.jsonl"], "test")[1])
    assert [
        " ".join(f"{y:.3g}" for line in axes.lines[:3] for y in line.get_ydata())
        for axes in bench_pictures.draw_sweep(points).axes
    ] == ["5 5.04 5.66 4.5 4.54 5.09 7.5 7.56 8.48", "11.6 67.7 7.73 45.1 12.9 75.2"]
    assert printed("plot", "h.jsonl") == "h_halo_bytes.png and h_halo_bytes.svg\n"
    title = "halo: latency of small and bandwidth of large messages"
    has("h_halo_bytes.svg", title, "time [µs]", "GB/s", "peer_ring", "64 KiB", "a GPU, 2 ranks, 2026-11-23")
