#!/bin/sh
# Makes inputs/board.h5, the file that inputs/from_file.ini starts from: the temperature map of a circuit board as a
# thermal camera's software might store it, written by the HDF5 group's own h5import and not by weft. /camera/frame is
# (240,320) 16-bit integers in tenths of a kelvin, in chunks of 60 x 80, gzip level 6. The numbers are made up (ambient
# 20 C, four chips of 8 to 55 K above it, a cold edge connector), by awk, so that anybody can make the file again.
set -e
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk 'function chip(x0, y0, half_w, half_h, rise,   dx, dy) { # flat top, sides that fall off with the distance
         dx = x < x0 ? x0 - x : x - x0; dy = y < y0 ? y0 - y : y - y0
         dx = dx > half_w ? dx - half_w : 0; dy = dy > half_h ? dy - half_h : 0
         return rise / (1 + (dx * dx + dy * dy) / 150)
     }
     BEGIN {
         for (y = 0; y < 240; y++) {
             for (x = 0; x < 320; x++) {
                 t = 293.2 + chip(90, 80, 22, 22, 55) + chip(220, 60, 34, 12, 31) + chip(250, 170, 15, 26, 42)
                 t += chip(70, 185, 10, 10, 8)
                 if (y > 226 && x > 60 && x < 200) t -= 6
                 printf "%d ", int(10 * t + 0.5)
             }
             print ""
         }
     }' >"$work/frame.txt"
cat >"$work/frame.conf" <<END
PATH /camera/frame
INPUT-CLASS TEXTIN
RANK 2
DIMENSION-SIZES 240 320
OUTPUT-CLASS IN
OUTPUT-SIZE 16
OUTPUT-ARCHITECTURE STD
OUTPUT-BYTE-ORDER LE
CHUNKED-DIMENSION-SIZES 60 80
COMPRESSION-TYPE GZIP
COMPRESSION-PARAM 6
END
rm -f board.h5
h5import "$work/frame.txt" -c "$work/frame.conf" -o board.h5
