"""Joins pictures into an animation: the frames that a run with output.every leaves in the folder
PICTURE.frames, or any images of one size, in the order in which they are named.

  jobs/animate heat2d.frames --output heat2d.gif

A folder stands for its PNG files by name, which for frames is by step. The ending of --output
selects the format: .gif (256 colours per frame, delays in hundredths of a second) or .apng and
.png (all colours). Of frames that follow each other and are equal, one is kept and shown as long
as all of them. The animation is repeated without end.

Exit status: 0 done, 2 no frames, unequal sizes or another ending, 3 Pillow is missing or the
animation cannot be written.
"""

import argparse
import pathlib
import sys

from weftlab import files, text

FORMATS = {".gif": "GIF", ".apng": "PNG", ".png": "PNG"}
MOST_FPS = 50  # browsers show a GIF with shorter delays slowly


def frames_per_second(word):
    value = float(word)
    if not 0.1 <= value <= MOST_FPS:
        raise argparse.ArgumentTypeError(f"{word} is not in 0.1 to {MOST_FPS}")
    return value


def frame_paths(named, command):
    """The files of the operands, folders replaced by their PNG files."""
    paths = []
    for path in map(pathlib.Path, named):
        in_it = sorted(path.glob("*.png")) if path.is_dir() else [path]
        if not in_it:
            text.fail(command, f"{path}: no PNG files there")
        paths += in_it
    return paths


def opened(path, kind, command):
    """A frame in memory. For a GIF it keeps its palette, and so weft's frames their very colours;
    all frames of an APNG share one palette, which frames of different runs do not."""
    from PIL import Image  # pylint: disable=import-outside-toplevel

    try:
        frame = Image.open(path)
        frame.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        text.fail(command, f"{path}: {getattr(error, 'strerror', None) or 'not an image'}")
    keeps = kind == "GIF" and frame.mode == "P" and "transparency" not in frame.info
    return frame if keeps else frame.convert("RGB")


def animate(paths, output, fps, command="animate"):
    """Writes the animation of the images in `paths`, all of which are in memory meanwhile."""
    kind = FORMATS[pathlib.Path(output).suffix.lower()]
    frames = []
    for path in paths:
        frames.append(opened(path, kind, command))
        sizes = ["%d x %d" % frame.size for frame in (frames[-1], frames[0])]
        if sizes[0] != sizes[1]:
            text.fail(command, f"{path}: {sizes[0]} pixels, where the first frame has {sizes[1]}")
    each = [1000 / fps] * len(frames)  # a list: else the time of an equal frame would be lost
    with files.replaced(output, command) as name:
        frames[0].save(name, kind, save_all=True, append_images=frames[1:], duration=each, loop=0)


def main():
    parser = text.parser("animate", __doc__)
    parser.add_argument("frames", nargs="+", metavar="FRAMES", help="PNG files, or a folder of them")
    parser.add_argument("--output", required=True, metavar="FILE", help="FILE.gif, .apng or .png")
    rate = f"frames per second, 0.1 to {MOST_FPS} (default: 20)"
    parser.add_argument("--fps", type=frames_per_second, default=20, help=rate)
    arguments = parser.parse_args()
    ending = pathlib.Path(arguments.output).suffix
    if ending.lower() not in FORMATS:
        text.fail(parser.prog, f"--output {arguments.output}: ends in none of {', '.join(FORMATS)}")
    text.need(parser.prog, "PIL")
    paths = frame_paths(arguments.frames, parser.prog)
    animate(paths, arguments.output, arguments.fps, parser.prog)
    print(text.printable(f"{arguments.output}: {len(paths)} frames"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
