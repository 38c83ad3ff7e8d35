# Whole runs under AddressSanitizer and UBSan: every kind, several ranks, checkpoint and restart, files,
# pictures, mistakes. A finding ends the run with a status of its own. Tests of faults run this build too.
load ../support/helper

weft=$weft_sanitize

@test "kinds on 1 and 4 ranks with a checkpoint, picture and restart; a wide star between odd sides" {
    local kind sides=("grid.x_low=dirichlet 0" grid.x_high=neumann)
    for kind in heat wave sweep transpose; do
        deck $kind.ini problem.kind=$kind problem.alpha=0.2 grid.nx=37 grid.ny=29 time.steps=6 checkpoint.every=3 \
            output.picture=p.png
        [ $kind != transpose ] || sed -i '/alpha/d' $kind.ini
        weft_run 4 $kind.ini run.lanes=2 run.feed=openmp time.steps=3
        weft_alone $kind.ini run.lanes=3 run.feed=serial --restart checkpoints
        expect "verdict of $kind" exact "$(record .verdict)"
        rm -r checkpoints
    done
    deck a.ini problem.kind=heat problem.order=16 problem.alpha=0.1 problem.dtype=f32 grid.nx=35 grid.ny=33 time.steps=4 \
        "${sides[@]}"
    weft_run 4 a.ini run.ranks_x=2
    expect "verdict of a wide star" exact "$(record .verdict)"
}

@test "a file of another program, a damaged checkpoint, a mistake" {
    (cd "$top" && weft_run 2 inputs/from_file.ini time.steps=3 "output.picture=$BATS_TEST_TMPDIR/p.png" \
        "output.record=$BATS_TEST_TMPDIR/r.jsonl")
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=37 time.steps=6 checkpoint.every=2
    weft_run 2 d.ini
    truncate -s 2000 "$(checkpoint 6)"
    weft_run 2 d.ini --restart checkpoints
    expect steps_run 2 "$(record .steps_run)"
    refuses 2 weft_run 2 d.ini problem.alhpa=1 -- problem.alpha
    "$weft" verify "$(checkpoint 4)"
    "$weft" info
}

@test "a timeline, and the families of weft bench that all ranks climb together" {
    deck a.ini problem.kind=heat problem.alpha=0.2 grid.nx=60 grid.ny=50 time.steps=40 output.trace=t.json
    weft_run 4 a.ini run.lanes=2 run.feed=openmp
    jq -e '.traceEvents | length > 100' t.json >/dev/null
    launch 4 "$weft" bench halo alltoall io device=host bytes=5000 n=50 samples=2 >table
    expect "wrong rungs" 0 "$(grep -c WRONG table)"
    expect "rungs" 14 "$(jq -s 'map(select(.verified)) | length' results.jsonl)"
}

@test "ThreadSanitizer finds no race between the thread that writes checkpoints and the main one" {
    printf '#include <omp.h>\nint main(void) { return 0; }\n' >probe.c
    cc -fsanitize=thread -fopenmp probe.c -o probe 2>/dev/null && ./probe || skip "the compiler has no ThreadSanitizer"
    local races=$BUILD/races/test_state_beside_the_steps
    make -s -C "$top" CUDA=0 BUILD="$BUILD" "$races"
    export PMIX_MCA_gds=hash # PMIx 5 wants its shared memory at an address that ThreadSanitizer has taken
    "$races"
    launch 2 "$races"
}
