"""jobs/study: a deck becomes records and a table; any text is safe in names and values; site.ini tells who
launches and what Slurm is asked for.
"""

import fcntl
import importlib.util
import json
import os
import pathlib
import subprocess
import time

import pytest
from conftest import HEAT, JOBS, WEFT, changed, deck, printed, process, read, refused, run, script, sys, write

STUDY = JOBS / "study"


@pytest.fixture(autouse=True)
def path(folder, monkeypatch):
    """Programs that stand in for others come first, then the launcher."""
    (folder / "bin").mkdir()
    launcher = os.path.dirname(os.environ.get("MPIRUN", "mpirun"))
    monkeypatch.setenv("PATH", os.pathsep.join(filter(None, [f"{folder}/bin", launcher, os.environ["PATH"]])))
    deck("d.ini", *HEAT, "grid.nx=40", "grid.ny=30", "time.steps=20", "checkpoint.every=5",
         "output.picture=p.png")


def stand_in(name, lines):
    file = pathlib.Path("bin", name)
    file.write_text("#!/bin/bash\n" + lines + "\n")
    file.chmod(0o755)


# Writes its words to the file asked, and runs the elements of an array at once.
SBATCH = """printf '%s\\n' "$@" >asked
last=0
while [[ $1 == -* ]]; do
    case $1 in --array=0-*) last=${1#*-*-*-} ;; esac
    shift
done
for ((i = 0; i <= last; i++)); do
    SLURM_ARRAY_TASK_ID=$i bash "$@" >>elements 2>&1 || echo "status $?" >>elements
done
echo 7"""


def submitted(*words):
    """The words that sbatch gets."""
    printed("study", "deck=d.ini", *words, "--submit")
    return open("asked").read().replace("\n", " ").rstrip()


def site_ini(*lines, name="s.ini"):
    pathlib.Path(name).write_text("[site]\n" + "".join(line + "\n" for line in lines))


def table(*words):
    """The rows of the table: words by value and ranks."""
    lines = printed("study", "deck=d.ini", *words).partition("\nvalues")[2].splitlines()[1:]
    rows = [line if line.startswith("lanes") else "all " + line for line in lines if line[0] not in "*#"]
    return {" ".join(row.split()[:2]): " ".join(row.split()[2:]) for row in rows}


def test_a_strong_study_is_one_record_a_run_and_what_is_there_is_not_run_again():
    words = ("mode=strong", "ranks=1 2", "repeats=2", "out=s.jsonl", "run.lanes=2")
    assert list(table(*words, "launcher=mpirun")) == ["all 1", "all 2"]
    records = read("s.jsonl")
    assert sorted(r["ranks"] for r in records) == [1, 1, 2, 2]
    assert {(r["grid"]["nx"], r["grid"]["ny"], r["asked"]["lanes"]) for r in records} == {(40, 30, 2)}
    assert sorted(os.listdir()) == ["bin", "d.ini", "s.jsonl"]
    first, killed, *others = open("s.jsonl").read().splitlines()
    pathlib.Path("s.jsonl").write_text("\n".join([first, *others, killed[:500]]) + "\n")
    done = run("study", "deck=d.ini", *words)
    assert "2 points, 2 runs each; 3 of 4 are in s.jsonl" in done.out
    assert done.err == "s.jsonl: left out 1 lines: 1 damaged, 0 of another kind\n"
    assert printed("records", "run", "s.jsonl").count("\n") == 4


def test_in_a_weak_study_the_grid_grows_and_lists_of_values_are_combined():
    printed("study", "mode=weak", "ranks=1 3", "repeats=1", "deck=d.ini", "out=w.jsonl")
    assert sorted((r["grid"]["nx"], r["grid"]["ny"]) for r in read("w.jsonl")) == [(40, 30), (40, 90)]
    deck("line.ini", *HEAT, "grid.nx=400", "time.steps=20")
    ini = "; in 1D\n[study]\ndeck = line.ini ; the deck\nmode = weak\nranks = 1, 3\nrepeats = 1\n"
    ini += "[grid]\nnx = 50, 70\n[problem]\nalpha=0.1,0.2"  # ends within a line
    pathlib.Path("lines.ini").write_text(ini)
    points = [line.split()[-1] for line in printed("study", "lines.ini", "--list").splitlines()[1:]]
    assert len(points) == 8 and set(points) == {"grid.nx=%d" % n for n in (50, 70, 150, 210)}


def test_the_table_has_medians_spread_speed_up_and_efficiency_and_flags_repeats_that_differ(study):
    write("made.jsonl", study)
    words = ("deck=d.ini", "repeats=2", "out=made.jsonl", "run.lanes=1,2", "ranks=1 2 4", "--table")
    out = printed("study", *words)
    assert "6 points, 2 runs each; 8 of 12 are in made.jsonl" in out
    assert "the repeats of 1 of 4 points differ" in out
    if importlib.util.find_spec("matplotlib"):  # the picture's efficiency is the table's
        assert "efficiency 1.00 on 4 ranks" in script("study", *words, "--plot").out
    rows = table(*words)
    assert rows["lanes=1 2"] == "2 500 us 0.0 % 0.24 2.000 1.000 0.600 0.900"
    assert rows["lanes=1 4"] == "2 250 us 16.0 %* 0.48 4.000 1.000 0.600 0.900"
    assert rows["lanes=2 1"] == "2 800 us 0.0 % 0.15 1.000 1.000 0.600 0.900"
    assert table(*words, "ranks=2 4")["lanes=1 4"] == "2 250 us 16.0 %* 0.48 2.000 1.000 0.600 0.900"
    assert table(*words, "ranks=1", "mode=sweep")["lanes=1 1"] == "2 1 ms 0.0 % 0.12 0.800 0.600 0.900"
    # of one rank on each of two GPUs the slower one counts
    each = [changed(r, machine__gpus=[{"uuid": "GPU-%d" % i}], step_s__p50=r["step_s"]["p50"] * (1 - 0.1 * i))
            for r in study for i in range(2 if r["ranks"] == 1 else 1)]  # fmt: skip
    write("made.jsonl", each)
    told = "# one rank alone on each of 2 GPUs: 900 to 1000 us; the table has the slowest"
    assert told in printed("study", *words) and table(*words)["lanes=1 1"].startswith("4 1 ms 0.0 % 0.12 1.0")
    write("made.jsonl", [changed(record, verdict="failed") for record in study])
    assert "0 of 12 are in" in printed("study", *words)


def test_a_point_that_fails_is_named_and_the_others_are_run():
    done = run("study", "ranks=1", "repeats=1", "deck=d.ini", "out=f.jsonl", "problem.alpha=0.1,7")
    assert done.status == 1 and "alpha=7: failed with status 2: weft: " in done.out
    assert [float(record["problem"]["alpha"]) for record in read("f.jsonl")] == [0.1]


def test_bad_arguments_and_site_files_and_a_second_study_that_writes_to_the_same_file_are_refused():
    pathlib.Path("bad.ini").write_text("deck d.ini\n")
    wrong = ["mode=sideways", "deck=nowhere.ini", "repeats=0", "launcher=rocket", "speed=9", "bad.ini",
             "nowhere.ini", "--what", "ranks=1 x", "site=nowhere.ini"]  # fmt: skip
    refused("study", *(["deck=d.ini", word] for word in wrong))
    for line in ("launcher = ssh", "queue = long", "sbatch = 'open", "partition gpu"):
        site_ini(line)
        refused("study", "deck=d.ini site=s.ini --list")
    words = ["study", "ranks=1", "repeats=1", "deck=d.ini", "out=new/o.jsonl"]
    os.mkdir("new")
    with open("new/o.jsonl.lock", "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        done = run(*words)
        assert done.status == 2 and "new/o.jsonl: another study writes there" in done.err, done
    assert run(*words).status == 0 and os.listdir("new") == ["o.jsonl"]
    pathlib.Path("mine").write_text("mine")
    pathlib.Path("mine.jsonl.lock").write_text("mine")
    os.symlink("mine", "link.jsonl.lock")
    os.mkfifo("pipe.jsonl.lock")
    wrong = "mine.jsonl pipe.jsonl new mine.jsonl.lock pipe.jsonl.lock /dev/null ~/o.jsonl $HOME/o.jsonl"
    refused("study", *(f"ranks=1 repeats=1 deck=d.ini out={out}" for out in wrong.split()))
    assert run("study", "ranks=1", "repeats=1", "deck=d.ini", "out=link.jsonl").status == 3
    assert open("mine").read() == open("mine.jsonl.lock").read() == "mine" and not os.path.exists("~")


def test_the_study_needs_no_package_of_others_and_reads_every_study_of_jobs():
    done = process(sys.executable, "-E", "-s", "-S", STUDY, "deck=d.ini", "ranks=2", "--list")
    line = "2 ranks: weft run d.ini checkpoint.every=0 output.picture=none output.final=none run.threads=1"
    assert done.out.splitlines()[-1] == line, done
    for file in (JOBS / "studies").glob("*.ini"):
        printed("study", file, "--list")


def test_other_peoples_characters_in_names_and_values_are_taken_as_they_stand_here_and_by_slurm():
    odd = b'it\'s "a" $(touch PWNED) \xc3\xa4\xff'.decode("utf-8", "surrogateescape")
    os.rename("d.ini", odd + ".ini")
    words = (f"deck={odd}.ini", "ranks=1", f"out={odd}.jsonl", "site=s.ini")
    site_ini("modules =", '    export LOADED="one; two"', "    touch loaded")
    assert "\n1/1  1 rank: median" in script("study", *words, "repeats=1").out
    assert "1 of 1 are in it" in script("study", *words, "repeats=1", "--table").out
    stand_in("sbatch", SBATCH)
    script("study", *words, "repeats=3", "sbatch=--comment='two words'", "--submit")
    assert "--comment=two words" in open("asked", errors="replace").read().split("\n")
    assert script("records", "run", odd + ".jsonl").out.count("\n") == 3, open("elements").read()
    assert os.path.exists("loaded") and not os.path.exists("PWNED")
    site_ini("modules =", "    none_there", "    touch PWNED")  # the first line that fails ends an element
    script("study", *words, "repeats=4", "--submit")
    assert open("elements").read().endswith("\nsite.ini: 'none_there' failed\nstatus 3\n")
    assert not os.path.exists("PWNED")


def test_site_ini_tells_how_ranks_are_launched():
    rest = "--gpu-bind=none --kill-on-bad-exit=1"
    openmpi, hydra = "mpirun -n 6 --map-by slot:PE=4 --bind-to core", "mpirun -n 6 -bind-to core:4"
    job = dict(SLURM_JOB_ID="7", SLURM_NTASKS="6", SLURM_CPUS_PER_TASK="4", WEFT_SITE="s.ini")
    for launcher, asked, knows, mpi, words in (
        ("pmix", "", "pmix_v4", "", f"srun --mpi=pmix {rest} --cpus-per-task=4"),
        ("cray", "srun", "pmix_v4", "", f"srun {rest} --cpus-per-task=4"),
        ("auto", "", "pmix_v4", "", f"srun --mpi=pmix {rest} --cpus-per-task=4"),
        ("mpirun", "", "pmix_v4", "mpirun (Open MPI) 4.1.4", openmpi),
        ("auto", "", "none pmi2", "HYDRA build details", hydra),
        ("auto", "", "none pmi2", "another MPI", "mpirun -n 6"),
        ("pmix", "pmi2", "", "", f"srun --mpi=pmi2 {rest} --cpus-per-task=4"),
    ):
        stand_in("srun", f"echo '{knows}'")
        stand_in("mpirun", f"echo '{mpi}'")
        site_ini("launcher = " + launcher)
        launched = printed("site", "--launch", **job, WEFT_LAUNCHER=asked)
        assert launched == f"launch=({words})\n", (launcher, asked, knows, mpi)
    site_ini("launcher = pmi2")  # a study launches by the same words
    stand_in("srun", 'echo "$@" >launched')
    printed("study", "deck=d.ini", "ranks=1", "repeats=1", "site=s.ini")
    assert open("launched").read().startswith(f"--mpi=pmi2 {rest} -n 1 {WEFT} run d.ini")


def test_slurm_is_asked_for_what_the_site_the_study_and_its_points_say():
    stand_in("sbatch", 'echo "$@" >asked; echo 7')
    for site, words, asks in (  # a GPU per rank, unless options have them, or none is asked for
        ("--account='my lab'", "run.device=cuda ranks=6 ranks_per_node=4 sbatch=-pgpu",
         "--nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --account=my lab -pgpu"),
        ("--gres=gpu:a:8", "run.device=cuda ranks=2", "--nodes=1 --ntasks-per-node=2 --gres=gpu:a:8"),
        ("", "run.device=cuda ranks=2 sbatch=-G2", "--nodes=1 --ntasks-per-node=2 -G2"),
        ("", "run.device=host ranks=2", "--nodes=1 --ntasks-per-node=2"),
    ):  # fmt: skip
        site_ini("sbatch = " + site, name="my site.ini")
        asked = submitted("out=g.jsonl", "site=my site.ini", *words.split())
        assert asked.startswith(f"--parsable {asks} --array=0-0 {JOBS}/study.sbatch {STUDY} "), words
        assert asked.endswith(f" {os.getcwd()}/my site.ini")
    points = ("ranks=2", "out=s.jsonl")  # a second array leaves the points of one that waits
    assert "/s.plan.2 " in submitted(*points, "repeats=1", "run.lanes=1,2,3")
    before = open("s.plan.2").read()
    assert "/s.plan.2.2 " in submitted(*points, "repeats=2", "run.lanes=1,2")
    assert open("s.plan.2").read() == before and [line["runs"] for line in read("s.plan.2.2")] == [2, 2]
    assert printed("site", "--sbatch", WEFT_SITE=f"{JOBS}/site.ini") == "options=()\n"  # as it stands
    site_ini("sbatch = --exclusive")  # outside of a job weft.sbatch is its own sbatch
    process("bash", JOBS / "weft.sbatch", "--nodes=2", "d d.ini", "time.steps=9", WEFT_SITE="s.ini")
    assert open("asked").read() == f"--exclusive {JOBS}/weft.sbatch --nodes=2 d d.ini time.steps=9\n"


def test_records_leave_out_what_is_none_and_print_characters_of_utf_8(one_record):
    odd = [{"ranks": True}, {"grid__nx": "64"}, {"step_s__p50": 0}, {"problem__kind": None}, {"fuse": "12"}]
    write("mixed.jsonl", [one_record] + [changed(one_record, **keys) for keys in odd])
    line = json.dumps(one_record).encode()
    ranks, git = b'"ranks": %d,' % one_record["ranks"], one_record["git"].encode()
    rung = b'{"rung":"r","family":"f","swept":"k","sweep":[{"parameters":{"k":%s}}],"rate":2}\n'
    values = (b"NaN", b"-Infinity", b"1e999", b"1" + 400 * b"0")
    damaged = [line.replace(ranks, b"\"ranks\": %s," % value) for value in values] + [b"[" * 5000]
    shown = line.replace(git, rb"\u001b[31m" + b"\xff" + rb"\ud800\ud83d\ude00") + b" \r\n"
    with open("mixed.jsonl", "ab") as file:
        file.write(b"\n".join([*damaged, shown, rung % b"1" + rung % b'"1"' + b"[1]"]))
    done = script("records", "run", "mixed.jsonl", LC_ALL="C")
    first, second = map(json.loads, done.out.splitlines())
    assert first == one_record and second["deck"] == one_record["deck"]
    assert second["git"] == "\\x1b[31m\ufffd\ufffd\U0001f600"
    assert done.err == "mixed.jsonl: left out 13 lines: 5 damaged, 8 of another kind\n"
    assert printed("records", "bench", "mixed.jsonl").encode() == rung % b"1"
    assert printed("records", "any", "mixed.jsonl").count("\n") == 3
    write("long.jsonl", [one_record] * 99)  # more than a pipe holds
    done = process("sh", "-c", f"{sys.executable} {JOBS}/records any long.jsonl | head -n 1")
    assert (done.out.count("\n"), done.err) == (1, "")
    reader, writer = os.pipe()  # one that does not block, and a slow reader
    os.set_blocking(writer, False)
    slow = subprocess.Popen([sys.executable, JOBS / "records", "any", "long.jsonl"], stdout=writer)
    os.close(writer)
    time.sleep(1)
    assert open(reader).read().count("\n") == 99 and slow.wait() == 0
    open("empty.jsonl", "w").close()
    os.mkfifo("pipe.jsonl")
    os.mkfifo("pipe.ini")
    refused("study", "pipe.ini")
    refused("records", "run pipe.jsonl", "run empty.jsonl", "run nowhere.jsonl", "run .", "some mixed.jsonl")
    refused("records", "run")
