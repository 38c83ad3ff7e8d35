"""The results that are kept in the tree: which file answers which question on which machine.

index.tsv has a row a file: file, commit of the program, command, claim, and the file that supersedes
it, if any. jobs/measure adds rows; what is superseded leaves the tree at the next release.
"""

import csv
import pathlib
import re

COLUMNS = ("file", "commit", "command", "claim", "superseded by")
NAME = re.compile(r"^(?P<machine>[^/]+)/(?P<date>\d{4}-\d\d-\d\d)-(?P<question>[a-z0-9-]+)\.(jsonl|tsv)$")
MODEL = re.compile(r"\b([A-Z]+\d+[A-Z]*)\b")


def machine_of(record, ranks):
    """h200x2: the GPU's model and the number of ranks; cpu for a run on the host."""
    gpus = record.get("machine", {}).get("gpus") or []
    if record.get("device") == "host" or not gpus:
        return "cpu"
    model = MODEL.search(gpus[0].get("name", ""))
    return "%sx%d" % (model.group(1).lower() if model else "gpu", ranks)


def read(folder):
    """The rows of the index, as dictionaries."""
    path = pathlib.Path(folder) / "index.tsv"
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def write(folder, rows):
    path = pathlib.Path(folder) / "index.tsv"
    part = path.with_suffix(".part")
    with open(part, "w", encoding="utf-8", newline="") as file:
        file.write("\t".join(COLUMNS) + "\n")
        for row in sorted(rows, key=lambda row: row["file"]):
            file.write("\t".join(row.get(column) or "" for column in COLUMNS) + "\n")
    part.replace(path)


def question_of(file):
    return NAME.match(file).group("machine", "question")


def add(folder, row):
    """Adds a row; older files of the same machine and question are superseded by it."""
    rows = [old for old in read(folder) if old["file"] != row["file"]]
    for old in rows:
        if not old["superseded by"] and question_of(old["file"]) == question_of(row["file"]):
            old["superseded by"] = row["file"]
    write(folder, rows + [row])


def newest(folder, machine, question):
    """The file that answers a question about a machine, or None."""
    for row in read(folder):
        if not row["superseded by"] and question_of(row["file"]) == (machine, question):
            return pathlib.Path(folder) / row["file"]
    return None
