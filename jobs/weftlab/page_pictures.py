"""Pictures of runs on pages, drawn as jobs/plot draws them."""

import pathlib

from weftlab import frame, pictures, run_pictures, style


def draw(folder, path, shown, digest):
    """Writes the picture as SVG; the digest stands in its metadata."""
    strong, others = [str(pathlib.Path(folder) / file) for file in shown["files"]]
    runs, _ = frame.read([strong], "report")
    figure = run_pictures.draw_beside(
        runs[runs["problem.kind"] == "laplace"], pictures.others_of(others, "report")
    )
    style.save(figure, [str(path)], "report", digest)


def draw_times(path, times, digest):
    """Times over ranks: {what: [(ranks, seconds)]}."""
    figure, axes = style.new_figure(8.5, 4.5)
    labels = []
    for number, (what, points) in enumerate(times.items()):
        look = style.look(number)
        ranks, microseconds = zip(*((count, 1e6 * seconds) for count, seconds in points))
        axes.plot(ranks, microseconds, **look)
        labels.append((ranks[-1], microseconds[-1], what, look["color"]))
    axes.set_yscale("log")
    style.rank_axis(axes, sorted({count for points in times.values() for count, _ in points}), "ranks")
    style.plain(axes.yaxis, 100)
    axes.set_ylabel("us")
    style.label_ends(axes, labels)
    style.save(figure, [str(path)], "report", digest)
