"""The pictures that pages of docs/teaching show beside their tables.

A picture keeps a digest of the values that it shows, so that a picture of other values is found
without drawing it.
"""

import hashlib
import json
import os
import pathlib
import re

from weftlab import records, results, tables


class PageMistake(Exception):
    """A block that cannot be rendered; its text is for the user."""


# ---- what a picture shows ----


def has_ceiling(rung):
    points = rung.get("sweep") or [rung]
    return all(records.is_number(point.get("fraction_of_ceiling")) for point in points)


def value_of(point, fraction):
    return point["fraction_of_ceiling" if fraction else "rate"]


def name_of(rung, fraction):
    """What a value of a rung is."""
    return "fraction of the ceiling" if fraction else "per second" if rung["unit"] == "1/s" else rung["unit"]


def curves(by_machine, parameter, chosen):
    """(what the values are, {rung: {machine: [[x, value], ...]}}): fractions where all have a ceiling."""
    swept = [
        (rung, name, found[rung])
        for rung in chosen
        for name, found in by_machine.items()
        if rung in found and tables.swept(found[rung]) == parameter
    ]
    fraction = all(has_ceiling(record) for _, _, record in swept)
    made = {}
    for rung, name, record in swept:
        points = [[p["parameters"][parameter], value_of(p, fraction)] for p in record["sweep"]]
        made.setdefault(rung, {})[name] = points
    return name_of(swept[0][2], fraction) if swept else "", made


def ladder(folder, family, parameter="", *chosen):
    """What the picture of a family shows: bars by rung and machine, curves of those chosen."""
    by_machine = tables.ladder_records(folder, family)
    bars = {}
    for name, rungs in by_machine.items():
        for rung, record in rungs.items():
            last, fraction = tables.last_of(record), has_ceiling(record)
            bars.setdefault(rung, {})[name] = [name_of(record, fraction), value_of(last, fraction)]
    if not bars:
        raise PageMistake("no result has the family '%s'" % family)
    shown = {"family": family, "machines": list(by_machine), "bars": bars, "along": parameter}
    shown["curves of"], shown["curves"] = curves(by_machine, parameter, chosen)
    return shown


def beside(folder):
    """Which files the picture beside other programs is drawn from, and what they hold."""
    asked = (("h200x4", "strong"), ("others", "laplace-20480"))
    files = [results.newest(folder, machine, question) for machine, question in asked]
    if None in files:
        raise PageMistake("no result has laplace on several GPUs, or other programs'")
    held = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return {"files": [file.relative_to(folder).as_posix() for file in files], "held": held}


def simulated(folder):
    return {"times": {what: sorted(of_ranks.items()) for what, of_ranks in tables.weak_times(folder).items()}}


PICTURES = {"ladder": ladder, "beside": beside, "simulated": simulated}


# ---- pictures as blocks ----

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def digest(shown):
    words = json.dumps(shown, sort_keys=True)
    return "sha256:" + hashlib.sha256(words.encode()).hexdigest()


def digest_in(path):
    """The digest that a picture was drawn with, or None."""
    found = DIGEST.search(path.read_text(encoding="utf-8")) if path.exists() else None
    return found and found.group()


def picture(folder, name="", *arguments):
    """(the file's name, the values that it shows) of a picture."""
    if name not in PICTURES:
        known = ", ".join(sorted(PICTURES))
        raise PageMistake("no picture '%s'; there are %s" % (name, known))
    if not tables.takes(PICTURES[name], folder, *arguments):
        raise PageMistake("picture '%s' has too few or too many words" % " ".join((name,) + arguments))
    return "%s.svg" % "-".join((name,) + arguments[:1]), PICTURES[name](folder, *arguments)


ALTERNATIVES = {
    "simulated.svg": "a grid that grows with 16 to 4096 simulated ranks: a step, a norm, a transpose, "
    "a checkpoint's agreement, the start",
    "beside.svg": "laplace 20480 x 20480 on 1, 2 and 4 GPUs: a step and 12 steps per pass, "
    "the bounds of both, and NVIDIA's programs",
}


def picture_block(root, page, file):
    """The line of Markdown that shows a picture of docs/figures on a page."""
    across = os.path.relpath(
        pathlib.Path(root) / "docs" / "figures" / file, (pathlib.Path(root) / page).parent
    )
    words = file[: -len(".svg")].replace("ladder-", "the rungs beside their ceilings: weft bench ")
    return "![%s](%s)\n" % (ALTERNATIVES.get(file, words), across)
