"""Self-contained HTML pages: tables that sort, pictures inside, no network. Here the page of any records;
check_page.py has that of checks.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import jinja2

from weftlab import measured, records

LAYOUT = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --line: #d0d0d0; --soft: #f3f3f3; }
:root { --accent: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #161616; --line: #444444; --soft: #222222; --accent: #56b4e9; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { margin: 2rem auto; max-width: 96rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
tbody tr:hover { background: var(--soft); }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--accent); }
th[aria-sort=ascending] button::after { content: " \\25b2"; color: var(--accent); }
th[aria-sort=descending] button::after { content: " \\25bc"; color: var(--accent); }
figure { margin: 1rem 0; background: #ffffff; border: 1px solid var(--line); padding: .5rem; }
figure { overflow-x: auto; } figure svg { max-width: 100%; height: auto; }
code { font-size: .9em; } details { margin: .5rem 0; }
pre { overflow-x: auto; background: var(--soft); padding: .6rem; }
.bad { color: #d55e00; font-weight: 600; }
{% block style %}{% endblock %}</style>
</head>
<body>
{% macro table(header, rows) %}<div class="scroll"><table>
<thead><tr>
{%- for name in header %}<th scope="col"><button type="button">{{ name }}</button></th>{% endfor -%}
</tr></thead>
<tbody>
{% for row in rows %}<tr>
{%- for cell in row %}{% set shown, value = (cell, none) if cell is string else cell -%}
<td{% if value is not none %} data-value="{{ value }}"{% endif %}>{{ shown }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% endmacro %}
<h1>{{ title }}</h1>
{% block body %}{% endblock %}
<script>
// Sorts a table by the column whose heading is pressed: by the data-value of a cell, where it has one.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th"), table = heading.closest("table"), body = table.tBodies[0];
    const column = [...heading.parentNode.children].indexOf(heading);
    const upwards = heading.getAttribute("aria-sort") !== "ascending";
    const key = row => { const cell = row.cells[column]; return cell.dataset.value ?? cell.textContent; };
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)], both = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
      return (both ? x - y : x.localeCompare(y)) * (upwards ? 1 : -1);
    });
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", upwards ? "ascending" : "descending");
    body.append(...rows);
  });
}
</script>
</body>
</html>
"""
RECORDS = """\
{% extends "layout" %}{% block body %}
{% for line in machines %}<p>{{ line }}</p>
{% endfor %}
{% if wrong %}<p class="bad">{{ wrong }} of {{ count }} results are wrong.</p>{% endif %}
{% if runs %}<h2>Runs</h2>
<p>Medians over the runs of each setting; press a heading to sort.</p>
{{ table(run_header, runs) }}{% endif %}
{% if rungs %}<h2>weft bench</h2>
{{ table(rung_header, rungs) }}{% endif %}
{% for name, svg in pictures %}<figure aria-label="{{ name }}">
{{ svg | safe }}
</figure>
{% endfor %}
<details><summary>{{ commands | length }} commands</summary><pre>{{ commands | join("\n") }}</pre></details>
{% endblock %}"""


def render(body, **values):
    """A page of a template that extends the layout; all that is put into it is escaped."""
    templates = jinja2.DictLoader({"layout": LAYOUT, "page": body})
    return jinja2.Environment(loader=templates, autoescape=True).get_template("page").render(values)


# ---- tables: a cell is what it shows, or that and the number by which it sorts ----

RUN_HEADER = "problem|grid|boundary|device|ranks|transport|steps per pass|norm every"
RUN_HEADER = (RUN_HEADER + "|step|spread|runs|GCells/s|of copies|verdict").split("|")
RUNG_HEADER = "rung|type|ranks|at|time|rate|of it|ceiling|result".split("|")


def number(value):
    return (str(value), value)


def setting_of(record):
    """What distinguishes a run from others, as cells."""
    problem, grid, ranks = record["problem"], record["grid"], record["ranks"]
    norms = records.norm_every(record)
    return (
        "%s, order %s, %s" % (problem["kind"], problem.get("order", "-"), problem.get("dtype", "-")),
        ("%s x %s" % (grid["nx"], grid["ny"]), grid["nx"] * grid["ny"]),
        measured.boundary(record),
        str(record.get("device", "-")),
        number(ranks),
        str(record.get("transport")) if ranks > 1 else "-",
        number(record.get("fuse") or 1),
        (str(norms or "-"), norms),
    )


def rows_of_runs(runs):
    """A row per setting: the median over its runs."""
    groups = {}
    for record in runs:
        groups.setdefault(setting_of(record), []).append(record)
    for setting, group in groups.items():
        times = [record["step_s"]["p50"] for record in group]
        took = statistics.median(times)
        spread = (max(times) - min(times)) / took
        cells, of_copies = (measured.median(group, key) for key in ("gcells_per_s", "fraction_of_ceiling"))
        verdicts = ", ".join(sorted({str(record.get("verdict")) for record in group}))
        figures = (measured.seconds(took), took), ("%.1f %%" % (100 * spread), spread), number(len(group))
        rate = ("-" if cells is None else measured.digits(cells), cells)
        yield *setting, *figures, rate, (measured.fraction(of_copies), of_copies), verdicts


def rows_of_rungs(rungs):
    """A row per rung and size."""
    for rung in rungs:
        for point in rung.get("sweep") or [rung]:
            at = point.get("parameters", {}).get(rung.get("swept")) if rung.get("swept") else None
            value = at if records.is_number(at) else None
            at_cell = "-" if at is None else ("%s = %s" % (rung["swept"], at), value)
            took, rate = records.at(point, "time_s", "p50"), point.get("rate")
            fraction = point.get("fraction_of_ceiling")
            yield (
                "%s/%s" % (rung["family"], rung["rung"]),
                str(rung.get("dtype", "-")),
                number(rung.get("ranks", 1)),
                at_cell,
                (measured.seconds(took), took),
                (measured.rate(rate, point.get("unit", rung.get("unit"))), rate),
                (measured.fraction(fraction), fraction),
                str(point.get("ceiling_name") or "-"),
                "right" if rung.get("verified") and point.get("verified", True) else "WRONG",
            )


# ---- pictures ----


def pictures(path):
    """[(name, SVG)] of what jobs/plot draws of a file; none where it draws nothing."""
    plot = pathlib.Path(__file__).resolve().parents[1] / "plot"
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, str(plot), str(pathlib.Path(path).resolve()), "--output", "picture.svg"]
        subprocess.run(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        files = sorted(pathlib.Path(folder).glob("*.svg"))
        return [(file.stem, inline(file.read_text("utf-8"), "p%d-" % n)) for n, file in enumerate(files)]


def inline(svg, prefix):
    """An SVG as part of a page: without its XML head, its ids unlike those of the page's others."""
    return re.sub(r'(\bid="|href="#|url\(#)', r"\g<1>" + prefix, svg[svg.index("<svg") :])


# ---- the page ----


def machine_lines(everything):
    """Machine, libraries, commits and dates of the records, each once."""
    seen = {}
    for record in everything:
        machine = record.get("machine", {})
        gpus, name = records.gpus_of(record), records.machine_of(record)
        name = "%d x %s" % (len(gpus), name) if gpus else name
        driver, mpi = machine.get("driver") or "none", str(machine.get("mpi")).split(",")[0]
        about = (name, driver, mpi, machine.get("hdf5"), record.get("version"), record.get("git"))
        words = "%s; driver %s; %s; HDF5 %s; weft %s (%s)" % about
        seen.setdefault(words, []).append(str(record.get("started", ""))[:10])
    for words, dates in seen.items():
        yield "%s; %s" % (words, " to ".join(sorted({min(dates), max(dates)})))


def page(paths, command):
    """The HTML of a page about files of records."""
    everything = list(records.read([str(path) for path in paths], "any", command))
    rungs = [record for record in everything if records.is_rung(record)]
    runs = [measured.by_median_step(record) for record in everything if not records.is_rung(record)]
    wrong = [r for r in runs if r.get("verdict") in ("wrong", "failed")]
    wrong += [r for r in rungs if not r.get("verified")]
    return render(
        RECORDS,
        title="What weft measured",
        machines=machine_lines(everything),
        wrong=len(wrong),
        count=len(everything),
        run_header=RUN_HEADER,
        runs=list(rows_of_runs(runs)),
        rung_header=RUNG_HEADER,
        rungs=list(rows_of_rungs(rungs)),
        pictures=[picture for path in paths for picture in pictures(path)],
        commands=sorted({str(record.get("command")) for record in everything}),
    )
