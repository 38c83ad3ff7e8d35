"""The blocks of pages that are rendered: no hand types them.

In a page of Markdown, what stands between two lines like these

    <!-- table NAME ARGUMENTS -->
    <!-- end -->

is the table of that name (weftlab/tables.py), from the results. `picture NAME ARGUMENTS` is
a picture of docs/figures (weftlab/teaching.py).
"""

import pathlib
import re

from weftlab import tables, teaching
from weftlab.teaching import PageMistake

BLOCK = re.compile(
    r"^<!-- (?P<kind>table|picture) (?P<words>[^\n]*?) -->\n(?P<body>.*?)^<!-- end -->\n", re.M | re.S
)


def pages_of(root):
    """Every page of the tree that people read."""
    root = pathlib.Path(root)
    kept = [path for path in root.glob("*.md")] + list(root.glob("docs/**/*.md"))
    return sorted(kept + list(root.glob("*/README.md")) + list(root.glob("jobs/results/README.md")))


class Page:
    """A page of a tree, whose results are in a folder."""

    def __init__(self, root, folder, name):
        self.root, self.folder, self.name = pathlib.Path(root), folder, name

    def table(self, name="", *arguments):
        words = " ".join((name,) + arguments)
        if not tables.takes(tables.TABLES.get(name), self.folder, *arguments):
            raise PageMistake("no table '%s'; there are %s" % (words, ", ".join(sorted(tables.TABLES))))
        header, rows = tables.TABLES[name](self.folder, *arguments)
        if not rows:
            raise PageMistake("table '%s' has no rows: no result answers it" % words)
        return tables.markdown(header, rows)

    def picture(self, *words):
        return teaching.picture_block(self.root, self.name, teaching.picture(self.folder, *words)[0])

    def block(self, match):
        """The body of a block, rendered anew."""
        render, words = getattr(self, match["kind"]), match["words"].split()
        try:
            return render(*words)
        except PageMistake as mistake:
            raise PageMistake("%s: %s" % (self.name, mistake)) from None

    def blocks(self, text):
        """(match, body as it has to be) of every block of the text."""
        found = list(BLOCK.finditer(text))
        if len(re.findall(r"^<!-- (?:table|picture) ", text, re.M)) != len(found):
            raise PageMistake("%s: a block '<!-- table ... -->' without its '<!-- end -->'" % self.name)
        return [(match, self.block(match)) for match in found]

    def rendered(self, text):
        """The text with every block rendered anew."""
        made = iter([body for _, body in self.blocks(text)])
        return BLOCK.sub(
            lambda m: "<!-- %s %s -->\n%s<!-- end -->\n" % (m["kind"], m["words"], next(made)), text
        )

    def stale_blocks(self, text):
        """A sentence per block that is not what it has to be."""
        stale = "%s: %s '%s' is not what jobs/results says; run jobs/report --pages"
        for match, body in self.blocks(text):
            if match["body"] != body:
                yield stale % (self.name, match["kind"], match["words"])

    def pictures(self, text):
        """(file, what it shows) of each picture of the text."""
        for match in BLOCK.finditer(text):
            if match["kind"] == "picture":
                name, shown = teaching.picture(self.folder, *match["words"].split())
                yield self.root / "docs" / "figures" / name, shown


def prose(text):
    """What people typed: the text without rendered blocks, code blocks and `code`, lines kept."""
    kept = BLOCK.sub(lambda found: "\n" * found.group().count("\n"), text)
    kept = re.sub(r"^```.*?^```$", lambda found: "\n" * found.group().count("\n"), kept, flags=re.M | re.S)
    kept = re.sub(r"^(    |\t).*$", "", kept, flags=re.M)
    return re.sub(r"`[^`\n]*`", "", kept)


# Only a measurement tells these: a time below a second, a rate, power, energy. A user sets limits and sizes
# in s, MB, MiB.
MEASURED = re.compile(
    r"\d[\d.,]*\s?(us|ns|ms|[GTM]B/s|GCells/s|[GT]flop/s|GFlop/s|Tflop/s|W|nJ|pJ)(?![A-Za-z0-9/])"
)


def typed_figures(text):
    """(line number, figure) of numbers with a unit that somebody typed."""
    for number, line in enumerate(prose(text).split("\n"), 1):
        for found in MEASURED.finditer(line):
            yield number, found.group()
