"""Looks at the text of a figure: what lies outside of it or on other text, and axes without a label."""

import itertools

from matplotlib.text import Text
from matplotlib.transforms import Bbox


def drawn_texts(figure):
    """Words and boxes of all texts that are drawn. An axis keeps ticks beyond its ends, too."""
    renderer = figure.canvas.get_renderer()
    both = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    ticks = [tick for axis in both for tick in axis.get_major_ticks() + axis.get_minor_ticks()]
    drawn = {t.label1 for axis in both for t in axis._update_ticks()}  # pylint: disable=protected-access
    left_out = {label for tick in ticks for label in (tick.label1, tick.label2)} - drawn
    for text in set(figure.findobj(Text)) - left_out:
        turned = text.get_rotation() % 90  # whose box is far larger than the text
        if text.get_visible() and text.get_text().strip() and not turned:
            yield text.get_text().strip(), Text.get_window_extent(text, renderer)


def complaints_of(figure):
    figure.canvas.draw()
    texts = [(words, box) for words, box in drawn_texts(figure) if box.width > 0]
    for words, box in texts:
        if figure.bbox.padded(1).count_contains(box.get_points()) < 2:
            yield f"beyond the picture: {words}"
    for (words, box), (others, other) in itertools.combinations(texts, 2):
        head = others == words.split("\n")[0] or words == others.split("\n")[0]
        common = Bbox.intersection(box, other)
        if common is not None and min(common.size) > 1.5 and not head and not is_title(figure, words, others):
            yield f"on each other: {words} / {others}"
    for axes in figure.axes:
        if not axes.get_xlabel():
            yield "an axis without a label"


def is_title(figure, *words):
    """The title keeps room for the lines below it, which lie in its box."""
    return any(figure._suptitle.get_text().strip() == w for w in words)  # pylint: disable=protected-access
