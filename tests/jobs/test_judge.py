"""jobs/judge blames the part that is slow and nobody else: on made machines of 2 to 1024 ranks, in noise, on
recorded checks of H100s healthy and slowed; its page stands alone.
"""

import gzip
import json
import os
import re

import pytest
from conftest import OLDER, RESULTS, TOP, changed, run, sys, without, write

sys.path.insert(0, str(TOP / "tests/support"))
from check_records import check_records

np = pytest.importorskip("numpy")
import made_checks
from weftlab import checks

LOADED = r'(?:src|href)="[^#"][^"]*"|url\([^#)]*\)|@import'


def judge(status, *words):
    done = run("judge", *words)
    assert done.status == status, done
    return done.out.splitlines()


def page(status, records):
    pytest.importorskip("jinja2")
    lines = judge(status, write("check.jsonl", records), "--page", "check.html", "--reference", "none")
    return lines, open("check.html", encoding="utf-8").read()


def test_made_machines_gpus_links_ways_and_hosts_that_are_slow_alone():
    right, said = zip(*made_checks.machines())
    assert all(right), [one for good, one in zip(right, said) if not good]


def test_noise_blames_nobody_and_what_is_slower_by_three_times_it_is_named_in_995_of_1000():
    trials = int(os.environ.get("WEFT_JUDGE_TRIALS", 50))
    for name in made_checks.TRIALS:
        wrong = [i for i in range(trials) if not made_checks.trial(name, i)]
        assert len(wrong) <= trials // 200, (name, wrong)


def recorded(path):
    """Of each recorded check which rank was slowed, if one was, and the verdict on all of its rounds."""
    for line in gzip.open(OLDER / "checks" / path, "rt"):
        one = json.loads(line)
        rounds = [dict(r, verdict="delivers", rows=[], ranks=one["ranks"]) for r in one["rounds"]]
        check = checks.Check(rounds)
        named = {re.match(r"(\w+).* of rank (\d+) ", s.name) for s in check.suspects}
        yield one.get("slow_rank"), check.verdict, {m and (m[1], int(m[2])) for m in named}


def test_recorded_checks_of_h100s_deliver_and_a_rank_that_was_slowed_is_named_alone():
    found = list(recorded("checks_h100.jsonl.gz"))
    healthy = [one for one in found if one[0] is None]
    assert (len(healthy), len(found)) == (38, 53)
    assert all(one == (None, "delivers", set()) for one in healthy)
    slowed = [one for one in found if one[0] is not None]
    assert [one for one in slowed if one[1:] != ("slow", {("GPU", one[0])})] == []
    of_host = list(recorded("host_4x.jsonl.gz"))
    assert any(verdict == "slow" and named == {("processor", rank)} for rank, verdict, named in of_host)
    assert all(verdict != "slow" for rank, verdict, _ in of_host if rank is None)
    for file in RESULTS.glob("*/*-check.jsonl"):
        judge(0, file)


def test_the_page_of_a_slow_link_has_a_cell_for_each_pair_and_way_and_loads_nothing():
    lines, html = page(1, check_records(1, 8, 2))
    named = "1. link of ranks 2 and 3 (n1): 40 %, confidence 0.99: pair, one way alone 40 % (15"
    assert any(line.startswith(named) for line in lines)
    assert re.findall(LOADED, html) == []
    assert html.count("<strong>link of ranks 2 and 3 (n1)") == 1
    rows = re.findall("<tr><td>([a-z]+[^<]*)</td><td", html)
    assert (len(rows), html.count("<td data-a"), html.count('class="blamed"')) == (8, 84, 3)


def test_wrong_bits_and_hosts_whose_names_are_markup_are_named_and_escaped():
    records = json.loads(json.dumps(check_records(3, 2, 2)).replace('"n2"', '"</script><img src=x>"'))
    for record in records:
        check = record["check"]
        fault = {"like": "pair_both", "a": 4, "b": 5, "round": 0, "where": "word 7: <b>"}
        check["faults"] = [fault, {"like": 7}, 8]
        check["figures"] = [f for f in check["figures"] if f["like"] != "pair_both" or f["a"] != 4]
        check["figures"] += [{"like": "copy", "a": a, "b": -1, "rate": 1} for a in (99, "x")] + [5]
    lines, html = page(1, records)
    assert lines[0].startswith("wrong: ")
    named = "1. link of ranks 4 and 5 (n3): wrong bits, confidence 0.90: wrong bits in pair, both ways"
    assert any(line.startswith(named) for line in lines)
    assert "<img" not in html and "<b>" not in html
    assert len(re.findall('<td [^>]*class="[^"]*faulty', html)) == 1


def test_a_rank_that_has_no_line_in_an_incomplete_round_is_named():
    first, last = check_records(1, 4, 2)
    figures = [f for f in last["check"]["figures"] if 2 not in (f["a"], f["b"])]
    write("dead.jsonl", [first, changed(last, check__verdict="incomplete", check__figures=figures)])
    assert "silent: rank 2 (n1)" in judge(3, "dead.jsonl")


def test_the_part_of_a_check_that_died_in_its_first_round_is_judged():
    (whole,) = check_records(1, 4, 1)
    part = [{"command": whole["command"], "check_part": {"level": "soak", "ranks": whole["check"]["ranks"]}}]
    for trial, ranks in (("memory copy", 4), ("pairs, one way", 3)):
        for rank in range(ranks):
            own = [f for f in whole["check"]["figures"] if f["a"] == rank]
            part.append({"rank": rank, "round": 0, "trial": trial, "figures": own, "faults": []})
    open(write("dead.jsonl.part", part), "a").write('{"rank": 3, "rou\n')
    lines = judge(3, "dead.jsonl")
    assert lines[1] == "the check did not end: its last lines are in round 1, trial 'pairs, one way'"
    assert lines[2] == "silent: rank 3 (n1)"


def test_without_numpy_there_is_a_sentence_and_a_reference_that_is_none_is_refused():
    without("numpy", "judge", "any.jsonl")
    write("two.jsonl", check_records(1, 2, 2))
    write("bad.json", [{"gpu": "NVIDIA H200", "rates": {"copy": {"low": 2, "high": 1, "machines": 1}}}])
    done = run("judge", "two.jsonl", "--reference", "bad.json")
    assert done.status == 2
    assert done.err == "judge: --reference bad.json: no reference that jobs/check_reference wrote\n"
