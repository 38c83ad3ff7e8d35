"""Records of results as people read them: which runs answer a question, and numbers as text."""

import functools
import statistics

from weftlab import records, results

DASH = "-"


# ---- reading ----


@functools.lru_cache(maxsize=None)
def answers(folder, machine, question, program):
    """The valid records of a program that answer a question about a machine; read once. Of one command, rung
    and number of ranks the last 100 count."""
    path = results.newest(folder, machine, question)
    repeated = lambda record: (records.command_of(record), *map(record.get, ("rung", "dtype", "ranks")))
    return records.last_repeats(records.read([str(path)], program, "report"), repeated) if path else []


def by_median_step(record):
    """The record with its rate and fraction of the median step; weft's are of the mean."""
    cells = record["grid"]["nx"] * record["grid"]["ny"]
    of_median = records.fraction_of_copy(record)
    return {**record, "gcells_per_s": cells / record["step_s"]["p50"] / 1e9, "fraction_of_ceiling": of_median}


def runs(folder, machine, *questions):
    """The records of `weft run` that answer questions about a machine."""
    return [
        by_median_step(record)
        for question in questions
        for record in answers(folder, machine, question, "run")
    ]


def rungs(folder, machine, question):
    return answers(folder, machine, question, "bench")


def single(record):
    """Whether steps were taken one at a time."""
    return (record.get("fuse") or 1) == 1


def boundary(record):
    return str(records.at(record, "problem", "x_low")).split()[0]


def like(record, **wanted):
    """Whether a record has what is wanted: kind, stencil, radius, order, dtype, nx, ny, ..."""
    has = {
        **record["problem"],
        **record["grid"],
        "ranks": record["ranks"],
        "single": single(record),
        "norms": records.norm_every(record),
        "boundary": boundary(record),
        "transport": record.get("transport"),
        "asked": records.at(record, "asked", "fuse"),
    }
    return all(has.get(key) == value for key, value in wanted.items())


def median(chosen, *path):
    """The median of a key over runs, or None where none has it."""
    values = [records.at(record, *path) for record in chosen]
    values = [value for value in values if records.is_number(value)]
    return statistics.median(values) if values else None


# ---- writing numbers ----


def digits(value, count=3):
    """The value with that many significant digits, without exponent."""
    if value == 0:
        return "0"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return "%.*f" % (max(count - whole, 0) if whole else count, value)


def scaled(value, units, count=3):
    """Text of a value in the largest of its units, ((1e-6, "us"), ...), that it reaches."""
    if value is None:
        return DASH
    factor, unit = next((u for u in units if abs(value) >= u[0]), units[-1])
    return "%s %s" % (digits(value / factor, count), unit)


def seconds(value):
    return scaled(value, ((1, "s"), (1e-3, "ms"), (1e-6, "us")))


def step(value):
    """A step's time in microseconds."""
    return DASH if value is None else "%s us" % digits(value * 1e6)


def fraction(value):
    return DASH if value is None else "%.2f" % value


def gcells(value):
    return DASH if value is None else "%.0f GCells/s" % value


def rate(value, unit):
    """Bytes, flops or cells per second with a prefix."""
    prefixes = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
    unit = {"FLOP/s": "flop/s", "1/s": "/s"}.get(unit, unit or "")
    return scaled(value, [(factor, prefix + unit) for factor, prefix in prefixes])


def size(value):
    """Bytes by powers of two."""
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= factor and value % factor == 0:
            return "%d %s" % (value // factor, unit)
    return "%d B" % value


def step_and_fraction(chosen):
    if not chosen:
        return DASH
    return "%s, %s" % (step(median(chosen, "step_s", "p50")), fraction(median(chosen, "fraction_of_ceiling")))


def step_and_cells(chosen):
    if not chosen:
        return DASH
    return "%s, %s" % (step(median(chosen, "step_s", "p50")), gcells(median(chosen, "gcells_per_s")))
