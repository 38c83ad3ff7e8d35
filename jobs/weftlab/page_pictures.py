"""Pictures of runs on pages, drawn as jobs/plot draws them."""

import pathlib

from weftlab import frame, pictures, run_pictures, style


def draw(folder, path, shown, digest):
    """Writes the picture as SVG; the digest stands in its metadata."""
    strong, others = [str(pathlib.Path(folder) / file) for file in shown["files"]]
    runs, _ = frame.read([strong], "report")
    figure = run_pictures.draw_beside(runs[runs["problem.kind"] == "laplace"], pictures.others_of(others, "report"))
    style.save(figure, [str(path)], "report", digest)
