#!/usr/bin/env python3
"""Lines and branches that the tests reach, room by room, by the counts of gcov in a build with COVERAGE=1 (`make coverage`).

usage: coverage.py COVERAGE.json        (gcovr --json)

Prints lines and branches of each room and the percentage that some test reached, then each function that none
reached. A process that is killed leaves no counts.
"""
import json
import sys
from collections import Counter


def main():
    rooms, missed = {}, []
    with open(sys.argv[1]) as file:
        files = json.load(file)["files"]
    for f in sorted(files, key=lambda f: f["file"]):
        room = rooms.setdefault("/".join(f["file"].split("/")[:2]), Counter())
        for line in (line for line in f["lines"] if not line["gcovr/noncode"]):
            counts = {"lines": [line], "branches": line["branches"]}
            for what, places in counts.items():
                room[what] += len(places)
                room[what + " reached"] += sum(place["count"] > 0 for place in places)
        runs = Counter()
        for function in f["functions"]:  # a clone for a processor is NAME.arch_...
            runs[function["lineno"], function["name"].split(".")[0]] += function["execution_count"]
        missed += [f"{f['file']}:{line}: {name}" for (line, name), count in runs.items() if count == 0]
    rooms["all"] = sum(rooms.values(), Counter())
    print(f"{'room':24s}{'lines':>8s}{'%':>7s}{'branches':>10s}{'%':>7s}")
    for name, room in rooms.items():
        lines, branches = (100 * room[w + " reached"] / max(room[w], 1) for w in ("lines", "branches"))
        print(f"{name:24s}{room['lines']:8d}{lines:7.1f}{room['branches']:10d}{branches:7.1f}")
    print(f"\n{len(missed)} functions that no test reaches:", *missed, sep="\n    ")


main()
