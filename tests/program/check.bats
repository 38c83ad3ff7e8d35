# weft check runs on any number of ranks of the host device, says what was wrong with its words, and prints what it knows where ranks die.
load ../support/helper

check() { # ranks key=value...
    run launch "$1" "$weft" check device=host budget=0.2 "${@:2}"
}
record_of_check() { tail -n 1 check.jsonl | jq -r "$1"; }
likes() { record_of_check '[.check.figures[].like] | unique | join(" ")'; } # not the transports' names, which follow the machine

@test "one rank: everything but pairs; a record for each round, with the machine" {
    check 1
    [[ "$output" == *"there is one rank"* || "$status" = 0 ]]
    for like in copy fma_f32 fma_f64 heat_blocks heat_single read transpose; do
        [[ " $(likes) " == *" $like "* ]] || { likes; return 1; }
    done
    [[ " $(likes) " != *" pair_"* ]]
    expect "rounds counted from 0" 0,1 "$(jq -s -r '.[:2] | map(.check.round | tostring) | join(",")' check.jsonl)"
    expect program weft "$(record_of_check .program)"
}

@test "four ranks: each alone and all at once, every pair once in each round" {
    check 4
    expect "pairs both ways" "0-1 0-2 0-3 1-2 1-3 2-3" \
        "$(record_of_check '[.check.figures[] | select(.like == "pair_both") | "\(.a)-\(.b)"] | sort | join(" ")')"
    expect "pairs one way" 12 "$(record_of_check '[.check.figures[] | select(.like == "pair_oneway")] | length')"
    expect "copies" "false 0123 true 0123" \
        "$(record_of_check '.check.figures | map(select(.like == "copy")) | group_by(.alone) | map("\(.[0].alone) \(map(.a | tostring) | sort | join(""))") | join(" ")')"
}

@test "bad words: the key, the value and what is allowed, exit 2" {
    local case
    for case in "level=fast|level = fast; allowed: quick, full, soak" "time=soon|time = soon; allowed: 1 s to 30 days" \
        "device=gpu|device = gpu; allowed: auto, host, cuda" "budget=0|budget = 0; allowed: 0.01 s" "threads=-1|threads = -1; allowed" \
        "stall_limit=x|stall_limit = x; allowed" "dir=/nowhere|dir = /nowhere: No such file or directory; allowed: a folder" \
        "lvel=full|unknown key lvel; the nearest is level" "soak|unknown word 'soak'; allowed: fs, storm"; do
        run "$weft" check "${case%%|*}"
        expect "status of ${case%%|*}" 2 "$status"
        [[ "$output" == "weft: ${case#*|}"* && "${#lines[@]}" = 1 ]] || { echo "$output"; return 1; }
    done
    run "$weft" check device=host output=nowhere/check.jsonl
    expect status 3 "$status"
    [[ "$output" == *"weft: output = nowhere/check.jsonl: No such file or directory" ]]
}
