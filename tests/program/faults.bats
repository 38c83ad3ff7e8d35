# The verifiers can fail: one wrong cell, one lost halo row, one lost corner are each
# seen. The faults are injected by the sanitizers' build on request of WEFT_FAULT; the release build does not
# know the variable.
load ../support/helper

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=40 grid.ny=30 time.steps=8 problem.mode_x=3 problem.mode_y=2)
box=(problem.kind=custom grid.nx=40 grid.ny=30 time.steps=8 problem.mode_x=3 problem.mode_y=2
    "problem.weights=.05 .1 .05 | .1 .4 .1 | .05 .1 .05")

seen() { # fault ranks deck options...
    local fault=$1 ranks=$2
    shift 2
    weft=$weft_sanitize
    WEFT_FAULT='' weft_run "$ranks" "$@"
    expect "verdict without the fault" exact "$(record .verdict)"
    local sound
    sound=$(fingerprint)
    WEFT_FAULT=$fault run weft_run "$ranks" "$@"
    expect "status with $fault" 1 "$status"
    expect "verdict with $fault" failed "$(record .verdict)"
    [ "$(fingerprint)" != "$sound" ]
    weft=$weft_release
    WEFT_FAULT=$fault weft_run "$ranks" "$@"
    expect "verdict of the release build" exact "$(record .verdict)"
    expect "fingerprint of the release build" "$sound" "$(fingerprint)"
}

@test "one cell off by 1e-3, f64 and f32" {
    deck d.ini "${heat[@]}"
    seen cell 1 d.ini
    seen cell 2 d.ini problem.dtype=f32
}

@test "one cell of a transpose, of a sweep, of a wave" {
    deck t.ini problem.kind=transpose grid.nx=40 grid.ny=30 time.steps=3
    seen cell 2 t.ini
    deck s.ini "${heat[@]}" problem.kind=sweep
    sed -i 's/^kind = heat//' s.ini
    seen cell 2 s.ini
    seen cell 2 s.ini problem.kind=wave
}

@test "a halo row that was not filled" {
    deck d.ini "${heat[@]}"
    seen halo:6 2 d.ini run.ranks_y=2
    expect "the ghosts were NaN, which is no number of JSON's" null \
        "$(jq -r 'select(.verdict == "failed") | .max_error' results.jsonl)"
    seen halo:4 2 d.ini run.ranks_x=2
}

@test "a corner that was not filled, box stencil on 2 x 2 ranks" {
    deck d.ini "${box[@]}"
    seen halo:7 4 d.ini run.ranks_x=2 run.ranks_y=2
}

@test "one cell beside dirichlet sides whose value hides the mode is never exact" {
    deck d.ini "${heat[@]}" problem.dtype=f32 "grid.boundary=dirichlet 100"
    weft=$weft_sanitize
    WEFT_FAULT=cell run weft_alone d.ini grid.nx=400 grid.ny=300 time.steps=100
    expect "verdict with a broken cell" unchecked "$(record .verdict)"
    [[ $(record .verdict_why) == "the sides' value V hides the mode"* ]] || { record .verdict_why; return 1; }
    expect "verdict without V" exact "$(weft_alone d.ini grid.boundary=periodic >out 2>&1; record .verdict)"
}
