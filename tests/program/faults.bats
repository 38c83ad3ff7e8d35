# The verifiers can fail: one wrong cell, one lost halo row, one lost corner are each seen. The sanitizers'
# build makes the faults that WEFT_FAULT names.
load ../support/helper

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=40 grid.ny=30 time.steps=8 problem.mode_x=3 problem.mode_y=2)
box=(problem.kind=custom grid.nx=40 grid.ny=30 time.steps=8 problem.mode_x=3 problem.mode_y=2
    "problem.weights=.05 .1 .05 | .1 .4 .1 | .05 .1 .05")

seen() { # fault ranks deck options...: by the sanitizers' build
    weft=$weft_sanitize
    WEFT_FAULT=$1 run -1 weft_run "${@:2}"
    expect "verdict with $*" failed "$(record .verdict)"
}

@test "one cell off by 1e-3: f64, f32, a transpose, a sweep, a wave; the release build knows no faults" {
    deck d.ini "${heat[@]}"
    deck t.ini problem.kind=transpose grid.nx=40 grid.ny=30 time.steps=3
    WEFT_FAULT=cell weft_alone d.ini
    expect "verdict of the release build" exact "$(record .verdict)"
    seen cell 1 d.ini
    seen cell 2 d.ini problem.dtype=f32
    seen cell 1 d.ini problem.kind=sweep
    seen cell 1 d.ini problem.kind=wave
    seen cell 2 t.ini
}

@test "a halo row that was not filled, a corner of a box, both also between blocks of steps" {
    deck d.ini "${heat[@]}"
    deck b.ini "${box[@]}"
    seen halo:6 2 d.ini run.ranks_y=2
    expect "the ghosts were NaN, which is no number of JSON's" null "$(record .max_error)"
    seen halo:4 2 d.ini run.ranks_x=2
    seen halo:6 2 d.ini run.fuse=4
    seen halo:7 4 b.ini run.ranks_x=2 run.ranks_y=2
    seen halo:7 4 d.ini run.ranks_x=2 run.ranks_y=2 run.fuse=4
}
