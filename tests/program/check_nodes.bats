# A node per element of an array: jobs/check.sbatch leaves records of its node, jobs/judge ranks the nodes.
load ../support/helper

nodes() { # how many: folder checks with a file for each, all of which deliver
    local i
    mkdir checks
    python3 "$top/tests/support/check_records.py" 1 2 1 |
        jq -c '.check |= (.verdict = "delivers" | .suspects = [])' >one
    for ((i = 1; i <= $1; i++)); do sed 's/"host":"n1"/"host":"n'$i'"/g' one >checks/n$i.jsonl; done
}

changed() { # node filter: its record
    jq -c "$2" "checks/n$1.jsonl" >now && mv now "checks/n$1.jsonl"
}

summary() { # status head the-first-nodes
    run "$top/jobs/judge" checks
    expect status "$1" "$status"
    expect "head" "$2" "${lines[0]}"
    [ "$(wc -l <<<"$output")" -le 40 ] && [[ "$(sed -n 2,3p <<<"$output" | tr -s ' ' | paste -sd ';')" == $3 ]] || { echo "$output"; return 1; }
}

@test "nodes that deliver; one that is slow beside the others, though its own check delivers; one whose check is incomplete" {
    nodes 30
    summary 0 "30 nodes: 30 delivers" "*"
    changed 7 '(.check.figures[] | select(.like == "copy") | .rate) *= 0.8'
    cat one >all
    cat checks/n7.jsonl >>all && mv all checks/n7.jsonl # a node's last record counts
    summary 1 "30 nodes: 29 delivers, 1 slow" "n7 slow 80 % memory copy: 80 % of the nodes' median;*"
    changed 9 '(.check.figures[] | select(.like == "read")) |= (.rate *= 0.8 | .noise = 0.1)'
    jq -c '{check_part: {level: "quick", ranks: .check.ranks}}' checks/n8.jsonl >checks/n8.jsonl.part
    rm checks/n8.jsonl
    summary 3 "30 nodes: 28 delivers, 1 slow, 1 incomplete" "n8 incomplete *the check did not end*;n7 slow *"
}

element() { # program: an element of an array, on node n7, with the words after it
    env -u WEFT SLURM_JOB_ID=1 SLURMD_NODENAME=n7 ${1:+WEFT="$1"} WEFT_LAUNCHER=mpirun WEFT_JOBS=$top/jobs OMPI_MCA_rmaps_base_oversubscribe=1 \
        SLURM_NTASKS=2 timeout $hang_s bash "$top/jobs/check.sbatch" level=quick "${@:2}" 3>&-
}

@test "an element of the array checks its node" {
    element "$weft" device=host budget=0.01 reference=none >said || true
    expect "ranks, level" "2 quick" "$(record '"\(.check.ranks | length) \(.check.level)"' checks/n7.jsonl)"
    "$top/jobs/judge" checks --page n7.html >said || [[ $? = [14] ]]
    grep -q '<h1>weft check: 2 ranks' n7.html
}

@test "a WEFT that cannot be run is refused, and no other weft takes its place; without WEFT the one on PATH is taken" {
    mkdir bin
    printf '#!/bin/sh\necho "the other one"\n' >bin/weft
    chmod +x bin/weft
    PATH=$PWD/bin:$PATH run element "$PWD/nowhere"
    expect "said" "2 WEFT=$PWD/nowhere is no program that can be run here" "$status $output"
    PATH=$PWD/bin:$PATH run element ""
    [ "$status" = 0 ] && [[ "$output" == "the other one"* ]] || { echo "$output"; return 1; }
}

@test "a node without python3: a sentence, and the status of the check" {
    mkdir bin
    ln -s $(command -v bash env timeout dirname mkdir flock) bin
    printf '#!/bin/bash\nexit 4\n' >bin/srun
    chmod +x bin/srun
    PATH=$PWD/bin run element "$weft"
    expect "said" "4 no python3 on this node: srun launches without jobs/site.ini" "$status $output"
}

@test "two elements on one node, whose partition shares nodes, do not measure at once" {
    printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0\necho begin >>%s/order\nsleep 1\necho end >>%s/order\n' "$PWD" "$PWD" >slow
    chmod +x slow
    element "$PWD/slow" >first &
    element "$PWD/slow" >second
    wait $!
    expect "order" "begin end begin end" "$(xargs <order)"
    expect "who says that it waits" 1 "$(cat first second | grep -c '^another check of n7 is under way')"
}

@test "a reference of the checks of several machines: the lowest and the highest rate, and how many machines have it" {
    nodes 2
    changed 2 '.check.ranks[].uuid |= sub("GPU"; "GPU-n2") | (.check.rows[] | select(.like == "copy") | .median, .least) *= 0.98
        | .check.rows |= map(select(.like != "read"))'
    cp checks/n2.jsonl again
    cat again >>checks/n2.jsonl # the same machine
    "$top/jobs/check_reference" checks/n2.jsonl checks/n1.jsonl >ref.json
    expect "copy, of both" '{"low":3900200000000,"high":4020000000000,"machines":2}' "$(jq -c '.rates.copy | map_values(. + 0)' ref.json)"
    expect "read, of one; what it is of" '[1,"NVIDIA H200",2,1]' "$(jq -c '[.rates.read.machines, .gpu, .ranks, .hosts]' ref.json)"
    jq -e '.made | startswith("of 2 checks on 2 machines, ")' ref.json
    changed 2 '.check.verdict = "slow"'
    sed 's/NVIDIA H200/NVIDIA H100/g; s/GPU-0b/GPU-1b/g' checks/n1.jsonl >other.jsonl
    run "$top/jobs/check_reference" checks/n2.jsonl
    expect "status where none delivers" 2 "$status"
    run "$top/jobs/check_reference" checks/n1.jsonl other.jsonl
    expect "several GPUs" "2 check_reference: the checks are of NVIDIA H100 and NVIDIA H200; a reference is of one GPU" "$status ${lines[-1]}"
}
