# A GPU gives the host's bits with each norm of many steps in a graph, and where ranks drift apart. Every kind
# on both devices: decks.bats; any ranks, lanes and feeds: test_random_decks_match_a_plain_reference.
load ../support/helper

# Kinds, types and grids by every feed and transport: test_steps_wait_for_what_they_read.
# bats test_tags=gpus:2
@test "on a GPU many steps a graph, each with its norm: laplace to the level of the host" {
    local choice words reference found='"\(.fingerprint) \(.steps) \(.last_change)"'
    needs_gpu
    deck d.ini problem.kind=laplace grid.nx=37 grid.ny=29 "grid.boundary=dirichlet 0" time.steps=5000 \
        time.tolerance=2e-3 time.norm_every=1 checkpoint.every=10 checkpoint.keep=0
    weft_alone d.ini run.device=host checkpoint.dir=host
    reference=$(record "$found")
    for choice in "graph 1" "graph 2 run.transport=peer run.ranks_x=2" "openmp 2 run.transport=nccl"; do
        read -ra words <<<"$choice"
        rm -rf device
        weft_run "${words[1]}" d.ini run.device=cuda checkpoint.dir=device "run.feed=${words[0]}" \
            "${words[@]:2}"
        expect "fingerprint, last level, norm, feed with $choice" "$reference ${words[0]}" \
            "$(record "$found") $(record .feed)"
        "$weft" diff "$(checkpoint 10 host)" "$(checkpoint 10 device)"
    done
    expect "it ends at its tolerance" true "$(record '.steps > 14 and .steps < 5000')"
}

# bats test_tags=gpus:2
@test "ranks that drift apart: peers that store into each other's memory, in-kernel and overlapped" {
    needs_gpu
    local steps
    # ranks that share a GPU wait for time slices of 2 ms
    steps=$([ "$(gpus)" -gt 1 ] && echo 100000 || echo 1000)
    # a wave does not die down, so a wrong ghost of any step shows in the last one
    deck d.ini problem.kind=wave problem.order=4 problem.alpha=0.3 grid.nx=203 grid.ny=165 \
        problem.initial=random problem.seed=7 time.steps=$steps run.device=cuda run.transport=peer run.fuse=1
    weft_alone d.ini
    local columns ranks rank pauses
    for columns in 1 2; do # ranks are stopped at random for up to 40 ms, again and again
        begin 2 d.ini run.ranks_x=$columns output.record=drift.jsonl
        pauses=0
        while kill -0 $mpirun 2>/dev/null; do
            mapfile -t ranks < <(rank_pids output.record=drift.jsonl)
            [ ${#ranks[@]} -gt 0 ] || { sleep 0.05; continue; }
            rank=${ranks[RANDOM % ${#ranks[@]}]}
            kill -STOP "$rank" 2>/dev/null && sleep "0.0$((RANDOM % 40 + 10))" &&
                kill -CONT "$rank" 2>/dev/null &&
                pauses=$((pauses + 1))
            sleep "0.00$((RANDOM % 10))"
        done
        ends
        expect "status, enough pauses" "0 1" "$status $((pauses > 5))" || { cat out; return 1; }
        expect "fingerprint, transport" "$(fingerprint) peer" \
            "$(record '"\(.fingerprint) \(.transport)"' drift.jsonl)"
        [ $columns != 1 ] || expect "form" in_kernel "$(record .step_form drift.jsonl)"
    done
}
