"""One HTML page about checks: verdict, suspects, maps of pairs, each part next to its peers, and the course
over the rounds.
"""

import math

import jinja2
import numpy as np

from weftlab import check_text, checks

RANKS_IN_MAP = 64
WIDTH, HEIGHT, LEFT = 640, 60, 220  # of a drawing in pixels, and where its names end
OF_RANK = ("host", "gpu", "uuid", "pci")
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --line: #d0d0d0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --line: #444444; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { margin: 2rem auto; max-width: 96rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.map td { width: .9rem; height: .9rem; padding: 0; border: 1px solid var(--paper); text-align: center; }
.map .blamed { outline: 2px solid var(--ink); outline-offset: -2px; }
figure { margin: 1rem 0; background: #ffffff; border: 1px solid var(--line); padding: .5rem; }
svg text { font-size: 11px; }
.bad { color: #d55e00; font-weight: 600; }
</style>
</head>
<body>
{% macro table(header, rows) %}<div class="scroll"><table>
<tr>{% for name in header %}<th>{{ name }}</th>{% endfor %}</tr>
{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</table></div>
{% endmacro %}
{% macro about(check) %}
<p{% if check.verdict != "delivers" %} class="bad"{% endif %}><strong>{{ check.verdict }}</strong>
{{- ": " ~ check.last.why if check.last.why }}</p>
{% for rank in check.silent %}<p class="bad">rank {{ rank }} ({{ check.hosts[rank] }}) is silent</p>
{% endfor %}
{% if check.suspects %}<h2>Suspects</h2><ol>
{% for s in check.suspects %}<li><strong>{{ s.name }}</strong>: {{ s.slow }},
confidence {{ "%.2f" % s.confidence }}<br>{{ s.evidence }}</li>
{% endfor %}</ol>{% endif %}
{% for name, ends, rows in maps_of(check) %}{% if loop.first %}<h2>Pairs</h2>
<p>Orange is below the median of its like, blue above. A frame: a suspect takes part; a cross: wrong bits.</p>
{% endif %}
<h3>{{ name }}</h3><div class="scroll"><table class="map">
<tr><th></th>{% for b in ends %}<th>{{ b }}</th>{% endfor %}</tr>
{% for a, cells in rows %}<tr><th>{{ a }}</th>
{% for c in cells %}{% if not c %}<td></td>{% else -%}
<td data-a="{{ c.a }}" data-b="{{ c.b }}" class="{{ c.marks }}" style="background: {{ c.color }}" title="
{{- c.a }} and {{ c.b }}: {{ c.said }}">{% if c.faulty %}&times;{% endif %}</td>{% endif %}
{% endfor %}</tr>
{% endfor %}</table></div>
{% endfor %}
<h2 id="rows">Figures</h2>
{{ table(figure_header, rows_of(check)) }}
{% set low, place, rows = peers_of(check) %}
{% if rows %}<h2>Each part next to its peers</h2>
<figure><svg viewBox="0 0 {{ width }} {{ 20 * rows | length + 24 }}" width="{{ width }}">
{% for name, dots in rows %}{% set y = 20 * loop.index0 + 14 %}<text x="0" y="{{ y + 4 }}">{{ name }}</text>
{% for who, f in dots %}<circle cx="{{ "%.1f" % place(f) }}" cy="{{ y }}" r="3" fill="#0072b2"><title>
{{- "%s: %.1f %%" % (who, 100 * f) }}</title></circle>
{% endfor %}{% endfor %}
{% for f in (low, 1) %}<text x="{{ "%.0f" % place(f) }}" y="{{ 20 * rows | length + 14 }}">
{{- "%.0f %%" % (100 * f) }}</text>
{% endfor %}</svg></figure>{% endif %}
{% for name, top, median, least in courses_of(check) %}{% if loop.first %}<h2>Over the rounds</h2>
<p>The median, and dashed the least part.</p>
<figure id="trends">{% endif %}
<p>{{ name }}, up to {{ top }}</p><svg viewBox="0 0 {{ width }} {{ height }}" width="{{ width }}">
<polyline points="{{ median }}" fill="none" stroke="#0072b2" stroke-width="2"/>
<polyline points="{{ least }}" fill="none" stroke="#d55e00" stroke-dasharray="5 3"/></svg>
{% if loop.last %}</figure>{% endif %}{% endfor %}
<h2 id="ranks">Ranks</h2>
{{ table(rank_header, ranks_of(check)) }}
{% endmacro %}
<h1>{{ title }}</h1>
{% if nodes | length == 1 %}{{ about(nodes[0].check) }}{% else %}
{{ table(("node", "verdict", "of the median", "why"), node_rows) }}
{% for node in nodes %}<details><summary>{{ node.name }}: {{ node.verdict }}</summary>
{{ about(node.check) }}</details>
{% endfor %}{% endif %}
</body>
</html>
"""


def color(ratio):
    """Orange below the median of its like, blue above, full at a factor of 1.25."""
    depth = min(1, abs(math.log(ratio)) / math.log(1.25))
    full = (0, 114, 178) if ratio > 1 else (213, 94, 0)
    return "rgb(%s)" % ", ".join("%.0f" % (255 - depth * (255 - c)) for c in full)


def maps_of(check):
    """Of pairs a cell each: one way from the line's rank to the column's, both ways above the diagonal."""
    for row, x in zip(check.rows, check.best):
        if row.part not in ("link", "host_link") or len(x) < 2:
            continue
        rates = {(f["a"], f["b"]): None for f in check.faults if f["like"] == row.key[0]}
        rates = {**dict(zip(row.who, x)), **rates}  # None: wrong bits came instead
        ends = sorted({r for who in rates for r in who})[:RANKS_IN_MAP]
        cells = [(a, [cell_of(check, row, np.median(x), a, b, rates) for b in ends]) for a in ends]
        yield checks.name_of(row.key), ends, cells


def cell_of(check, row, median, a, b, rates):
    if (a, b) not in rates:
        return None
    rate, of_row = rates[a, b], [f for f in check.faults if f["like"] == row.key[0]]
    faulty = any({f["a"], f["b"]} == {a, b} for f in of_row)
    blamed = any({s.a, s.b} == {a, b} or (s.b < 0 and s.a in (a, b)) for s in check.suspects)
    return {
        "a": a,
        "b": b,
        "faulty": faulty,
        "marks": " ".join(["blamed"] * blamed + ["faulty"] * faulty),
        "color": color(1 if rate is None else math.exp(rate - median)),
        "said": "wrong bits" if rate is None else checks.rate(row.key, math.exp(rate)),
    }


def peers_of(check):
    """The parts of each row as fractions of their median, and where a fraction stands on the one axis."""
    found = [(row, np.exp(x - np.median(x))) for row, x in zip(check.rows, check.best) if len(x) > 1]
    ends = [end for _, f in found for end in (float(f.min()), float(f.max()))]
    low, high = min([0.9, *ends]), max([1.1, *ends])
    ranks = lambda who: " and ".join(str(r) for r in who if r >= 0)
    rows = [(checks.name_of(row.key), [(ranks(who), f) for who, f in zip(row.who, fs)]) for row, fs in found]
    return low, lambda f: LEFT + (WIDTH - 20 - LEFT) * (f - low) / (high - low), rows


def courses_of(check):
    """Of each like the median of its parts over the rounds, and the least."""
    figures = [f for number, one in enumerate(check.rounds) for f in check.figures_of(one, number)]
    for row in check.rows:
        own = {}
        for f in figures:
            if (f.like, f.alone) == row.key:
                own.setdefault(f.round, []).append(f.rate)
        if len(own) < 2:
            continue
        points = [(number, float(np.median(own[number])), min(own[number])) for number in sorted(own)]
        top, last = max(p[1] for p in points), points[-1][0]
        lines = [
            " ".join("%.1f,%.1f" % (WIDTH * p[0] / last, HEIGHT - (HEIGHT - 6) * p[at] / top) for p in points)
            for at in (1, 2)
        ]
        yield checks.name_of(row.key), checks.rate(row.key, top), *lines


def ranks_of(check):
    for n, rank in enumerate(check.ranks):
        yield [str(n)] + ["" if rank.get(key) is None else str(rank[key]) for key in OF_RANK]


def page(nodes):
    one, count = nodes[0], "%d nodes" % len(nodes)
    if len(nodes) == 1:
        count = "%d ranks on %s" % (len(one.check.ranks), one.name[:80])
    return jinja2.Environment(autoescape=True).from_string(PAGE).render(
        title="weft check: " + count,
        nodes=nodes,
        node_rows=[(n.name, n.verdict, "%.0f %%" % (100 * n.below), n.why()) for n in nodes],
        figure_header=("figure", *check_text.COLUMNS, "verdict"),
        rows_of=check_text.table_of,
        rank_header=("rank",) + OF_RANK,
        width=WIDTH,
        height=HEIGHT,
        **{made.__name__: made for made in (maps_of, peers_of, courses_of, ranks_of)},
    )
