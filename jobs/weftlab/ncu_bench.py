"""What `weft bench` predicts, held against the hardware's counters, by Nsight Compute.

  family access: the sectors that a warp's load and store touch; 1 % apart at most
  family launch: the occupancy that a launch allows, and what was achieved: never more than 2 %
                 above, and never below LEAST (from the environment; 0.5) of it, for blocks of more
                 than 128 threads; smaller ones end sooner than the GPU starts new ones

Every rung is run once and its one kernel measured; clocks are left alone.

Exit status: 0 all as predicted, 1 some are not, 2 a failure, 77 skipped: no ncu, no GPU, or no
right to its counters.
"""

import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from weftlab import records, text

COMMAND, SKIPPED = "ncu_bench", 77
ACCESS_KERNELS = "copy|sum_fields|window"
LAUNCH_KERNELS = "copy_|count_kernel"
PER_REQUEST = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_"
SECTORS = {"sectors per load": PER_REQUEST + "ld.ratio", "sectors per store": PER_REQUEST + "st.ratio"}
OCCUPANCY = {"occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active"}


def skip(why):
    text.fail(COMMAND, "skipped: " + why, SKIPPED)


# ---- measured ----


def number(digits):
    try:
        return float(digits.replace(",", ""))
    except ValueError:
        return None


def kernels_of(path):
    """The metrics of each measured kernel, in the order of the kernels."""
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        rows = csv.DictReader(line for line in file if line.startswith('"'))
        kernels = {}
        for row in rows:
            metrics = kernels.setdefault(int(row["ID"]), {})
            metrics[row["Metric Name"]] = number(row["Metric Value"])
    return [kernels[number_of] for number_of in sorted(kernels)]


def points_of(path):
    """Rung, parameters and predictions of each point that was run."""
    for record in records.read([str(path)], "bench", COMMAND):
        for point in record["sweep"] if record.get("swept") else [record]:
            parameters = {k: v for k, v in point["parameters"].items() if k != "n"}
            yield f"{record['family']}/{record['rung']}", parameters, point.get("predicted") or {}


def run_ncu(weft, family, kernels, metrics, keys, folder):
    """Runs a family under ncu: of the kernels only the rungs' own are measured, not what fills the
    arrays. Returns the files of counters and records."""
    counters, rungs = folder / f"{family}.csv", folder / f"{family}.jsonl"
    ncu = ["ncu", "--clock-control", "none", "--cache-control", "none", "--csv"]
    ncu += ["--kernel-name", "regex:" + kernels, "--metrics", ",".join(metrics)]
    ncu += ["--log-file", counters, weft, "bench", family, "device=cuda", "samples=none"]
    ncu += [f"output={rungs}", *keys]
    done = subprocess.run(ncu, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        said = counters.read_bytes() if counters.exists() else b""
        if b"ERR_NVGPUCTRPERM" in said:
            skip("no right to the GPU's counters")
        sys.stderr.buffer.write(done.stdout + said)
        text.fail(COMMAND, f"ncu failed on family {family}")
    return counters, rungs


def counted(weft, family, kernels, pairs, keys):
    """Rung, parameters, and what is predicted and measured for each name in `pairs`, by point."""
    with tempfile.TemporaryDirectory() as folder:
        files = run_ncu(weft, family, kernels, pairs.values(), keys, pathlib.Path(folder))
        try:
            measured, points = kernels_of(files[0]), list(points_of(files[1]))
        except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            text.fail(COMMAND, f"what ncu said of family {family} is not understood: {error!r}")
    if len(measured) != len(points):
        text.fail(COMMAND, f"{family}: {len(measured)} kernels measured of {len(points)} points")
    return [
        (rung, parameters, [(told.get(name), kernel.get(pairs[name])) for name in pairs])
        for (rung, parameters, told), kernel in zip(points, measured)
    ]


# ---- compared ----


def line(rung, parameters, values, wrong):
    """One point: its numbers, or - where there is none, and a * where it is not as predicted."""
    settings = " ".join(f"{key}={value}" for key, value in parameters.items()) or "-"
    numbers = "".join(f" {'-' if v is None else format(v, '.4g'):>9}" for v in values)
    return f"{rung:<26} {settings:<34}{numbers}{' *' if wrong else ''}"


def differs(predicted, measured):
    return predicted is not None and (measured is None or abs(measured / predicted - 1) > 0.01)


def compare_sectors(points):
    """Prints the points of family access; returns how many are not as predicted."""
    print(f"{'sectors per request':<61} {'load':>9} {'measured':>9} {'store':>9} {'measured':>9}")
    wrong = [any(differs(*pair) for pair in pairs) for _, _, pairs in points]
    for (rung, parameters, (load, store)), bad in zip(points, wrong):
        print(line(rung, parameters, [*load, *store], bad))
    print(f"{sum(wrong)} of {len(points)} points differ by more than 1 %\n")
    return sum(wrong)


def compare_occupancy(points, least):
    """Prints the points of family launch; returns how many are not as predicted."""
    print(f"{'occupancy':<61} {'predicted':>9} {'achieved':>9} {'of it':>9}")
    predicted = [point for point in points if point[2][0][0] is not None]
    wrong = 0
    for rung, parameters, [(told, percent)] in predicted:
        achieved = (percent or 0) / 100
        small = parameters.get("block_threads") in (32, 64, 96, 128)
        bad = achieved > 1.02 * told or (achieved < least * told and not small)
        wrong += bad
        print(line(rung, parameters, [told, achieved, achieved / told], bad))
    bound = f"above what is predicted, or below {least:g} of it"
    print(f"{wrong} of {len(predicted)} points are {bound}")
    return wrong


# ---- the command ----


def main():
    parser = text.parser(COMMAND, __doc__)
    parser.add_argument("weft", metavar="WEFT", nargs="?", default="build/weft", help="the program")
    parser.add_argument("keys", metavar="key=value", nargs="*", help="of weft bench: dtype=f64")
    arguments = parser.parse_args()
    weft, least = os.path.abspath(arguments.weft), number(os.environ.get("LEAST", "0.5"))
    if least is None:
        text.fail(COMMAND, f"LEAST={os.environ['LEAST']} is no number")
    if not os.access(weft, os.X_OK):
        text.fail(COMMAND, f"{arguments.weft}: no such program")
    if not shutil.which("ncu"):
        skip("ncu (Nsight Compute) is not on PATH")
    trial = [weft, "bench", "ceiling/copy", "device=cuda", "samples=none", "output=none"]
    if subprocess.run(trial, capture_output=True, check=False).returncode:
        skip("no GPU")
    sectors = counted(weft, "access", ACCESS_KERNELS, SECTORS, ["n=256K", *arguments.keys])
    occupancy = counted(weft, "launch", LAUNCH_KERNELS, OCCUPANCY, arguments.keys)
    wrong = compare_sectors(sectors) + compare_occupancy(occupancy, least)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
