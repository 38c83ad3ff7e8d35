"""Renders what pages show: tables and pictures from jobs/results.

  report --pages            writes the blocks of README.md and docs/ anew, and draws the pictures of
                            docs/figures whose values changed; needs matplotlib for these alone
  report --check            writes nothing; names each block and picture that is not what it has to
                            be, and each figure with a unit that somebody typed; status 1 if there
                            is one
  report --table NAME ...   prints one table
"""

import pathlib

from weftlab import files, pages, tables, teaching, text

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pages_with_text(root, folder):
    for path in pages.pages_of(root):
        yield path, pages.Page(root, folder, str(path.relative_to(root))), path.read_text(encoding="utf-8")


def render_pages(root, folder):
    """Writes the pages and pictures that changed; their names."""
    for path, page, old in pages_with_text(root, folder):
        new = page.rendered(old)
        if new != old:
            files.write(path, new, "report")
            yield page.name
        for drawn, shown in page.pictures(new):
            if teaching.digest_in(drawn) != teaching.digest(shown):
                draw(folder, drawn, shown)
                yield str(drawn.relative_to(root))


def draw(folder, path, shown):
    text.need("report", "matplotlib", "pandas")
    from weftlab import page_pictures  # pylint: disable=import-outside-toplevel

    path.parent.mkdir(exist_ok=True)
    page_pictures.draw(folder, path, shown, teaching.digest(shown))


def complaints(root, folder):
    """A sentence per block or picture that differs and per figure that was typed."""
    for _, page, content in pages_with_text(root, folder):
        yield from page.stale_blocks(content)
        for drawn, shown in page.pictures(content):
            if teaching.digest_in(drawn) != teaching.digest(shown):
                yield "%s: shows other values than jobs/results; run jobs/report --pages" % drawn.relative_to(
                    root
                )
        typed = "%s:%d: '%s' is typed; figures stand in blocks that jobs/report renders"
        for number, figure in pages.typed_figures(content):
            yield typed % (page.name, number, figure)


def main():
    parser = text.parser("report", __doc__)
    add, path = parser.add_argument, pathlib.Path
    add("--pages", action="store_true", help="render the blocks of all pages")
    add("--check", action="store_true", help="complain where a page is not what would be rendered")
    add("--table", nargs="+", metavar="NAME", help="print a table: " + ", ".join(sorted(tables.TABLES)))
    add("--root", type=path, default=ROOT, help="the tree whose pages are meant (this one)")
    add("--results", type=path, metavar="FOLDER", help="(ROOT/jobs/results)")
    arguments = parser.parse_args()
    text.leave_with_the_reader()
    folder = arguments.results or arguments.root / "jobs" / "results"
    try:
        if arguments.table:
            print(pages.Page(arguments.root, folder, "--table").table(*arguments.table), end="")
        elif arguments.pages:
            for name in render_pages(arguments.root, folder):
                print(name)
        elif arguments.check:
            found = list(complaints(arguments.root, folder))
            for sentence in found:
                print(text.printable(sentence))
            return 1 if found else 0
        else:
            parser.error("what to do: --pages, --check or --table")
    except pages.PageMistake as mistake:
        text.fail(parser.prog, str(mistake))
    return 0
