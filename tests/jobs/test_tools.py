"""Commands are what their modules are; frames are joined as they are; Spack's recipe, ReFrame's tests and the
container's recipe are sound, by the tools themselves where they are here.
"""

import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import BUILD, HEAT, JOBS, RESULTS, TOP, WEFT
from conftest import deck, printed, process, read, refused, run, script, weft, without

SPACK, REFRAME = JOBS / "spack/packages/weft/package.py", JOBS / "reframe/weft.py"
COMMANDS = sorted(path.name for path in JOBS.iterdir() if path.is_file() and not path.suffix)


def program(name, lines):
    os.makedirs("bin", exist_ok=True)
    pathlib.Path("bin", name).write_text(lines)
    os.chmod(f"bin/{name}", 0o755)


def test_each_command_is_a_module_that_says_what_it_does():
    assert len(COMMANDS) == 13
    for name in COMMANDS:
        done = script(name, "--help")
        first = ast.get_docstring(ast.parse((JOBS / f"weftlab/{name}.py").read_text())).split("\n")[0]
        assert done.status == 0 and first in done.out, (name, done)


# ---- frames ----


@pytest.fixture
def frames():
    """A run with five frames, and the picture of another one."""
    image = pytest.importorskip("PIL.Image")
    deck("d.ini", *HEAT, "grid.nx=60", "grid.ny=40", "time.steps=40", "output.record=none")
    weft("run", "d.ini", "--quiet", "output.every=10", "output.picture=p.png", "output.picture_high=2")
    weft("run", "d.ini", "--quiet", "output.picture=other.png", "grid.nx=50")
    os.mkdir("empty")
    return image


def test_a_gif_and_an_apng_have_every_frame_by_step_pixel_by_pixel_and_equal_ones_keep_their_time(frames):
    from PIL import ImageSequence

    def shown(name):
        """Format, frames, whether they are the run's pictures, milliseconds, repetitions (0: without end)."""
        film = frames.open(name)
        found = [(frame.convert("RGB").tobytes(), frame.info["duration"])
                 for frame in ImageSequence.Iterator(film)]
        files = [frames.open(path).convert("RGB").tobytes()
                 for path in sorted(pathlib.Path("p.frames").iterdir())]
        same = [pixels for pixels, _ in found] == files
        return film.format, len(found), same, round(sum(ms for _, ms in found)), film.info["loop"]

    assert printed("animate", "p.frames", "--output", "p.gif", "--fps", "10") == "p.gif: 5 frames\n"
    assert shown("p.gif") == ("GIF", 5, True, 500, 0)
    last = "p.frames/0000000040.png"
    printed("animate", *sorted(pathlib.Path("p.frames").iterdir()), last, "--output", "p.apng")
    assert shown("p.apng") == ("PNG", 5, True, 300, 0)


def test_what_cannot_be_joined_is_refused_and_an_older_animation_stays(frames):
    pathlib.Path("p.gif").write_text("old")
    wrong = ["empty", "nowhere.png", "d.ini", "p.png other.png"]
    refused("animate", *(words + " --output p.gif" for words in wrong), "p.png --output p.mp4")
    refused("animate", "p.png --output p.gif --fps 0", "p.png")
    assert run("animate", "p.png", "--output", "nowhere/p.gif").status == 3
    assert open("p.gif").read() == "old"
    assert sorted(os.listdir()) == ["d.ini", "empty", "other.png", "p.frames", "p.gif", "p.png"]
    without("PIL", "animate", "p.png", "--output", "p.gif")


def test_panels_have_each_frame_with_its_step_axes_in_cells_and_the_values_of_its_colours(frames):
    pytest.importorskip("matplotlib")
    assert printed("panels", "p.frames", "--output", "p.svg") == "p.svg: 5 panels\n"
    words = re.findall("<(?:text|tspan)[^>]*>([^<]*)", open("p.svg").read())
    assert [word for word in words if word.startswith("heat")] == [f"heat, step {n}"
                                                                   for n in range(0, 50, 10)]
    assert words.count("x, cells") == 5 and words.count("y, cells") == 1
    assert {"60", "40", "0.00", "2.00", "value of a cell"} <= set(words)
    printed("panels", "p.png", "p.frames", "--output", "q.png")
    assert frames.open("q.png").size[0] > 1000
    frames.new("P", (4, 4)).save("foreign.png")
    wrong = ["empty", "nowhere.png", "d.ini", "foreign.png"]
    refused("panels", *(words + " --output r.png" for words in wrong), "p.png --output r.gif", "p.png")


# ---- ReFrame ----


def families(name):
    values = {n.targets[0].id: n.value for n in ast.parse(REFRAME.read_text()).body
              if isinstance(n, ast.Assign)}
    value = values[name]
    return ast.literal_eval(value.right if isinstance(value, ast.BinOp) else value)


def test_the_python_of_jobs_can_be_read_and_reframe_knows_every_family_of_weft_bench():
    for file in [SPACK, *JOBS.glob("reframe/*.py"), *JOBS.glob("weftlab/*.py")]:
        ast.parse(file.read_text(), str(file))
    on_host, on_gpus = families("host_families"), families("cuda_families")
    assert re.findall("^([a-z]+): ", weft("bench", "--list", "device=host"), re.M) == on_host
    told = re.search("^Families ([a-z, ]*) use all ranks", weft("bench", "--help"), re.M)[1]
    assert re.split(", | and ", told) == families("several_ranks")
    records = [record for file in RESULTS.glob("*/*.jsonl") for record in read(file)]
    of_gpus = {r["family"] for r in records if r.get("family") and r.get("device") == "cuda"}
    assert of_gpus <= {*on_host, *on_gpus}


@pytest.fixture
def reframe():
    """ReFrame, in an environment of CI's own or on PATH."""
    beside = os.path.join(os.path.dirname(os.environ.get("WEFT_PYTHON", "none")), "reframe")
    found = shutil.which("reframe") or shutil.which(beside)
    if not found:
        pytest.skip("no reframe here (pip install reframe-hpc)")

    def ran(settings, *words, status=0, **variables):
        prefix = (found, "--prefix", os.path.abspath("r"), "-C", settings, "-c", REFRAME, "--nocolor")
        done = process(*prefix, *words, **variables)
        assert done.status == status, done.out + done.err
        return done.out

    return ran


def test_reframe_builds_runs_a_deck_to_its_fingerprint_and_fails_where_bits_or_rates_are_others(reframe):
    settings, here = JOBS / "reframe/local.py", os.getcwd()
    program("make", f"""#!/bin/sh
echo "$@" >>{here}/made
for word; do case $word in
    BUILD=*) mkdir -p "${{word#*=}}" && ln -s {WEFT} "${{word#*=}}/weft" ;;
esac; done
""")  # fmt: skip
    small = "weft_bench.keys=samples=1,nx=256,ny=256"
    path = here + "/bin" + os.pathsep + os.environ["PATH"]
    out = reframe(settings, "-n", "weft_deck.*heat1d|weft_bench.*stencil", "-S", small, "-r", PATH=path)
    assert re.search(r"PASSED.* Ran 5/5 test case\(s\)", out), out
    made = re.sub("^-j [0-9]*", "-j", re.sub("_build_[0-9a-f]*.build", "_build_", open("made").read()))
    assert made == f"-j -C {TOP} BUILD={here}/r/stage/local/default/builtin/weft_build_ CUDA=0\n"
    assert len(re.findall("^P: rate: [0-9.e-]* GCells/s", out, re.M)) == 3
    assert len(re.findall("^P: [A-Za-z]*_f32: [0-9.e-]* of the ceiling", out, re.M)) == 3
    records = [r for f in pathlib.Path("r/output").rglob("weft_deck_*/record.jsonl") for r in read(f)]
    for record in records:
        record["fraction_of_ceiling"], record["step_s"]["mean"] = 5, record["step_s"]["p50"]
    pathlib.Path("records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    extras = f"'extras': {{'weft_records': '{here}/records.jsonl'}}, 'environs'"
    pathlib.Path("faster.py").write_text(settings.read_text().replace("'environs'", extras))
    again = ("-n", "weft_deck.*heat1d.*ranks=2", "-S", f"weft_build.weft={WEFT}", "-r")
    out = reframe("faster.py", *again, status=1)
    assert re.search(r"fraction=.*of the ceiling, expected 5\.0 \(l=4\.5", out, re.S), out
    assert "Failing phase: sanity" in reframe(settings, *again, "-S", "weft_deck.keys=problem.alpha=0.1",
                                              status=1)


def test_reframe_asks_for_a_gpu_per_rank_where_a_partition_has_them_and_for_none_elsewhere(reframe):
    pathlib.Path("site.py").write_text("""\
slurm = {'scheduler': 'slurm', 'launcher': 'srun', 'environs': ['builtin']}
gpus = {'devices': [{'type': 'gpu', 'num_devices': 2}],
        'resources': [{'name': '_rfm_gpu', 'options': ['--gres=gpu:{num_gpus_per_node}']}]}
partitions = [dict(slurm, name='cpu'), dict(slurm, name='gpu', features=['gpu'], **gpus),
              dict(slurm, name='undeclared', **gpus)]
site_configuration = {'systems': [{'name': 'site', 'hostnames': ['.*'], 'partitions': partitions}]}
""")  # fmt: skip
    out = reframe("site.py", "--dry-run", "-n", "weft_deck.*heat1d.*ranks=4")
    job = lambda pattern: next(pathlib.Path("r/stage/site").glob(pattern)).read_text()
    on_host, on_gpus = (job(f"{name}/builtin/weft_deck_*/rfm_job.sh") for name in ("cpu", "gpu"))
    assert "weft run run.device=host heat1d.ini" in on_host and "gpu:" not in on_host
    asked = re.findall("^#SBATCH (--[ng][rt][a-z-]*=.*)", on_gpus, re.M)
    assert asked == ["--ntasks=4", "--ntasks-per-node=2", "--gres=gpu:2"]
    assert "weft run run.device=cuda heat1d.ini" in on_gpus
    assert re.search("make .* CUDA=1", job("gpu/builtin/weft_build_*/rfm_build.sh"))
    assert "site:undeclared has GPUs, but not the feature 'gpu'" in out


# ---- Spack and Apptainer ----


def test_spacks_recipe_has_a_release_and_the_clone_and_make_does_as_it_is_told(folder):
    variants = ("-cuda", "+cuda,+nccl,cuda_arch=80,cuda_arch=90")
    done = process(sys.executable, TOP / "tests/support/spack_stand_in.py", SPACK, *variants)
    recipe = json.loads(done.out)
    said = lambda name: [one for one in recipe["directives"] if one[0] == name]
    versions = [(one[1][0], *next(iter(one[2].items()))) for one in said("version")]
    assert versions == [("main", "branch", "main"), ("1.0.0", "tag", "v1.0.0")]
    clone = "file://" + os.path.realpath(TOP)
    assert (recipe["git"], recipe["url"]) == (clone, clone + "/weft-1.0.0.tar.gz")
    needs = [(one[1][0], one[2].get("when")) for one in said("depends_on")]
    assert "hdf5@1.10: ~mpi" in [name for name, _ in needs]
    assert [name for name, when in needs if when == "+cuda"] == ["cuda@12.0:", "cxx"]
    assert len(said("maintainers")) == 1
    (_, on_host), (_, on_gpus) = recipe["make"].items()
    wanted = "CUDA=1 NCCL=1 CUDA_HOME=/opt/cuda ARCH=80 90 NCCL_HOME=/opt/nccl PREFIX=/opt/weft install"
    assert " ".join(on_gpus["install"][2:]) == wanted
    for name in set(re.findall('"([A-Z_0-9]*)=', SPACK.read_text())):
        assert re.search(rf"^ *{name} *\??=|\({name}\)", (TOP / "Makefile").read_text(), re.M), name
    words = on_host["install"]
    assert words[1] == "HDF5_DIR=/opt/hdf5"
    (folder / "hdf5/include").mkdir(parents=True)
    (folder / "hdf5/include/hdf5.h").touch()
    words[1] = f"HDF5_DIR={folder}/hdf5"
    done = process("make", "-n", "-C", TOP, *words, f"BUILD={folder}/b")
    assert done.status == 0, done
    assert f"-isystem {folder}/hdf5/include " in done.out
    assert re.search("install -m 755 .*/b/weft /opt/weft/bin/weft", done.out)
    assert not re.search("WEFT_CUDA=1|nvcc ", done.out)


def test_spack_finds_nothing_wrong_with_its_recipe():
    if not shutil.which("spack"):
        pytest.skip("no spack here")
    pathlib.Path("repos.yaml").write_text(f"repos:\n- {JOBS}/spack\n")
    assert process("spack", "-C", os.getcwd(), "audit", "packages", "weft").out.count(": passed") == 4


def section(name, folder):
    """Of the container's recipe, with its arguments as they are unless told otherwise."""
    lines = re.search(f"^%{name}$(.*?)(?=^%|\\Z)", (JOBS / "apptainer.def").read_text(), re.M | re.S)[1]
    return lines.replace("{{ commit }}", "unknown").replace("/usr/local", f"{folder}/there")


def test_the_containers_recipe_installs_debians_packages_and_makes_it_as_the_pages_say(folder):
    assert (JOBS / "apptainer.def").read_text().startswith("Bootstrap: docker\nFrom: {{ from }}\n")
    assert "from=debian:12" in section("arguments", folder).split()
    post = section("post", folder)
    assert process("bash", "-n", input=post).status == 0
    pages = "".join(path.read_text() for path in [TOP / "README.md", *TOP.glob("docs/*.md")])
    for line in re.findall("^ *make .*", post, re.M):
        assert line.strip().replace(' "$(nproc)"', "").replace(" GIT=unknown", "") in pages, line
    if process("sh", "-c", "apt-cache show libc6").status != 0:
        pytest.skip("no list of Debian's packages here")
    for names in re.findall("--no-install-recommends (.*)", post):
        assert process("apt-cache", "show", *names.split()).status == 0, names


def test_the_containers_own_test_passes_after_make_install_and_fails_where_a_deck_ends_otherwise(folder):
    for line in filter(None, map(str.split, section("files", folder).splitlines())):
        target = folder / "copied" / line[1][len("/opt/weft/") :]
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", TOP / line[0], target], check=True)
    done = process("make", "-s", "-C", "copied", "install-built", f"BUILD={BUILD}", f"PREFIX={folder}/there")
    assert done.status == 0, done
    launcher = os.path.dirname(shutil.which(os.environ.get("MPIRUN", "mpirun")))
    path = os.pathsep.join([f"{folder}/there/bin", launcher, os.environ["PATH"]])
    pathlib.Path("its_test").write_text(section("test", folder))
    assert process("sh", "its_test", PATH=path).status == 0
    pathlib.Path("its_run").write_text(section("runscript", folder))
    assert process("sh", "its_run", "--version", PATH=path).out == weft("--version")
    ini = folder / "there/share/weft/inputs/heat1d.ini"
    ini.write_text(re.sub("^# fingerprint: .", "# fingerprint: x", ini.read_text(), flags=re.M))
    done = process("sh", "its_test", PATH=path)
    assert done.status == 1 and "0 of 2 runs ended with fingerprint x" in done.out + done.err
