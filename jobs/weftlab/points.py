"""Two single runs of `weft bench` side by side: do they agree? (compare --points)"""

import json

from weftlab import records, text


def identity(record):
    """What makes two records one rung: all of its settings but the swept one."""
    parameters = dict(record.get("parameters") or {})
    parameters.pop(record.get("swept"), None)
    keys = ("device", "family", "rung", "dtype")
    return json.dumps([record.get(key) for key in keys] + [parameters], sort_keys=True)


def rungs_of(path, command):
    """The last record of each rung that has a rate."""
    return {identity(r): r for r in records.read([path], "bench", command) if r.get("rate")}


def rates_of(record):
    """Rates by the swept parameter's value, or the one rate of a rung that was not swept."""
    swept = record.get("swept")
    if not swept:
        return {None: record["rate"]}
    points = [point for point in record.get("sweep") or [] if point.get("rate")]
    return {json.dumps(records.at(point, "parameters", swept)): point["rate"] for point in points}


def percent(before, after):
    return 100 * (after / before - 1)


def differences_of(x, y):
    """Of the points that both records hold, in percent of the first one's."""
    before, after = rates_of(x), rates_of(y)
    return [percent(before[key], after[key]) for key in before if key in after]


def difference_text(difference, bound):
    return f"{difference:+8.2f}" + ("*" if abs(difference) > bound else " ")


def row(x, y, bound):
    """One line for a rung."""
    unit, differences = x.get("unit") or "", differences_of(x, y)
    name, rates = f"{x['family']}/{x['rung']}", [text.rate(r["rate"], unit) for r in (x, y)]
    line = f"{name:<30} {x.get('dtype') or '-':<4} {rates[0]:>18} {rates[1]:>18} "
    line += difference_text(percent(x["rate"], y["rate"]), bound)
    if len(differences) > 1:
        line += " " + difference_text(max(differences, key=abs), bound)
    return line


def compare(command, path_a, path_b, bound):
    """Prints the rungs of both files and counts those that differ; returns the exit status."""
    a, b = rungs_of(path_a, command), rungs_of(path_b, command)
    both = [(a[key], b[key]) for key in a if key in b]
    if not both:
        text.fail(command, "no rung stands in both files")
    print(f"{'rung':<30} {'type':<4} {'A':>18} {'B':>18} {'B - A':>9} {'largest':>9}")
    for x, y in both:
        print(row(x, y, bound))
    far = sum(abs(percent(x["rate"], y["rate"])) > bound for x, y in both)
    differences = [difference for x, y in both for difference in differences_of(x, y)]
    far_points = sum(abs(difference) > bound for difference in differences)
    print(f"{far} of {len(both)} rungs differ by more than {bound:g} %")
    print(f"{far_points} of {len(differences)} points of them and their sweeps")
    return 1 if far else 0
