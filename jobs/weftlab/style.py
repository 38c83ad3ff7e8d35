"""How pictures look: readable in print, on a dark page (their background is solid white) and by the
colour-blind. Colours are Okabe and Ito's, and no two series differ by colour alone. Lines are
labelled at their ends. Nothing is joined by a line that was not measured."""

import logging
import textwrap
import warnings

import matplotlib
import numpy as np

matplotlib.use("Agg")  # no window
# pylint: disable=wrong-import-position
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from weftlab import files, text

PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
MARKERS = "os^Dv*XP<>"
DASHES = ["-", "--", "-.", ":"]
INK, GREY, PALE = "#222222", "#6b6b6b", "#d9d9d9"
MOST_LETTERS = 400

logging.getLogger("matplotlib").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", message="Glyph .* missing")
plt.rcParams.update(
    {
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "weft",  # the same picture has the same bytes
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": GREY,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": PALE,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.8,
        "lines.markersize": 6,
        "errorbar.capsize": 3,
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
    }
)


def literal(words):
    """Other people's text: nothing in it begins a formula or is a control character, and it ends."""
    return text.printable(str(words))[:MOST_LETTERS].replace("$", r"\$")


def look(number):
    """Colour, marker and dash of a series."""
    return {
        "color": PALETTE[number % len(PALETTE)],
        "marker": MARKERS[number % len(MARKERS)],
        "ls": DASHES[number // len(PALETTE) % len(DASHES)],
    }


def darker(colour):
    """A colour of a line as a colour of text, which needs more contrast."""
    return tuple(0.62 * part for part in to_rgb(colour))


# ---- figures ----


def new_figure(width, height, columns=1, **more):
    """A figure of inches and its axes, a list where there are several."""
    return plt.subplots(1, columns, figsize=(width, height), constrained_layout=True, **more)


def titled(figure, what, where, *how):
    """Lines above a figure: what it shows, the machine, and how to read it."""
    across = figure.get_size_inches()[0]
    first = textwrap.fill(literal(what), int(10.5 * across))
    second = "\n".join(textwrap.fill(literal(part), int(13.5 * across)) for part in (where, *how) if part)
    lines = second.count("\n") + 1
    head = figure.suptitle(first + "\n" * lines, x=0.01, ha="left", weight="bold", size=11)
    below = Annotation(second, (0, 0), xycoords=head, va="bottom", size=9, color=GREY)
    figure.add_artist(below)


def save(figure, names, command, description=None):
    """Writes a figure to files, whose endings select PNG and SVG; this one may hold a description."""
    for name in names:
        with files.replaced(name, command) as whole:
            more = (
                {"metadata": {"Date": None, "Description": description}}
                if name.endswith(".svg")
                else {"dpi": 110}
            )
            figure.savefig(whole, **more)
    plt.close(figure)


# ---- numbers ----


def seconds_unit(longest):
    """The unit in which a longest time is read best, and how many of it a second has."""
    return ("µs", 1e6) if longest < 1e-3 else ("ms", 1e3) if longest < 1 else ("s", 1)


def plain(axis, span=np.inf):
    """Ticks of a logarithmic axis as plain numbers: 1 2 5 10 .. where it spans little."""
    if span < 1000:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def rank_axis(axes, ranks, unit):
    """Ranks along x: each number that was measured, or powers of ten where there are many."""
    ranks = sorted(set(ranks))
    most = max(ranks)
    if most > ranks[0]:
        axes.set_xscale("log", base=10 if most > 4096 else 2)
        axes.set_xlim(ranks[0] / 1.15, most * 1.15)
        plain(axes.xaxis)
    if most <= 4096:
        axes.xaxis.set_major_locator(FixedLocator(ranks))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda x, _: "%g%s" % (x / text.scaled(x)[0], text.scaled(x)[1]))
        )
    axes.set_xlabel(unit)


# ---- labels at lines ----


def spread(heights, least):
    """Heights moved apart until neighbours are `least` apart, each as little as possible; in their
    order, around 0 to 1."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    groups = []  # of neighbours that touch: their middle and their number
    for i in order:
        groups.append((heights[i], 1))
        while len(groups) > 1:
            (low, n), (high, m) = groups[-2:]
            if high - low >= least * (n + m) / 2:
                break
            groups[-2:] = [((low * n + high * m) / (n + m), n + m)]
    placed = [middle + least * (i - (n - 1) / 2) for middle, n in groups for i in range(n)]
    over = max(placed[-1] - 1, 0) if placed else 0  # above the axes the title begins
    return {i: height - over for i, height in zip(order, placed)}


def label_ends(axes, labels, size=9):
    """Labels right of the axes, each with a thin line to its (x, y): [(x, y, text, colour)].
    Call it when the limits of the axes stand."""
    labels = [label for label in labels if label[2]]
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [to_axes.transform((x, y))[1] for x, y, _, _ in labels]
    least = 1.35 * size / 72 / (0.72 * axes.figure.get_size_inches()[1])
    for i, height in spread(heights, least).items():
        x, y, words, colour = labels[i]
        axes.annotate(
            literal(words),
            (x, y),
            (1.03, height),
            textcoords="axes fraction",
            va="center",
            size=size,
            color=darker(colour),
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "lw": 0.6,
                "alpha": 0.6,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
        )
