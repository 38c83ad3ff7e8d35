"""The blocks of pages that are rendered from results.

In a page of Markdown, what stands between the two lines

    <!-- table NAME ARGUMENTS -->
    <!-- end -->

is the table of that name (weftlab/tables.py), and nobody types it.
"""

import pathlib
import re

from weftlab import tables

BLOCK = re.compile(r"^<!-- table (?P<words>[^\n]*?) -->\n(?P<body>.*?)^<!-- end -->\n", re.M | re.S)


class PageMistake(Exception):
    """A block that cannot be rendered; its text is for the user."""


def pages_of(root):
    """Every page of the tree that people read."""
    root = pathlib.Path(root)
    kept = [path for path in root.glob("*.md")] + list(root.glob("docs/**/*.md"))
    return sorted(kept + list(root.glob("*/README.md")) + list(root.glob("jobs/results/README.md")))


def rendered(text, folder, page=""):
    """The text of a page with every block rendered anew."""

    def block(match):
        name, *arguments = match["words"].split()
        try:
            header, rows = tables.table(folder, name, *arguments)
        except (KeyError, TypeError):
            known = ", ".join(sorted(tables.TABLES))
            raise PageMistake("%s: no table '%s'; there are %s" % (page, match["words"], known)) from None
        if not rows:
            raise PageMistake("%s: table '%s' has no rows: no result answers it" % (page, match["words"]))
        return "<!-- table %s -->\n%s<!-- end -->\n" % (match["words"], tables.markdown(header, rows))

    made = BLOCK.sub(block, text)
    if len(re.findall(r"^<!-- table ", text, re.M)) != len(BLOCK.findall(text)):
        raise PageMistake("%s: a block '<!-- table ... -->' without its '<!-- end -->'" % page)
    return made


def prose(text):
    """What people typed: the text without rendered blocks, code blocks and `code`, lines kept."""
    kept = BLOCK.sub(lambda found: "\n" * found.group().count("\n"), text)
    kept = re.sub(r"^```.*?^```$", lambda found: "\n" * found.group().count("\n"), kept, flags=re.M | re.S)
    kept = re.sub(r"^(    |\t).*$", "", kept, flags=re.M)
    return re.sub(r"`[^`\n]*`", "", kept)


# What only a measurement tells: a time below a second, a rate, power, energy. Limits and sizes that a user sets are in s, MB, MiB.
MEASURED = re.compile(r"\d[\d.,]*\s?(us|ns|ms|[GTM]B/s|GCells/s|[GT]flop/s|GFlop/s|Tflop/s|W|nJ|pJ)(?![A-Za-z0-9/])")


def typed_figures(text):
    """(line number, figure) of numbers with a unit that somebody typed."""
    for number, line in enumerate(prose(text).split("\n"), 1):
        for found in MEASURED.finditer(line):
            yield number, found.group()
