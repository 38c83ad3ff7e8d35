#!/bin/sh
# Makes inputs/shape.h5 and inputs/point.h5 by awk and the HDF5 group's own h5import, as integers (thousandths), compressed:
#   shape.h5  a plateau with a side a few cells wide, 256 x 256: /fields/u, and /fields/u_prev, where it was one step earlier when
#             it moves by 0.2 cells a step along both axes (advect's alpha), so that leapfrog starts on the wave that goes forward
#             alone
#   point.h5  a drop of 3 cells' width at a third of a 256 x 256 basin: /fields/u; wave starts it from rest
set -e
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
add() { # file dataset, the rows on stdin
    cat >"$work/rows.txt"
    cat >"$work/conf" <<END
PATH $2
INPUT-CLASS TEXTIN
RANK 2
DIMENSION-SIZES 256 256
OUTPUT-CLASS IN
OUTPUT-SIZE 16
OUTPUT-ARCHITECTURE STD
OUTPUT-BYTE-ORDER LE
CHUNKED-DIMENSION-SIZES 64 64
COMPRESSION-TYPE GZIP
COMPRESSION-PARAM 9
END
    h5import "$work/rows.txt" -c "$work/conf" -o "$1"
}
shape() { # by how many cells it is behind
    awk -v behind="$1" '
        function side(d) { d = d / 1.5; return d > 20 ? 1 : d < -20 ? 0 : 1 / (1 + exp(-2 * d)) }
        function along(i) { i += behind; return side(i - 40) * side(88 - i) }
        BEGIN {
            for (y = 0; y < 256; y++) {
                for (x = 0; x < 256; x++) printf "%d ", int(1000 * along(x) * along(y) + 0.5)
                print ""
            }
        }'
}
rm -f shape.h5 point.h5
shape 0 | add shape.h5 /fields/u
shape 0.2 | add shape.h5 /fields/u_prev
awk 'BEGIN {
    for (y = 0; y < 256; y++) {
        for (x = 0; x < 256; x++) printf "%d ", int(10000 * exp(-((x - 85) ^ 2 + (y - 85) ^ 2) / 18) + 0.5)
        print ""
    }
}' | add point.h5 /fields/u
