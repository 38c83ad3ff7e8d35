# A run that goes nowhere ends within run.stall_limit and a little: exit 3, and a word from every rank that
# still can.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=300 grid.ny=200 time.steps=1000000000
}

# bats test_tags=gpus:2
@test "a rank that is stopped: the others say where they are, and the job ends with 3" {
    all_run() { [ "$(rank_pids output.record=stall.jsonl | wc -l)" = 3 ]; }
    begin 3 d.ini run.stall_limit=4 output.record=stall.jsonl output.progress=on
    wait_for all_run
    wait_for grep -q 'step [1-9]' out # of the progress: on a busy machine a start takes longer than any sleep
    kill -STOP "$(rank_pids output.record=stall.jsonl | sed -n 2p)"
    ends
    cat out
    expect status 3 "$status"
    local said="no progress for 4 s in phase 'steps' at step [1-9][0-9]*"
    expect "ranks that say so" 2 "$(grep -o "weft: rank [0-2] on $(hostname) made $said" out | wc -l)"
}

@test "a file system that does not answer: the phase is named" {
    SHIM_MS=60000 preloaded begin 2 d.ini run.stall_limit=4 time.steps=500 checkpoint.every=200
    ends
    cat out
    expect status 3 "$status"
    expect "ranks that say so" 2 \
        "$(grep -c "no progress for 4 s in phase 'waiting for a checkpoint' at step 400" out)"
    expect "files with a checkpoint's name" "" "$(find checkpoints -name 'step_*.h5')"
}

@test "a run that is suspended while it waits, for longer than the limit, and resumed, goes on to its end" {
    local ranks
    SHIM_MS=9000 preloaded begin 2 d.ini run.stall_limit=5 time.steps=200 \
        checkpoint.every=200 output.record=suspended.jsonl
    wait_for is_there 'checkpoints/step_*.????????'
    sleep 1 # the watchdog has seen the last step, and after SIGCONT there is still to wait
    mapfile -t ranks < <(rank_pids output.record=suspended.jsonl)
    expect ranks 2 ${#ranks[@]}
    kill -STOP "${ranks[@]}"
    sleep 6
    kill -CONT "${ranks[@]}"
    ends
    cat out
    expect status 0 "$status"
    expect checkpoints 1 "$(record .checkpoint.count suspended.jsonl)"
}
