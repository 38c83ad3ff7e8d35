"""Draws records of `weft bench`, each picture as PNG and SVG.

  PREFIX_roofline           flop/s over flops per byte under the ceilings of the same run, and each
                            kernel's fraction of its ceiling; sweeps of several steps
                            (fused/production) above it, each number of steps under its own slope
  PREFIX_FAMILY_PARAMETER   every sweep: the rate over the swept parameter; whiskers reach from the
                            slow tenth of the samples to the fastest

Of records of the same rung with the same settings the last one counts. f32 and f64 share a
picture; records of several machines or devices do not: they are refused. Colours are Okabe and
Ito's, and no two lines differ by colour alone.

Exit status: 0 drawn, 2 nothing to draw, 3 matplotlib is missing.
"""

import json
import re
import sys

from weftlab import packages, records, text


def other_settings(record):
    """The parameters but the swept one."""
    parameters = dict(record.get("parameters") or {})
    parameters.pop(record.get("swept"), None)
    return parameters


def points_of(record):
    """The points of a sweep, or the record itself."""
    return record.get("sweep") or [] if record.get("swept") else [record]


def chosen_of(good):
    """The last verified record of each rung and setting, a longer sweep before a shorter one."""
    chosen = {}
    for record in good:
        if not record.get("verified"):
            continue
        keys = [record.get(key) for key in ("family", "rung", "dtype", "swept")]
        identity = json.dumps([keys, other_settings(record)], sort_keys=True)
        before = chosen.pop(identity, None)
        if before and len(before.get("sweep") or []) > len(record.get("sweep") or []):
            record = before
        chosen[identity] = record
    return list(chosen.values())


def machine_text(chosen):
    """The machine, the date and the commits of records."""
    last, commits = chosen[-1], sorted({str(record.get("git")) for record in chosen})
    gpus = records.at(last, "machine", "gpus")
    name = records.at(gpus[0], "name") if isinstance(gpus, list) and gpus else None
    name = name or records.at(last, "machine", "processor") or "host"
    by = ", ".join(commits) if len(commits) <= 3 else f"{len(commits)} commits"
    return f"{name}, {str(last.get('started'))[:10]}, weft {last.get('version')} ({by})"


def sweeps_of(chosen):
    """The sweeps of each family, parameter and unit, by these three."""
    sweeps = {}
    for record in chosen:
        if record.get("swept") and record["family"] != "roofline" and len(points_of(record)) > 1:
            key = (record["family"], record["swept"], record.get("unit") or "")
            sweeps.setdefault(key, []).append(record)
    return dict(sorted(sweeps.items()))


def in_a_name(part):
    """Other people's text as a part of a file's name."""
    return re.sub("[^A-Za-z0-9._-]", "_", part)


def main():
    parser = text.parser("plot_bench", __doc__)
    parser.add_argument("file", metavar="FILE.jsonl")
    parser.add_argument("prefix", metavar="PREFIX", nargs="?", help="default: FILE")
    arguments = parser.parse_args()
    packages.need(parser.prog, "matplotlib")
    path, prefix = arguments.file, arguments.prefix or re.sub(r"\.jsonl$", "", arguments.file)
    return draw(path, prefix)


def draw(path, prefix):
    """Draws the rungs of a file and names the pictures; returns the exit status."""
    from weftlab import bench_pictures  # pylint: disable=import-outside-toplevel

    parser = text.parser("plot_bench", __doc__)
    good = list(records.read([path], "bench", parser.prog))
    machines = {json.dumps([r.get("device"), records.at(r, "machine", "processor")]) for r in good}
    if len(machines) != 1:
        text.fail(parser.prog, f"{path} does not hold records of one device and machine")
    chosen = chosen_of(good)
    if not chosen:
        text.fail(parser.prog, f"{path} holds no verified record")
    machine, drawn = machine_text(chosen), []
    if any(r["family"] == "roofline" and r.get("dtype") in ("f32", "f64") for r in chosen):
        drawn.append(f"{prefix}_roofline")
        bench_pictures.roofline(chosen, machine, drawn[-1])
    for (family, swept, unit), sweeps in sweeps_of(chosen).items():
        calls = "_calls" if unit == "1/s" else ""
        name = f"{prefix}_{in_a_name(family + '_' + swept)}{calls}"
        if bench_pictures.sweep(family, swept, unit, sweeps, machine, name):
            drawn.append(name)
    if not drawn:
        text.fail(parser.prog, f"{path} holds neither roofline nor sweeps")
    for name in drawn:
        print(text.printable(f"{name}.png and {name}.svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
