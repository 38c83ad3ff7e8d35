"""Draws pictures of weft side by side, with axes in cells, a colour bar, and the step and range of each.

  jobs/panels wave_point.frames --output waves.png

FRAMES are PNG files that weft wrote (output.picture), or the folder PICTURE.frames of a run with
output.every. Kind, grid, step and the values of the colours are read from the pictures. Where they
do not share one scale, the colours of each panel are its own.

Exit status: 0 done, 2 no pictures of weft, 3 matplotlib or Pillow is missing or the file cannot be
written.
"""

import pathlib
import re

from weftlab import files, text

TITLE = re.compile(r"weft ([a-z]+), ([0-9]+) x ([0-9]+), step ([0-9]+)")
MOST_PANELS = 12
COLOURS = 255  # of the palette; the next is that of cells that are no number


def frame_paths(named, command):
    """The files of the operands, folders replaced by their PNG files."""
    paths = []
    for path in map(pathlib.Path, named):
        in_it = sorted(path.glob("*.png")) if path.is_dir() else [path]
        if not in_it:
            text.fail(command, f"{path}: no PNG files there")
        paths += in_it
    return paths


def picture_of(path, command):
    """Image, colours, kind, cells along x and y, step, and the values of the first and last colour."""
    from PIL import Image  # pylint: disable=import-outside-toplevel

    try:
        with Image.open(path) as image:
            image.load()
            about = image.text
        kind, *numbers = TITLE.fullmatch(about["Title"]).groups()
        scale = float(about["min"]), float(about["max"])
        colours = image.getpalette()[: 3 * COLOURS]
        return image.convert("RGB"), colours, kind, *map(int, numbers), scale
    except (OSError, SyntaxError, ValueError, AttributeError, KeyError, TypeError) as error:
        why = getattr(error, "strerror", None) or "not a picture that weft wrote"
        text.fail(command, f"{path}: {why}")


def draw(paths, output, command):
    from matplotlib.cm import ScalarMappable  # pylint: disable=import-outside-toplevel
    from matplotlib.colors import ListedColormap, Normalize  # pylint: disable=import-outside-toplevel

    from weftlab import style  # pylint: disable=import-outside-toplevel

    pictures = [picture_of(path, command) for path in paths]
    one_scale = len({picture[-1] for picture in pictures}) == 1
    figure, axes = style.new_figure(2.9 * len(pictures) + 1, 3.2, len(pictures), sharey=True, squeeze=False)
    for axis, (image, palette, kind, nx, ny, step, (low, high)) in zip(axes[0], pictures):
        axis.imshow(image, extent=(0, nx, ny, 0), aspect="auto" if nx > 8 * ny else "equal")
        axis.grid(False)
        axis.set_title(f"{kind}, step {step}", loc="left")
        axis.set_xlabel("x, cells")
        triples = zip(*[iter(part / 255 for part in palette)] * 3)
        bar = ScalarMappable(Normalize(low, high), ListedColormap(list(triples)))
        if not one_scale:
            figure.colorbar(bar, ax=axis, shrink=0.8)
    axes[0][0].set_ylabel("y, cells")
    if one_scale:
        figure.colorbar(bar, ax=list(axes[0]), shrink=0.9, label="value of a cell")
    with files.replaced(output, command) as name:
        figure.savefig(name, dpi=100)


def main():
    parser = text.parser("panels", __doc__)
    parser.add_argument("frames", nargs="+", metavar="FRAMES", help="PNG files, or a folder of them")
    parser.add_argument("--output", required=True, metavar="FILE", help="FILE.png, .svg or .pdf")
    arguments = parser.parse_args()
    if pathlib.Path(arguments.output).suffix not in (".png", ".svg", ".pdf"):
        text.fail(parser.prog, f"--output {arguments.output}: ends in none of .png, .svg, .pdf")
    text.need(parser.prog, "matplotlib", "PIL")
    paths = frame_paths(arguments.frames, parser.prog)
    if len(paths) > MOST_PANELS:
        text.fail(parser.prog, f"{len(paths)} pictures; 1 to {MOST_PANELS} can be drawn")
    files.check(arguments.output, parser.prog, paths)
    draw(paths, arguments.output, parser.prog)
    print(text.printable(f"{arguments.output}: {len(paths)} panels"))
    return 0
