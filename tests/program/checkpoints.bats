# Checkpoints of long runs: which ones stay, whose directory it is, what is left of runs that died, and what a run does that cannot
# write one.
load ../support/helper

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=53 grid.ny=41)

files() { (cd "${1:-checkpoints}" && echo *.h5); }

endless() { # log; a run in checkpoints/ that lasts until it is told to stop; $run is its pid
    "$weft" run d.ini time.steps=1000000000 checkpoint.every=20000 >"$1" 2>&1 3>&- &
    run=$!
}

teardown() { # what a failed test left
    [ -z "${run-}" ] || kill -9 "$run" 2>/dev/null || true
}

@test "checkpoint.keep_every: every k-th stays besides the newest, also over a restart" {
    deck d.ini "${heat[@]}" time.steps=50 checkpoint.every=10 checkpoint.keep=1 checkpoint.keep_every=2
    weft_run 2 d.ini
    expect "files" "step_0000000020.h5 step_0000000040.h5 step_0000000050.h5" "$(files)"
    weft_alone d.ini time.steps=70 --restart checkpoints
    expect "files after the restart" "step_0000000020.h5 step_0000000040.h5 step_0000000060.h5 step_0000000070.h5" "$(files)"
    weft_alone d.ini checkpoint.keep_every=0 checkpoint.dir=none
    expect "files without keep_every" step_0000000050.h5 "$(files none)"
}

@test "checkpoint.verify = off: the checkpoint of the restart, the last that was seen whole, stays until a verified one comes" {
    deck d.ini "${heat[@]}" time.steps=20 checkpoint.every=10 checkpoint.keep=1
    weft_alone d.ini
    weft_alone d.ini time.steps=50 checkpoint.verify=off --restart checkpoints
    expect "files" "step_0000000020.h5 step_0000000050.h5" "$(files)"
    weft_alone d.ini time.steps=60 --restart checkpoints/step_0000000050.h5
    expect "files after a verified one" step_0000000060.h5 "$(files)"
}

@test "a directory in which a run writes is refused; it is free again when that run has left, and when one has failed" {
    deck d.ini "${heat[@]}"
    endless first
    wait_for test -e checkpoints/step_0000020000.h5
    run weft_run 2 d.ini time.steps=3 checkpoint.every=1
    refused 2 checkpoint.dir checkpoints "$(uname -n)" "pid $run"
    weft_alone d.ini time.steps=3 checkpoint.every=1 checkpoint.dir=other
    weft_alone d.ini time.steps=3
    kill -USR1 $run
    local status=0
    wait $run || status=$?
    expect "status of the first" 75 $status
    expect "locks left" "" "$(find . -name '*.lock')"
    run weft_alone d.ini time.steps=3 checkpoint.every=1 checkpoint.dir=/proc/self
    expect "status of a run that could not write" 3 "$status"
    run --separate-stderr weft_alone d.ini time.steps=3 checkpoint.every=1
    expect "status of the next" 0 "$status"
    expect "what it says of the directory" "" "$(ours "$stderr")"
}

@test "what a killed run leaves is found: its lock and what it had half written go, what is not its own stays" {
    deck d.ini "${heat[@]}"
    export WEFT_FAULT=checkpoint_slow:600000
    "$MPIRUN" $LAUNCH_FLAGS -n 2 "$weft_sanitize" run d.ini time.steps=1000000000 checkpoint.{every=2000,writers=2} \
        >first 2>&1 3>&- &
    run=$!
    wait_for compgen -G 'checkpoints/step_*.????????/1.h5' >/dev/null
    kill -9 $(pgrep -P $run) $run
    wait $run || true
    unset WEFT_FAULT run
    test -s checkpoints/.weft.lock
    mkdir checkpoints/step_0000000007.0123abcd
    touch checkpoints/step_0000000007.0123abcd/0.h5 # it has no mark
    run --separate-stderr weft_run 2 d.ini time.steps=3 checkpoint.every=1
    expect status 0 "$status"
    expect "notes" 1 "$(grep -c '^weft: ' <<<"$stderr")"
    echo "$stderr"
    [[ $stderr == *"took over checkpoints/.weft.lock"* ]]
    expect "attempts" step_0000000007.0123abcd "$(cd checkpoints && echo *.????????)"
    echo rubbish >checkpoints/.weft.lock
    run --separate-stderr weft_alone d.ini time.steps=3 checkpoint.every=1
    expect status 0 "$status"
    expect "locks left" "" "$(find . -name '*.lock')"
}

@test "of six runs that find one stale lock, one gets the directory" {
    deck d.ini "${heat[@]}"
    local i pids=() alive
    endless first
    wait_for test -e checkpoints/.weft.lock
    kill -9 $run
    wait $run || true
    for i in {1..6}; do
        endless log$i
        pids+=($run)
    done
    one_is_left() {
        alive=()
        for i in "${pids[@]}"; do kill -0 "$i" 2>/dev/null && alive+=("$i"); done
        [ ${#alive[@]} -le 1 ]
    }
    wait_for one_is_left || { kill -9 "${alive[@]}"; return 1; }
    sleep 0.3
    one_is_left
    expect "runs that go on" 1 ${#alive[@]}
    kill -USR1 "${alive[0]}"
    local ends=""
    for i in "${pids[@]}"; do
        status=0
        wait "$i" || status=$?
        ends+="$status "
    done
    expect "exit statuses, sorted" "2 2 2 2 2 75" "$(tr ' ' '\n' <<<"$ends" | grep . | sort -n | paste -sd ' ')"
    # none where one run deleted the stale lock and another was quicker to make the new one
    [ "$(cat log* | grep -c 'took over')" -le 1 ]
}

@test "a signal's checkpoint that cannot be written is exit 3, never 75, whatever checkpoint.on_error says" {
    deck d.ini "${heat[@]}"
    "$weft" run d.ini time.steps=1000000000 checkpoint.every=1000000000 checkpoint.on_error=continue output.progress=on \
        >log 2>&1 3>&- &
    local run=$!
    wait_for grep -q 'step [1-9]' log
    rm -r checkpoints
    kill -USR1 $run
    local status=0
    wait $run || status=$?
    output=$(<log) refused 3 checkpoints
}

@test "--dry-run says of how many files a state is" {
    deck d.ini problem.kind=wave problem.alpha=0.2 grid.nx=203 grid.ny=170 time.steps=3 checkpoint.every=3
    run weft_run 4 d.ini --dry-run
    [[ $output == *"# checkpoints  1 of 552 KB into checkpoints"* ]] || { echo "$output"; return 1; }
    run weft_run 4 d.ini --dry-run checkpoint.writers=3
    echo "$output"
    [[ $output == *"# checkpoints  1 of 552 KB in 5 files into checkpoints"* ]]
}
