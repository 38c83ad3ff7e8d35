"""Commands are what their modules are; frames are joined as they are; Spack's recipe and the
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
from conftest import BUILD, HEAT, JOBS, TOP, deck, printed, process, refused, run, script, weft, without

SPACK = JOBS / "spack/packages/weft/package.py"
COMMANDS = sorted(path.name for path in JOBS.iterdir() if path.is_file() and not path.suffix)


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
    os.symlink("p.png", "link.gif")
    os.mkfifo("pipe.gif")
    refused("animate", "p.png --output link.gif", "p.png --output pipe.gif")
    assert os.path.islink("link.gif") and not os.path.isfile("pipe.gif")
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


def test_the_python_of_jobs_can_be_read():
    for file in [SPACK, *JOBS.glob("weftlab/*.py")]:
        ast.parse(file.read_text(), str(file))


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
