# Other people's tools see the values that are in a state file: VTK's own readers, which are ParaView's, beside h5dump.
# Wanted is a Python that has VTK: Debian's python3-vtk9 reads /VTKHDF, `pip install vtk` the XDMF files as well (WEFT_PYTHON names
# one).
load helper

python() {
    local candidate
    for candidate in ${WEFT_PYTHON-} python3 /usr/bin/python3; do
        "$candidate" -c 'import vtkmodules.vtkIOHDF' 2>/dev/null && { echo "$candidate"; return; }
    done
    return 1
}

vtk() { "$(python)" "$BATS_TEST_DIRNAME/vtk_values.py" "$@"; }

need_vtk() { # reader's module
    python >/dev/null || skip "no Python here has VTK (python3-vtk9, or pip install vtk)"
    "$(python)" -c "import vtkmodules.$1" 2>/dev/null || skip "the VTK here lacks $1 (pip install vtk has it)"
}

dump() { # file dataset
    h5dump -d "$2" -y -w 1 -m %.17g "$1" | awk '/}/ && on { exit } on; /DATA {/ { on = 1 }' | tr -d ' ,'
}

same_values() { # wanted found, files: at least as many values found as wanted, and the first of them the same
    [ "$(grep -c . "$1")" -ge 10 ] || { echo "only $(grep -c . "$1") values wanted"; return 1; }
    head -n "$(grep -c . "$1")" "$2" | cmp - "$1"
}

plane=(problem.kind=wave problem.alpha=0.3 problem.initial=gaussian grid.nx=37 grid.ny=23 time.steps=6 output.final=plane.h5)
line=(problem.kind=heat problem.alpha=0.3 problem.initial=random problem.dtype=f32 grid.nx=41 time.steps=3 output.final=line.h5)
turned=(problem.kind=transpose problem.initial=random grid.nx=12 grid.ny=5 time.steps=2 output.final=turned.h5)

states() {
    deck plane.ini "${plane[@]}"
    deck line.ini "${line[@]}"
    deck turned.ini "${turned[@]}"
    weft_run 3 plane.ini
    weft_alone line.ini
    weft_alone turned.ini
    dump plane.h5 /fields/u >plane.u
    dump plane.h5 /fields/u_prev >plane.u_prev
    dump line.h5 /fields/u >line.u
    dump turned.h5 /fields/a >turned.a
    dump turned.h5 /fields/b >turned.b
}

@test "/VTKHDF is read by vtkHDFReader: every value is the dataset's, of both levels, in 1D and of a transpose" {
    need_vtk vtkIOHDF
    states
    for i in plane:u plane:u_prev line:u turned:b; do
        vtk hdf "${i%:*}.h5" "${i#*:}" >found
        same_values "${i/:/.}" found
    done
}

@test "the .xmf beside a state file is read by vtkXdmfReader: every value is the dataset's" {
    need_vtk vtkIOXdmf2
    states
    for i in plane:u plane:u_prev line:u; do
        vtk xdmf "${i%:*}.xmf" "${i#*:}" >found
        same_values "${i/:/.}" found
        cmp found "${i/:/.}"
    done
    expect times "6" "$(vtk times plane.xmf)"
    # a series, at several times
    weft_run 2 plane.ini output.every=2
    expect "times of the series" "0 2 4 6" "$(vtk times series/series.xmf)"
    for step in 0 2 6; do
        dump "series/step_000000000$step.h5" /fields/u >wanted
        vtk xdmf series/series.xmf u $step >found
        same_values wanted found
    done
}

@test "/VTKHDF holds no data: views of /fields, which h5dump and h5diff read" {
    deck plane.ini "${plane[@]}"
    weft_run 3 plane.ini
    h5dump -p -H -d /VTKHDF/PointData/u plane.h5 | grep -q 'MAPPING\|VIRTUAL'
    dump plane.h5 /fields/u >wanted
    dump plane.h5 /VTKHDF/PointData/u >found
    same_values wanted found
    cp plane.h5 before.h5
    weft_run 2 plane.ini
    cmp plane.h5 before.h5
    h5diff plane.h5 before.h5
}
