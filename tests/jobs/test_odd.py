"""No line of a results file ends a command of jobs/ in a traceback: each member of a good line in turn has
odd values.
"""

import json
import pathlib

import pytest
from conftest import HEAT, RESULTS, TOP, deck, read, run, sys

sys.path.insert(0, str(TOP / "tests/support"))
from check_records import check_records

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
from matplotlib import pyplot
from weftlab import style

TEXTS = (r'"$<b>&\u001b\\alpha^ x`y`"', '"%s"' % (5000 * "$_"))  # which are drawn as they stand
ODD = ("1e308", "NaN", "-Infinity", "1" + 400 * "0", "-1", "0", "true", "null", "[]", '{"a": [1]}',
       3000 * "[" + 3000 * "]", *TEXTS)  # fmt: skip
RUN, RUNG = (read(next(RESULTS.glob(f"h200x2/*-{name}.jsonl")))[0] for name in ("overlap", "transports"))
COMMANDS = ("records any odd", "compare odd odd", "study deck=d.ini out=odd --table", "plot odd",
            "predict d.ini --from odd --ranks 2", "predict --from odd --check odd")  # fmt: skip


def members(value, *path):
    """The paths to all members of a value, to their members, and to the first of a list."""
    inner = dict(enumerate(value[:1])) if isinstance(value, list) else value
    for key, one in inner.items() if isinstance(inner, dict) else ():
        yield (*path, key)
        yield from members(one, *path, key)


def odd(record, path, value):
    """The line of a record that has this value there."""
    copy = json.loads(json.dumps(record))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = "HERE"
    return json.dumps(copy).replace('"HERE"', value) + "\n"


def ends_well(line):
    command, *words = line.split()
    done = run(command, *words)
    assert done.status in range(5) and (done.status in (0, 1, 4) or f"{command}: " in done.err), (line, done)


def test_runs_and_rungs_of_odd_members_end_no_command_and_odd_text_is_drawn_as_it_stands(monkeypatch):
    deck("d.ini", *HEAT, "grid.nx=64", "grid.ny=64")
    save = style.save
    for value in ODD:
        lines = [odd(record, path, value) for record in (RUN, RUNG) for path in members(record)]
        lines += [json.dumps(record) + "\n" for record in (RUN, RUNG)]
        pathlib.Path("odd").write_text("".join(lines), "utf-8")
        monkeypatch.setattr(style, "save", save if value in TEXTS else lambda *_: pyplot.close("all"))
        for line in COMMANDS:
            ends_well(line)
    pathlib.Path("names").write_text("".join(odd(RUN, ("asked", "transport"), value) for value in TEXTS))
    ends_well("plot names")
    assert r"$&lt;b&gt;&amp;\x1b\alpha^ x`y`" in pathlib.Path("names_values.svg").read_text("utf-8")


def test_checks_of_odd_members_end_no_command():
    record = check_records(1, 3, 1)[0]
    for path in members(record):
        for value in ODD:
            pathlib.Path("odd").write_text(odd(record, path, value), "utf-8")
            ends_well("judge odd" + " --page odd.html" * (value in TEXTS))
            ends_well("check_reference odd")
