"""A scaling study or a sweep: a deck run on several numbers of ranks and with several values of its
keys, one record per run.

FILE.ini, and the command line, which wins over it:
  deck = FILE                 the deck to run (inputs/heat2d.ini)
  mode = strong               strong: the grid stays; weak: it grows with the ranks, along y
                              (1D: x); sweep: values are compared
  ranks = 1 2 4
  repeats = 3                 runs of each point
  out = FILE.jsonl            records (the ini's name in this folder, else study.jsonl)
  launcher = auto             the site's; pmix, pmi2 or cray, which are srun, mpirun, or srun,
                              which is the site's, else pmix
  ranks_per_node = 0          for --submit (0: all on one node)
  sbatch = OPTIONS            for --submit: --time=...; they win over the site's. Where a point
                              has run.device = cuda, a GPU per rank is asked for unless
                              --gpus... or --gres... stands here or in the site's
  site = FILE                 launcher, options of sbatch, modules ($WEFT_SITE, else
                              jobs/site.ini, which describes them)
  section.key = VALUE, ...    any key of a deck; every combination of several values is a point

Points run in random order; runs that the file already holds are not repeated, so that a stopped
study continues. At the end it prints the table: medians of the runs' median steps, the spread of
the repeats (a * where they differ by more than 3 %), and rates beside those on the fewest ranks (a
sweep: beside the best on as many ranks). Of runs on one rank on several GPUs, each alone, those on
the slowest count: what all of them together can be held to. To add a run on each of four:
  for i in 0 1 2 3; do CUDA_VISIBLE_DEVICES=$i jobs/study FILE.ini ranks=1 repeats=$((i + 1)); done

Runs leave out checkpoints and pictures. On the host a rank gets one thread unless run.threads is
given. From the environment: WEFT (the program), WEFT_SITE, WEFT_MPIRUN_FLAGS (of mpirun; Open MPI:
--oversubscribe --bind-to none).

Exit status: 0 done, 1 some runs failed, 2 a mistake in the study.
"""

import contextlib
import io
import os
import subprocess
import sys

from weftlab import site, study_points, study_runs, study_table, text
from weftlab.files import held


def arguments_of():
    parser = text.parser("study", __doc__)
    parser.usage = "study [FILE.ini] [key=value ...] [--list | --table | --submit] [--plot]"
    actions = {
        "list": "print what would be run",
        "table": "print the results so far",
        "submit": "give the points to Slurm, one array per number of ranks (jobs/study.sbatch)",
    }
    for action, what in actions.items():
        name = "--" + action
        parser.add_argument(name, dest="action", action="store_const", const=action, help=what)
    parser.add_argument("--plot", action="store_true", help="also draw the plots (jobs/plot)")
    # PLAN NUMBER: a line of a plan, as an element of a Slurm array
    parser.add_argument("--element", nargs=2, metavar=("PLAN", "NUMBER"), help="of study.sbatch")
    arguments, words = parser.parse_known_args()
    unknown = [word for word in words if word.startswith("-")]
    if unknown:
        parser.error("what is '%s'" % unknown[0])
    return parser.prog, arguments, words


def files_and_settings(command, words):
    files = [word for word in words if "=" not in word]
    if len(files) > 1:
        text.fail(command, "two files: %s and %s" % (files[0], files[1]))
    if files and not os.access(files[0], os.R_OK):
        text.fail(command, "%s: no such file" % files[0])
    return (files[0] if files else None), [word for word in words if "=" in word]


def print_list(points):
    for point in study_runs.shuffled([point for point in points if point.lacking]):
        study_runs.say("%d ranks: %s" % (point.ranks, point.command()))


def perform(command, arguments, words):
    if arguments.element:
        plan, number = arguments.element
        if not (number.isdigit() and os.access(plan, os.R_OK)):
            text.fail(command, "--element needs a plan and a number")
        return study_runs.run_element(command, plan, int(number))

    study = study_points.Study(command, *files_and_settings(command, words))
    site_keys = site.read(study.keys["site"], command)
    points = study_points.points_of(study)
    study_points.look_for_records(study, points)
    total, lacking = study.repeats * len(points), sum(point.lacking for point in points)
    counts = (len(points), study.repeats, total - lacking, total, study.out)
    study_runs.say("%d points, %d runs each; %d of %d are in %s" % counts)
    if arguments.action == "list":
        print_list(points)
        return 0
    if arguments.action == "submit":
        study_runs.submit(study, points, site_keys)
        return 0
    failures = 0
    if lacking and arguments.action is None:
        with held(study.out, command):
            failures = study_runs.run_here(study, points, site_keys)
        with contextlib.redirect_stderr(io.StringIO()):  # what is left out was told before
            study_points.look_for_records(study, points)
    for line in study_table.table(points, study.mode):
        study_runs.say(line)
    if arguments.plot:
        status = draw(study.out)
        if status != 0:
            return status
    return int(failures > 0)


def draw(path):
    """jobs/plot, which needs packages that a study does not: a program of its own. Its status."""
    words = [sys.executable, "-m", "weftlab.plot", path]
    return subprocess.run(words, env=dict(os.environ, PYTHONPATH=text.module_path())).returncode


def main():
    command, arguments, words = arguments_of()
    text.leave_with_the_reader()
    try:
        return perform(command, arguments, words)
    except KeyboardInterrupt:
        return 130
