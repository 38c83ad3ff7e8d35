"""One HTML page about checks, which needs neither network nor scripts: verdict, suspects, maps of pairs, each
part next to its peers, and the course over the rounds."""

import math

import numpy as np

from weftlab import checks
from weftlab.html_page import SCRIPT, STYLE, Cell, escaped, html_table

RANKS_IN_MAP = 64
WIDTH, HEIGHT = 640, 60  # of a strip in pixels
OWN_STYLE = """
.map { width: auto; }
.map td { width: .9rem; height: .9rem; padding: 0; border: 1px solid var(--paper); text-align: center; }
.map .blamed { outline: 2px solid var(--ink); outline-offset: -2px; }
svg text { font-size: 11px; }
"""


def color(ratio):
    """Orange below the median of its like, blue above, full at a factor of 1.25."""
    depth = min(1, abs(math.log(ratio)) / math.log(1.25))
    return "rgb(%s)" % ", ".join(
        "%.0f" % (255 - depth * (255 - c)) for c in ((0, 114, 178) if ratio > 1 else (213, 94, 0))
    )


def cell_of(check, row, median, a, b, rate):
    """rate: its logarithm, None: wrong bits came instead."""
    blamed = any({s["a"], s["b"]} == {a, b} or (s["b"] < 0 and s["a"] in (a, b)) for s in check.suspects)
    faulty = any(f["like"] == row.key[0] and {f["a"], f["b"]} == {a, b} for f in check.faults)
    classes = " ".join(["blamed"] * blamed + ["faulty"] * faulty)
    said = "wrong bits" if rate is None else checks.rate(row.key, math.exp(rate))
    return '<td data-a="%d" data-b="%d" class="%s" style="background: %s" title="%d and %d: %s">%s</td>' % (
        (
            a,
            b,
            classes,
            color(1 if rate is None else math.exp(rate - median)),
            a,
            b,
            said,
            "&times;" * faulty,
        )
    )


def map_of(check, row, x):
    """A cell per pair: one way from the line's rank to the column's, both ways above the diagonal."""
    rates, median = dict(zip(row.who, x)), float(np.median(x))
    rates.update({(f["a"], f["b"]): None for f in check.faults if f["like"] == row.key[0]})
    ends = sorted({r for who in rates for r in who})[:RANKS_IN_MAP]
    lines = [
        "<tr><th>%d</th>%s</tr>"
        % (
            a,
            "".join(
                cell_of(check, row, median, a, b, rates[a, b]) if (a, b) in rates else "<td></td>"
                for b in ends
            ),
        )
        for a in ends
    ]
    head = "".join("<th>%d</th>" % b for b in ends)
    name = escaped(checks.name_of(row.key))
    table = '<table class="map"><tr><th></th>%s</tr>%s</table>' % (head, "".join(lines))
    return '<h3>%s</h3><div class="scroll">%s</div>' % (name, table)


def strip(rows_and_x):
    """A dot per part, as a fraction of the median of its like: one axis for all."""
    left, right, shown = 220, WIDTH - 20, []
    fractions = [(row, np.exp(x - np.median(x))) for row, x in rows_and_x if len(x) > 1]
    low = min((float(f.min()) for _, f in fractions), default=1)
    low, high = min(0.9, low), max(1.1, max((float(f.max()) for _, f in fractions), default=1))
    place = lambda f: left + (right - left) * (f - low) / (high - low)
    for i, (row, values) in enumerate(fractions):
        y = 20 * i + 14
        shown.append('<text x="0" y="%d">%s</text>' % (y + 4, escaped(checks.name_of(row.key))))
        shown += [
            '<circle cx="%.1f" cy="%d" r="3" fill="#0072b2"><title>%s: %.1f %%</title></circle>'
            % (place(f), y, " and ".join(str(r) for r in who if r >= 0), 100 * f)
            for who, f in zip(row.who, values)
        ]
    below = 20 * len(fractions) + 14
    shown += ['<text x="%.0f" y="%d">%.0f %%</text>' % (place(f), below, 100 * f) for f in (low, 1)]
    return '<svg viewBox="0 0 %d %d" width="%d">%s</svg>' % (WIDTH, below + 10, WIDTH, "".join(shown))


def courses(check):
    """Of each like the median of its parts over the rounds, and dashed the least."""
    figures = [f for number, one in enumerate(check.rounds) for f in check.figures_of(one, number)]
    for row in check.rows:
        own = {}
        for f in figures:
            if (f.like, f.alone) == row.key:
                own.setdefault(f.round, []).append(f.rate)
        if len(own) > 1:
            yield row, sorted(
                (number, float(np.median(rates)), min(rates)) for number, rates in own.items()
            )


def course(row, points):
    top, last = max(p[1] for p in points), max(1, points[-1][0])
    line = lambda column: " ".join(
        "%.1f,%.1f" % (WIDTH * p[0] / last, HEIGHT - (HEIGHT - 6) * p[column] / top) for p in points
    )
    lines = (
        '<polyline points="%s" fill="none" stroke="#0072b2" stroke-width="2"/>'
        '<polyline points="%s" fill="none" stroke="#d55e00" stroke-dasharray="5 3"/>' % (line(1), line(2))
    )
    return '<p>%s, up to %s</p><svg viewBox="0 0 %d %d" width="%d">%s</svg>' % (
        escaped(checks.name_of(row.key)),
        checks.rate(row.key, top),
        WIDTH,
        HEIGHT,
        WIDTH,
        lines,
    )


def suspects_html(check):
    shown = []
    for s in check.suspects:
        slow = "wrong bits" if s["factor"] is None else "%.0f %%" % (100 * s["factor"])
        shown.append(
            "<li><strong>%s</strong>: %s, confidence %.2f<br>%s</li>"
            % (escaped(s["name"]), slow, s["confidence"], escaped(s["evidence"]))
        )
    return "<h2>Suspects</h2><ol>%s</ol>" % "".join(shown) if shown else ""


def check_html(check, table_of):
    """The sections of one check."""
    yield '<p class="%s"><strong>%s</strong> %s</p>' % (
        "" if check.verdict == checks.DELIVERS else "bad",
        check.verdict,
        escaped(check.last.get("why") or ""),
    )
    yield "".join(
        '<p class="bad">rank %d (%s) is silent</p>' % (rank, escaped(check.hosts[rank]))
        for rank in check.silent
    )
    yield suspects_html(check)
    pairs = [
        (row, x)
        for row, x in zip(check.rows, check.best)
        if row.part in ("link", "host_link") and len(x) > 1
    ]
    if pairs:
        yield "<h2>Pairs</h2><p>Orange is below the median of its like, blue above. A frame: a suspect takes "
        yield "part; a cross: wrong bits.</p>"
        yield "".join(map_of(check, row, x) for row, x in pairs)
    head = ("figure", "median", "least", "of", "reference", "noise", "would see", "verdict")
    yield '<h2 id="rows">Figures</h2>' + html_table(
        head, [[Cell(cell) for cell in line] for line in table_of(check)]
    )
    if any(len(x) > 1 for x in check.best):
        yield "<h2>Each part next to its peers</h2><figure>%s</figure>" % strip(
            list(zip(check.rows, check.best))
        )
    lines = [course(row, points) for row, points in courses(check)]
    if lines:
        yield "<h2>Over the rounds</h2><p>The median, and dashed the least part.</p>"
        yield '<figure id="trends">%s</figure>' % "".join(lines)
    keys = (
        "host",
        "gpu",
        "uuid",
        "pci",
        "clock_mhz",
        "power_w",
        "temperature_c",
        "held_by_power",
        "held_by_heat",
    )
    ranks = [
        [Cell(n, n)] + [Cell("" if r.get(key) is None else r[key]) for key in keys]
        for n, r in enumerate(check.ranks)
    ]
    yield '<h2 id="ranks">Ranks</h2>' + html_table(("rank",) + keys, ranks)


def page(nodes, table_of):
    title = "weft check: %d node%s" % (len(nodes), "" if len(nodes) == 1 else "s")
    if len(nodes) == 1:
        title = "weft check: %d ranks on %s" % (len(nodes[0].check.ranks), nodes[0].name[:80])
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>%s</title>'
        "<style>%s%s</style></head><body>" % (escaped(title), STYLE, OWN_STYLE)
    )
    body = ["<h1>%s</h1>" % escaped(title)]
    if len(nodes) > 1:
        lines = [
            [
                Cell(node.name),
                Cell(node.verdict),
                Cell("%.0f %%" % (100 * node.below), node.below),
                Cell(node.why()),
            ]
            for node in nodes
        ]
        body.append(html_table(("node", "verdict", "of the median", "why"), lines))
    for node in nodes:
        sections = "".join(check_html(node.check, table_of))
        body.append(
            sections
            if len(nodes) == 1
            else "<details><summary>%s: %s</summary>%s</details>"
            % (escaped(node.name), node.verdict, sections)
        )
    return head + "\n".join(body) + "<script>%s</script></body></html>\n" % SCRIPT
