"""No hand types a figure: the tables that pages show are rendered from jobs/results, each file of which the
index names with the command that gave it.
"""

import os
import pathlib
import re
import shutil
from collections import Counter

import pytest
from conftest import FLAGS, JOBS, RESULTS, TOP, printed, process, read, run, script, sys, write

def test_the_tables_and_pictures_of_all_pages_are_what_the_results_say():
    done = run("report", "--check")
    assert (done.status, done.out) == (0, "")


def test_a_table_or_picture_of_other_values_and_a_typed_figure_are_named_and_rendered_anew():
    name, picture = "docs/teaching/access.md", "docs/figures/ladder-access.svg"
    shutil.copytree(TOP / "docs/figures", "tree/docs/figures")
    shutil.copytree(RESULTS, "results")
    for page in ("README.md", name):
        pathlib.Path("tree", page).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / page, pathlib.Path("tree", page))
    check = lambda option="--check": run("report", "--root", "tree", "--results", "results", option)
    assert (check().status, check().out) == (0, "")
    readme = pathlib.Path("tree/README.md")
    readme.write_text(re.sub("[0-9.]* GCells", "1 GCells", readme.read_text("utf-8"), 1), "utf-8")
    (ladder,) = pathlib.Path("results/h100x1").glob("*-ladder.jsonl")
    records = read(ladder)
    for record in records:
        if record["rung"] == "strideWrite":
            record["sweep"][-1]["fraction_of_ceiling"] = 0.5
    write(ladder, records)
    page = pathlib.Path("tree/docs/page.md")
    page.write_text("# A page\nIt takes 17 us and `18 us`.\n\n    19 us\n")
    done, stale = check(), "is not what jobs/results says; run jobs/report --pages"
    assert done.status == 1 and done.out.splitlines() == [
        f"README.md: table 'headline' {stale}",
        "docs/page.md:2: '17 us' is typed; figures stand in blocks that jobs/report renders",
        f"{name}: table 'ladder access' {stale}",
        f"{picture}: shows other values than jobs/results; run jobs/report --pages",
    ]
    pytest.importorskip("matplotlib")
    assert check("--pages").out.split() == ["README.md", name, picture]
    assert readme.read_text("utf-8") == (TOP / "README.md").read_text("utf-8")
    assert open("tree/" + picture).read().count(">0.50<") == 1
    for words, said in (
        ("table no-such -->\n<!-- end", "no table 'no-such'; there are "),
        ("table one-step more -->\n<!-- end", "no table 'one-step more'; there are "),
        ("picture beside more -->\n<!-- end", "picture 'beside more' has too"),
        ("picture ladder none -->\n<!-- end", "no result has the family 'none'"),
        ("table one-step", "a block '<!-- table ... -->' without its '<!-- end -->'"),
    ):
        page.write_text(f"<!-- {words} -->\n")
        done = check()
        assert done.status == 2 and done.err.startswith(f"report: docs/page.md: {said}"), done
        assert done.err.count("\n") == 1
    assert "\n| `strideRead`, stride 33 | " in printed("report", "--table", "ladder", "access")
    os.mkdir("empty")
    assert not re.search("[0-9] us", run("report", "--results", "empty", "--table", "one-step").out)


# The most memory of commands at two numbers of lines, each in a child of a process that has all packages.
PEAKS = """import os, sys, pandas, matplotlib.pyplot
from weftlab import compare, plot, report
file, *commands = sys.argv[1:]
lines = open(file).read()
for command in commands:
    sys.argv = command.split()
    for times in 150, 400:
        open(file, "w").write(times * lines)
        if os.fork() == 0:
            status = globals()[sys.argv[0]].main()
            print(open("/proc/self/status").read(), flush=True)
            os._exit(status)
        assert os.wait()[1] == 0"""


def test_each_of_many_lines_takes_little_memory_in_report_plot_and_compare():
    pytest.importorskip("matplotlib")
    shutil.copytree(RESULTS, "results")
    (file,) = pathlib.Path("results/h200x1").glob("*-one-step.jsonl")
    file.write_text("".join(file.read_text("utf-8").splitlines(True)[:8]))
    commands = ("report --results results --table one-step", f"plot {file}", f"compare {file} {file}")
    done = process(sys.executable, "-c", PEAKS, file, *commands, PYTHONPATH=str(JOBS))
    assert done.status == 0, done.err
    peaks_kb = list(map(int, re.findall(r"VmHWM:\s*(\d+) kB", done.out)))
    assert len(peaks_kb) == 6
    for command, few_kb, many_kb in zip(commands, peaks_kb[::2], peaks_kb[1::2]):
        assert many_kb - few_kb < 1.5 * 8 * 250, command  # 1.5 GB for a million


def test_the_index_has_every_file_of_results_once_and_each_the_name_of_its_machine_date_and_question():
    rows = [line.split("\t") for line in (RESULTS / "index.tsv").read_text().splitlines()[1:]]
    files = sorted(path.relative_to(RESULTS).as_posix() for path in RESULTS.glob("*/*"))
    assert sorted(row[0] for row in rows) == files
    name = r"[a-z0-9]+/20\d{2}-\d{2}-\d{2}-[a-z0-9-]+\.(jsonl|tsv)"
    assert [file for file in files if not re.fullmatch(name, file)] == []
    assert max(Counter(file.split("/")[0] for file in files).values()) <= 12
    assert [row[0] for row in rows if row[4]] == []  # what is superseded leaves the tree


def test_measure_runs_cases_in_turns_and_their_records_get_a_row_of_the_index(folder, monkeypatch):
    pathlib.Path("q.ini").write_text(
        f"[tiny]\nclaim = It runs.\nrepeats = 2\nheat = run {TOP}/inputs/heat2d.ini grid.nx={{16,32}}\n"
        '    grid.ny=16 time.steps=2 "grid.boundary=dirichlet 0" problem.initial=gaussian\n'
        "[two]\nranks = 2\nall = bench halo/staged_pair bytes=64k samples=1\n"
        "[wrong]\ncase = run inputs/none.ini\n"
    )
    words = ("--questions", folder / "q.ini", "--folder", folder / "results")
    monkeypatch.setenv("WEFT_MPIRUN", os.environ.get("MPIRUN", "mpirun") + " " + FLAGS)

    def measured(*asked):
        done = script("measure", *words, *asked)
        assert done.status == 0, done
        row = open("results/index.tsv").read().splitlines()[-1].split("\t")
        return row, read("results/" + row[0])

    row, records = measured("tiny")
    assert re.fullmatch(r"[a-z0-9]+/20[0-9-]+-tiny\.jsonl", row[0])
    assert [record["grid"]["nx"] for record in records] == [16, 32, 16, 32]
    assert row[1:] == [records[0]["git"], "jobs/measure tiny", "It runs.", ""]
    row, records = measured("tiny", "--ranks", "2")
    assert row[2] == "jobs/measure tiny --ranks 2"
    assert [record["ranks"] for record in records] == [2] * 4
    done = run("measure", *words, "three")
    assert "--ranks 0; allowed: 1 and more" in run("measure", *words, "tiny", "--ranks", "0").err
    told = "measure: no question 'three'; there are tiny, two, wrong; try --help\n"
    assert (done.status, done.err) == (2, told)
    assert re.findall("^(.*?) +([0-9]+) runs on ([0-9])", printed("measure", *words, "--list"), re.M) == [
        ("tiny", "4", "1"), ("two", "1", "2"), ("wrong", "1", "1"),
    ]  # fmt: skip
    assert script("measure", *words, "wrong").status == 1
    assert open("results/index.tsv").read().count("\n") == 2
