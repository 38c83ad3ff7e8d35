# Several steps per pass (run.fuse) in whole runs: checkpoints on the way, restarts with another number of
# steps, sentences. That the bits are the same: test_steps_wait_for_what_they_read; a halo row that is not
# filled: faults.bats.
load ../support/helper

plate=(grid.nx=61 grid.ny=47 "grid.x_low=dirichlet 0" grid.x_high=neumann)

# bats test_tags=gpus:1
@test "checkpoints between blocks; a restart by other steps per pass, on other ranks; what a halo takes" {
    deck d.ini problem.kind=wave problem.alpha=0.2 "${plate[@]}" time.steps=40 checkpoint.every=10 \
        checkpoint.keep=0
    weft_run 3 d.ini run.fuse=4 time.steps=30
    expect "fuse, asked, sweeps, samples of one step" "4 4 9 true" \
        "$(record '"\(.fuse) \(.asked.fuse) \(.sweeps) \(.step_s.mean * 30 < .phases.loop.max_s)"')"
    weft_run 2 d.ini run.fuse=8 run.ranks_x=2 --restart "$(checkpoint 20)"
    expect "verdict, steps_run, fuse, sweeps" "exact 20 8 4" \
        "$(record '"\(.verdict) \(.steps_run) \(.fuse) \(.sweeps)"')"
    weft_run 2 d.ini run.fuse=4 --dry-run >dry
    # 61 cells, 4 rows of the level and 3 of the one before, to either side
    grep '^# halo .* 6.83 KB per pass; ' dry
}

# Which blocks these are: test_plan_rules_at_their_bounds.
# bats test_tags=gpus:part
@test "what a run cannot have is said once, and it takes the next best" {
    deck d.ini problem.kind=heat problem.alpha=0.2 "${plate[@]}" time.steps=12
    run weft_run 4 d.ini run.ranks_y=4 run.fuse=12
    refused 0 "run.fuse = 12" "grid.ny = 47" "using $(by_device 11 8)" # which device it was tells the record
    expect "fuse, asked" "$(by_device 11 8) 12" "$(record '"\(.fuse) \(.asked.fuse)"')"
    refuses 0 weft_alone d.ini run.fuse=30 -- "run.fuse = 30" "using $(by_device 16 12)"
    refuses 0 weft_alone d.ini run.fuse=8 time.norm_every=4 -- "run.fuse = 8" "norm every 4 steps" "using 4"
    refuses 0 weft_alone d.ini problem.kind=sweep run.fuse=4 -- "run.fuse = 4" "kind sweep" "using 1"
    expect "fuse, asked, passes" "1 4 null" "$(record '"\(.fuse) \(.asked.fuse) \(.sweeps)"')"
}

# bats test_tags=gpus:1
@test "by default a large grid tries blocks of steps at the start, takes the faster way, to the same bits" {
    local reference words tried
    export OMP_NUM_THREADS=2
    deck d.ini problem.kind=heat problem.dtype=f32 problem.alpha=0.2 grid.nx=4096 grid.ny=2048 time.steps=48
    weft_alone d.ini run.tune=off
    expect "fuse, trial" "1 run.tune = off: there are no trials" \
        "$(record '"\(.fuse) \(.plan.steps_per_pass.because)"')"
    reference=$(fingerprint)
    tried="in a trial a step took .* in blocks of $(by_device 6 12), .* in single steps"
    for words in "" time.norm_every=12; do # norms come with the passes
        weft_alone d.ini $words
        [[ $(record .plan.steps_per_pass.because) =~ $tried ]]
        expect fingerprint "$reference" "$(fingerprint)"
    done
}

# bats test_tags=gpus:2
@test "a small grid stays in the registers of GPUs, with norms, checkpoints, a restart, to the host's bits" {
    needs_gpu
    local ranks last found='"\(.fingerprint) \(.last_change)"'
    deck d.ini problem.kind=heat problem.dtype=f32 problem.alpha=0.2 "${plate[@]:2}" grid.nx=256 grid.ny=192 \
        time.steps=3000 time.norm_every=500 checkpoint.every=1000 checkpoint.keep=0
    weft_alone d.ini run.device=host checkpoint.dir=host
    last=$(record "$found")
    for ranks in 1 2; do
        [ $ranks = 1 ] || [ "$(gpus)" -ge $ranks ] || continue
        weft_run $ranks d.ini run.device=cuda
        expect "on $ranks: fingerprint, change, persistent, fuse, passes" "$last true 500 6" \
            "$(record "$found") $(record '"\(.persistent) \(.fuse) \(.sweeps)"')"
        "$weft" diff host/step_0000001000.h5 checkpoints/step_0000001000.h5
        weft_run $ranks d.ini run.device=cuda time.norm_every=0 --restart host/step_0000002000.h5
        expect "on $ranks: persistent, fuse, fingerprint" "true 1000 ${last% *}" \
            "$(record '"\(.persistent) \(.fuse) \(.fingerprint)"')"
    done
}
