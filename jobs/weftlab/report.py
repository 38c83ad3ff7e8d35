"""Renders what was measured: the tables of pages, and one HTML page from records.

  report --pages            writes the tables of README.md and docs/ anew from jobs/results
  report --check            writes nothing; names each table that is not what the results say, and
                            each figure with a unit that somebody typed; status 1 if there is one
  report --table NAME ...   prints one table
  report FILE.jsonl ...     writes report.html: tables that sort and pictures, in one file
"""

import pathlib
import sys

from weftlab import html_page, pages, tables, text

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write(path, content, command):
    """Replaces a file whole, or ends the command."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(content, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        text.fail(command, "%s: %s" % (path, error.strerror), text.ENVIRONMENT_FAILURE)


def render_pages(root, folder):
    """Writes the pages whose tables changed; their names."""
    changed = []
    for path in pages.pages_of(root):
        old = path.read_text(encoding="utf-8")
        new = pages.rendered(old, folder, str(path.relative_to(root)))
        if new != old:
            write(path, new, "report")
            changed.append(str(path.relative_to(root)))
    return changed


def complaints(root, folder):
    """A sentence per block that differs and per figure that was typed."""
    for path in pages.pages_of(root):
        name, content = str(path.relative_to(root)), path.read_text(encoding="utf-8")
        if pages.rendered(content, folder, name) != content:
            yield "%s: a table is not what jobs/results says; run jobs/report --pages" % name
        for number, figure in pages.typed_figures(content):
            yield "%s:%d: '%s' is typed; figures stand in tables that jobs/report renders" % (name, number, figure)


def main():
    parser = text.parser("report", __doc__)
    parser.add_argument("files", nargs="*", metavar="FILE.jsonl", help="records for an HTML page")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("report.html"), help="(report.html)")
    parser.add_argument("--pages", action="store_true", help="render the tables of all pages")
    parser.add_argument("--check", action="store_true", help="complain where a page is not what would be rendered")
    parser.add_argument("--table", nargs="+", metavar="NAME", help="print a table: %s" % ", ".join(sorted(tables.TABLES)))
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the tree whose pages are meant (this one)")
    parser.add_argument("--results", type=pathlib.Path, metavar="FOLDER", help="(ROOT/jobs/results)")
    arguments = parser.parse_args()
    text.leave_with_the_reader()
    folder = arguments.results or arguments.root / "jobs" / "results"
    try:
        if arguments.table:
            page = "<!-- table %s -->\n<!-- end -->\n" % " ".join(arguments.table)
            print("".join(pages.rendered(page, folder, "--table").splitlines(True)[1:-1]), end="")
        elif arguments.pages:
            for name in render_pages(arguments.root, folder):
                print(name)
        elif arguments.check:
            found = list(complaints(arguments.root, folder))
            for sentence in found:
                print(text.printable(sentence))
            return 1 if found else 0
        elif arguments.files:
            write(arguments.output, html_page.page(arguments.files, parser.prog), parser.prog)
            print(arguments.output)
        else:
            parser.error("what to do: FILE.jsonl, --pages, --check or --table")
    except pages.PageMistake as mistake:
        text.fail(parser.prog, str(mistake))
    return 0


if __name__ == "__main__":
    sys.exit(main())
