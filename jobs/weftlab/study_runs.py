"""Runs the points of a study: here, or as elements of Slurm's job arrays."""

import itertools
import json
import os
import shlex
import shutil
import subprocess
import tempfile

from weftlab import site, text
from weftlab.study_points import HERE, Point, shuffled


def say(line):
    """One line, at once: a study may be stopped before the next."""
    print(text.printable(line), flush=True)


# ---- here ----


class Runner:
    """The program, and who starts it."""

    def __init__(self, command, launcher, site_keys):
        self.command, self.failures = command, 0
        self.launcher = site.launcher_of(site_keys, launcher)
        self.weft = os.environ.get("WEFT") or str(HERE / "build" / "weft")
        if not (os.path.isfile(self.weft) and os.access(self.weft, os.X_OK)):
            self.weft = shutil.which("weft")
        if self.weft is None:
            why = "no weft in %s or on PATH; set WEFT=/path/to/weft" % (HERE / "build")
            text.fail(command, why)
        starter = "mpirun" if self.launcher == "mpirun" else "srun"
        if shutil.which(starter) is None:
            text.fail(command, "launcher = %s: no %s on PATH" % (self.launcher, starter))
        self.flags = self.words_of("WEFT_MPIRUN_FLAGS")

    def words_of(self, variable):
        words = os.environ.get(variable)
        return None if words is None else site.split(words, variable, self.command)

    def line(self, ranks):
        if self.launcher == "mpirun":
            return site.mpirun_line(ranks, self.flags)
        return site.srun_line(self.launcher, ranks)

    def run(self, number, out, point):
        """One run, whose record goes to the file out; what came of it is one line."""
        # behind the record: what tells a run from others ends there (records.command_of)
        words = [self.weft, "run"] + point.arguments + ["output.record=" + out, "output.every=0"]
        with tempfile.TemporaryFile() as said:
            status = ended(self.line(point.ranks) + words, said)
            said.seek(0)
            lines = said.read().decode("utf-8", "replace").splitlines()
        if status == 0:
            steps = [line for line in lines if line.startswith("step ")]
            say("%s  %s: %s" % (number, point.name(), steps[0][4:].strip() if steps else ""))
        else:
            self.failures += 1
            own = [line for line in lines if line.startswith("weft: ")]
            own += [line for line in lines if any("a" <= c <= "z" for c in line)]
            failed = "failed with status %d" % status
            say("%s  %s: %s: %s" % (number, point.name(), failed, own[0] if own else ""))


def ended(words, output):
    """A program's status at its end. What stops the study stops the program too, and then it is
    waited for: it may be writing."""
    program = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    try:
        return program.wait()
    except KeyboardInterrupt:
        program.wait()
        raise


def run_here(study, points, site_keys):
    """The runs that are lacking, in random order; returns how many failed."""
    plan = shuffled([point for point in points for _ in range(point.lacking)])
    runner = Runner(study.command, study.keys["launcher"], site_keys)
    for number, point in enumerate(plan, 1):
        runner.run("%d/%d" % (number, len(plan)), study.out, point)
    return runner.failures


# ---- by Slurm ----


def new_file(path):
    """A file that was not there before: path, path.2, path.3, ..., opened for writing."""
    for number in itertools.count(1):
        try:
            return open(path if number == 1 else "%s.%d" % (path, number), "x", encoding="utf-8")
        except FileExistsError:
            continue


def write_plan(study, points):
    """One line per point: what an element of the array runs. Returns the file's name, a new one:
    elements of other arrays may still wait for theirs."""
    stem = os.path.realpath(study.out)
    stem = stem[: -len(".jsonl")] if stem.endswith(".jsonl") else stem
    with new_file("%s.plan.%d" % (stem, points[0].ranks)) as file:
        for point in points:
            line = dict(runs=point.lacking, out=study.out, launcher=study.keys["launcher"])
            line.update(ranks=point.ranks, label=point.label, arguments=point.arguments)
            file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())
    return file.name


def gpus_of(study, options, per_node):
    """The option for a GPU per rank, where points run on GPUs and neither site nor study asks for any."""
    asks = any(o.startswith(("--gpus", "--gres", "-G")) for o in options)
    on_gpus = "cuda" in study.values.get("run.device", "")
    return ["--gpus-per-node=%d" % per_node] if on_gpus and not asks else []


def submit(study, points, site_keys):
    """An array for each number of ranks, with an element for each point that lacks runs."""
    script = HERE / "jobs" / "study.sbatch"
    for program, what in (("sbatch", "sbatch is missing"), (str(script), "%s is missing" % script)):
        if shutil.which(program) is None:
            text.fail(study.command, what)
    options = site_keys["sbatch"] + site.split(study.keys["sbatch"], "sbatch", study.command)
    lacking = shuffled([point for point in points if point.lacking])
    for ranks in sorted({point.ranks for point in lacking}):
        elements = [point for point in lacking if point.ranks == ranks]
        per_node = min(study.ranks_per_node or ranks, ranks)
        words = ["sbatch", "--parsable"]
        words += ["--nodes=%d" % -(-ranks // per_node), "--ntasks-per-node=%d" % per_node]
        words += gpus_of(study, options, per_node) + options
        words += ["--array=0-%d" % (len(elements) - 1), str(script)]
        words += [str(HERE / "jobs" / "study"), write_plan(study, elements)]
        path = site.path_of(study.keys["site"], study.command)
        words += [os.path.realpath(path)] if path else []
        done = subprocess.run(words, stdout=subprocess.PIPE)
        if done.returncode != 0:
            text.fail(study.command, "sbatch failed with status %d" % done.returncode)
        job = done.stdout.decode("utf-8", "replace").strip()
        say("array %s: %d points on %d ranks" % (job, len(elements), ranks))


def run_element(command, plan, number):
    """A point of a plan: 0 when all of its runs ended well, else 1."""
    try:
        with open(plan, encoding="utf-8") as lines:
            line = json.loads(lines.read().splitlines()[number])
        point = Point(line["ranks"], line["label"], line["arguments"])
        runs, out, launcher = line["runs"], line["out"], line["launcher"]
    except (OSError, IndexError, ValueError, KeyError, TypeError):
        return text.fail(command, "%s has no point %d" % (plan, number))
    runner = Runner(command, launcher, site.read(None, command))
    for i in range(1, runs + 1):
        runner.run("%d of %d" % (i, runs), out, point)
    return int(runner.failures > 0)
