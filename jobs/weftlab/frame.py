"""Records as pandas frames: one row per run of `weft run`, one per rung and size of `weft bench`.

The columns are a record's own keys (docs/contract.md), joined by dots: step_s.p50, grid.nx,
asked.transport, parameters.bytes. Runs have seven more:
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
RUN_COLUMNS = (
    ["git", "version", "started", "device", "transport", "feed", "fuse", "last_change", "deck"]
    + ["ranks", "grid.nx", "grid.ny", "problem.kind", "problem.dtype", "problem.order"]
    + ["step_s.p50", "step_s.mean", "gcells_per_s", "bytes_per_s", "ceiling_bytes_per_s"]
    + ["steps", "steps_run", "step_histogram", "machine.hosts"]
)
POINT_COLUMNS = (
    ["family", "rung", "dtype", "device", "ranks", "swept", "unit", "rate", "verified"]
    + ["git", "version", "started", "flops_per_byte", "fraction_of_ceiling", "ceiling"]
    + ["ceiling_name", "ceilings.copy", "ceilings.fma"]
    + ["time_s.p50", "time_s.p90", "time_s.min", "parameters.steps", "parameters.radius"]
)


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


def flat(rows, columns):
    """A frame of nested dicts; of `columns` those that none of them has are empty."""
    frame = pd.json_normalize(rows)
    missing = [column for column in columns if column not in frame]
    return frame.reindex(columns=[*frame.columns, *missing])


def numbers(frame, column):
    return pd.to_numeric(frame[column], errors="coerce").astype(float)


def runs_frame(good):
    """One row per record of `weft run`."""
    frame = flat(good, RUN_COLUMNS)
    frame["setting"] = [json.dumps(run_setting(r), sort_keys=True) for r in good]
    frame["machine"] = [records.machine_of(r) for r in good]
    frame["gpus"] = [tuple(sorted({str(gpu.get("uuid")) for gpu in records.gpus_of(r)})) for r in good]
    frame["cells"] = numbers(frame, "grid.nx") * numbers(frame, "grid.ny")
    frame["fraction_of_copy"] = [records.fraction_of_copy(r) for r in good]
    frame["rate"] = frame.cells / numbers(frame, "step_s.p50")
    bytes_per_cell = numbers(frame, "bytes_per_s") / numbers(frame, "gcells_per_s") / 1e9
    frame["ceiling"] = numbers(frame, "ceiling_bytes_per_s") / bytes_per_cell
    return frame


def points_frame(good):
    """One row per point of each record of `weft bench`; a rung that was not swept is one point."""
    rows = []
    for number, record in enumerate(good):
        setting = json.dumps(point_setting(record), sort_keys=True)
        swept, of_record = record.get("swept"), {k: v for k, v in record.items() if k != "sweep"}
        for point in (record.get("sweep") or []) if swept else [{}]:
            at = records.at({**of_record, **point}, "parameters", swept) if swept else None
            sound = bool(record.get("verified") and point.get("verified", True))
            own = {"record": number, "setting": setting, "at": at, "verified": sound}
            rows.append({**of_record, **point, **own, "machine_name": records.machine_of(record)})
    return flat(rows, POINT_COLUMNS + ["record", "setting", "at"])


def newest(points):
    """The verified points of the last record of each setting, a longer sweep before a shorter."""
    sizes = points.groupby("record").size()
    sound = points[points.verified.astype(bool)]
    settings = sound.groupby("record").setting.first()
    order = pd.DataFrame({"setting": settings, "size": sizes}).dropna().rename_axis("record")
    best = order.reset_index().sort_values(["size", "record"]).groupby("setting").record.last()
    return sound[sound.record.isin(best)]


def read(paths, command):
    """The frame of runs and the frame of points of files of records."""
    good = list(records.read(paths, "any", command))
    rungs = [record for record in good if records.is_rung(record)]
    return runs_frame([r for r in good if not records.is_rung(r)]), points_frame(rungs)
