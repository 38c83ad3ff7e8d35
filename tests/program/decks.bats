# The decks of inputs/ run to the fingerprints in inputs/fingerprints: as they stand where that takes a
# second, else made small. Those that stand as they are have the same fingerprint written in them, and so has
# the main job (pages.bats, by `make run`).
load ../support/helper

# bats test_tags=gpus:part
@test "every deck runs to its fingerprint, on one, two and three ranks in turn" {
    local name wanted changes runs=0 ranks
    cd "$top"
    while read -r name wanted changes <&4; do # mpirun reads from 0
        case $name in '#'*) continue ;; esac
        [ "$changes" != - ] || changes=
        [ -n "$changes" ] || expect "written in $name.ini" "$wanted" \
            "$(sed -n 's/^# fingerprint: //p' "inputs/$name.ini")"
        ranks=$((runs++ % 3 + 1))
        weft_run $ranks "inputs/$name.ini" --quiet output.picture=none "checkpoint.dir=$BATS_TEST_TMPDIR/c" \
            "output.record=$BATS_TEST_TMPDIR/r.jsonl" $changes
        expect "$name on $ranks ranks" "$wanted" "$(fingerprint "$BATS_TEST_TMPDIR/r.jsonl")"
        [ "$(record .verdict "$BATS_TEST_TMPDIR/r.jsonl")" != failed ]
    done 4<inputs/fingerprints
    expect runs "$(ls inputs/*.ini | wc -l)" $runs
}

@test "board.h5, shape.h5 and point.h5 are what board.sh and shapes.sh make" {
    local file
    cp "$top"/inputs/{board,shapes}.sh .
    ./board.sh
    ./shapes.sh
    for file in board shape point; do h5diff $file.h5 "$top/inputs/$file.h5"; done
}

# Which keys these are: test_config_reads_or_refuses.
@test "keys that the kind does not use are said, and in the record" {
    local unused="not used by this kind, grid and initial value: problem.alpha, problem.mode_y"
    deck d.ini problem.kind=laplace problem.alpha=.1 problem.mode_y=3 grid.nx=40 time.steps=3
    refuses 0 weft_run 2 d.ini --quiet -- "$unused"
    expect note "$unused" "$(record '.notes[] | select(startswith("not used"))')"
}

@test "a deck through a pipe; one without a writer is refused" {
    deck d.ini problem.kind=heat problem.alpha=.1 grid.nx=40 time.steps=3
    weft_alone <(cat d.ini)
    mkfifo pipe.ini
    refuses 2 weft_alone pipe.ini -- "pipe.ini: it is a pipe without a writer"
}
