#!/usr/bin/env python3
"""How large the tree is: lines, tokens, files and lines wider than 110 columns, room by room.

usage: lines.py TOP [CEILINGS]

Every text that git tracks below kernels/, comm/, io/ and miniapp/ counts, whatever its suffix, but for the
README.md of a room; tests/ and jobs/ stand beside it, without jobs/results/. A token is a word, a number, a
string or one other character; comments have none. CEILINGS has a row NAME LINES TOKENS FILES WIDE for each
sum that must not grow: what is above it is named, and the status is 1.
"""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

COMPILED = ("kernels", "comm", "io", "miniapp")
BESIDE = ("tests", "jobs")
WIDTH = 110
COLUMNS = ("lines", "tokens", "files", f"> {WIDTH}")
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[^\s\w]")


def tokens(text):
    return len(TOKEN.findall(COMMENT_OR_STRING.sub(lambda m: " s " if m[0][0] == '"' else " ", text)))


def rooms_of(name):
    """The rows that a file counts in: its room and the sum."""
    top, *rest = name.split("/")
    if top in COMPILED and rest != ["README.md"]:
        return "/".join([top, *rest[:-1]][:2]), "weft"
    return (top,) if top in BESIDE and not name.startswith("jobs/results/") else ()


def measure(top):
    command = ["git", "-C", top, "ls-files", "-z", "--", *COMPILED, *BESIDE]
    tracked = subprocess.run(command, capture_output=True, text=True, check=True)
    rooms = {}
    for name in filter(None, tracked.stdout.split("\0")):
        try:
            text = (top / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):  # a binary file, or one that was just deleted
            continue
        wide = sum(len(line) > WIDTH for line in text.split("\n"))
        for room in rooms_of(name):
            rooms.setdefault(room, Counter()).update(dict(zip(COLUMNS, (text.count("\n"), tokens(text), 1, wide))))
    return rooms


def above(rooms, ceilings):
    for row in filter(None, (line.split("#")[0].split() for line in ceilings.read_text().splitlines())):
        for column, most in zip(COLUMNS, map(int, row[1:])):
            if rooms[row[0]][column] > most:
                yield f"{row[0]}: {rooms[row[0]][column]} {column}, the ceiling is {most}"


def main():
    rooms = measure(Path(sys.argv[1]))
    print(f"{'room':24s}" + "".join(f"{column:>9s}" for column in COLUMNS))
    for room in sorted(rooms, key=lambda name: (name in BESIDE, name == "weft", name)):
        print(f"{room:24s}" + "".join(f"{rooms[room][column]:9d}" for column in COLUMNS))
    broken = list(above(rooms, Path(sys.argv[2]))) if len(sys.argv) > 2 else []
    print("\n".join(broken), file=sys.stderr, end="\n" if broken else "")
    return bool(broken)


sys.exit(main())
