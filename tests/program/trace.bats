# output.trace leaves a timeline that Perfetto opens: all ranks on one clock, spans of a thread one after
# another.
load ../support/helper

plate=(problem.kind=heat problem.alpha=0.2 grid.nx=900 grid.ny=700 time.steps=320 run.device=host
    output.trace=t.json)

spans='[.traceEvents[] | select(.ph == "X")]'
whole="$spans"' | {
    numbers: any(.[]; [.ts, .dur, .pid, .tid, .args.step] | all(type == "number") | not),
    "not from 0 on": (map(.ts) | min != 0 or any(.[]; . < 0)),
    overlap: any(group_by([.pid, .tid])[] | sort_by([.ts, .ts + .dur])
        | range(1; length) as $i | .[$i].ts - .[$i - 1].ts - .[$i - 1].dur; . < -0.0005)
} | to_entries[] | select(.value).key'

@test "four ranks: every one has its lanes, its exchange and its waits, on one clock" {
    deck d.ini "${plate[@]}"
    weft_run 4 d.ini run.lanes=2 run.ranks_x=2 # columns, which are packed
    expect verdict exact "$(record .verdict)"
    jq -e . t.json >/dev/null
    expect "what is wrong" "" "$(jq -r "$whole" t.json)"
    expect ranks "0 1 2 3" "$(jq -r "$spans"' | map(.pid) | unique | join(" ")' t.json)"
    expect "names of each rank" \
        "boundary fill exchange feed feed shell halo begin interior pack shell wait for messages" \
        "$(jq -r "$spans"' | group_by(.pid) | map(map(.name) | unique | join(" ")) | unique | join("; ")' t.json)"
    expect threads "comm host lane 0 lane 1" \
        "$(jq -r '[.traceEvents[] | select(.name == "thread_name" and .pid == 3).args.name] | sort
            | join(" ")' t.json)"
    expect "clocks of four ranks" 4 \
        "$(jq '.otherData.ranks | map(select(.error_us >= 0 and .device_error_us >= 0)) | length' t.json)"
    expect "the offsets of one host" "0 0 0 0" \
        "$(jq -r '.otherData.ranks | map(.offset_us + 0) | join(" ")' t.json)"
    expect "half written files" "" "$(find . -name '*.tmp*')"
}

@test "only the first 100 probed steps are kept; a checkpoint or a restart spoils nothing" {
    deck d.ini "${plate[@]}"
    steps() { jq -r "$spans"' | map(.args.step) | unique | .[:3] + [max, length] | join(" ")' t.json; }
    weft_alone d.ini grid.nx=20 grid.ny=20 time.steps=1699
    expect "first levels, last, count" "1 17 33 1585 100" "$(steps)"
    weft_run 2 d.ini time.steps=40 checkpoint.every=20
    weft_run 2 d.ini time.steps=80 checkpoint.every=20 --restart checkpoints
    run -3 bash -c 'ulimit -f 8; "$0" run d.ini --quiet grid.nx=20 time.steps=1699 output.record=none' "$weft"
    [[ $output == *"output.trace = t.json cannot be written: File too large"* ]]
    expect "what is wrong, steps" " 41 57 73 73 3" "$(jq -r "$whole" t.json) $(steps)"
}
