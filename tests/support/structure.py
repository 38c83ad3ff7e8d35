"""The rules of docs/architecture.md about files and rooms, of docs/numerics.md about arithmetic, looked up in the sources
and in a build's object files; and one of the tests.

    structure.py TOP rooms            every include goes to a room that the table of rooms allows
    structure.py TOP circles BUILD    no two source files call each other, directly or through others (one circle is shown)
    structure.py TOP callers BUILD    every function and table that is not static has a user in another file
    structure.py TOP devices          a test that reads a choice of a run names the device, or is run on GPUs too, and a unit that opens a
                                      GPU is given one (tests/run)
    structure.py TOP numbers BUILD    functions that C libraries round differently are called in the rooms of numerics.md alone

Prints one line for each break of a rule and ends with 1, or prints nothing. A file here is a .c or .cu file with its header.
"""

import graphlib
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TOPS = ("kernels", "comm", "io", "miniapp")
SOURCES = (".c", ".h", ".cu", ".cuh")
# Functions of libm that are not correctly rounded; what a compiler calls for powers and for complex products.
INEXACT = re.compile(
    r"(a?(sin|cos|tan)h?|atan2|sincos|exp(2|10|m1)?|log(2|10|1p)?|pow|cbrt|hypot|erfc?|[lt]gamma|[jy][01n])[fl]?"
    r"|c(abs|arg|exp|log|pow|sqrt|a?(sin|cos|tan)h?)[fl]?|__pow[sdxt]f2|__(mul|div)[sdxt]c3"
)


def rows_of_rooms(top, page, columns):
    """{room: last cell} of a page's table whose first cell is a room: `| kernels/core | what it holds | includes |`."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in (top / page).read_text().splitlines()]
    return {cells[0].strip("`"): cells[-1] for cells in rows
            if len(cells) == columns and re.fullmatch("`(%s)/[a-z0-9_]+`" % "|".join(TOPS), cells[0])}


def sources(top):
    return sorted(f for t in TOPS for f in (top / t).rglob("*") if f.suffix in SOURCES)


def check_rooms(top):
    table = rows_of_rooms(top, "docs/architecture.md", 3)
    rooms = {room: re.findall(r"[a-z0-9_]+", last) for room, last in table.items()}  # that it may include
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


def check_circles(found):
    home = {s: source for source, (own, _) in found.items() for s in own if s != "main"}
    graph = {source: defaultdict(list) for source in found}  # of each file: functions of others that it uses
    for source, (_, used) in found.items():
        for s in sorted(used & home.keys()):
            if home[s] != source:
                graph[source][home[s]].append(s)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1][::-1]  # each calls the next
        return [f"{a} calls {b} ({', '.join(graph[a][b])})" for a, b in zip(circle, circle[1:])]
    return []


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


# Keys that a run chooses by the device, and keys of its record that follow from them.
CHOICES = r"\.(fuse|sweeps|persistent|step_form|feed|lanes|tune|variant|phases|memory|transport|power)\b"
OPENS_GPU = r"\b(harness_main_every_way|harness_on_cuda|twin_gpu|device_cuda_(create|count)|TOPOLOGY_(CUDA|AUTO))\b"
# Builds that have no CUDA, and words that settle the device.
NAMED = r"\bdevice=|weft_sanitize|device = (host|cuda)"


def text_of(name, bodies, seen):
    """A function's or test's text with that of the file's functions and arrays that it names."""
    seen.add(name)
    named = set(re.findall(r"\w+", bodies[name])) & bodies.keys()
    return bodies[name] + "".join(text_of(other, bodies, seen) for other in named if other not in seen)


def check_devices(top):
    broken = []
    for file in sorted((top / "tests/program").glob("*.bats")):
        text, bodies = file.read_text(), {}
        whole = re.search(r"^weft=\$weft_sanitize", text, re.M)
        for m in re.finditer(r"^(\w+)=(\((?:.|\n)*?\)$|.*$)", text, re.M):
            bodies[m[1]] = m[2]
        for m in re.finditer(r"^(\w+)\(\) \{(.*\}(?: # .*)?$|(?:.|\n)*?^\})", text, re.M):
            bodies[m[1]] = m[2]
        for m in re.finditer(r"^((?:#.*\n)*)@test \"(.*)\" \{(.*\}$|(?:.|\n)*?^\})", text, re.M):
            bodies[m[2]] = m[3]
            test = text_of(m[2], bodies, set()) + bodies.get("setup", "")
            if re.search(r"\bneeds_gpu\b", test) and not whole and "gpus:" not in m[1]:
                broken.append(f"{file.name}: '{m[2]}' needs a GPU, and no tag gpus: gives it one")
            read = re.findall(r"\brecord +(?:'[^']*'|\"[^\"]*\"|\S+)|\bjq\b[^|]*results\.jsonl", test)
            choices = sorted({c for r in read for c in re.findall(CHOICES, re.sub(r"\.asked\.\w+", "", r))})
            if choices and not whole and "gpus:" not in m[1] and not re.search(NAMED, test):
                broken.append(f"{file.name}: '{m[2]}' reads .{', .'.join(choices)} of a run whose device it does not name")
    for file in sorted((top / "tests").glob("*/test_*.c")):
        text = file.read_text()
        if re.search(OPENS_GPU, text) and " gpus: " not in text.split("*/")[0]:
            broken.append(f"{file.name} opens a GPU, and its first comment has no line gpus:")
    return broken


def without_comments(text):
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(\\.|[^"\\\n])*"', "", text, flags=re.S)


def check_numbers(top, found):
    other = re.compile(r"\b(?:long double|_?[Cc]omplex|_Float\d+x?)\b")
    broken = [
        f"{file.relative_to(top)}: {word}, which is another type or formula on other machines"
        for file in sources(top)
        for word in sorted(set(other.findall(without_comments(file.read_text()))))
    ]
    allowed = rows_of_rooms(top, "docs/numerics.md", 2).keys()
    calls_of = defaultdict(list)
    for source, (_, used) in found.items():
        calls_of[source.rsplit("/", 1)[0]] += [f"{source} calls {name}" for name in sorted(used) if INEXACT.fullmatch(name)]
    for room in sorted(calls_of.keys() - allowed):
        broken += [f"{call}: {room} is no room of docs/numerics.md for that" for call in calls_of[room]]
    # of a room with CUDA files a build without CUDA has not all objects
    unused = [room for room in sorted(allowed) if not calls_of[room] and not any((top / room).glob("*.cu"))]
    return broken + [f"docs/numerics.md: {room} calls no such function" for room in unused]


top, rule = Path(sys.argv[1]), sys.argv[2]
found = symbols(top, Path(sys.argv[3])) if len(sys.argv) > 3 else None
broken = {"rooms": lambda: check_rooms(top), "circles": lambda: check_circles(found),
          "callers": lambda: check_callers(top, found), "devices": lambda: check_devices(top),
          "numbers": lambda: check_numbers(top, found)}[rule]()
print("\n".join(broken))
sys.exit(broken != [])
