"""jobs/compare tells what differs from what is noise: a rank-sum test, exact for few runs, whose
probabilities are known, and which is corrected for the number of settings.
"""

import random

import pytest
from conftest import changed, refused, run, write

pytest.importorskip("pandas")
pytest.importorskip("scipy")


def runs(path, settings):
    """Records of {lanes: [ms, ...]}."""
    one = {"problem": {"kind": "heat", "dtype": "f32", "order": 2}, "grid": {"nx": 64, "ny": 64}, "ranks": 2}
    one.update(device="host", asked={"transport": "auto"}, verdict="exact")
    made = [changed(one, asked__lanes=of, step_s__p50=t / 1e3) for of, ms in settings.items() for t in ms]
    write(path, made)
    return made


def compared(*words):
    """What compare ends with, its rows by setting, and its last line."""
    done = run("compare", *words)
    rows = [line.split() for line in done.out.splitlines()]
    rows = {row[0]: " ".join(row[1:]) for row in rows if row[0].startswith("lanes=")}
    return done, rows, done.out.splitlines()[-1]


def noisy(settings, count, noise, factor):
    """Settings of as many runs in A and B, of 1 ms and noise; in B the first is slower by a factor."""
    random.seed(20261123)
    for name, first in ("a", 1), ("b", factor):
        of = lambda ms: [ms * (1 + noise * (random.random() - 0.5)) for _ in range(count)]
        runs(name, {lanes: of(first if lanes == 1 else 1) for lanes in range(1, settings + 1)})
    return compared("a", "b")


def test_what_is_slower_or_faster_beyond_the_noise_and_by_what_probability():
    # 1, 2: separated, 1 of C(10,5) = 252, times the 5 settings that are tested; 3: 3 % and less is nothing;
    # 4: overlapping, 58 of 252 sums of ranks are as large, times the 3 settings whose P is no smaller;
    # 5: too few; 6: all alike, ties counted
    before = {1: [1, 1.01, 1.02, 1.01, 1.01], 2: [2, 2.1, 2.2, 2.1, 2.1], 3: [1, 1.01, 1.02, 1.01, 1.005]}
    after = {1: [1.12, 1.10, 1.11, 1.13, 1.14], 2: [1.5, 1.6, 1.4, 1.5, 1.5],
             3: [1.03, 1.04, 1.04, 1.03, 1.04]}
    runs("a", {**before, 4: [1, 1.2, 1.3, 1.4, 1.5], 5: [5] * 4, 6: [1] * 5})
    runs("b", {**after, 4: [1.1, 1.25, 1.4, 1.6, 1.7], 5: [9] * 4, 6: [1] * 5})
    done, rows, last = compared("a", "b")
    assert done.status == 1 and rows == {
        "lanes=1": "5 5 1.01 ms 1.12 ms +10.89 % 0.02 slower",
        "lanes=2": "5 5 2.1 ms 1.5 ms -28.57 % 0.02 faster",
        "lanes=3": "5 5 1.01 ms 1.04 ms +2.97 % 0.02",
        "lanes=4": "5 5 1.3 ms 1.4 ms +7.69 % 0.69",
        "lanes=5": "4 4 5 ms 9 ms +80.00 % - ?",
        "lanes=6": "5 5 1 ms 1 ms +0.00 % 1",
    }
    few = "1 with too few runs to tell (?): run each 5 times"
    assert last == "1 of 6 settings slower, 1 faster, of more than 3 %; " + few
    for words, status in (("b a", 1), ("a a", 0), ("a b --alpha 0.01", 2), ("a b --least 12", 0)):
        assert run("compare", *words.split()).status == status, words


def test_of_200_settings_one_regression_is_found_noise_is_none_and_too_few_runs_tell_nothing():
    # of more than 60 runs the normal distribution tells
    cases = ((200, 10, 0.02, 1.05, 1), (200, 10, 0.3, 1, 0), (200, 8, 0.3, 1.5, 1), (20, 31, 0.3, 1.5, 1),
             (20, 31, 0, 1, 0))  # fmt: skip
    for settings, count, noise, factor, slower in cases:
        done, rows, last = noisy(settings, count, noise, factor)
        named = [name for name, row in rows.items() if row.endswith("slower")]
        assert (done.status, named) == (slower, ["lanes=1"] * slower)
        assert last == f"{slower} of {settings} settings slower, 0 faster, of more than 3 %"
    for settings, count, needed in ((3, 1, 5), (3, 4, 5), (200, 5, 8)):
        done, rows, _ = noisy(settings, count, 0.01, 2)
        told = f"compare: too few runs: run each setting {needed} times for A and {needed} for B\n"
        assert (done.status, done.err) == (2, told) and all(row.endswith("?") for row in rows.values())


def test_failed_verdicts_of_b_and_files_that_hold_nothing_in_common():
    made = runs("a", {1: [1] * 5})
    write("b", [*made, changed(made[0], verdict="failed")])
    write("c", [changed(record, verdict="failed") for record in made])
    for b, failed in (("b", 1), ("c", 5)):
        done, _, last = compared("a", b)
        assert (done.status, last) == (1, f"{failed} runs of B have failed verdicts")
    runs("c", {2: [1, 1, 1]})
    refused("compare", "a c", "a nowhere", "a a --least x", "a a --alpha 0")


def test_rungs_are_compared_too_by_their_parameters():
    ring = {"family": "halo", "rung": "ring", "device": "host", "dtype": "f32", "ranks": 2, "verified": True}
    a = [changed(ring, parameters__bytes=size, time_s__p50=1 + i / 100) for i in range(5) for size in (8, 9)]
    slower = {8: 1.2, 9: 1}
    times = lambda record: slower[record["parameters"]["bytes"]] * record["time_s"]["p50"]
    write("a", a)
    write("b", [changed(record, time_s__p50=times(record)) for record in a])
    (row,) = [line for line in run("compare", "a", "b").out.splitlines() if line.endswith("slower")]
    assert 'bytes":8}' in row and "+20.00 %" in row
