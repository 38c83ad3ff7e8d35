"""Nobody types a figure: the tables that pages show are rendered from jobs/results, each file of which the
index names with the command that gave it.
"""

import os
import pathlib
import re
import shutil
from collections import Counter

import pytest
from conftest import FLAGS, RESULTS, TOP, changed, printed, read, run, script, write

TREE = ("--root", "tree", "--results")


def copied(*names):
    for name in names:
        target = pathlib.Path("tree", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (TOP / name).is_dir() else shutil.copy)(TOP / name, target)


def page(*lines):
    path = pathlib.Path("tree/docs/page.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def edit(path, old, new):
    path = pathlib.Path(path)
    path.write_text(re.sub(old, new, path.read_text("utf-8"), 1, re.M), "utf-8")


def test_the_tables_and_pictures_of_all_pages_are_what_the_results_say():
    done = run("report", "--check")
    assert (done.status, done.out) == (0, "")


def test_every_way_that_the_program_has_is_in_the_table_of_ways_or_in_the_words_below_it():
    section = (TOP / "docs/ways.md").read_text("utf-8")
    named = (
        ("comm/transports/transport.c", r"\[TRANSPORT_(\w+)\] = { t"),
        ("miniapp/step/step_pass.c", r"\[STEP_\w+\] = \"(\w+)\""),
        ("kernels/temporal/temporal_cuda.cu", r"all->name.* = \"(.*)\""),
        ("kernels/stencil/stencil_cuda.cu", r"add_variant\(self, (\d+) / .*, \d+\)"),
    )
    for file, pattern in named:
        ways = re.findall(pattern, (TOP / file).read_text("utf-8"))
        assert ways and not [way for way in ways if way.lower() not in section], (file, ways)


def test_an_edited_table_a_typed_figure_and_a_table_that_there_is_not_are_named():
    copied("README.md", "docs/figures")
    check = lambda option="--check": run("report", *TREE, RESULTS, option)
    assert check().status == 0
    edit("tree/README.md", "[0-9.]* GCells", "1 GCells")
    page("# A page", "It takes 17 us and `18 us`.", "", "    19 us")
    done = check()
    assert done.status == 1 and done.out.splitlines() == [
        "README.md: table 'headline' is not what jobs/results says; run jobs/report --pages",
        "docs/page.md:2: '17 us' is typed; figures stand in blocks that jobs/report renders",
    ]
    assert check("--pages").out == "README.md\n"
    assert open("tree/README.md").read() == (TOP / "README.md").read_text()
    for words, said in (
        ("table no-such -->\n<!-- end", "report: docs/page.md: no table 'no-such'; there are "),
        ("table one-step more -->\n<!-- end", "report: docs/page.md: no table 'one-step more'; there are "),
        ("picture beside more -->\n<!-- end", "report: docs/page.md: picture 'beside more' has too"),
        ("table one-step", "report: docs/page.md: a block '<!-- table ... -->' without its '<!-- end -->'"),
    ):
        page(f"<!-- {words} -->")
        done = check()
        assert done.status == 2 and done.err.startswith(said) and done.err.count("\n") == 1, done
    assert "\n| `strideRead`, stride 33 | " in printed("report", "--table", "ladder", "access")
    os.mkdir("empty")
    assert not re.search("[0-9] us", run("report", "--results", "empty", "--table", "one-step").out)


def test_a_table_and_a_picture_that_are_not_what_they_have_to_be_are_rendered_anew():
    name, picture = "docs/teaching/access.md", "docs/figures/ladder-access.svg"
    copied(name, picture)
    shutil.copytree(RESULTS, "results")
    assert run("report", *TREE, "results", "--check").out == ""
    (ladder,) = pathlib.Path("results/h100x1").glob("*-ladder.jsonl")
    records = read(ladder)
    for record in records:
        if record["rung"] == "strideWrite":
            record["sweep"][-1]["fraction_of_ceiling"] = 0.5
    write(ladder, records)
    edit("tree/" + name, "^## .*", r"\g<0> of 0.5 ns")
    out = run("report", *TREE, "results", "--check").out
    assert f"{name}: table 'ladder access' is not what jobs/results says" in out
    assert f"{picture}: shows other values than jobs/results; run jobs/report --pages" in out
    page("<!-- picture ladder none -->", "<!-- end -->")
    told = "report: docs/page.md: no result has the family 'none'\n"
    assert run("report", *TREE, "results", "--check").err == told
    os.remove("tree/docs/page.md")
    pytest.importorskip("matplotlib")
    assert printed("report", *TREE, "results", "--pages").split() == [name, picture]
    assert open("tree/" + picture).read().count(">0.50<") == 1


def test_the_index_has_every_file_of_results_once_and_each_the_name_of_its_machine_date_and_question():
    rows = [line.split("\t") for line in (RESULTS / "index.tsv").read_text().splitlines()[1:]]
    files = sorted(path.relative_to(RESULTS).as_posix() for path in RESULTS.glob("*/*"))
    assert sorted(row[0] for row in rows) == files
    name = r"[a-z0-9]+/20\d{2}-\d{2}-\d{2}-[a-z0-9-]+\.(jsonl|tsv)"
    assert [file for file in files if not re.fullmatch(name, file)] == []
    assert max(Counter(file.split("/")[0] for file in files).values()) <= 12
    assert [row[0] for row in rows if row[4]] == []  # what is superseded leaves the tree


def test_the_last_run_of_all_tests_on_each_kind_of_gpu_machine_has_a_row_of_the_tests_page():
    block = re.search("^<!-- table test-runs.*?^<!-- end -->\n", (TOP / "tests/README.md").read_text(),
                      re.M | re.S)
    os.makedirs("tree/tests")
    os.mkdir("results")
    pathlib.Path("tree/tests/README.md").write_text(block[0])
    one = {"date": "2026-11-27", "gpus": 1, "gpu": "Made H1", "cpus": 16, "commit": "a1", "passed": 3,
           "failed": 1}
    one.update(skipped=2, minutes=9.5, gpu_minutes=5.1)
    write("results/tests.jsonl", [one, dict(one, gpus=4), dict(one, commit="b2", failed=0)])
    assert printed("report", *TREE, "results", "--pages") == "tests/README.md\n"
    assert re.findall(r"^\| (\d x .*) \|$", open("tree/tests/README.md").read(), re.M) == [
        "1 x Made H1, 16 CPUs | b2 | 2026-11-27 | 3 | 0 | 2 | 9.5 | 5.1",
        "4 x Made H1, 16 CPUs | a1 | 2026-11-27 | 3 | 1 | 2 | 9.5 | 5.1",
    ]
    os.remove("results/tests.jsonl")
    assert run("report", *TREE, "results", "--check").status == 1


def test_measure_runs_cases_in_turns_and_their_records_get_a_row_of_the_index(folder, monkeypatch):
    pathlib.Path("q.ini").write_text(
        "[tiny]\nclaim = It runs.\nrepeats = 2\nheat = run inputs/heat2d.ini grid.nx={16,32} grid.ny=16\n"
        '    time.steps=2 "grid.boundary=dirichlet 0" problem.initial=gaussian\n'
        "[two]\nranks = 2\nall = bench halo/staged_pair bytes=64k samples=1\n"
        "[wrong]\ncase = run inputs/none.ini\n"
    )
    words = ("--questions", folder / "q.ini", "--folder", folder / "results")
    monkeypatch.setenv("WEFT_MPIRUN", os.environ.get("MPIRUN", "mpirun") + " " + FLAGS)
    monkeypatch.chdir(TOP)
    assert script("measure", *words, "tiny").status == 0
    monkeypatch.chdir(folder)
    row = open("results/index.tsv").read().splitlines()[-1].split("\t")
    assert re.fullmatch(r"[a-z0-9]+/20[0-9-]+-tiny\.jsonl", row[0])
    records = read("results/" + row[0])
    assert [record["grid"]["nx"] for record in records] == [16, 32, 16, 32]
    assert row[1:] == [records[0]["git"], "jobs/measure tiny", "It runs.", ""]
    done = run("measure", *words, "three")
    told = "measure: no question 'three'; there are tiny, two, wrong; try --help\n"
    assert (done.status, done.err) == (2, told)
    assert printed("measure", *words, "--cases", "tiny", "two").count("\n") == 3
    assert script("measure", *words, "wrong").status == 1
    assert open("results/index.tsv").read().count("\n") == 2


def test_an_html_page_of_records_stands_alone():
    pytest.importorskip("jinja2")
    (ladder,), (transposes,) = (list((RESULTS / "h100x1").glob(f"*-{name}.jsonl"))
                                for name in ("ladder", "transposes"))
    star = write("star.jsonl", [record for record in read(ladder) if record["rung"] == "star"])
    assert script("report", transposes, star).out == "report.html\n"
    html = open("report.html").read()
    assert re.findall(r'(?:src|href)="[^#"][^"]*"|url\([^#)]*\)|@import', html) == []
    assert len(re.findall("^<tr><td>transpose, order", html, re.M)) == 4
    hostile = dict(command="<script>alert(1)</script>", problem__kind="<b>")
    write("other.jsonl", [changed(record, **hostile) for record in read(transposes)])
    printed("report", "other.jsonl", "--output", "other.html")
    assert not re.search("<b>|<script>alert", open("other.html").read())
