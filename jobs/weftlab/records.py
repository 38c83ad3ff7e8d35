"""Prints the valid records of results files, one per line.

How many lines were left out, if any, is printed on stderr: damaged ones (half written, or of two
writers at once) and others (JSON, but not what was asked for). A record of `weft run` must hold
what every picture and table needs: ranks, grid, problem and a median step. Each member that a command
takes is of its type, or null. Control characters of text come out as \\xNN.
"""

import collections
import itertools
import json
import math
import re
import sys

from weftlab import text
from weftlab.files import opened

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
LEAST, MOST = 1e-100, 1e100  # amounts beyond are none of a machine, and overflow in a command's arithmetic
MOST_REPEATS = 100  # that count, of runs that agree in all but what was measured


# ---- what a record must hold ----


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_text(value):
    return isinstance(value, str)


def is_positive(value):
    return is_number(value) and LEAST <= value <= MOST


def at(record, *keys):
    """record[key][key]..., or None where there is none."""
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def is_amount(value):
    return is_number(value) and (value == 0 or LEAST <= value <= MOST)


def is_list(value):
    return isinstance(value, list)


def is_dict(value):
    return isinstance(value, dict)


# The members of runs, rungs and checks that commands take; * stands for any name. Each may be null or absent.
TYPES = {
    is_amount: "ranks ranks_x ranks_y fuse lanes norm_every steps steps_run step_s.* phases.*.* "
    "problem.order gcells_per_s bytes_per_s ceiling_bytes_per_s fraction_of_ceiling overlap.comm_s "
    "checkpoint.bytes_per_s rate ceiling flops_per_byte parameters.* time_s.* ceilings.* check.round",
    is_text: "git version command started device transport feed step_form memory verdict deck problem.kind "
    "problem.dtype machine.processor family rung dtype unit swept ceiling_name check.why",
    is_list: "machine.hosts machine.gpus sweep check.figures check.faults check.suspects",
    is_dict: "grid problem asked machine step_s phases parameters time_s ceilings check",
}


def tree_of(types):
    """{key: [holds, tree of its members]} of all paths."""
    tree = {}
    for holds, paths in types.items():
        for path in paths.split():
            node, (*outer, last) = tree, path.split(".")
            for key in outer:
                node = node.setdefault(key, [None, {}])[1]
            node.setdefault(last, [None, {}])[0] = holds
    return tree


TREE = tree_of(TYPES)


def is_of_types(record, tree=TREE):
    """Whether each member that commands take has its type."""
    for key, (holds, inner) in tree.items():
        for value in record.values() if key == "*" else (record.get(key),):
            if value is None:
                continue
            if holds and not holds(value) or inner and is_dict(value) and not is_of_types(value, inner):
                return False
    return True


def fraction_of_copy(record):
    """Of the median step of a run, or None. fraction_of_ceiling is of the mean step, and records of
    1.0 have no other."""
    of_mean = record.get("fraction_of_ceiling")
    mean, p50 = (at(record, "step_s", key) for key in ("mean", "p50"))
    return of_mean * mean / p50 if all(is_number(value) for value in (of_mean, mean, p50)) else None


def is_run(record):
    numbers = (("ranks",), ("grid", "nx"), ("grid", "ny"), ("step_s", "p50"))
    return (
        all(is_positive(at(record, *path)) for path in numbers)
        and is_text(at(record, "problem", "kind"))
        and is_of_types(record)
    )


def is_rung(record):
    return (
        is_text(at(record, "rung"))
        and is_text(at(record, "family"))
        and is_of_types(record)
        and all(is_dict(point) and is_of_types(point) for point in record.get("sweep") or [])
    )


def is_check(record):
    """A line of `weft check`: verdict, figures and ranks."""
    lists = [at(record, "check", key) for key in ("rows", "ranks")]
    return (
        at(record, "check", "verdict") in ("delivers", "slow", "wrong", "not judged", "incomplete")
        and all(is_list(of) and all(map(is_dict, of)) for of in lists)
        and is_of_types(record)
    )


KINDS = {
    "run": is_run,
    "check": is_check,
    "bench": is_rung,
    "any": lambda record: is_run(record) or is_rung(record),
}


# ---- what records say in more than one way ----


def gpus_of(record):
    """The GPUs of a record as dicts, one per rank; none on the host."""
    gpus = at(record, "machine", "gpus")
    return [gpu for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []


def machine_of(record):
    """The name of the GPU, else of the processor."""
    gpus = gpus_of(record)
    name = gpus[0].get("name") if gpus else None
    return str(name or at(record, "machine", "processor") or "host")


def norm_every(record):
    """Steps per norm, 0 without; of records of before the key from the deck."""
    if is_number(record.get("norm_every")):
        return record["norm_every"]
    found = re.search(r"\nnorm_every = ([0-9]+)\n", str(record.get("deck")))
    return int(found.group(1)) if found else 0


def command_of(record):
    """What tells a run from others: its command, all but the record's name."""
    command = record.get("command")
    return re.sub(r" output[.]record=.*$", "", command if is_text(command) else "")


# ---- reading ----


def finite(digits):
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("NaN, infinite, or a number beyond double")
    return value


def whole(digits):
    return int(digits) if len(digits) < 19 else finite(digits)


def shown(line):
    """Text with its control characters as \\xNN, and what is no character as U+FFFD."""
    line = CONTROL.sub(lambda found: "\\x%02x" % ord(found.group()), line)
    return line.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def all_shown(value):
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, list):
        return [all_shown(element) for element in value]
    if isinstance(value, dict):
        return {shown(key): all_shown(element) for key, element in value.items()}
    return value


def record_of(line):
    """The JSON value of a line, with text that can be printed.

    Raises ValueError or RecursionError for a damaged line.
    """
    record = json.loads(line, parse_float=finite, parse_int=whole, parse_constant=finite)
    deck, line = at(record, "deck"), line.strip()
    plain = line.isprintable() and "\\" not in line.replace("\\n", "").replace('\\"', "")
    if plain and line.count("\\n") == str(deck).count("\n"):
        return record  # no escape but of quotes and of ends of lines in the deck, which stay
    shown_record = all_shown(record)
    if is_text(deck):  # whose lines stay lines
        shown_record["deck"] = "\n".join(shown(part) for part in deck.split("\n"))
    return shown_record


def lines_of(path, command):
    """The lines of a file that are not empty; a pipe without a writer has none."""
    try:
        with opened(path, "rb") as file:
            for line in file:
                if line.strip(b" \t\r\n"):
                    yield line.decode("utf-8", "replace")
    except OSError as error:
        text.fail(command, "%s: %s" % (path, error.strerror))


def parsed(path, command):
    """The JSON values of the lines of a file, None for one that is damaged."""
    for line in lines_of(path, command):
        try:
            yield record_of(line)
        except (ValueError, RecursionError):
            yield None


def read(paths, kind, command):
    """Yields the records of a kind (run, bench, any) in files.

    Then it counts on stderr what was left out. Files without a line end the command.
    """
    good = damaged = others = 0
    for record in (record for path in paths for record in parsed(path, command)):
        if record is None:
            damaged += 1
        elif not KINDS[kind](record):
            others += 1
        else:
            good += 1
            yield record
    names, left_out = " ".join(paths), damaged + others
    if good + left_out == 0:
        text.fail(command, "%s: no records there" % names)
    if left_out:
        counts = "%d lines: %d damaged, %d of another kind" % (left_out, damaged, others)
        text.complain("%s: left out %s" % (names, counts))


def last_repeats(found, key):
    """The last MOST_REPEATS of each key, in their order: memory for as many as there are keys, not lines."""
    repeats = collections.defaultdict(lambda: collections.deque(maxlen=MOST_REPEATS))
    for number, one in enumerate(found):
        repeats[key(one)].append((number, one))
    kept = sorted(itertools.chain(*repeats.values()), key=lambda numbered: numbered[0])
    return [one for _, one in kept]


# ---- the command ----


def main():
    parser = text.parser("records", __doc__)
    kinds = "of `weft run`, of `weft check`, of `weft bench`, or of run and bench"
    parser.add_argument("kind", choices=list(KINDS), help=kinds)
    parser.add_argument("files", nargs="+", metavar="FILE.jsonl")
    arguments = parser.parse_args()
    text.leave_with_the_reader()
    for record in read(arguments.files, arguments.kind, parser.prog):
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
        sys.stdout.buffer.write(line.encode("utf-8"))
    return 0
