# Whole runs under AddressSanitizer and UBSan: kinds, several ranks, checkpoint and restart, pictures. A
# finding ends the run with a status of its own. Units run this build, and so do tests of faults.
load ../support/helper

weft=$weft_sanitize

@test "kinds on 1 and 4 ranks with a checkpoint, picture, timeline and restart; a rung of weft bench" {
    local kind
    for kind in wave sweep transpose; do
        deck $kind.ini problem.kind=$kind problem.alpha=0.2 grid.nx=37 grid.ny=29 time.steps=6 \
            checkpoint.every=3 output.picture=p.png
        weft_run 4 $kind.ini run.lanes=2 run.feed=openmp time.steps=3 output.trace=t.json
        weft_alone $kind.ini run.lanes=3 run.feed=serial --restart checkpoints
        expect "verdict of $kind" exact "$(record .verdict)"
        rm -r checkpoints
    done
    launch 4 "$weft" bench halo alltoall io device=host bytes=5000 n=50 samples=2 output=b.jsonl >table
    expect "rungs, wrong ones" "14 0" \
        "$(jq -s 'map(select(.verified)) | length' b.jsonl) $(grep -c WRONG table)"
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
