"""No line of a results file ends a command of jobs/ in a traceback: each member of a good line in turn has
odd values.
"""

import json
import pathlib

import pytest
from conftest import HEAT, RESULTS, TOP, changed, deck, printed, read, run, sys, write

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


def odd(value, put):
    """A value's JSON with `put` in place of each member in turn, and of theirs; of lists, of the first."""
    of_list = isinstance(value, list)
    for key, one in enumerate(value[:1]) if of_list else value.items() if isinstance(value, dict) else ():
        whole = json.dumps(["HERE", *value[1:]] if of_list else {**value, key: "HERE"}) + "\n"
        yield from (whole.replace('"HERE"', text.strip()) for text in (put, *odd(one, put)))


def end_well(lines, *commands):
    pathlib.Path("odd").write_text("".join(lines), "utf-8")
    for command, *words in map(str.split, commands):
        done = run(command, *words)
        said = done.status in (0, 1, 4) or done.status < 5 and f"{command}: " in done.err
        assert said, (command, words, done)


def test_runs_and_rungs_of_odd_members_end_no_command_and_odd_text_is_drawn_as_it_stands(monkeypatch):
    deck("d.ini", *HEAT, "grid.nx=64", "grid.ny=64")
    save, whole = style.save, [json.dumps(record) + "\n" for record in (RUN, RUNG)]
    for value in ODD:
        monkeypatch.setattr(style, "save", save if value in TEXTS else lambda *_: pyplot.close("all"))
        end_well([*odd(RUN, value), *odd(RUNG, value), *whole], *COMMANDS)
    write("odd", [changed(RUN, asked__transport=json.loads(value)) for value in TEXTS])
    printed("plot", "odd", "names")
    assert r"$&lt;b&gt;&amp;\x1b\alpha^ x`y`" in pathlib.Path("names_values.svg").read_text("utf-8")


def test_checks_of_odd_members_end_no_command():
    (record,) = check_records(1, 3, 1)
    for value in ODD:
        for line in odd(record, value):
            end_well([line], "judge odd" + " --page odd.html" * (value in TEXTS), "check_reference odd")
