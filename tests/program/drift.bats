# Ranks that drift apart keep the bits: while a run goes on its ranks are stopped at random for up to 40 ms, again and again,
# and no ghost of another step shows in the answer, whatever the transport.
load ../support/helper

# a wave does not die down, so a wrong ghost of any step shows in the last one
wave=(problem.kind=wave problem.order=4 problem.alpha=0.3 grid.nx=203 grid.ny=165 problem.initial=random problem.seed=7)

drift() { # ranks deck arguments...: the pauses that were given, into $pauses
    local mpirun ranks
    pauses=0
    weft_run "$@" "output.record=drift.jsonl" >table 2>&1 &
    mpirun=$!
    while kill -0 $mpirun 2>/dev/null; do
        mapfile -t ranks < <(rank_pids output.record=drift.jsonl)
        [ ${#ranks[@]} -gt 0 ] || { sleep 0.05; continue; }
        local rank=${ranks[RANDOM % ${#ranks[@]}]}
        kill -STOP "$rank" 2>/dev/null && sleep "0.0$((RANDOM % 40 + 10))" && kill -CONT "$rank" 2>/dev/null &&
            pauses=$((pauses + 1))
        sleep "0.00$((RANDOM % 10))"
    done
    wait $mpirun || { cat table; return 1; }
}

same_answer() { # ranks deck arguments...
    local sound
    sound=$(fingerprint)
    drift "$@"
    echo "$pauses pauses"
    [ $pauses -gt 5 ]
    expect fingerprint "$sound" "$(fingerprint drift.jsonl)"
}

@test "messages between hosts' processes, rows and columns cut" {
    deck d.ini "${wave[@]}" time.steps=3000 run.device=host
    weft_run 1 d.ini
    same_answer 3 d.ini
    same_answer 4 d.ini run.ranks_x=2 run.lanes=2
}

# bats test_tags=gpus:2
@test "peers that store into each other's memory, in-kernel exchange and overlapped steps" {
    needs_gpu
    local steps
    steps=$([ "$(gpus)" -gt 1 ] && echo 100000 || echo 1000) # ranks that share a GPU wait for time slices of 2 ms
    deck d.ini "${wave[@]}" "time.steps=$steps" run.device=cuda run.transport=peer run.fuse=1
    weft_run 1 d.ini
    same_answer 2 d.ini
    expect "transport and form" "peer in_kernel" "$(record '"\(.transport) \(.step_form)"' drift.jsonl)"
    same_answer 2 d.ini run.ranks_x=2
}
