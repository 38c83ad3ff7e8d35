#!/usr/bin/env python3
"""Record lines of a check that never ran, on stdout: check_records.py HOSTS RANKS_PER_HOST ROUNDS.

The link of ranks 2 and 3 is at 40 %. Rates scatter by up to 1 %, the same each time.
"""
import json
import sys

ALIKE = {"copy": 4.02e12, "read": 4.31e12, "fma_f32": 6.1e13, "to_host": 5.5e10, "heat_blocks": 4.2e12}
NAMED = dict(part="link", a=2, b=3, name="link of ranks 2 and 3 (n1)", factor=0.4, confidence=0.97)
NAMED["evidence"] = "pair, one way: 156 GB/s from 2 to 3 beside a median of 390 GB/s"


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


def rank(number, each):
    made = {"host": "n%d" % (number // each + 1), "gpu": "NVIDIA H200", "uuid": "GPU-0b5b4cd%d" % number}
    return {**made, "pci": "0000:0%d:00.0" % (number % each)}


def record(hosts, each, number):
    rows = [dict(like=like, median=rate, least=0.99 * rate) for like, rate in ALIKE.items()]
    check = {"level": "soak", "round": number, "verdict": "slow", "why": None, "suspects": [NAMED]}
    check.update(rows=rows, figures=figures(hosts, each, number), faults=[])
    check["ranks"] = [rank(r, each) for r in range(hosts * each)]
    made = {"program": "weft", "command": "weft check level=soak", "machine": {"processor": "made"}}
    return {**made, "started": "2026-11-23T20:0%d:00Z" % number, "check": check}


def check_records(hosts, each, rounds):
    return [record(hosts, each, number) for number in range(rounds)]


if __name__ == "__main__":
    for made in check_records(*map(int, sys.argv[1:])):
        print(json.dumps(made))
