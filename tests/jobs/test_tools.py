"""Commands are what their modules are, and no line of a results file ends one in a traceback; panels have
what frames hold; Spack's recipe and the container's are sound.
"""

import ast
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, HEAT, JOBS, RESULTS, TOP
from conftest import changed, deck, printed, process, read, refused, run, script, sys, weft, write

sys.path.insert(0, str(TOP / "tests/support"))
from check_records import check_records

COMMANDS = sorted(path.name for path in JOBS.iterdir() if path.is_file() and not path.suffix)


def test_each_command_is_a_module_that_says_what_it_does():
    assert len(COMMANDS) == 12
    for name in COMMANDS:
        done = script(name, "--help")
        first = ast.get_docstring(ast.parse((JOBS / f"weftlab/{name}.py").read_text())).split("\n")[0]
        assert done.status == 0 and first in done.out, (name, done)


def test_without_a_package_there_is_a_sentence_with_debians_name_of_it():
    for line in "compare a a", "judge a", "plot a", "panels a --output b.png":
        command, *words = line.split()
        module = {"compare": "pandas", "judge": "numpy"}.get(command, "matplotlib")
        pathlib.Path(module + ".py").write_text('raise ImportError("there is none")')
        done = script(command, *words, PYTHONPATH=os.getcwd())
        said = f"{command}: {sys.executable} cannot import {module} (there is none): install Debian's "
        assert done.status == 3 and done.err.startswith(said) and done.err.count("\n") == 1, done
        os.remove(module + ".py")


# ---- lines whose members have odd values in turn ----

TEXTS = (r'"$<b>&\u001b\\alpha^ x`y`"', '"%s"' % (5000 * "$_"))  # which are drawn as they stand
ODD = ("1e308", "-1", "0", "true", "null", "[]", '{"a": [1]}', *TEXTS)  # damaged lines: test_study
RUN, RUNG = (read(next(RESULTS.glob(f"h200x2/*-{name}.jsonl")))[0] for name in ("overlap", "transports"))
READERS = ("records any odd", "compare odd whole", "study deck=d.ini out=odd --table", "plot odd",
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
    pytest.importorskip("pandas")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    deck("d.ini", *HEAT, "grid.nx=64", "grid.ny=64")
    write("whole", [RUN, RUNG])
    for value in ODD:
        with monkeypatch.context() as patch:
            if value not in TEXTS:
                patch.setattr("weftlab.style.save", lambda *_: pyplot.close("all"))
            end_well([*odd(RUN, value), *odd(RUNG, value), open("whole").read()], *READERS)
    write("odd", [changed(RUN, asked__transport=json.loads(value)) for value in TEXTS])
    printed("plot", "odd", "names")
    assert r"$&lt;b&gt;&amp;\x1b\alpha^ x`y`" in pathlib.Path("names_values.svg").read_text("utf-8")


def test_checks_of_odd_members_end_no_command():
    (record,) = check_records(1, 3, 1)
    for value in ODD:
        for line in odd(record, value):
            end_well([line], "judge odd" + " --page odd.html" * (value in TEXTS), "check_reference odd")


# ---- frames, Spack and Apptainer ----


def test_panels_have_each_frame_with_its_step_axes_in_cells_and_the_values_of_its_colours():
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("matplotlib")
    deck("d.ini", *HEAT, "grid.nx=60", "grid.ny=40", "time.steps=40", "output.record=none")
    weft("run", "d.ini", "--quiet", "output.every=10", "output.picture=p.png", "output.picture_high=2")
    assert printed("panels", "p.frames", "--output", "p.svg") == "p.svg: 5 panels\n"
    words = re.findall("<(?:text|tspan)[^>]*>([^<]*)", open("p.svg").read())
    assert [word for word in words if word.startswith("heat")] == [f"heat, step {n}0" for n in ("", *"1234")]
    assert words.count("x, cells") == 5 and words.count("y, cells") == 1
    assert {"60", "40", "0.00", "2.00", "value of a cell"} <= set(words)
    printed("panels", "p.png", "p.frames", "--output", "q.png")
    assert image.open("q.png").size[0] > 1000
    image.new("P", (4, 4)).save("foreign.png")
    pathlib.Path("r.png").write_text("old")
    os.mkdir("empty")
    wrong = ["empty", "nowhere.png", "d.ini", "foreign.png"]
    refused("panels", *(words + " --output r.png" for words in wrong), "p.png --output r.gif", "p.png")
    assert run("panels", "p.png", "--output", "nowhere/r.png").status == 3 and open("r.png").read() == "old"
    os.symlink("p.png", "link.png")
    os.mkfifo("pipe.png")
    refused("panels", "p.png --output link.png", "p.png --output pipe.png", "p.png --output ./p.png")
    refused("simulate", "--calls link.png run d.ini", "--calls pipe.png run d.ini")
    assert os.path.islink("link.png") and not os.path.isfile("pipe.png")


def test_spacks_recipe_tells_make_variables_that_it_has():
    makefile, recipe = (TOP / "Makefile").read_text(), JOBS / "spack/packages/weft/package.py"
    names = set(re.findall('"([A-Z_0-9]+)=', recipe.read_text()))
    assert {"CUDA", "NCCL", "ARCH", "HDF5_DIR", "PREFIX"} <= names
    for name in names:
        assert re.search(rf"^ *{name} *\??=|\({name}\)", makefile, re.M), name


def test_the_containers_own_test_passes_after_make_install_and_fails_where_a_deck_ends_otherwise(folder):
    recipe = (JOBS / "apptainer.def").read_text().replace("/usr/local", f"{folder}/there")
    section = lambda name: re.search(f"^%{name}$(.*?)(?=^%|\\Z)", recipe, re.M | re.S)[1]
    for line in filter(None, map(str.split, section("files").splitlines())):
        target = folder / "copied" / line[1][len("/opt/weft/") :]
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", TOP / line[0], target], check=True)
    done = process("make", "-s", "-C", "copied", "install-built", f"BUILD={BUILD}", f"PREFIX={folder}/there")
    assert done.status == 0, done
    launcher = os.path.dirname(shutil.which(os.environ.get("MPIRUN", "mpirun")))
    path = os.pathsep.join([f"{folder}/there/bin", launcher, os.environ["PATH"]])
    own = lambda name, *words: process("sh", "-c", section(name), "sh", *words, PATH=path)
    assert own("test").status == 0
    assert own("runscript", "--version").out == weft("--version")
    ini = folder / "there/share/weft/inputs/heat1d.ini"
    ini.write_text(re.sub("^# fingerprint: .", "# fingerprint: x", ini.read_text(), flags=re.M))
    done = own("test")
    assert done.status == 1 and "0 of 2 runs ended with fingerprint x" in done.out + done.err
