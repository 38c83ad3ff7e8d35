# A library that changes the floating-point environment changes no bit of a result and ends no run, wherever
# it does so: flushed subnormal numbers, other roundings, traps (tests/support/shim_process.c).
load ../support/helper

words="ftz,daz,traps,up ftz,daz,traps,down zero"

# A wave of the shortest length, which is subnormal in f32 from step 171 on; cells enough for a team.
setup() {
    cd "$BATS_TEST_TMPDIR"
    deck d.ini problem.kind=heat problem.dtype=f32 problem.alpha=0.2 problem.mode_x=80 problem.mode_y=64 \
        grid.nx=160 grid.ny=128 time.steps=175
    make_shim
}

same() { # key=value...
    SHIM=$word preloaded "$weft" run d.ini --quiet "$@"
    expect "$word, $*" "$reference" "$(fingerprint)"
}

# bats test_tags=gpus:part
@test "where it is loaded, in MPI_Init, in each thread of a team, a lane and the writer; in one rank of two" {
    weft_alone d.ini --quiet
    reference=$(fingerprint)
    for word in $words; do
        SHIM_AT=load,init,thread same run.threads=2 checkpoint.every=90 run.device=host
        SHIM_AT=load,init,thread same run.lanes=3 run.feed=openmp run.fuse=1 run.device=host
    done
    [ "$(gpus)" = 0 ] || words=ftz,up # what a GPU computes has no state to inherit
    for word in $words; do
        SHIM=$word SHIM_AT=init SHIM_RANK=1 preloaded weft_run 2 d.ini --quiet
        expect "$word" "$reference" "$(fingerprint)"
    done
}

@test "a filter of a file in f64 that a run in f32 begins with" {
    weft_alone d.ini problem.dtype=f64 output.final=plain.h5
    deck f.ini problem.kind=heat problem.dtype=f32 problem.alpha=0.2 problem.initial=plain.h5 \
        grid.nx=160 grid.ny=128 time.steps=1
    weft_alone f.ini --quiet
    reference=$(fingerprint)
    filtered plain.h5
    for word in $words; do
        SHIM=$word SHIM_AT=load,call weft_alone f.ini --quiet problem.initial=filtered.h5
        expect "$word" "$reference" "$(fingerprint)"
    done
}

@test "a library that sets a locale: numbers of decks, words, tables and timelines have a point" {
    locale | sed -nE '/^LC_ALL/!s/^(LC_.*)=.*/\1\ncopy "POSIX"\nEND \1/p' |
        sed '/^LC_NUMERIC/{n;s/POSIX/de_DE/}' >comma
    localedef -c -i ./comma -f UTF-8 --no-archive ./de_DE.UTF-8 || true # all of one takes a second to make
    [ "$(LOCPATH=$PWD LC_ALL=de_DE.UTF-8 locale decimal_point)" = , ] ||
        skip "no locale can be made here (locales)"
    deck n.ini problem.kind=heat problem.alpha=0.2 grid.nx=40 time.steps=3 run.wall_limit=99.5
    for places in none load,init; do
        LOCPATH=$PWD SHIM=locale SHIM_AT=$places preloaded "$weft" run n.ini problem.alpha=.15 \
            output.trace=t.json >said
        record .deck >$places
        expect "events of the timeline" true "$(jq '.traceEvents | length > 5' t.json)"
        grep -q '^rate *[0-9]*\.' said || { cat said; return 1; }
    done
    cmp none load,init
}

@test "the host's answers, by which weft bench verifies" {
    for word in traps,up zero; do
        SHIM=$word SHIM_AT=load,init,thread OMP_NUM_THREADS=2 preloaded \
            "$weft" bench roofline reduce ceiling samples=1 n=100k nx=256 ny=200 ceiling_bytes=1M >out || { cat out; return 1; }
    done
}
