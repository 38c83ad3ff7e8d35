"""What each way of taking a step gains, by the trials of all runs on record.

A run tries the ways that could take its steps and records their times. A way's gain in a case is the time
of the best way without it over the time of the best: 0 where it is not the best. A case is all runs of one
problem, grid and machine; its times are medians. Only ways that the program has are compared.
"""

import re
import statistics

from weftlab import measured, records, results

# name of the choice: its ways, as records name them
CHOICES = {
    "steps": ("single steps", "blocks of steps", "persistent steps"),
    "form of a block between GPUs": ("exchange_first", "overlapped"),
    "transport within a host": ("peer", "aware", "mapped", "staged"),
    "schedule of a block": ("its own", "three waves, border 2.2"),
    "tiles of radius 5 and more": tuple(
        "tiles of %d rows, %d a wave" % of for of in ((24, 192), (96, 384))
    ),
}


def trials_of(record):
    """{choice: {way: seconds}} of what a run tried."""
    steps, order = record.get("fuse_trial") or {}, record.get("order_trial") or {}
    kernels = {tried["variant"]: tried["sweep_s"] for tried in records.at(record, "tune", "tried") or []}
    blocks = not measured.single(record)
    return {
        "steps": {
            "single steps": steps.get("single_step_s"),
            "blocks of steps": steps.get("fused_step_s"),
            "persistent steps": steps.get("persistent_step_s"),
        },
        "form of a block between GPUs": {
            way: order.get(way + "_pass_s") for way in ("exchange_first", "overlapped")
        },
        "transport within a host": {
            tried["transport"]: tried["inside_host_s"]
            for tried in records.at(record, "transports", "candidates") or []
        },
        "schedule of a block": kernels if blocks else {},
        "tiles of radius 5 and more": {} if blocks else kernels,
    }


def case_of(machine, record):
    grid, problem = record["grid"], map(record["problem"].get, ("kind", "order", "dtype", "x_low", "y_low"))
    return (machine, grid["nx"], grid["ny"], record["ranks"], records.norm_every(record), *problem)


def cases(folder):
    """{choice: [{way: seconds}]}, a row for each case in which two ways of the choice were tried."""
    times = {choice: {} for choice in CHOICES}
    for row in results.read(folder):
        machine, question = results.question_of(row["file"])
        if row["superseded by"] or not re.match("[a-z]+[0-9]+x", machine) or question == "check":
            continue
        for record in filter(records.is_run, records.read([str(folder / row["file"])], "any", "report")):
            for choice, tried in trials_of(record).items():
                of_case = times[choice].setdefault(case_of(machine, record), {})
                for way, seconds in tried.items():
                    if way in CHOICES[choice] and seconds:
                        of_case.setdefault(way, []).append(seconds)
    medians = {
        choice: [{way: statistics.median(of) for way, of in case.items()} for case in found.values()]
        for choice, found in times.items()
    }
    return {choice: [case for case in found if len(case) > 1] for choice, found in medians.items()}


def table(folder):
    """The choices' ways: cases, those in which the way gains 3 % or more, and the most it gains."""
    rows = []
    for choice, found in cases(folder).items():
        for way in CHOICES[choice]:
            of_way = [case for case in found if way in case]
            without = [min(case[other] for other in case if other != way) for case in of_way]
            gains = [best / min(case.values()) - 1 for best, case in zip(without, of_way)]
            if gains:
                most = max(gains)
                text = "%.0f %%" % (100 * most) if most < 1 else "%.1f times" % (1 + most)
                often = "%d of %d" % (sum(gain >= 0.03 for gain in gains), len(gains))
                rows.append([choice, "`%s`" % way if "_" in way else way, often, text])
    return ["choice", "way", "gains 3 % or more", "at most"], rows
