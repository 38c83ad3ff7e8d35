# The verifiers can fail: one wrong cell, one lost halo row, one lost corner are each
# seen. The faults are injected by the sanitizers' build on request of WEFT_FAULT; the release build does not
# know the variable.
load ../support/helper

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=40 grid.ny=30 time.steps=8 problem.mode_x=3 problem.mode_y=2)
box=(problem.kind=custom grid.nx=40 grid.ny=30 time.steps=8 problem.mode_x=3 problem.mode_y=2
    "problem.weights=.05 .1 .05 | .1 .4 .1 | .05 .1 .05")

seen() { # fault ranks deck options...: by the sanitizers' build; the release build does not know it
    local fault=$1 sound
    weft=$weft_release
    WEFT_FAULT=$fault weft_run "${@:2}"
    sound=$(fingerprint)
    expect "verdict of the release build" exact "$(record .verdict)"
    weft=$weft_sanitize
    WEFT_FAULT=$fault run weft_run "${@:2}"
    expect "status, verdict with $fault" "1 failed" "$status $(record .verdict)"
    [ "$(fingerprint)" != "$sound" ]
}

@test "one cell off by 1e-3: f64, f32, a transpose, a sweep, a wave" {
    deck d.ini "${heat[@]}"
    seen cell 1 d.ini
    seen cell 2 d.ini problem.dtype=f32
    seen cell 2 d.ini problem.kind=sweep
    seen cell 2 d.ini problem.kind=wave
    deck t.ini problem.kind=transpose grid.nx=40 grid.ny=30 time.steps=3
    seen cell 2 t.ini
}

@test "a halo row that was not filled, a corner of a box, both also between blocks of steps" {
    deck d.ini "${heat[@]}"
    seen halo:6 2 d.ini run.ranks_y=2
    expect "the ghosts were NaN, which is no number of JSON's" null \
        "$(jq -r 'select(.verdict == "failed") | .max_error' results.jsonl)"
    seen halo:4 2 d.ini run.ranks_x=2
    seen halo:6 2 d.ini run.fuse=4
    seen halo:7 4 d.ini run.ranks_x=2 run.ranks_y=2 run.fuse=4
    deck b.ini "${box[@]}"
    seen halo:7 4 b.ini run.ranks_x=2 run.ranks_y=2
}

@test "one cell beside dirichlet sides whose value hides the mode is never exact" {
    deck d.ini "${heat[@]}" problem.dtype=f32 "grid.boundary=dirichlet 100"
    weft=$weft_sanitize
    WEFT_FAULT=cell run weft_alone d.ini grid.nx=400 grid.ny=300 time.steps=100
    expect "verdict with a broken cell" unchecked "$(record .verdict)"
    [[ $(record .verdict_why) == "the sides' value V hides the mode"* ]] || { record .verdict_why; return 1; }
    expect "verdict without V" exact "$(weft_alone d.ini grid.boundary=periodic >out 2>&1; record .verdict)"
}
