# The decks of inputs/ run to the fingerprints in inputs/fingerprints, on one rank and on three: as they stand where that takes
# a second, else made small. Those that stand as they are have the same fingerprint written in them, and so has the main job.
load helper

# As the decks' own paths are relative, in the folder above inputs/.
run_deck() { # ranks deck changes...
    local ranks=$1 file=$2
    shift 2
    rm -f "$BATS_TEST_TMPDIR/r.jsonl"
    set -- "$file" --quiet output.picture=none "checkpoint.dir=$BATS_TEST_TMPDIR/c" "output.record=$BATS_TEST_TMPDIR/r.jsonl" "$@"
    if [ "$ranks" = 1 ]; then weft_alone "$@"; else weft_run "$ranks" "$@"; fi
}

@test "every deck runs to its fingerprint, on 1 rank and on 3" {
    local name wanted changes ranks runs=0
    cd "$top"
    expect "decks listed" "$(basename -s .ini inputs/*.ini | sort | xargs)" \
        "$(grep -v '^#' inputs/fingerprints | cut -d ' ' -f 1 | sort | xargs)"
    while read -r name wanted changes <&4; do # mpirun reads from 0
        case $name in '#'*) continue ;; esac
        [ "$changes" != - ] || changes=
        [ -n "$changes" ] || expect "written in $name.ini" "$wanted" "$(sed -n 's/^# fingerprint: //p' "inputs/$name.ini")"
        for ranks in 1 3; do
            run_deck $ranks "inputs/$name.ini" $changes
            expect "$name on $ranks ranks" "$wanted" "$(fingerprint "$BATS_TEST_TMPDIR/r.jsonl")"
            [ "$(record .verdict "$BATS_TEST_TMPDIR/r.jsonl")" != failed ]
            runs=$((runs + 1))
        done
    done 4<inputs/fingerprints
    expect runs $((2 * $(ls inputs/*.ini | wc -l))) $runs
}

@test "the main job, as it stands, runs to the fingerprint written in it" {
    cd "$top"
    run_deck 3 inputs/heat2d.ini
    expect fingerprint "$(sed -n 's/^# fingerprint: //p' inputs/heat2d.ini)" "$(fingerprint "$BATS_TEST_TMPDIR/r.jsonl")"
}

@test "every deck is short, says how long it takes, and knows its keys" {
    local file
    cd "$top"
    for file in inputs/*.ini; do
        [ "$(wc -l <"$file")" -lt 30 ] || { echo "$file has 30 lines or more"; return 1; }
        expect "$file: lines about its time" 1 "$(grep -c '^# time: ' "$file")"
    done
    weft_run 2 inputs/heat2d_large.ini --dry-run
}

@test "board.h5, shape.h5 and point.h5 are what board.sh and shapes.sh make" {
    local file
    cp "$top"/inputs/{board,shapes}.sh .
    ./board.sh
    ./shapes.sh
    for file in board shape point; do h5diff $file.h5 "$top/inputs/$file.h5"; done
}
