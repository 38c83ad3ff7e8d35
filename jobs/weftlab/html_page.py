"""One self-contained HTML page from records: tables that sort, pictures inside, no network."""

import html
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from weftlab import measured, records

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --line: #d0d0d0; --soft: #f3f3f3; --accent: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #161616; --line: #444444; --soft: #222222; --accent: #56b4e9; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 96rem; padding: 0 1rem; }
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
figure { margin: 1rem 0; background: #ffffff; border: 1px solid var(--line); padding: .5rem; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; }
code { font-size: .9em; } details { margin: .5rem 0; } pre { overflow-x: auto; background: var(--soft); padding: .6rem; }
.bad { color: #d55e00; font-weight: 600; }
"""

# Sorts a table by the column whose heading is pressed; a cell's data-value is what counts, where it has one.
SCRIPT = """
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
"""


def escaped(words):
    return html.escape(str(words))


# ---- tables ----


class Cell:
    """What a cell shows, and the number by which it sorts."""

    def __init__(self, shown, value=None):
        self.shown, self.value = shown, value

    def html(self):
        value = ' data-value="%r"' % self.value if self.value is not None else ""
        return "<td%s>%s</td>" % (value, escaped(self.shown))


def html_table(header, rows):
    head = "".join('<th scope="col"><button type="button">%s</button></th>' % escaped(name) for name in header)
    body = "\n".join("<tr>%s</tr>" % "".join(cell.html() for cell in row) for row in rows)
    return '<div class="scroll"><table>\n<thead><tr>%s</tr></thead>\n<tbody>\n%s\n</tbody></table></div>\n' % (head, body)


def setting_of(record):
    """What distinguishes a run from others, as people name it."""
    problem, grid = record["problem"], record["grid"]
    steps = record.get("fuse") or 1
    return (
        "%s, order %s, %s" % (problem["kind"], problem.get("order", "-"), problem.get("dtype", "-")),
        "%s x %s" % (grid["nx"], grid["ny"]),
        measured.boundary(record),
        record["ranks"],
        record.get("transport") if record["ranks"] > 1 else "-",
        steps,
        records.norm_every(record),
        record.get("device", "-"),
    )


def spread(values):
    return (max(values) - min(values)) / statistics.median(values)


def runs_table(runs):
    """A row per setting: the median over its runs."""
    groups = {}
    for record in runs:
        groups.setdefault(setting_of(record), []).append(record)
    rows = []
    for setting, group in groups.items():
        problem, grid, boundary, ranks, transport, steps, norms, device = setting
        times = [record["step_s"]["p50"] for record in group]
        took = statistics.median(times)
        cells, of_copies = measured.median(group, "gcells_per_s"), measured.median(group, "fraction_of_ceiling")
        verdicts = ", ".join(sorted({str(record.get("verdict")) for record in group}))
        rows.append(
            [
                Cell(problem),
                Cell(grid, group[0]["grid"]["nx"] * group[0]["grid"]["ny"]),
                Cell(boundary),
                Cell(device),
                Cell(ranks, ranks),
                Cell(transport),
                Cell(steps, steps),
                Cell(norms or "-", norms),
                Cell(measured.seconds(took), took),
                Cell("%.1f %%" % (100 * spread(times)), spread(times)),
                Cell(len(group), len(group)),
                Cell("-" if cells is None else measured.digits(cells), cells),
                Cell(measured.fraction(of_copies), of_copies),
                Cell(verdicts),
            ]
        )
    header = "problem|grid|boundary|device|ranks|transport|steps per pass|norm every|step|spread|runs|GCells/s|of copies|verdict"
    return html_table(header.split("|"), rows)


def rungs_table(rungs):
    """A row per rung and size."""
    rows = []
    for rung in rungs:
        for point in rung.get("sweep") or [rung]:
            at = point.get("parameters", {}).get(rung.get("swept")) if rung.get("swept") else None
            took, rate = records.at(point, "time_s", "p50"), point.get("rate")
            unit = point.get("unit", rung.get("unit"))
            verified = rung.get("verified") and point.get("verified", True)
            rows.append(
                [
                    Cell("%s/%s" % (rung["family"], rung["rung"])),
                    Cell(rung.get("dtype", "-")),
                    Cell(rung.get("ranks", 1), rung.get("ranks", 1)),
                    Cell("-" if at is None else "%s = %s" % (rung["swept"], at), at if records.is_number(at) else None),
                    Cell(measured.seconds(took), took),
                    Cell(measured.rate(rate, unit), rate),
                    Cell(measured.fraction(point.get("fraction_of_ceiling")), point.get("fraction_of_ceiling")),
                    Cell(point.get("ceiling_name") or "-"),
                    Cell("right" if verified else "WRONG"),
                ]
            )
    return html_table("rung|type|ranks|at|time|rate|of it|ceiling|result".split("|"), rows)


# ---- pictures ----


def pictures(path):
    """[(name, SVG)] of what jobs/plot draws of a file; none where it draws nothing."""
    plot = pathlib.Path(__file__).resolve().parents[1] / "plot"
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, str(plot), str(pathlib.Path(path).resolve()), "--output", "picture.svg"]
        subprocess.run(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        files = sorted(pathlib.Path(folder).glob("*.svg"))
        return [(file.stem, inline(file.read_text(encoding="utf-8"), number)) for number, file in enumerate(files)]


def inline(svg, number):
    """An SVG as part of a page: without its XML head, its ids unlike those of the page's others."""
    svg = svg[svg.index("<svg") :]
    prefix = "p%d-" % number
    svg = re.sub(r'\bid="', 'id="' + prefix, svg)
    svg = re.sub(r'href="#', 'href="#' + prefix, svg)
    return re.sub(r"url\(#", "url(#" + prefix, svg)


# ---- the page ----


def machine_lines(everything):
    """Machine, libraries, commits and dates of the records, each once."""
    seen = {}
    for record in everything:
        machine = record.get("machine", {})
        gpus, name = records.gpus_of(record), records.machine_of(record)
        words = "%s; driver %s; %s; HDF5 %s; weft %s (%s)" % (
            "%d x %s" % (len(gpus), name) if gpus else name,
            machine.get("driver") or "none",
            str(machine.get("mpi")).split(",")[0],
            machine.get("hdf5"),
            record.get("version"),
            record.get("git"),
        )
        seen.setdefault(words, []).append(str(record.get("started", ""))[:10])
    for words, dates in seen.items():
        first, last = min(dates), max(dates)
        yield "%s; %s" % (words, first if first == last else first + " to " + last)


def page(paths, command):
    """The HTML of a page about files of records."""
    everything = list(records.read([str(path) for path in paths], "any", command))
    rungs = [record for record in everything if records.is_rung(record)]
    runs = [measured.by_median_step(record) for record in everything if not records.is_rung(record)]
    wrong = [r for r in runs if r.get("verdict") in ("wrong", "failed")] + [r for r in rungs if not r.get("verified")]
    parts = ["<h1>What weft measured</h1>\n"]
    parts += ["<p>%s</p>\n" % escaped(line) for line in machine_lines(everything)]
    if wrong:
        parts.append('<p class="bad">%d of %d results are wrong.</p>\n' % (len(wrong), len(everything)))
    if runs:
        parts.append("<h2>Runs</h2>\n<p>Medians over the runs of each setting; press a heading to sort.</p>\n")
        parts.append(runs_table(runs))
    if rungs:
        parts.append("<h2>weft bench</h2>\n" + rungs_table(rungs))
    for path in paths:
        for name, svg in pictures(path):
            parts.append('<figure aria-label="%s">\n%s\n</figure>\n' % (escaped(name), svg))
    commands = sorted({str(record.get("command")) for record in everything})
    parts.append("<details><summary>%d commands</summary><pre>%s</pre></details>\n" % (len(commands), escaped("\n".join(commands))))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>What weft measured</title>\n'
        "<style>%s</style>\n</head>\n<body>\n%s<script>%s</script>\n</body>\n</html>\n" % (STYLE, "".join(parts), SCRIPT)
    )
