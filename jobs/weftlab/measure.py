"""Measures this machine: runs the cases of questions and keeps their records by machine.

The records of a question become FOLDER/MACHINE/DATE-QUESTION.jsonl, a line a run, and the file
gets its row in FOLDER/index.tsv; what the page shows is drawn from there (jobs/report). MACHINE is
the GPU's model with the number of ranks, or cpu. A question that was measured on the same day is
measured anew. WEFT names the program (build/weft), WEFT_MPIRUN what starts it (mpirun).
"""

import datetime
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess

from weftlab import files, results, text

JOBS = pathlib.Path(__file__).resolve().parents[1]
NO_FILES = ["output.picture=none", "output.final=none", "checkpoint.every=0"]


# ---- questions and their cases ----


def expanded(words):
    """Every combination of the values in braces, the last brace counting fastest."""
    parts = re.split(r"\{([^{}]*)\}", words)
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def claim_of(question):
    return " ".join(question.get("claim", "").split())


def ranks_of(question):
    return question.getint("ranks", 1)


def cases_of(question):
    """The words after `weft` of every case of a question."""
    settings = ("claim", "ranks", "asked", "repeats")
    lines = [value for key, value in question.items() if key not in settings]
    return [shlex.split(words) for line in lines for words in expanded(line)]


# ---- running ----


def command_line(words, ranks, output):
    launcher = shlex.split(os.getenv("WEFT_MPIRUN", "mpirun"))
    weft = os.getenv("WEFT", "build/weft")
    if words[0] == "bench":
        rest = ["bench", *words[1:], "output=" + output]
    else:  # what the case says comes last and wins
        rest = [*words[:2], *NO_FILES, *words[2:], "--quiet", "output.record=" + output]
    return [*launcher, "-n", str(ranks), weft, *rest]


def measure(name, question, folder, command):
    """Runs the cases of a question in turns; the file of their records, or None where one failed."""
    ranks, repeats = ranks_of(question), question.getint("repeats", 1)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / ("%s.part.jsonl" % name)
    part.unlink(missing_ok=True)
    cases = cases_of(question)
    for turn in range(repeats):
        for words in cases:
            line = command_line(words, ranks, str(part))
            if subprocess.run(line, stdin=subprocess.DEVNULL).returncode != 0:
                text.complain("%s: %s: failed: %s" % (command, name, shlex.join(line)))
                return None
        print("%s: turn %d of %d, %d runs" % (name, turn + 1, repeats, len(cases)), flush=True)
    return part


def keep(name, question, part, folder, command):
    """Moves the records to their place and names them in the index."""
    lines = part.read_text(encoding="utf-8").replace(
        str(folder) + os.sep, ""
    )  # records name no folder of this machine
    part.write_text(lines, encoding="utf-8")
    first = json.loads(lines.splitlines()[0])
    date = first.get("started", datetime.date.today().isoformat())[:10]
    target = folder / results.machine_of(first, ranks_of(question)) / ("%s-%s.jsonl" % (date, name))
    target.parent.mkdir(exist_ok=True)
    part.replace(target)
    row = {
        "file": target.relative_to(folder).as_posix(),
        "commit": first.get("git", ""),
        "command": "jobs/measure " + name + question.get("asked", ""),
        "claim": claim_of(question),
    }
    results.add(folder, row, command)
    return target


# ---- the command ----


def main():
    parser = text.parser("measure", __doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="QUESTION", help="all those for one rank, if none is given")
    add("--list", action="store_true", help="print the questions and how many runs each takes")
    add("--questions", default=JOBS / "questions.ini", metavar="FILE", help="(jobs/questions.ini)")
    add("--ranks", type=int, metavar="N", help="of every case (what the question says, or 1)")
    add("--folder", default=JOBS / "results", type=pathlib.Path, help="of results (jobs/results)")
    arguments = parser.parse_args()
    if arguments.ranks is not None and arguments.ranks < 1:
        parser.error("--ranks %d; allowed: 1 and more" % arguments.ranks)
    text.leave_with_the_reader()

    questions = files.ini(arguments.questions, parser.prog, delimiters=("=",), comment_prefixes=("#",))
    known = questions.sections()
    names = arguments.names or [name for name in known if ranks_of(questions[name]) == 1]
    for name in names:
        if name not in known:
            parser.error("no question '%s'; there are %s" % (name, ", ".join(known)))
    if arguments.list:
        for name in known:
            question, repeats = questions[name], questions[name].getint("repeats", 1)
            runs = len(cases_of(question)) * repeats
            print("%-18s %3d runs on %d  %s" % (name, runs, ranks_of(question), claim_of(question)))
        return 0
    failed = 0
    for name in names:
        if arguments.ranks:
            questions[name].update(ranks=str(arguments.ranks), asked=" --ranks %d" % arguments.ranks)
        part = measure(name, questions[name], arguments.folder, parser.prog)
        if part:
            print(keep(name, questions[name], part, arguments.folder, parser.prog), flush=True)
        failed += not part
    return 1 if failed else 0
