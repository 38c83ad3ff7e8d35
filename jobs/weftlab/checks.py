"""Checks by `weft check` from their records, and the verdict on each: rounds of one check belong together."""

import collections
import json
import math
import pathlib

import numpy as np

from weftlab import blame, measured, records, text

DELIVERS, SLOW, WRONG, NOT_JUDGED, INCOMPLETE = "delivers", "slow", "wrong", "not judged", "incomplete"
STATUS = {DELIVERS: 0, SLOW: 1, WRONG: 1, NOT_JUDGED: 4, INCOMPLETE: 3}
WEIGHT = {word: weight for weight, word in enumerate((DELIVERS, NOT_JUDGED, SLOW, WRONG, INCOMPLETE))}
BY_REFERENCE = 0.9  # confidence: the machine may be built otherwise than the reference's
SHOWN, UUID_SHOWN = 3, len("GPU-0b5b4cd2")
NAMES = {
    "copy": "memory copy",
    "read": "memory read",
    "patterns": "memory patterns",
    "fma_f32": "arithmetic in f32",
    "fma_f64": "arithmetic in f64",
    "to_host": "copy to the host",
    "from_host": "copy from the host",
    "heat_single": "heat, single steps",
    "heat_blocks": "heat, blocks of steps",
    "transpose": "transpose",
    "pair_oneway": "pair, one way",
    "pair_both": "pair, both ways",
    "host_pair": "pair of hosts",
    "heat_all": "heat, all ranks",
    "transpose_all": "transpose, all ranks",
    "disk_write": "raw write",
    "checkpoint": "checkpoint",
}
ALL = {
    "gpu": "all GPUs alike",
    "link": "all links of ranks alike",
    "host_link": "all links of hosts alike",
    "disk": "the disk",
    "job": "all ranks together",
}
ALL_PARTS = (*ALL, "host")


def name_of(row):
    like, alone = row
    name = NAMES.get(like) or like.replace("ring_", "ring over ").replace("alltoall_", "all-to-all over ")
    return name + (" alone" if alone else "")


def unit_of(like):
    if like.startswith("fma"):
        return "flop/s"
    return "cells/s" if like.startswith(("heat", "transpose")) else "B/s"


def rate(row, value):
    return measured.rate(value, unit_of(row[0]))


class Suspect(collections.namedtuple("Suspect", "part a b name factor confidence evidence")):
    """A part that is slow by a factor, or (None) had wrong bits, as people read it."""

    @property
    def slow(self):
        return "wrong bits" if self.factor is None else "%.0f %%" % (100 * self.factor)


# ---- references ----


def reference_of(path, gpu):
    """The reference in a file, as jobs/check_reference writes it; None where it is of another GPU."""
    if path == "none":
        return {"rates": {}}
    try:
        reference = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        rates = reference["rates"]
        for value in rates.values():
            if not 0 < value["low"] <= value["high"] or value["machines"] < 1:
                raise ValueError
        return reference if reference["gpu"] == gpu else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        text.fail("judge", "--reference %s: no reference that jobs/check_reference wrote" % path)


def built_in(gpu):
    """The reference of that GPU beside jobs/, in a tree or installed; None: there is none."""
    jobs = pathlib.Path(__file__).resolve().parents[1]
    for folder in (jobs.parent / "inputs" / "reference", jobs.parent / "reference"):
        for path in sorted(folder.glob("*.json")):
            found = reference_of(path, gpu)
            if found:
                return found
    return None


# ---- a check ----


class Check:
    """All rounds of one check, and the verdict on them."""

    def __init__(self, rounds, reference=None):
        """rounds: the `check` of each record, in the order of the file."""
        self.rounds, self.last = rounds, rounds[-1]
        self.ranks = self.last["ranks"]
        hosts = [str(records.at(rank, "host")) for rank in self.ranks]
        self.hosts, self.host = hosts, [hosts.index(host) for host in hosts]
        self.model = str(records.at(self.ranks[0], "gpu") or "") if self.ranks else ""
        self.faults = [f for check in rounds for f in check.get("faults") or () if self.is_of_ranks(f)]
        self.rows = blame.rows_of([f for i, check in enumerate(rounds) for f in self.figures_of(check, i)])
        self.best = [row.x.copy() for row in self.rows]
        self.suspects, self.slow_rows, self.of_reference = [], {f["like"] for f in self.faults}, {}
        self.least = 4.0  # errors
        if self.rounds_of_rows() > 1:
            found, self.least = blame.suspects_of(self.rows, self.host)
            self.suspects = [self.slow_suspect(s) for s in found]
            self.slow_rows |= {slow.row for s in found for slow in s.slow}
        if reference is None:
            reference = built_in(self.model)
        if reference:
            self.by_reference(reference)
        self.suspects = self.wrong_suspects() + sorted(self.suspects, key=lambda s: (-s.confidence, s.factor))
        own = self.last.get("verdict")
        self.silent = self.silent_ranks() if own == INCOMPLETE else []
        self.verdict = self.word()
        if (own == SLOW and not self.suspects) or (self.rounds_of_rows() < 2 and own in STATUS):
            self.take_over()

    def is_of_ranks(self, figure):
        """Whether like and ranks of a figure or fault can be what they say."""
        ranks = [figure.get(key) if isinstance(figure, dict) else None for key in ("a", "b")]
        whole = all(isinstance(rank, int) and -1 <= rank < len(self.ranks) for rank in ranks)
        if not whole or not records.is_text(figure.get("like")):
            return False
        needed = {"gpu": 1, "link": 2, "host_link": 2}.get(blame.part_of(figure["like"]), 0)
        return all(rank >= 0 for rank in ranks[:needed])

    def figures_of(self, check, number):
        for f in check.get("figures") or ():
            if self.is_of_ranks(f) and records.is_number(f.get("rate")) and f["rate"] > 0:
                noise = f.get("noise") if records.is_number(f.get("noise")) else 0
                alone = f.get("alone") is True
                yield blame.Figure(f["like"], alone, f["a"], f["b"], number, f["rate"], noise)

    def rounds_of_rows(self):
        return max((row.rounds for row in self.rows), default=0)

    def silent_ranks(self):
        """Ranks that were not heard of at the end, or have no figure in a round whose others have one."""
        silent = [rank for rank, r in enumerate(self.ranks) if r.get("ended") is False]
        if silent:
            return silent
        seen = {r for f in self.figures_of(self.last, 0) for r in (f.a, f.b)}
        return [r for r in range(len(self.ranks)) if seen and r not in seen]

    def is_judged(self):
        compared = any(len(row.who) > 1 and self.smallest(row) < 0.5 for row in self.rows)
        return compared or any(judged for _, judged in self.of_reference.values())

    def smallest(self, row):
        """The smallest deviation of one component that would be seen; 1: none."""
        if len(row.who) < 2 or row.rounds < 2:
            return 1.0
        error = row.noise * math.sqrt(1 + 1 / max(1, 0.6366 * (len(row.who) - 1)))
        return 1 - math.exp(-max(blame.LEAST, self.least * error))

    def word(self):
        if self.last.get("verdict") == INCOMPLETE:
            return INCOMPLETE
        if self.faults:
            return WRONG
        return SLOW if self.suspects else DELIVERS if self.is_judged() else NOT_JUDGED

    def take_over(self):
        """The program's own verdict: of one round alone, the last of several that it saw; and where few
        rounds hide from these statistics whom its plain rules name."""
        self.verdict = self.last["verdict"]
        for s in self.last.get("suspects") or () if not self.suspects else ():
            part, a, b = (records.at(s, key) for key in ("part", "a", "b"))
            if part in ALL_PARTS and isinstance(a, int) and isinstance(b, int):
                factor, sure = (
                    s[k] if records.is_number(s.get(k)) else None for k in ("factor", "confidence")
                )
                name, evidence = (str(s.get(key)) for key in ("name", "evidence"))
                self.suspects.append(Suspect(part, a, b, name, factor, sure or 0.0, evidence))

    # ---- names ----

    def part_name(self, part, a, b):
        host = lambda rank: self.hosts[rank]
        if part == "gpu":
            r = self.ranks[a]
            facts = [host(a), str(r.get("uuid") or "")[:UUID_SHOWN], str(r.get("pci") or "")]
            kind = "GPU" if r.get("gpu") else "processor cores"
            return "%s of rank %d (%s)" % (kind, a, ", ".join(filter(None, facts)))
        if part == "host":
            count = self.host.count(self.host[a])
            return "host %s (%d rank%s from %d on)" % (host(a), count, "" if count == 1 else "s", a)
        if part == "link":
            return "link of ranks %d and %d (%s)" % (a, b, ", ".join(sorted({host(a), host(b)})))
        return "link of hosts %s and %s" % (host(a), host(b)) if part == "host_link" else ALL[part]

    def link_name(self, s):
        """Of a link whose one way alone is slow: that."""
        roles = {slow.role for slow in s.slow}
        if s.part != "link" or ("out" in roles) == ("in" in roles):
            return self.part_name(s.part, s.a, s.b)
        one, other = (s.a, s.b) if "out" in roles else (s.b, s.a)
        return "link from rank %d to rank %d (%s)" % (one, other, self.hosts[one])

    # ---- suspects ----

    def slow_suspect(self, s):
        ways = {"out": ", out of it", "in": ", into it"} if s.part == "gpu" else {}
        lines = [
            "%s%s %.0f %%" % (name_of(slow.row), ways.get(slow.role, ""), 100 * math.exp(slow.effect))
            for slow in s.slow
        ]
        if s.slow:
            rates = [rate(s.slow[0].row, value) for value in (s.slow[0].rate, s.slow[0].median)]
            lines[0] += " (%s, the others %s)" % tuple(rates)
        evidence = "; ".join(lines[:SHOWN])
        if len(lines) > SHOWN:
            evidence += "; and %d more" % (len(lines) - SHOWN)
        if s.part == "gpu":
            only = all(slow.row[0].startswith("fma") for slow in s.slow)
            evidence = "only arithmetic is slow: " * only + evidence
            gpu, others = (self.ranks[rank].get("gpu") for rank in (s.a, 0 if s.a else -1))
            evidence += "; it is another GPU, %s" % gpu if gpu != others else ""
        if s.others:
            others = [self.part_name(*other) for other in s.others[:SHOWN]]
            evidence += "; it may as well be the " + " or the ".join(others)
        return Suspect(s.part, s.a, s.b, self.link_name(s), s.factor, s.confidence, evidence)

    def wrong_suspects(self):
        """Whose the wrong bits are: a GPU with faults of its own, a rank with two faulty partners, a pair."""
        guilty, left = {}, []
        for f in self.faults:
            part = blame.part_of(f["like"]) if f["b"] >= 0 or f["a"] < 0 else "gpu"
            if part in ("gpu", "disk"):
                guilty.setdefault((part, f["a"], -1), []).append(f)
            else:
                left.append((f, part))
        pairs = [(f, part) for f, part in left if part in ("link", "host_link")]
        for part, owner in (("link", "gpu"), ("host_link", "host")):
            while True:
                own = [f for f, p in pairs if p == part]
                partners = collections.defaultdict(set)
                for f in own:
                    partners[f["a"]].add(f["b"])
                    partners[f["b"]].add(f["a"])
                known = [r for r in partners if (owner, r, -1) in guilty]
                most = max(partners, key=lambda r: (r in known, len(partners[r]), -r), default=None)
                if most is None or not (most in known or len(partners[most]) > 1):
                    break
                guilty.setdefault((owner, most, -1), []).extend(f for f in own if most in (f["a"], f["b"]))
                pairs = [(f, p) for f, p in pairs if p != part or most not in (f["a"], f["b"])]
        for f, part in pairs:
            guilty.setdefault((part, min(f["a"], f["b"]), max(f["a"], f["b"])), []).append(f)
        if not guilty and self.faults:
            guilty["job", -1, -1] = [f for f, _ in left]
        return [self.wrong_suspect(who, faults) for who, faults in guilty.items()]

    def wrong_suspect(self, who, faults):
        first, part = faults[0], who[0]
        many = len(self.ranks) > 2 if part == "link" else len(set(self.hosts)) > 2
        sure = (0.9 if many else 0.33) if part in ("link", "host_link") else 0.5 if part == "job" else 0.99
        name = name_of((first["like"], False))
        evidence = "wrong bits in %s, round %d" % (name, (first.get("round") or 0) + 1)
        if first["b"] >= 0:
            evidence += ", ranks %d and %d" % (first["a"], first["b"])
        evidence += ": %s" % first.get("where")
        if len(faults) > 1:
            evidence += "; and %d more" % (len(faults) - 1)
        return Suspect(*who, self.part_name(*who), None, sure, evidence)

    # ---- beside a reference ----

    def by_reference(self, reference):
        """What lies below all machines of the reference is slow; the rows are those left by the suspects."""
        shape = (len(self.ranks), len(set(self.hosts)))
        alone, found = {row.key[0] for row in self.rows if row.key[1]}, {}
        for row in self.rows:
            known = reference["rates"].get(row.key[0])
            together = row.part in ("job", "disk", "host_link")
            if not known or (row.key[0] in alone and not row.key[1]):
                continue
            if together and shape != (reference.get("ranks"), reference.get("hosts")):
                continue
            repeats = known["machines"] > 1 and known["high"] <= known["low"] * 1.03
            beside_others = row.key[0] in ("to_host", "from_host") and not row.key[1]
            judged = repeats and not beside_others and row.rounds > 1
            middle = math.sqrt(known["low"] * known["high"])
            self.of_reference[row.key] = (middle, judged)
            low = math.log(known["low"]) - max(blame.LEAST, self.least * row.spread)
            who, x = self.below(row, low)
            if not judged or x >= low:
                continue
            self.slow_rows.add(row.key)
            if row.part == "job" and (self.suspects or found):
                continue
            if row.part == "link" and any(s.a in who[1:] for s in self.suspects if who[2] >= 0):
                continue
            found.setdefault(who, []).append((row.key, x - math.log(middle), middle))
        for who, rows in found.items():
            lines = [
                "%s %.0f %% (%s of %s)"
                % (name_of(key), 100 * math.exp(x), rate(key, middle * math.exp(x)), rate(key, middle))
                for key, x, middle in rows
            ]
            part = who[0] if who[1] >= 0 else "job"
            name = self.part_name(*who) if who[1] >= 0 else ALL[who[0]]
            factor = math.exp(min(x for _, x, _ in rows))
            evidence = "below the reference: " + "; ".join(lines)
            self.suspects.append(Suspect(part, *who[1:], name, factor, BY_REFERENCE, evidence))

    def below(self, row, low):
        """(part, a, b), a = -1: all of its kind; and its rate. Of two GPUs it can be the slower one."""
        pairs = {tuple(sorted(who)) for who in row.who}
        slow = int(np.argmin(row.x))
        if row.part == "gpu" and len(row.who) == 2 and row.x[slow] < low <= row.x[1 - slow]:
            return ("gpu", row.who[slow][0], -1), float(row.x[slow])
        one = row.part in ("gpu", "link", "host_link") and len(pairs) == 1
        a, b = min(pairs)
        who = (row.part, -1, -1) if not one else (row.part, b, -1) if a < 0 else (row.part, a, b)
        return who, float(np.median(row.x))


# ---- from files ----


def rounds_of(paths, command):
    """The `check` of each record, in the order of the files: [(hosts, [round, ...]), ...], one a check.

    Records of one command on the same hosts are rounds of one check as long as their numbers grow."""
    files = []
    for path in map(pathlib.Path, paths):
        died = [part.with_suffix("") for part in path.glob("*.jsonl.part")]  # some in their first round
        died = [file for file in died if part_of_record(file)]
        files += sorted({*path.glob("*.jsonl"), *died}) if path.is_dir() else [path]
    checks, under_way, parts = [], {}, [part for file in files for part in part_of_record(file)]
    whole = [str(file) for file in files if file.exists() or not part_of_record(file)]
    for record in records.read(whole, "check", command) if whole else ():
        ranks = [r for r in record["check"]["ranks"] if isinstance(r, dict)]
        if len(ranks) < len(record["check"]["ranks"]):
            continue
        hosts = " ".join(sorted({str(r.get("host")) for r in ranks}))
        key, number = (hosts, str(record.get("command"))), record["check"].get("round")
        number = number if records.is_number(number) else 0
        before, rounds = under_way.get(key, (number, None))
        if rounds is None or number <= before:
            rounds = []
            checks.append((hosts, rounds))
        rounds.append(record["check"])
        under_way[key] = (number, rounds)
    for key, check in parts:
        if key not in under_way:
            checks.append((key[0], []))
            under_way[key] = (0, checks[-1][1])
        under_way[key][1].append(check)
    return checks


def part_of_record(file):
    """The round that a check which died had so far, in FILE.part: [((hosts, command), check)], or nothing.

    A rank without a line in the last trial is silent."""
    try:
        lines = pathlib.Path(str(file) + ".part").read_text(encoding="utf-8", errors="replace").split("\n")
        head = records.record_of(lines[0])
        ranks, level = head["check_part"]["ranks"], head["check_part"]["level"]
        hosts = " ".join(sorted({str(rank["host"]) for rank in ranks}))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    seen, figures, faults, last = set(), [], [], None
    for line in lines[1:]:
        try:
            one = records.record_of(line)
            trial = (one["round"], one["trial"], one.get("item"))
            seen = seen | {one["rank"]} if trial == last else {one["rank"]}
            last, figures, faults = trial, figures + one["figures"], faults + one["faults"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # the line that was under way
    where = "in round %d, trial '%s'" % (last[0] + 1, last[1]) if last else "before the first trial ended"
    for number, rank in enumerate(ranks):
        rank["ended"] = number in seen or not last
    check = dict(level=level, round=last[0] if last else 0, verdict=INCOMPLETE, rows=[], ranks=ranks)
    why = "the check did not end: the last lines that rank 0 wrote are " + where
    check.update(why=why, figures=figures, faults=faults)
    return [((hosts, str(head.get("command"))), check)]
