"""Makes a reference for `weft check` of records of checks: jobs/check_reference RECORDS... > h100.json

Of each figure the reference has the lowest and the highest rate of all checks that deliver, and
the number of machines, told apart by their GPUs. Rates alone count; where there are none, those at
once. weft check judges what two machines or more have and what differs by at most 3 % between
them; it shows the rest. Rates of all ranks together are of the checks with as many ranks and hosts
as the first one. A disk is no part of a GPU and is left out.

Checks that are slow, wrong or incomplete, and of GPUs that ranks share, are left out; how many is
printed on stderr. Exit status: 0, or 2 where the records are of several GPUs or of none.
"""

import json

from weftlab import records, text

COMMAND = "check_reference"
TOGETHER = ("ring_", "alltoall_", "heat_all", "transpose_all", "host_pair")
DISK = ("disk_write", "checkpoint")


def gpus_of(record):
    return tuple(str(rank.get("uuid")) for rank in record["check"]["ranks"])


def is_good(record):
    gpus = gpus_of(record)
    return record["check"]["verdict"] == "delivers" and 0 < len(gpus) == len(set(gpus) - {"None"})


def shape_of(record):
    ranks = record["check"]["ranks"]
    return len(ranks), len({rank.get("host") for rank in ranks})


def rows_of(record, shape):
    """{like: (least, median)} of what the reference takes from this check."""
    rows = {}
    for row in record["check"]["rows"]:
        like, rates = row.get("like"), (row.get("least"), row.get("median"))
        if not records.is_text(like) or not all(records.is_number(rate) and rate > 0 for rate in rates):
            continue
        if like in DISK or (like.startswith(TOGETHER) and shape_of(record) != shape):
            continue
        if row.get("alone") or like not in rows:
            rows[like] = rates
    return rows


def reference_of(checks):
    shape, rates, machines = shape_of(checks[0]), {}, {}
    for record in checks:
        for like, (least, median) in rows_of(record, shape).items():
            low, high = rates.get(like, (least, median))
            rates[like] = (min(low, least), max(high, median))
            machines.setdefault(like, set()).add(gpus_of(record))
    started = sorted(str(record.get("started")) for record in checks)
    counts = (len(checks), len({gpus_of(record) for record in checks}), started[0], started[-1])
    made = "of %d checks on %d machines, %s to %s, by jobs/check_reference" % counts
    gpu, (ranks, hosts) = checks[0]["check"]["ranks"][0]["gpu"], shape
    rounded = lambda rate: float("%.5g" % rate)
    rates = {
        like: {"low": rounded(low), "high": rounded(high), "machines": len(machines[like])}
        for like, (low, high) in rates.items()
    }
    return {"gpu": gpu, "made": made, "ranks": ranks, "hosts": hosts, "rates": rates}


def written(reference):
    """JSON with a line for each rate."""
    *head, (_, rates) = reference.items()
    lines = ["  %s: %s" % (json.dumps(key), json.dumps(value)) for key, value in head]
    of_rates = ["    %s: %s" % (json.dumps(like), json.dumps(rate)) for like, rate in rates.items()]
    return '{\n%s,\n  "rates": {\n%s\n  }\n}' % (",\n".join(lines), ",\n".join(of_rates))


def main():
    parser = text.parser(COMMAND, __doc__)
    parser.add_argument("records", nargs="+", metavar="RECORDS", help="files of records of weft check")
    last = {}  # of each check: it has the best rounds of all its rounds
    for record in records.read(parser.parse_args().records, "check", COMMAND):
        last[record.get("started"), record.get("command"), gpus_of(record)] = record
    good = [record for record in last.values() if is_good(record)]
    models = sorted({str(rank.get("gpu")) for record in good for rank in record["check"]["ranks"]})
    if len(good) < len(last):
        why = "they do not deliver, or have no GPU for each rank"
        text.complain("%s: left out %d of %d checks: %s" % (COMMAND, len(last) - len(good), len(last), why))
    if len(models) != 1:
        of = " and ".join(models) or "no GPU"
        text.fail(COMMAND, "the checks are of %s; a reference is of one GPU" % of)
    print(written(reference_of(good)))
    return 0
