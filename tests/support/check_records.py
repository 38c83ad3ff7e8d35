#!/usr/bin/env python3
"""Record lines of a check that never ran, on stdout: check_records.py HOSTS RANKS_PER_HOST ROUNDS.

The link of ranks 2 and 3 is at 40 %. Rates scatter by up to 1 %, the same each time.
"""
import json
import sys

ALIKE = {"copy": 4.02e12, "read": 4.31e12, "fma_f32": 6.1e13, "to_host": 5.5e10, "heat_blocks": 4.2e12}
SUSPECT = {"part": "link", "a": 2, "b": 3, "name": "link of ranks 2 and 3 (n1)", "factor": 0.4}
EVIDENCE = {"confidence": 0.97, "evidence": "pair, one way 40 %; pair, both ways 40 %"}


def figures(hosts, each, number):
    ranks = range(hosts * each)

    def figure(like, alone, a, b, rate):
        scatter = 1 + (((a * 31 + b * 17 + number * 5 + len(like)) * 7919 + 13) % 101 - 50) / 5000
        rate *= scatter * (0.4 if {a, b} == {2, 3} else 1)
        return {"like": like, "a": a, "b": b, "alone": alone, "round": number, "rate": rate, "noise": 0.01}

    made = [figure(like, False, a, -1, rate) for like, rate in ALIKE.items() for a in ranks]
    made.append(figure("ring_peer", False, -1, -1, 3.1e11))
    for a, b in [(a, b) for a in ranks for b in ranks if a != b and a // each == b // each]:
        made.append(figure("pair_oneway", True, a, b, 3.9e11))
        made += [figure("pair_both", True, a, b, 3.6e11)] * (a < b)
    of_hosts = [(a * each, b * each) for a in range(hosts) for b in range(a + 1, hosts)]
    return made + [figure("host_pair", False, a, b, 4.5e10) for a, b in of_hosts]


def row(like, rate, slow=False):
    made = {"like": like, "median": rate, "least": (0.4 if slow else 0.99) * rate, "noise": 0.03}
    made.update(least_a=1 + slow, least_b=3 if slow else -1, reference=None)
    return {**made, "verdict": "slow" if slow else "delivers"}


def rank(number, each):
    made = {"host": "n%d" % (number // each + 1), "gpu": "NVIDIA H200", "uuid": "GPU-0b5b4cd%d" % number}
    return {**made, "pci": "0000:0%d:00.0" % (number % each)}


def record(hosts, each, number):
    rows = [row(like, rate) for like, rate in ALIKE.items()] + [row("ring_peer", 3.1e11)]
    rows += [row("pair_oneway", 3.9e11, True), row("pair_both", 3.6e11, True)]
    rows += [row("host_pair", 4.5e10)] * (hosts > 1)
    check = {"level": "soak", "round": number, "verdict": "slow", "why": None, "rows": rows, "faults": []}
    check.update(suspects=[{**SUSPECT, **EVIDENCE}], figures=figures(hosts, each, number))
    check["ranks"] = [rank(r, each) for r in range(hosts * each)]
    made = {"schema": 1, "program": "weft", "version": "1.0.0", "git": "v1.0.0", "command": "weft check"}
    machine = {"hosts": ["n%d" % (n + 1) for n in range(hosts)], "processor": "a processor"}
    return {**made, "started": "2026-11-23T20:0%d:00Z" % number, "machine": machine, "check": check}


def check_records(hosts, each, rounds):
    return [record(hosts, each, number) for number in range(rounds)]


if __name__ == "__main__":
    for made in check_records(*map(int, sys.argv[1:])):
        print(json.dumps(made))
