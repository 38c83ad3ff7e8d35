# A library that calls exit (tests/support/shim_exit.c) ends the process as a failed environment does: a
# sentence that names what ran, and status 3, never 0 or 1.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=160 grid.ny=128 time.steps=3
    local h5
    h5=$(pkg-config --cflags --libs hdf5-serial 2>/dev/null || pkg-config --cflags --libs hdf5)
    mkdir plugins
    cc -O1 -shared -fPIC -o plugins/libshim_exit.so "$top/tests/support/shim_exit.c" $h5 -ldl
    cc -O1 -o filtered "$top/tests/support/filtered.c" $h5
    export HDF5_PLUGIN_PATH=$PWD/plugins
}

ended() { # what the sentence has...
    expect status 3 "$status" || { echo "$output"; return 1; }
    grep '^weft: .*on .*: a library called exit in ' <<<"$output" >said || { echo "$output"; return 1; }
    for text; do grep -q -- "$text" said || { cat said; return 1; }; done
}

@test "libgomp that can make no thread" {
    export SHIM_EXIT=threads LD_PRELOAD=$PWD/plugins/libshim_exit.so
    run "$weft" run d.ini run.threads=2
    ended "in weft run; in phase '" "no checkpoint yet"
    OMP_NUM_THREADS=2 run "$weft" bench ceiling/read ceiling_bytes=1M
    ended "in weft bench"
}

@test "a filter that calls exit, in one rank of two" {
    weft_alone d.ini --quiet output.final=filtered.h5
    ./filtered filtered.h5 /fields/u
    export SHIM_EXIT=exit SHIM_EXIT_RANK=1
    run weft_run 2 d.ini time.steps=9 problem.initial=filtered.h5
    ended "rank 1 on" "in weft run; in phase 'initialise'"
}
