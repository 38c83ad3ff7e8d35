"""The rules of docs/architecture.md about files and rooms, looked up in the sources and in a build's object files.

    structure.py TOP rooms            every include goes to a room that the table of rooms allows
    structure.py TOP circles BUILD    no two source files call each other, directly or through others
    structure.py TOP callers BUILD    every function and table that is not static has a user in another file

Prints one line for each break of a rule and ends with 1, or prints nothing. A file here is a .c or .cu file with its header.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TOPS = ("kernels", "comm", "io", "miniapp")
SOURCES = (".c", ".h", ".cu", ".cuh")


def table_of_rooms(top):
    """{room: rooms it may include}, in the order of the table's lines: `| kernels/core | what it holds | includes |`."""
    rooms = {}
    for line in (top / "docs/architecture.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch("`(%s)/[a-z0-9_]+`" % "|".join(TOPS), cells[0]):
            rooms[cells[0].strip("`")] = re.findall(r"[a-z0-9_]+", cells[2])
    return rooms


def sources(top):
    return sorted(f for t in TOPS for f in (top / t).rglob("*") if f.suffix in SOURCES)


def check_rooms(top):
    rooms = table_of_rooms(top)
    name_of = {room.split("/")[1]: room for room in rooms}
    if not rooms or len(name_of) < len(rooms):
        return ["docs/architecture.md: no table of rooms, or two rooms of one name"]
    broken, seen = [], []
    for room, allowed in rooms.items():
        broken += [f"{room}: it may include {a}, which is no room above its line" for a in allowed if a not in seen]
        seen.append(room.split("/")[1])
    broken += [f"{room}: there is no such folder" for room in rooms if not (top / room).is_dir()]
    for file in sources(top):
        path = str(file.relative_to(top))
        room = path.rsplit("/", 1)[0]
        if room not in rooms:
            broken.append(f"{path}: its folder is no room of docs/architecture.md")
            continue
        for target in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', file.read_text(), re.M):
            other = target.rsplit("/", 1)[0] if "/" in target else ""
            if other not in name_of or not (top / name_of[other] / target.rsplit("/", 1)[1]).is_file():
                broken.append(f'{path}: "{target}" is not written as room/file')
            elif name_of[other] != room and other not in rooms[room]:
                broken.append(f"{path} includes {name_of[other]}/{target.rsplit('/', 1)[1]}, which is not below {room}")
    return broken


def symbols(top, build):
    """{source: (what its object file defines, what that uses from others)}"""
    source_of = {}
    for o in (f for t in TOPS for f in (build / t).rglob("*.o")):
        source = o.relative_to(build).with_suffix("")
        source = source if source.suffix == ".cu" else source.with_suffix(".c")
        if (top / source).is_file():  # else an earlier build left it behind
            source_of[str(o)] = str(source)
    found = {source: (set(), set()) for source in sorted(source_of.values())}
    lines = subprocess.run(["nm", "-A", "-P", *source_of], capture_output=True, text=True, check=True).stdout.splitlines()
    for o, name, kind in (re.match(r"(.*): (\S+) (\S)", line).groups() for line in lines):
        own, used = found[source_of[o]]
        if kind == "U":
            used.add(name)
        elif kind in "TDBR" and re.fullmatch(r"[a-z]\w*", name):
            own.add(name)
    return found


def calls(found):
    """{file: {other file: functions of the other that it uses}}"""
    home = {s: source for source, (own, _) in found.items() for s in own if s != "main"}
    graph = {source: defaultdict(list) for source in found}
    for source, (_, used) in found.items():
        for s in sorted(used & home.keys()):
            if home[s] != source:
                graph[source][home[s]].append(s)
    return graph


def reached(graph, start):
    found, todo = set(), [start]
    while todo:
        for other in graph[todo.pop()]:
            if other not in found:
                found.add(other)
                todo.append(other)
    return found


def check_circles(found):
    graph = calls(found)
    reach = {source: reached(graph, source) for source in graph}
    return [
        f"{a} calls {b} ({', '.join(used)}), which calls {a} {'' if a in graph[b] else 'through others'}".rstrip()
        for a in graph
        for b, used in graph[a].items()
        if a in reach[b]
    ]


def check_callers(top, found):
    used = {s for _, u in found.values() for s in u}
    # the text too: of units, and of what a build without CUDA leaves out
    callers = [f for f in sources(top) if f.suffix != ".h"] + [f for f in (top / "tests").rglob("*.[ch]")]
    text = {f: re.sub(r"/\*.*?\*/", "", f.read_text(), flags=re.S) for f in callers}
    return [
        f"{source}: {s} has no caller in another file"
        for source, (own, _) in found.items()
        for s in sorted(own - used - {"main"})
        if not any(re.search(rf"\b{s}\b", t) for f, t in text.items() if f != top / source)
    ]


def main():
    top, rule = Path(sys.argv[1]), sys.argv[2]
    found = symbols(top, Path(sys.argv[3])) if rule != "rooms" else None
    broken = check_rooms(top) if rule == "rooms" else check_circles(found) if rule == "circles" else check_callers(top, found)
    for line in broken:
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
