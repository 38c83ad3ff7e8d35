# A library that ends the process (tests/support/shim_process.c) ends it as a failed environment does: a
# sentence that names the call and what ran, and status 3, never 0 or 1.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=160 grid.ny=128 time.steps=3
    make_shim
}

ended() { # what the sentence has...
    expect status 3 "$status" || { echo "$output"; return 1; }
    grep '^weft: .*on .*: a library called ' <<<"$output" >said || { echo "$output"; return 1; }
    for text; do grep -q -- "$text" said || { cat said; return 1; }; done
}

@test "libgomp that can make no thread" {
    export SHIM=threads LD_PRELOAD=$shim
    run "$weft" run d.ini run.threads=2
    ended "called exit in weft run; in phase '" "no checkpoint yet"
    OMP_NUM_THREADS=2 run "$weft" bench ceiling/read ceiling_bytes=1M
    ended "called exit in weft bench"
}

@test "a filter that calls exit, _exit, _Exit or quick_exit, in one rank of two" {
    weft_alone d.ini --quiet output.final=plain.h5
    filtered plain.h5
    for call in exit _exit _Exit quick_exit; do
        export SHIM=$call SHIM_AT=call SHIM_RANK=1
        run weft_run 2 d.ini time.steps=9 problem.initial=filtered.h5
        ended "rank 1 on" "called ${call/_Exit/_exit} in weft run; in phase 'initialise'"
    done
}

@test "MPI_Init that fails" {
    "$MPIRUN" --version 2>&1 | grep -q 'Open MPI' || skip "needs Open MPI's variables"
    export OMPI_MCA_btl=nonsense
    run weft_alone d.ini
    ended "in MPI_Init"
    run "$weft" check
    ended "in MPI_Init"
}
