# Other people's tools see the values that are in a state file: VTK's own readers, which are ParaView's, beside h5dump and h5py.
# Each test takes every Python here that has what it needs; WEFT_PYTHON names one more, for the VTK of PyPI.
#
# test-all: VTK
load ../support/helper

pythons() { # module
    local candidate
    for candidate in /usr/bin/python3 "$(command -v python3)" "${WEFT_PYTHON-}"; do
        "$candidate" -c "import $1" 2>/dev/null && realpath -s "$candidate"
    done | sort -u
}

needs() { # module, where it comes from: sets found, the Pythons that have it
    mapfile -t found < <(pythons "$1")
    [ ${#found[@]} -gt 0 ] || skip "no Python here has $1 ($2)"
}
need_hdf() { needs vtkmodules.vtkIOHDF "python3-vtk9"; }
values() { "${python:-${found[0]}}" "$top/tests/support/vtk_values.py" "$@"; }

dump() { # file dataset
    h5dump -d "$2" -y -w 1 -m %.17g "$1" | awk '/}/ && on { exit } on; /DATA {/ { on = 1 }' | tr -d ' ,'
}

same_values() { # wanted found, files: at least as many values found as wanted, and the first of them the same
    [ "$(grep -c . "$1")" -ge 10 ] || { echo "only $(grep -c . "$1") values wanted"; return 1; }
    head -n "$(grep -c . "$1")" "$2" | cmp - "$1"
}

plane=(problem.kind=wave problem.alpha=0.3 problem.initial=gaussian grid.nx=37 grid.ny=23 time.steps=6 output.final=plane.h5)
turned=(problem.kind=transpose problem.initial=random grid.nx=12 grid.ny=5 time.steps=2 output.final=turned.h5)

states() {
    deck plane.ini "${plane[@]}"
    deck turned.ini "${turned[@]}"
    weft_run 3 plane.ini
    weft_alone turned.ini
    dump plane.h5 /fields/u >plane.u
    dump plane.h5 /fields/u_prev >plane.u_prev
    dump turned.h5 /fields/a >turned.a
    dump turned.h5 /fields/b >turned.b
}

@test "/VTKHDF is read by vtkHDFReader: every value is the dataset's, of both levels and of a transpose" {
    need_hdf
    states
    for python in "${found[@]}"; do
        for i in plane:u plane:u_prev turned:b; do
            values hdf "${i%:*}.h5" "${i#*:}" >seen
            same_values "${i/:/.}" seen
        done
    done
}

@test "at ten places of the plane vtkHDFReader and h5py see the same value" {
    local ten=(0,0 36,0 0,22 36,22 1,0 0,1 17,11 18,11 17,12 29,3)
    needs h5py python3-h5py
    deck plane.ini "${plane[@]}"
    weft_run 3 plane.ini problem.initial=random
    values h5py-at plane.h5 fields/u "${ten[@]}" >wanted
    expect "values, all different" 10 "$(sort -u wanted | wc -l)"
    need_hdf
    for python in "${found[@]}"; do values hdf-at plane.h5 u "${ten[@]}" | cmp - wanted; done
}

@test "/VTKHDF holds no data: views of /fields, which h5dump and h5diff read" {
    deck plane.ini "${plane[@]}"
    weft_run 3 plane.ini
    h5dump -p -H -d /VTKHDF/PointData/u plane.h5 | grep -q 'MAPPING\|VIRTUAL'
    dump plane.h5 /fields/u >wanted
    dump plane.h5 /VTKHDF/PointData/u >found
    same_values wanted found
    cp plane.h5 before.h5
    weft_run 3 plane.ini checkpoint.writers=3 # over parts
    h5diff plane.h5 before.h5 /fields /fields
    dump plane.h5 /VTKHDF/PointData/u >found
    same_values wanted found
}
