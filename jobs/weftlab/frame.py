"""Records as pandas frames: one row per run of `weft run`, one per rung and size of `weft bench`.

A record is reduced to a row when it is read, and of runs of one setting, grid and number of ranks, or of a
rung and setting, the last 100 count: a file of a million lines takes no more memory than its settings do.

Most columns are a record's own keys (docs/contract.md), joined by dots: step_s.p50, grid.nx. Runs have more:
  setting      what was asked for, as JSON, without grid and ranks: runs of one setting are repeats
  machine      the name of the GPU, else of the processor
  gpus         the UUIDs of the GPUs, each once: on the host there are none
  cells        of the grid
  rate         cells per second, from the median step
  fraction_of_copy  of the median step
  ceiling      the rate at which the copies of the same run would move a step's bytes
And points of `weft bench` four:
  record       the number of the record they are from
  setting      rung, type of data, ranks and all parameters but the swept one, as JSON
  at           the value of the swept parameter
  machine_name as machine of a run
"""

import json

import pandas as pd

from weftlab import records

SIDES = ("x_low", "x_high", "y_low", "y_high")
ASKED = ("transport", "feed", "lanes", "threads", "ranks_x", "ranks_y", "tune")
WHOLE_RUN = {  # its parts, and the phases of each
    "MPI": ["mpi"],
    "device": ["device"],
    "fields": ["fields", "initialise"],
    "transport": ["transport"],
    "calibrate, tune": ["calibrate", "tune", "passes"],
    "steps": ["loop"],
    "output, verify": ["output", "verify", "writer"],
}
RUN_COLUMNS = (
    "git version started device verdict transport feed fuse ranks grid.nx grid.ny problem.kind problem.dtype "
    "problem.order gcells_per_s bytes_per_s ceiling_bytes_per_s machine.hosts step_s.p50"
).split() + [f"phases.{phase}.mean_s" for part in WHOLE_RUN.values() for phase in part]
POINT_COLUMNS = (
    "family rung dtype device ranks swept unit rate git version started flops_per_byte fraction_of_ceiling "
    "ceiling ceiling_name ceilings.copy ceilings.fma time_s.p50 time_s.p90 time_s.min parameters.steps "
    "parameters.radius"
).split()
REPEATED = ("setting", "machine", "gpus", "verdict", "ranks", "grid.nx", "grid.ny")  # the same in repeats


# ---- settings ----


def run_setting(record):
    """What was asked of a run, and not what was chosen for it, nor grid and ranks."""
    fuses = (records.at(record, "asked", "fuse"), record.get("fuse"), 1)
    fuse = next(f for f in fuses if f is not None)
    problem = record["problem"]
    setting = {key: problem.get(key) for key in ("kind", "dtype", "order")}
    sides = [str(problem.get(side)) for side in SIDES]
    sides = sides[::2] if sides[::2] == sides[1::2] else sides  # those of x, then those of y
    setting.update(
        sides=sides[0] if len(set(sides)) == 1 else "/".join(sides),
        device=record.get("device"),
        fuse="fuse chosen" if fuse == 0 else fuse,
        norm_every=str(records.norm_every(record)),
    )
    setting.update({key: records.at(record, "asked", key) for key in ASKED})
    return setting


def other_parameters(record):
    """The parameters of a rung but the swept one."""
    parameters = dict(record.get("parameters") or {})
    parameters.pop(record.get("swept"), None)
    return parameters


def point_setting(record):
    setting = {key: record.get(key) for key in ("family", "rung", "dtype", "swept", "ranks")}
    return dict(setting, parameters=other_parameters(record))


# ---- frames ----


def columns_of(record, columns):
    return {column: records.at(record, *column.split(".")) for column in columns}


def numbers(frame, column):
    return pd.to_numeric(frame[column], errors="coerce").astype(float)


def run_row(record):
    made = columns_of(record, RUN_COLUMNS)
    made["setting"] = json.dumps(run_setting(record), sort_keys=True)
    made["machine"] = records.machine_of(record)
    made["gpus"] = tuple(sorted({str(gpu.get("uuid")) for gpu in records.gpus_of(record)}))
    made["fraction_of_copy"] = records.fraction_of_copy(record)
    return made


def runs_frame(rows):
    """One row per record of `weft run`."""
    frame = pd.DataFrame(rows, columns=[*RUN_COLUMNS, "setting", "machine", "gpus", "fraction_of_copy"])
    frame["cells"] = numbers(frame, "grid.nx") * numbers(frame, "grid.ny")
    frame["rate"] = frame.cells / numbers(frame, "step_s.p50")
    bytes_per_cell = numbers(frame, "bytes_per_s") / numbers(frame, "gcells_per_s") / 1e9
    frame["ceiling"] = numbers(frame, "ceiling_bytes_per_s") / bytes_per_cell
    return frame


def point_rows(record, number):
    """One row per point of a record of `weft bench`; a rung that was not swept is one point."""
    swept, setting = record.get("swept"), json.dumps(point_setting(record), sort_keys=True)
    for point in (record.get("sweep") or []) if swept else [{}]:
        one = {**record, **point}
        sound = bool(record.get("verified") and point.get("verified", True))
        own = {"record": number, "setting": setting, "verified": sound}
        own["at"] = records.at(one, "parameters", swept) if swept else None
        own["machine_name"] = records.machine_of(record)
        yield {**columns_of(one, POINT_COLUMNS), **own}


def newest(points):
    """The verified points of the last record of each setting, a longer sweep before a shorter."""
    sizes = points.groupby("record").size()
    sound = points[points.verified.astype(bool)]
    settings = sound.groupby("record").setting.first()
    order = pd.DataFrame({"setting": settings, "size": sizes}).dropna().rename_axis("record")
    best = order.reset_index().sort_values(["size", "record"]).groupby("setting").record.last()
    return sound[sound.record.isin(best)]


def rows_of(number, record):
    return list(point_rows(record, number)) if "rung" in record else [run_row(record)]


def repeated(rows):
    """What records of repeats agree in."""
    if "rung" in rows[0]:
        return rows[0]["setting"], rows[0]["machine_name"], len(rows)
    return tuple(rows[0][name] for name in REPEATED)


def read(paths, command):
    """The frame of runs and the frame of points of files of records."""
    found = (rows_of(*numbered) for numbered in enumerate(records.read(paths, "any", command)))
    flat = [row for rows in records.last_repeats(filter(None, found), repeated) for row in rows]
    points = [row for row in flat if "rung" in row]
    columns = [*POINT_COLUMNS, "record", "setting", "at", "verified", "machine_name"]
    return runs_frame([row for row in flat if "rung" not in row]), pd.DataFrame(points, columns=columns)
