# The decks of inputs/ run to the fingerprints that they state, on one rank and on several; heat2d_large is too big for
# the tests' machines.
load helper

@test "every deck runs to the fingerprint written in it" {
    local file wanted
    cd "$top" # paths in decks are relative to the working directory
    for file in inputs/*.ini; do
        [ "$file" != inputs/heat2d_large.ini ] || continue
        wanted=$(sed -n 's/^# fingerprint: //p' "$file")
        [ -n "$wanted" ]
        weft_run 3 "$file" output.picture=none "checkpoint.dir=$BATS_TEST_TMPDIR/c" "output.record=$BATS_TEST_TMPDIR/r.jsonl"
        expect "$file" "$wanted" "$(fingerprint "$BATS_TEST_TMPDIR/r.jsonl")"
    done
}

@test "the large deck fits its ranks and its keys are known" {
    cd "$top"
    weft_run 2 inputs/heat2d_large.ini --dry-run
}

@test "board.h5 is what board.sh makes" {
    cp "$top/inputs/board.sh" .
    ./board.sh
    h5diff board.h5 "$top/inputs/board.h5"
}
