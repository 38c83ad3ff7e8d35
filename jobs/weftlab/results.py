"""The results that are kept in the tree: which file answers which question on which machine.

index.tsv has a row a file: file, commit of the program, command, claim, and the file that supersedes
it, if any. jobs/measure adds rows; what is superseded leaves the tree with its row.
"""

import csv
import pathlib
import re

from weftlab import files, records

COLUMNS = ("file", "commit", "command", "claim", "superseded by")
NAME = re.compile(r"^(?P<machine>[^/]+)/(?P<date>\d{4}-\d\d-\d\d)-(?P<question>[a-z0-9-]+)\.(jsonl|tsv)$")
MODEL = re.compile(r"\b([A-Z]+\d+[A-Z]*)\b")


def machine_of(record, ranks):
    """h200x2: the GPU's model and the number of ranks; cpu for a run on the host."""
    if record.get("device") == "host" or not records.gpus_of(record):
        return "cpu"
    model = MODEL.search(records.machine_of(record))
    return "%sx%d" % (model.group(1).lower() if model else "gpu", ranks)


def read(folder):
    """The rows of the index, as dictionaries."""
    path = pathlib.Path(folder) / "index.tsv"
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def write(folder, rows, command):
    rows = [[row.get(name) or "" for name in COLUMNS] for row in sorted(rows, key=lambda row: row["file"])]
    lines = "".join("\t".join(line) + "\n" for line in [COLUMNS] + rows)
    files.write(pathlib.Path(folder) / "index.tsv", lines, command)


def question_of(file):
    return NAME.match(file).group("machine", "question")


def add(folder, row, command):
    """Adds a row; older files of the same machine and question are superseded by it."""
    rows = [old for old in read(folder) if old["file"] != row["file"]]
    for old in rows:
        if not old["superseded by"] and question_of(old["file"]) == question_of(row["file"]):
            old["superseded by"] = row["file"]
    write(folder, rows + [row], command)


def others(folder):
    """Other programs' points of laplace on 20480 x 20480 cells: [(ranks, GCells/s, name)]."""
    path = newest(folder, "others", "laplace-20480")
    lines = path.read_text(encoding="utf-8").splitlines() if path else []
    points = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(int(ranks), float(cells), name) for ranks, cells, name in points]


def newest(folder, machine, question):
    """The file that answers a question about a machine, or None."""
    for row in read(folder):
        if not row["superseded by"] and question_of(row["file"]) == (machine, question):
            return pathlib.Path(folder) / row["file"]
    return None
