"""The tests of jobs/ share this: commands that run inside of this process, decks, runs of weft, made records.

tests/run reads the results as TAP, a line per test; see there.
"""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace
from unittest import mock

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
JOBS, RESULTS, OLDER = TOP / "jobs", TOP / "jobs/results", TOP / "tests/support/records"
BUILD = TOP / os.environ.get("BUILD", "build")
WEFT = str(BUILD / "weft")
FLAGS = os.environ.get("LAUNCH_FLAGS", "--oversubscribe --bind-to none")
sys.path.insert(0, str(JOBS))
os.environ.update(WEFT=WEFT, WEFT_MPIRUN_FLAGS=FLAGS, MPLBACKEND="Agg", OMP_NUM_THREADS="1")
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
os.environ.update(OMPI_MCA_ess_singleton_isolated="1", PYTHONDONTWRITEBYTECODE="1")
sys.dont_write_bytecode = True


# ---- TAP: the plan, how many tests there were, is the last line ----

done = 0


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.unregister(name="terminalreporter")


def pytest_runtest_logreport(report):
    global done
    if report.when != "call" and report.passed:  # what a test begins and ends with
        return
    done += 1
    file, _, name = report.nodeid.partition("::")
    name = pathlib.Path(file).name + (": " + name[len("test_") :].replace("_", " ") if name else "")
    why = " # skip " + report.longrepr[2][len("Skipped: ") :] if report.skipped else ""
    ms = 1000 * getattr(report, "duration", 0)
    lines = ["%sok %d %s in %dms%s" % ("not " * report.failed, done, name, ms, why)]
    lines += ["# " + line for line in report.longreprtext.split("\n") if report.failed]
    print(*lines, sep="\n", file=sys.__stdout__, flush=True)


def pytest_collectreport(report):  # a file that cannot be read, or that needs what is not here
    if not report.passed:
        report.when = "collect"
        pytest_runtest_logreport(report)


def pytest_sessionfinish():
    print("1..%d" % done, file=sys.__stdout__, flush=True)


# ---- commands ----


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command, *words, **variables):
    """A command of jobs/ inside of this process: its status, and what it prints."""
    module = import_module("weftlab." + command)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", newline="\n") for _ in range(2))
    environment = mock.patch.dict(os.environ, variables)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), environment:
        sys.argv = [command, *map(str, words)]
        try:
            status = module.main()
        except SystemExit as end:
            status = end.code
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    import_module("weftlab.measured").answers.cache_clear()  # of another folder
    for stream in (out, err):
        stream.seek(0)
    return SimpleNamespace(status=status, out=out.read(), err=err.read())


def process(*words, **variables):
    """A program: its status, and what it prints."""
    done = subprocess.run(list(map(str, words)), env=dict(os.environ, **variables), capture_output=True,
                          encoding="utf-8", errors="surrogateescape")  # fmt: skip
    return SimpleNamespace(status=done.returncode, out=done.stdout, err=done.stderr)


def script(command, *words, **variables):
    """A command of jobs/ as a program of its own."""
    return process(sys.executable, JOBS / command, *words, **variables)


def printed(command, *words, **variables):
    """The output of a command that succeeds."""
    done = run(command, *words, **variables)
    assert done.status == 0, done
    return done.out


def refused(command, *lines):
    """Each line of words is refused in one sentence and with status 2."""
    for line in lines:
        done = run(command, *(line.split() if isinstance(line, str) else line))
        assert done.status == 2 and done.err.count(command + ": ") == 1, (line, done)


# ---- runs ----


def deck(path, *pairs):
    """A deck from section.key=value pairs."""
    pathlib.Path(path).write_text("".join("[%s]\n%s\n" % tuple(pair.split(".", 1)) for pair in pairs))


def weft(*words, ranks=None):
    """weft, on one rank without a launcher."""
    launcher = [os.environ.get("MPIRUN", "mpirun"), *FLAGS.split(), "-n", ranks] if ranks else []
    done = process(*launcher, WEFT, *words)
    assert done.status == 0, done
    return done.out


def read(path):
    """The records of a file."""
    return [json.loads(line) for line in pathlib.Path(path).read_text("utf-8").splitlines() if line.strip()]


def write(path, records):
    pathlib.Path(path).write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return str(path)


def changed(record, **keys):
    """A copy with other values: step_s__p50=1 is that of a key of a key."""
    copy = json.loads(json.dumps(record))
    for path, value in keys.items():
        *outer, last = path.split("__")
        inner = copy
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return copy


HEAT = ("problem.kind=heat", "problem.alpha=0.2")


@pytest.fixture(scope="session")
def one_record(tmp_path_factory):
    """The record of a small run."""
    path = tmp_path_factory.mktemp("one")
    deck(path / "d.ini", *HEAT, "grid.nx=400", "grid.ny=300", "time.steps=20")
    weft("run", path / "d.ini", "checkpoint.every=0", "output.picture=none", "output.final=none",
         "run.lanes=1", "run.threads=1", f"output.record={path}/one.jsonl")  # fmt: skip
    (record,) = read(path / "one.jsonl")
    record["command"] = record["command"].replace(str(path) + "/", "")
    return record


@pytest.fixture
def study(one_record):
    """Records of two settings on 1, 2 and 4 ranks as a study of d.ini leaves them, two runs each, with steps
    of our choice; as weft 1.0 wrote them, with the fraction of the mean step alone: 0.5 where that of the
    median is 0.6."""
    deck("d.ini", *HEAT, "grid.nx=400", "grid.ny=300", "time.steps=20", "checkpoint.every=5")
    one_record = {key: value for key, value in one_record.items() if key != "fraction_of_ceiling_p50"}
    one_record.update(fraction_of_ceiling=0.5, overlap_hidden_fraction=0.9)
    command = {n: one_record["command"].replace("lanes=1", f"lanes={n}") for n in (1, 2)}
    us = {(1, 1): (1000, 1000), (2, 1): (500, 500), (4, 1): (270, 230), (1, 2): (800, 800)}
    return [
        changed(one_record, ranks=ranks, asked__lanes=lanes, command=command[lanes],
                step_s__p50=1e-6 * step, step_s__mean=1.2e-6 * step)
        for (ranks, lanes), steps in us.items() for step in steps
    ]  # fmt: skip
