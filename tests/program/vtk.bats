# Other people's tools see the values that are in a state file: VTK's own readers, ParaView's, beside h5dump.
# Each test takes every Python here that has what it needs; WEFT_PYTHON names one more, for the VTK of PyPI.
#
# test-all: VTK
load ../support/helper

readers() { # sets found, the Pythons that have VTK's reader
    mapfile -t found < <(for python in /usr/bin/python3 "$(command -v python3)" "${WEFT_PYTHON-}"; do
        "$python" -c "import vtkmodules.vtkIOHDF" 2>/dev/null && realpath -s "$python"
    done | sort -u)
    [ ${#found[@]} -gt 0 ] || skip "no Python here has vtkmodules.vtkIOHDF (python3-vtk9)"
}

dump() { # file dataset
    h5dump -d "$2" -y -w 1 -m %.17g "$1" | awk '/}/ && on { exit } on; /DATA {/ { on = 1 }' | tr -d ' ,'
}

@test "/VTKHDF holds no data: vtkHDFReader reads every value of the dataset, of both levels, of a transpose" {
    local file name shape python
    readers
    deck plane.ini problem.kind=wave problem.alpha=0.3 problem.initial=gaussian grid.{nx=37,ny=23} \
        time.steps=6 \
        output.final=plane.h5
    deck turned.ini problem.kind=transpose problem.initial=random grid.nx=12 grid.ny=5 time.steps=2 \
        output.final=turned.h5
    weft_run 3 plane.ini
    h5dump -p -H -d /VTKHDF/PointData/u plane.h5 | grep -q 'MAPPING\|VIRTUAL'
    cp plane.h5 one.h5
    weft_run 3 plane.ini checkpoint.writers=3 # over parts
    h5diff plane.h5 one.h5 /fields /fields
    weft_alone turned.ini
    while read -r file name shape; do
        { echo "$shape" && dump $file /fields/$name; } >wanted
        for python in "${found[@]}"; do
            "$python" "$top/tests/support/vtk_values.py" $file $name | cmp - wanted
        done
    done <<<"plane.h5 u 37 23
        one.h5 u 37 23
        plane.h5 u_prev 37 23
        turned.h5 b 5 12"
}
