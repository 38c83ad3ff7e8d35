"""Looks at the text of a figure: what lies outside of it or on other text, and axes without a label."""

import itertools

from matplotlib.text import Text


def inside(box, other, slack):
    return (
        other.x0 - slack <= box.x0
        and box.x1 <= other.x1 + slack
        and other.y0 - slack <= box.y0
        and box.y1 <= other.y1 + slack
    )


def drawn_texts(figure):
    """Words and boxes of all texts that are drawn. An axis keeps ticks beyond its ends, too."""
    renderer = figure.canvas.get_renderer()
    ticks = [
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks() + axis.get_minor_ticks()
        for label in (tick.label1, tick.label2)
    ]
    drawn = {
        id(tick.label1)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis._update_ticks()
    }  # pylint: disable=protected-access
    for text in figure.findobj(Text):
        turned = text.get_rotation() % 90  # whose box is far larger than the text
        shown = text.get_visible() and text.get_text().strip() and not turned
        if shown and not (text in ticks and id(text) not in drawn):
            yield text.get_text(), Text.get_window_extent(text, renderer)


def complaints_of(figure):
    figure.canvas.draw()
    texts = [(words.strip(), box) for words, box in drawn_texts(figure) if box.width > 0]
    for words, box in texts:
        if not inside(box, figure.bbox, 1):
            yield f"beyond the picture: {words}"
    for (words, box), (others, other) in itertools.combinations(texts, 2):
        head = others == words.split("\n")[0] or words == others.split("\n")[0]
        both = (min(box.x1, other.x1) - max(box.x0, other.x0), min(box.y1, other.y1) - max(box.y0, other.y0))
        if min(both) > 1.5 and not head and not is_title(figure, words, others):
            yield f"on each other: {words} / {others}"
    for axes in figure.axes:
        if not axes.get_xlabel():
            yield "an axis without a label"


def is_title(figure, *words):
    """The title keeps room for the lines below it, which lie in its box."""
    return any(figure._suptitle.get_text().strip() == w for w in words)  # pylint: disable=protected-access
