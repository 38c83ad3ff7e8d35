"""jobs/judge blames the part that is slow and no other: on made machines of 2 to 1024 ranks, in noise, on
recorded checks of H100s healthy and slowed; its page stands alone.
"""

import gzip
import itertools
import json
import os
import re

import pytest
from conftest import OLDER, RESULTS, TOP, changed, refused, run, sys, write

sys.path.insert(0, str(TOP / "tests/support"))
from check_records import check_records

np = pytest.importorskip("numpy")
from weftlab import blame, checks

LOADED = r'(?:src|href)="[^#"][^"]*"|url\([^#)]*\)|@import'


def judge(status, *words):
    done = run("judge", *words)
    assert done.status == status, done
    return done.out.splitlines()


def page(status, records):
    pytest.importorskip("jinja2")
    lines = judge(status, write("check.jsonl", records), "--page", "check.html", "--reference", "none")
    return lines, open("check.html", encoding="utf-8").read()


# ---- machines that never were ----

GPU = "copy read fma_f32 fma_f64 to_host from_host heat_single heat_blocks transpose".split()
JOB = "ring_peer alltoall_staged heat_all disk_write checkpoint".split()
SHAPES = ((2, 1), (3, 1), (4, 1), (8, 1), (16, 2), (4, 4), (8, 4), (64, 8), (1024, 128))  # ranks, hosts
DOUBT = "it cannot be told which"


def figures_of(ranks, each):
    """(like, alone, a, b) of all that is measured, with so many ranks on each host."""
    pairs = [(a, b) for a in range(ranks) for b in range(ranks) if a != b and a // each == b // each]
    for alone in (False, True):
        yield from ((like, alone, rank, -1) for like in GPU for rank in range(ranks))
        if not alone or ranks < 64:
            yield from (("pair_oneway", alone, a, b) for a, b in pairs)
            yield from (("pair_both", alone, a, b) for a, b in pairs if a < b)
    yield from (("host_pair", False, *of) for of in itertools.combinations(range(0, ranks, each), 2))
    yield from ((like, False, -1, -1) for like in JOB)


def blamed(ranks, hosts, by, slow, seed=7, rounds=3, load=0.004, noise=0.001):
    """The suspects where rates are exp(-load |g|), g normal, times `by` where slow(like, a, b, round)."""
    each = ranks // hosts
    all_of_them, random = list(figures_of(ranks, each)), np.random.default_rng(seed)
    rates = np.exp(-load * np.abs(random.standard_normal((len(all_of_them), rounds))))
    figures = [
        blame.Figure(like, alone, a, b, r, rate * (by if slow(like, a, b, r) else 1), noise)
        for (like, alone, a, b), of_rounds in zip(all_of_them, rates)
        for r, rate in enumerate(of_rounds)
    ]
    return blame.suspects_of(blame.rows_of(figures), [r // each * each for r in range(ranks)])[0]


def between(one, other=-1):
    """What a link is measured by, or a GPU by itself."""
    return lambda like, a, b, r: {a, b} == {one, other}


def cases(ranks, hosts):
    """By which factor what is slow, and whom to blame: a part, None for no part, or DOUBT."""
    each, third = ranks // hosts, 3 if ranks > 3 else 1
    yield 1, between(third), None
    yield 0.81, between(third), ("gpu", third, -1)
    yield 0.7, lambda like, a, b, r: a == 0 and like.startswith("fma"), ("gpu", 0, -1)
    yield 0.6, lambda like, a, b, r: r > 0 and {a, b} == {1, -1}, None  # good in one round
    if each > 1 and ranks > 2:
        pairs_of_2 = lambda like, a, b, r: b >= 0 and like != "host_pair" and 2 in (a, b)
        yield 0.5, pairs_of_2, ("gpu", 2, -1) if each > 2 else DOUBT
        yield 0.6, between(0, 1), ("link", 0, 1)
    if each > 1:
        yield 0.6, lambda like, a, b, r: like == "pair_oneway" and (a, b) == (1, 0), ("link", 0, 1)
    if hosts > 1:
        copies = lambda like, a, b, r: like in ("to_host", "from_host") and a >= ranks - each
        yield 0.5, copies, ("host" if each > 1 else "gpu", ranks - each, -1)
    if hosts > 2:
        yield 0.5, lambda like, a, b, r: like == "host_pair" and each in (a, b), ("host", each, -1)
        yield 0.5, between(0, 2 * each), ("host_link", 0, 2 * each)


def test_made_machines_gpus_links_ways_and_hosts_that_are_slow_alone():
    for shape in SHAPES:
        for by, slow, wanted in itertools.islice(cases(*shape), *((1, 2) if shape[0] > 64 else (None,))):
            found = blamed(*shape, by, slow)
            if wanted == DOUBT:
                right = found and all(s.confidence <= 0.5 for s in found)
            else:
                right = [s[:3] for s in found] == [wanted] * bool(wanted)
                right = right and all(abs(s.factor - by) < 0.03 for s in found)
            assert right, (shape, wanted, [s[:5] for s in found])


NOISY = (  # which part is slow by how much in turn, and the machine
    (("none", "gpu", "link"), 0.407, dict(ranks=8, rounds=4, load=0.3, noise=0.1)),  # by three times the load
    (("none", "gpu", "link"), 0.5, dict(ranks=4, rounds=3, load=0.1, noise=10)),  # repeats scatter more
    (("none", "link"), 0.25, dict(ranks=4, rounds=8, load=1, noise=10)),  # only the order in rounds tells
    (("none", "gpu"), 1 / 1.05, dict(ranks=2, rounds=3, load=0.004, noise=0.004)),
    (("none",), 1, dict(ranks=2, rounds=2, load=0.3, noise=0.1)),
)


def test_noise_blames_nobody_and_what_is_slower_by_three_times_it_is_named_in_995_of_1000():
    trials = int(os.environ.get("WEFT_JUDGE_TRIALS", 30))
    for parts, by, machine in NOISY:
        ranks, wrong = machine["ranks"], dict.fromkeys(parts, 0)
        for part, i in itertools.product(parts, range(trials)):
            who = {"gpu": ("gpu", i % ranks, -1), "link": ("link", i % (ranks - 1), ranks - 1)}.get(part)
            slow = between(*who[1:]) if who else between(ranks)
            found = blamed(hosts=1, by=by, slow=slow, seed=1000003 * i + 17, **machine)
            wrong[part] += [s[:3] for s in found] != [who] * bool(who)
        assert max(wrong.values()) <= trials // 200, (machine, wrong)


# ---- recorded checks ----


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
    assert (len(found), [one[0] for one in found].count(None)) == (53, 38)
    for rank, *said in found:
        assert said == (["delivers", set()] if rank is None else ["slow", {("GPU", rank)}]), rank
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


def test_whom_the_program_names_is_named_where_these_statistics_see_nobody():
    records = check_records(1, 4, 2)
    for figure in [figure for record in records for figure in record["check"]["figures"]]:
        figure["rate"] = 1e9
    lines, _ = page(1, records)
    assert lines[1].startswith("1. link of ranks 2 and 3 (n1): 40 %, confidence 0.97: pair, one way: 156 GB")


def test_wrong_bits_are_named_hosts_named_as_markup_escaped_and_references_that_are_none_refused():
    records = json.loads(json.dumps(check_records(3, 2, 2)).replace('"n2"', '"</script><img src=x>"'))
    for record in records:
        check = record["check"]
        fault = {"like": "pair_both", "a": 4, "b": 5, "round": 0, "where": "word 7: <b>"}
        check["faults"] = [fault, {"like": 7}, 8]
        check["figures"] = [f for f in check["figures"] if f["like"] != "pair_both" or f["a"] != 4]
        check["figures"] += [{"like": "copy", "a": a, "b": -1, "rate": 1} for a in (99, "x")] + [5]
    lines, html = page(1, records)
    assert lines[0].startswith("wrong: ")
    refused("judge", "check.jsonl --page check.jsonl")
    named = "1. link of ranks 4 and 5 (n3): wrong bits, confidence 0.90: wrong bits in pair, both ways"
    assert any(line.startswith(named) for line in lines)
    assert "<img" not in html and "<b>" not in html
    assert len(re.findall('<td [^>]*class="[^"]*faulty', html)) == 1
    write("bad.json", [{"gpu": "NVIDIA H200", "rates": {"copy": {"low": 2, "high": 1, "machines": 1}}}])
    said = "judge: --reference bad.json: no reference that jobs/check_reference wrote\n"
    assert run("judge", "check.jsonl", "--reference", "bad.json").err == said


def test_a_rank_that_has_no_line_in_an_incomplete_round_or_in_the_part_of_a_first_one_is_named():
    first, last = check_records(1, 4, 2)
    figures = [f for f in last["check"]["figures"] if 2 not in (f["a"], f["b"])]
    write("dead.jsonl", [first, changed(last, check__verdict="incomplete", check__figures=figures)])
    assert "silent: rank 2 (n1)" in judge(3, "dead.jsonl")
    os.remove("dead.jsonl")
    part = [{"command": first["command"], "check_part": {"level": "soak", "ranks": first["check"]["ranks"]}}]
    for trial, rank in [("memory copy", r) for r in range(4)] + [("pairs, one way", r) for r in range(3)]:
        own = [f for f in first["check"]["figures"] if f["a"] == rank]
        part.append({"rank": rank, "round": 0, "trial": trial, "figures": own, "faults": []})
    open(write("dead.jsonl.part", part), "a").write('{"rank": 3, "rou\n')
    assert judge(3, "dead.jsonl")[1:3] == [
        "the check did not end: the last lines that rank 0 wrote are in round 1, trial 'pairs, one way'",
        "silent: rank 3 (n1)",
    ]
