"""How programs are launched here, and what Slurm is asked for: read from one file, site.ini.

The file that $WEFT_SITE names (for a study also site=FILE), else jobs/site.ini, which describes
every key. Without a file, or with an empty one: srun where a job has one that knows pmix, else
mpirun. jobs/weft.sbatch and jobs/study.sbatch ask for what they need of it:

  --modules     the site's module lines as shell, which ends with the first one that fails
  --launch      an array of shell, launch=(...), the words in front of a program and its arguments:
                all ranks of the job, each bound to as many cores as it has threads
  --sbatch      an array of shell, options=(...), for sbatch

Exit status: 0 printed, 2 a mistake in the file.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys

from weftlab import files, text

LAUNCHERS = {  # and what tells srun how MPI's processes find each other
    "auto": None,
    "pmix": "--mpi=pmix",
    "pmi2": "--mpi=pmi2",
    "cray": None,  # srun with the site's own default
    "mpirun": None,
}
DEFAULTS = {"launcher": "auto", "sbatch": "", "modules": ""}


def listed(words):
    return ", ".join(words)


def path_of(named, command):
    """The site's file: the one that was named, else $WEFT_SITE, else jobs/site.ini, or None."""
    wanted = named or os.environ.get("WEFT_SITE")
    if wanted:
        if not os.access(wanted, os.R_OK):
            text.fail(command, "site = %s: no such file" % wanted)
        return wanted
    usual = str(pathlib.Path(__file__).resolve().parents[1] / "site.ini")
    return usual if os.path.exists(usual) else None


def read(named, command):
    """The keys of the site's file as a dictionary; the command ends if there is a mistake in it."""
    path, site = path_of(named, command), dict(DEFAULTS)
    if path is None:
        return dict(site, sbatch=[])
    file = files.ini(path, command, inline_comment_prefixes=(";",))
    for section in file.sections():
        if section != "site":
            text.fail(command, "%s: no section [%s]; allowed: [site]" % (path, section))
        for key, value in file[section].items():
            if key not in DEFAULTS:
                text.fail(command, "%s: no key '%s'; allowed: %s" % (path, key, listed(DEFAULTS)))
            site[key] = value
    check_launcher(site["launcher"], path + ": launcher", command)
    site["sbatch"] = split(site["sbatch"], path + ": sbatch", command)
    return site


def split(words, where, command):
    try:
        return shlex.split(words)
    except ValueError as error:
        return text.fail(command, "%s = %s: %s" % (where, words, error))


def check_launcher(name, where, command, *more):
    allowed = list(LAUNCHERS) + list(more)
    if name not in allowed:
        text.fail(command, "%s = %s; allowed: %s" % (where, name, listed(allowed)))


# ---- launching ----


def said_by(*words):
    """What a program prints, or nothing where there is no such program."""
    if shutil.which(words[0]) is None:
        return ""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode("utf-8", "replace")


def launcher_of(site, asked):
    """The launcher that was asked for, else the site's, and what auto comes to: srun in a job where
    it knows pmix, else mpirun. An srun is the site's, else pmix."""
    if asked == "srun":
        return site["launcher"] if site["launcher"] in ("pmi2", "cray") else "pmix"
    launcher = site["launcher"] if asked == "auto" else asked
    if launcher != "auto":
        return launcher
    in_a_job = "SLURM_JOB_ID" in os.environ
    return "pmix" if in_a_job and "pmix" in said_by("srun", "--mpi=list") else "mpirun"


def srun_line(launcher, ranks):
    threads = os.environ.get("SLURM_CPUS_PER_TASK")
    return (
        ["srun"]
        + [word for word in [LAUNCHERS[launcher]] if word]
        + ["--gpu-bind=none", "--kill-on-bad-exit=1"]
        + (["--cpus-per-task=" + threads] if threads else [])
        + (["-n", str(ranks)] if ranks else [])
    )


def mpirun_job_line():
    """All ranks of a job, each bound to the cores of its threads."""
    threads = os.environ.get("SLURM_CPUS_PER_TASK", "1")
    version, bound = said_by("mpirun", "--version"), []
    if "Open MPI" in version:
        bound = ["--map-by", "slot:PE=" + threads, "--bind-to", "core"]
    elif "HYDRA" in version:  # MPICH's; others bind as they are set up to
        bound = ["-bind-to", "core:" + threads]
    return ["mpirun", "-n", os.environ.get("SLURM_NTASKS", "1")] + bound


def mpirun_line(ranks, flags):
    """Any number of ranks on any number of cores; flags: words in place of those."""
    if flags is None:
        of_open_mpi = "Open MPI" in said_by("mpirun", "--version")
        flags = ["--oversubscribe", "--bind-to", "none"] if of_open_mpi else []
    return ["mpirun"] + flags + ["-n", str(ranks)]


# ---- the command ----


def shell_array(name, words):
    return "%s=(%s)" % (name, " ".join(map(shlex.quote, words)))


def module_lines(site):
    for line in filter(None, map(str.strip, site["modules"].splitlines())):
        complaint = shlex.quote("site.ini: '%s' failed" % line)
        yield "%s || { echo %s >&2; exit 3; }" % (line, complaint)


def main():
    parser = text.parser("site", __doc__)
    asked = parser.add_mutually_exclusive_group(required=True)
    for name in ("--modules", "--launch", "--sbatch"):
        asked.add_argument(name, action="store_true")
    arguments = parser.parse_args()
    site = read(None, parser.prog)
    if arguments.modules:
        print("\n".join(module_lines(site)))
    elif arguments.sbatch:
        print(shell_array("options", site["sbatch"]))
    else:
        asked = os.environ.get("WEFT_LAUNCHER") or "auto"
        check_launcher(asked, "WEFT_LAUNCHER", parser.prog, "srun")
        launcher = launcher_of(site, asked)
        line = mpirun_job_line() if launcher == "mpirun" else srun_line(launcher, None)
        print(shell_array("launch", line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
