"""Draws a file of records, each picture as PNG and SVG: of runs

  PREFIX           scaling: time per step and parallel efficiency over the ranks, with the ideal
                   lines, one line per setting
  PREFIX_values    what each setting reaches beside the ceiling of its run
  PREFIX_phases    where the time goes

of records of `weft bench`, one picture for f32 and f64 together

  PREFIX_roofline  flop/s over flops per byte under the ceilings of the same run, and each
                   kernel's fraction of its ceiling; blocks of several steps above it, each number
                   of steps under its own slope
  PREFIX_FAMILY_PARAMETER   every sweep: the rate over the swept parameter; where bytes were swept,
                   the latency of small and the bandwidth of large messages; whiskers reach from
                   the slow tenth of the samples to the fastest

Settings whose grid stays are a strong study, settings whose grid grows with the ranks a weak one;
of both the one of more settings is drawn. A point is the median of the runs of one setting,
whiskers reach from the fastest run to the slowest, and efficiency is computed from medians. Of one
setting on as many ranks the last 100 runs count.
Of records of a rung with the same settings the last one counts; those of several machines or
devices share no picture: they are refused. Whatever cannot be made of the records is left out,
unless --what names it; jq chooses records: jq -c 'select(.ranks < 8)' FILE. Damaged and foreign lines
and runs with a failed verdict are left out and counted.

Exit status: 0 drawn, 2 nothing to draw, 3 matplotlib or pandas is missing or a picture cannot be
written.
"""

import argparse
import re
import sys

from weftlab import text

PICTURES = ("strong", "weak", "values", "phases", "roofline", "sweeps")


def picture_names(word):
    names = word.split(",")
    if not set(names) <= set(PICTURES):
        raise argparse.ArgumentTypeError(f"{word}: a picture is one of {', '.join(PICTURES)}")
    return names


def add_arguments(parser):
    parser.add_argument("file", metavar="FILE.jsonl")
    parser.add_argument("prefix", metavar="PREFIX", nargs="?", help="default: FILE")
    only = f"only these pictures, of {', '.join(PICTURES)}"
    parser.add_argument("--what", metavar="PICTURE,...", type=picture_names, help=only)
    hollow = "lines of `jobs/predict` as hollow points, grey where no record covers them"
    parser.add_argument("--predicted", metavar="FILE.jsonl", help=hollow)


def main():
    parser = text.parser("plot", __doc__)
    add_arguments(parser)
    arguments = parser.parse_args()
    text.need(parser.prog, "matplotlib", "pandas")
    from weftlab import pictures  # pylint: disable=import-outside-toplevel

    prefix = arguments.prefix or re.sub(r"\.jsonl$", "", arguments.file)
    pictures.save_all(pictures.of_file(arguments, parser.prog), prefix, parser.prog)
    return 0


if __name__ == "__main__":
    sys.exit(main())
