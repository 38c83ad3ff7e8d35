"""What a study is asked for, and its points: the runs of each, and which of them a file holds."""

import configparser
import itertools
import os
import pathlib
import random
import re

from weftlab import files, records, site, text

HERE = pathlib.Path(__file__).resolve().parents[2]
MODES = ("strong", "weak", "sweep")
DEFAULTS = {
    "deck": "inputs/heat2d.ini",
    "mode": "strong",
    "ranks": "1 2 4",
    "repeats": "3",
    "out": "",
    "launcher": "auto",
    "ranks_per_node": "0",
    "sbatch": "",
    "site": "",
}
NOTHING_ELSE = ["checkpoint.every=0", "output.picture=none", "output.final=none"]


# ---- what is asked ----


def ini_of(path, command, delimiters):
    """The sections of a deck or a study; what stands before the first one is [study]."""
    file = configparser.ConfigParser(
        delimiters=delimiters,
        inline_comment_prefixes=(";",),
        interpolation=None,
        strict=False,
        default_section="",
    )
    file.optionxform = str
    try:
        lines = files.text_of(path, errors="surrogateescape").split("\n")
        file.read_string("[study]\n" + "\n".join(line.strip() for line in lines), str(path))
    except configparser.ParsingError as error:
        text.fail(command, "%s line %d is no key = value" % (path, error.errors[0][0] - 1))
    except OSError as error:
        text.fail(command, "%s: %s" % (path, error.strerror))
    return file


class Study:
    """What a study is asked for: its own keys, and for keys of the deck their values."""

    def __init__(self, command, ini, words):
        self.command, self.keys, self.values = command, dict(DEFAULTS), {}
        if ini is not None:
            self.take_ini(ini)
        for word in words:
            key, _, value = word.partition("=")
            self.take(key, value.strip(), "command line")
        self.check(ini)

    def fail(self, why):
        text.fail(self.command, why)

    def take_ini(self, path):
        file = ini_of(path, self.command, "=")
        for section in file.sections():
            for key, value in file[section].items():
                whole = key if section == "study" or "." in key else section.strip() + "." + key
                self.take(whole, value, path)

    def take(self, key, value, where):
        if any(ord(letter) < 32 or ord(letter) == 127 for letter in key + value):
            self.fail("%s: %s = %s: a control character" % (where, key, value))
        elif "." in key:
            self.values[key] = value
        elif key in self.keys:
            self.keys[key] = value
        else:
            allowed = site.listed(self.keys)
            self.fail("%s: no key '%s'; allowed: %s, section.key" % (where, key, allowed))

    def number(self, key, pattern, allowed):
        if not re.fullmatch(pattern, self.keys[key]):
            self.fail("%s = %s; allowed: %s" % (key, self.keys[key], allowed))
        return int(self.keys[key])

    def check(self, ini):
        keys = self.keys
        self.mode, self.out = keys["mode"], keys["out"]
        if self.mode not in MODES:
            self.fail("mode = %s; allowed: %s" % (self.mode, site.listed(MODES)))
        self.repeats = self.number("repeats", "0*[1-9][0-9]*", "a number from 1")
        self.ranks_per_node = self.number("ranks_per_node", "[0-9]+", "a number from 0")
        ranks = keys["ranks"].replace(",", " ").split()
        if not ranks or not all(re.fullmatch("[1-9][0-9]*", n) for n in ranks):
            self.fail("ranks = %s; allowed: numbers from 1, as in 1 2 4" % keys["ranks"])
        self.ranks = [int(n) for n in ranks]
        site.check_launcher(keys["launcher"], "launcher", self.command, "srun")
        self.deck = self.readable_deck(keys["deck"])
        if not self.out:
            self.out = os.path.splitext(os.path.basename(ini or "study"))[0] + ".jsonl"
        if re.match(r"~|.*\$[{A-Za-z]", self.out):
            self.fail("out = %s: no shell expands ~ and $NAME; allowed is a path without them" % self.out)
        self.values.setdefault("run.threads", "1")
        self.lists = {key: self.several(key, value) for key, value in self.values.items()}

    def several(self, key, value):
        values = [one.strip() for one in value.split(",")]
        if len(values) > 1 and not values[-1]:
            values.pop()  # a comma at the end
        if not all(values):
            self.fail("%s = %s: an empty value" % (key, value))
        return values

    def readable_deck(self, deck):
        for path in (deck, str(HERE / deck)):
            if os.path.isfile(path) and os.access(path, os.R_OK):
                return path
        return self.fail("deck = %s: no such file" % deck)


# ---- the points ----


class Point:
    """Runs on a number of ranks with the same arguments: its label has the values of keys with
    several, records its runs in the file."""

    def __init__(self, ranks, label, arguments):
        self.ranks, self.label, self.arguments = ranks, label, arguments
        self.records, self.lacking = [], 0

    def command(self):
        """As a record has it: ? for all but ASCII in text that is no UTF-8."""
        words = "weft run " + " ".join(self.arguments)
        try:
            words.encode("utf-8")
            return words
        except UnicodeEncodeError:
            bytes_of_it = words.encode("utf-8", "surrogateescape")
            return "".join(chr(byte) if byte < 128 else "?" for byte in bytes_of_it)

    def name(self):
        ranks = "%d rank%s" % (self.ranks, "" if self.ranks == 1 else "s")
        return ranks + (", " + self.label if self.label else "")


def grown(study, settings, deck, ranks):
    """The key that makes the grid of a weak study grow with the ranks."""
    of_deck = deck["grid"] if deck.has_section("grid") else {}
    nx, ny = (settings.get("grid." + key) or of_deck.get(key) or "1" for key in ("nx", "ny"))
    if not (re.fullmatch("[0-9]+", nx) and re.fullmatch("[0-9]+", ny)):
        study.fail("mode = weak: grid.nx = %s, grid.ny = %s are no plain numbers" % (nx, ny))
    if int(ny) > 1:
        return ["grid.ny=%d" % (int(ny) * ranks)]
    return ["grid.nx=%d" % (int(nx) * ranks)]


def points_of(study):
    """Every combination of the values on every number of ranks."""
    deck = ini_of(study.deck, study.command, "=:") if study.mode == "weak" else None
    points = []
    for values in itertools.product(*study.lists.values()):
        settings = dict(zip(study.lists, values))
        label = " ".join(
            "%s=%s" % (key.partition(".")[2], value)
            for key, value in settings.items()
            if len(study.lists[key]) > 1
        )
        arguments = [study.deck] + NOTHING_ELSE + ["%s=%s" % item for item in settings.items()]
        for ranks in study.ranks:
            more = grown(study, settings, deck, ranks) if deck else []
            points.append(Point(ranks, label, arguments + more))
    return points


def look_for_records(study, points):
    """Each point's records, of what the file holds, and how many it lacks."""
    runs = {(point.ranks, point.command()): [] for point in points}
    if os.path.exists(study.out) and os.path.getsize(study.out) > 0:
        for record in records.read([study.out], "run", study.command):
            if record.get("verdict") != "failed":
                runs.get((record["ranks"], records.command_of(record)), []).append(record)
    for point in points:
        point.records = runs[point.ranks, point.command()]
        point.lacking = max(0, study.repeats - len(point.records))


def shuffled(points):
    return random.sample(points, len(points))
