# A node per element of an array: jobs/check.sbatch leaves records of its node, jobs/judge ranks the nodes.
load ../support/helper

nodes() { # how many: folder checks with a file for each, all of which deliver
    local i
    mkdir checks
    python3 "$top/tests/support/check_records.py" 1 2 1 |
        jq -c '.check |= (.verdict = "delivers" | .suspects = [])' >one
    for ((i = 1; i <= $1; i++)); do sed 's/"host":"n1"/"host":"n'$i'"/g' one >checks/n$i.jsonl; done
}

summary() { # status wanted
    local status=0
    "$top/jobs/judge" checks >said || status=$?
    expect status "$1" $status
    [ "$(wc -l <said)" -le 40 ] || { echo "$(wc -l <said) lines"; return 1; }
}

@test "nodes that deliver; then one that is slow beside the others, though its own check delivers; one whose check is incomplete" {
    nodes 30
    summary 0
    expect "head" "30 nodes: 30 delivers" "$(head -n 1 said)"
    jq -c '(.check.figures[] | select(.like == "copy") | .rate) *= 0.8' checks/n7.jsonl >slow
    cat slow >>checks/n7.jsonl # a node's last record counts
    summary 1
    expect "the first node" "n7 slow 80 % memory copy: 80 % of the nodes' median" "$(sed -n 2p said | xargs -d '\n' printf '%s' | tr -s ' ')"
    grep -q '^memory copy  .* least .* 80 %  n7$' said
    jq -c '(.check.figures[] | select(.like == "read")) |= (.rate *= 0.8 | .noise = 0.1)' checks/n9.jsonl >noisy
    cp noisy checks/n9.jsonl
    jq -c '.check.verdict = "incomplete" | .check.why = "rank 1 (n8) was not heard of"' checks/n8.jsonl >dead
    cp dead checks/n8.jsonl
    summary 3
    expect "the first nodes" "30 nodes: 28 delivers, 1 slow, 1 incomplete;n8 incomplete;n7 slow" \
        "$(head -n 3 said | sed '2,$s/  */ /; 2,$s/ *[0-9]* %.*//' | paste -sd ';')"
    grep -q '^n8 .*rank 1 (n8) was not heard of' said
    run "$top/jobs/judge" one.txt
    expect "status without records" 2 "$status"
}

@test "an element of the array checks its node" {
    SLURM_JOB_ID=1 SLURMD_NODENAME=n7 WEFT=$weft WEFT_LAUNCHER=mpirun WEFT_JOBS=$top/jobs OMPI_MCA_rmaps_base_oversubscribe=1 \
        SLURM_NTASKS=2 timeout $hang_s bash "$top/jobs/check.sbatch" level=quick device=host budget=0.01 reference=none >said 3>&- || true
    cat said
    expect "ranks, level" "2 quick" "$(record '"\(.check.ranks | length) \(.check.level)"' checks/n7.jsonl)"
    "$top/jobs/judge" checks --page n7.html >said || [[ $? = [14] ]]
    grep -q '<h1>weft check: 2 ranks' n7.html
    [ "$(wc -l <said)" -gt 10 ]
}

element() { # program: an element of an array, on node n7, with the words after it
    env -u WEFT SLURM_JOB_ID=1 SLURMD_NODENAME=n7 ${1:+WEFT="$1"} WEFT_LAUNCHER=mpirun WEFT_JOBS=$top/jobs OMPI_MCA_rmaps_base_oversubscribe=1 \
        SLURM_NTASKS=1 timeout $hang_s bash "$top/jobs/check.sbatch" level=quick 3>&-
}

@test "a WEFT that cannot be run is refused, and no other weft takes its place; without WEFT the one on PATH is taken" {
    mkdir bin
    printf '#!/bin/sh\necho "the other one"\n' >bin/weft
    printf '#!/bin/sh\n' >mine
    chmod +x bin/weft
    local name
    for name in "$PWD/mine" "$PWD/nowhere" "$PWD"; do
        PATH=$PWD/bin:$PATH run element "$name"
        expect "status" 2 "$status" || { echo "$output"; return 1; }
        expect "said" "WEFT=$name is no program that can be run here" "$output"
    done
    PATH=$PWD/bin:$PATH run element ""
    expect "without WEFT" "0 the other one" "$status $output"
}

@test "two elements on one node, whose partition shares nodes, do not measure at once" {
    printf '#!/bin/sh\necho begin >>"%s/order"\nsleep 1\necho end >>"%s/order"\n' "$PWD" "$PWD" >slow
    chmod +x slow
    element "$PWD/slow" >first &
    element "$PWD/slow" >second
    wait $!
    expect "order" "begin end begin end" "$(xargs <order)"
    expect "who says that it waits" 1 "$(cat first second | grep -c '^another check of n7 is under way')"
}

reference() { "$top/jobs/check_reference" "$@" >ref.json 2>said; }
of_reference() { jq -c "$1" ref.json; }

@test "a reference of the checks of several machines: the lowest and the highest rate, and how many machines have it" {
    nodes 2
    jq -c '.check.ranks[].uuid |= sub("GPU"; "GPU-n2") | (.check.rows[] | select(.like == "copy") | .median, .least) *= 0.98
        | .check.rows |= map(select(.like != "read"))' checks/n2.jsonl >slower
    cat slower slower >checks/n2.jsonl # twice the same machine
    jq -c '.check.verdict = "slow"' checks/n1.jsonl >checks/n3.jsonl
    reference checks/n2.jsonl checks/n1.jsonl
    expect "copy, the higher rate last" true "$(of_reference '.rates.copy.high == 4020000000000')"
    reference checks/n1.jsonl checks/n2.jsonl
    expect "copy, alone or at once" true "$(of_reference '.rates.copy == {"low": 3900200000000, "high": 4020000000000, "machines": 2}')"
    expect "read, of one machine" 1 "$(of_reference .rates.read.machines)"
    expect "what it is of" '["NVIDIA H200",2,1]' "$(of_reference '[.gpu, .ranks, .hosts]')"
    [[ "$(of_reference .made)" == '"of 2 checks on 2 machines, '* ]] || { cat ref.json; return 1; }
    sed 's/NVIDIA H200/NVIDIA H100/g; s/GPU-0b/GPU-1b/g' checks/n1.jsonl >other.jsonl
    for files in "checks/n3.jsonl" "checks/n1.jsonl other.jsonl"; do
        run "$top/jobs/check_reference" $files
        expect "status of $files" 2 "$status"
    done
    expect "several GPUs" "check_reference: the checks are of NVIDIA H100 and NVIDIA H200; a reference is of one GPU" "${lines[-1]}"
}
