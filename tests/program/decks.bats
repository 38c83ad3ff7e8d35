# The decks of inputs/ run to the fingerprints in inputs/fingerprints: as they stand where that takes a second,
# else made small. Those that stand as they are have the same fingerprint written in them, and so has the main
# job (pages.bats, by `make run`).
load ../support/helper

# As the decks' own paths are relative, in the folder above inputs/.
run_deck() { # ranks deck changes...
    local ranks=$1 file=$2
    shift 2
    rm -f "$BATS_TEST_TMPDIR/r.jsonl"
    set -- "$file" --quiet output.picture=none "checkpoint.dir=$BATS_TEST_TMPDIR/c" "output.record=$BATS_TEST_TMPDIR/r.jsonl" "$@"
    if [ "$ranks" = 1 ]; then weft_alone "$@"; else weft_run "$ranks" "$@"; fi
}

# bats test_tags=slow,gpus:part
@test "every deck runs to its fingerprint, on one, two and three ranks in turn" {
    local name wanted changes runs=0 ranks
    cd "$top"
    while read -r name wanted changes <&4; do # mpirun reads from 0
        case $name in '#'*) continue ;; esac
        [ "$changes" != - ] || changes=
        [ -n "$changes" ] || expect "written in $name.ini" "$wanted" "$(sed -n 's/^# fingerprint: //p' "inputs/$name.ini")"
        ranks=$((runs++ % 3 + 1))
        run_deck $ranks "inputs/$name.ini" $changes
        expect "$name on $ranks ranks" "$wanted" "$(fingerprint "$BATS_TEST_TMPDIR/r.jsonl")"
        [ "$(record .verdict "$BATS_TEST_TMPDIR/r.jsonl")" != failed ]
    done 4<inputs/fingerprints
    expect runs "$(ls inputs/*.ini | wc -l)" $runs
}

# bats test_tags=gpus:all
@test "the main job, as it stands, runs to the fingerprint written in it on all GPUs" {
    needs_gpu
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

# Which keys these are: test_config_reads_or_refuses.
@test "keys that the kind does not use are said, and in the record; those of a resolved deck are not" {
    local unused="not used by this kind, grid and initial value: problem.alpha, problem.mode_y"
    deck d.ini problem.kind=laplace problem.alpha=.1 problem.mode_y=3 grid.nx=40 time.steps=3
    run weft_run 2 d.ini
    expect "status, lines about them" "0 1" "$status $(grep -cFx "weft: $unused" <<<"$output")"
    expect note "$unused" "$(record '.notes[] | select(startswith("not used"))')"
    record .deck >resolved.ini
    weft_alone resolved.ini output.record=r.jsonl
    expect "notes on a resolved deck" "[]" "$(record '[.notes[] | select(startswith("not used"))]' r.jsonl)"
}

@test "a deck through a pipe; a pipe that nobody writes into, and a writer that says nothing, end" {
    deck d.ini problem.kind=heat problem.alpha=.1 grid.nx=40 time.steps=3
    weft_alone <(cat d.ini)
    weft_alone <(sleep 0.3; cat d.ini)
    expect "records, fingerprints" "2 1" "$(wc -l <results.jsonl) $(jq -r .fingerprint results.jsonl | sort -u | wc -l)"
    mkfifo pipe.ini
    refuses 2 weft_alone pipe.ini -- "pipe.ini: it is a pipe without a writer"
    sleep 60 >pipe.ini 3>&- &
    local writer=$!
    timeout -k 2 20 "$weft" run pipe.ini >out 2>&1 3>&- &
    local run=$!
    reads_the_pipe() { ls -l /proc/"$(pgrep -P $run)"/fd 2>/dev/null | grep -q pipe.ini; }
    wait_for reads_the_pipe
    pkill -INT -P $run
    status=0
    wait $run || status=$?
    kill $writer
    output=$(cat out)
    refused 2 "cannot read the deck pipe.ini: Interrupted"
}
