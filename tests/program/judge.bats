# jobs/judge blames the part that is slow and nobody else: on made machines of 2 to 1024 ranks, in noise, on
# recorded checks of H100s healthy and slowed; its page stands alone.
load ../support/helper
load ../support/check_records

judge() { # status wanted, FILE, option...
    local status=0
    "$top/jobs/judge" "${@:2}" >said 2>err || status=$?
    expect "status" "$1" $status || { cat said err; return 1; }
}
count() { grep -oE "$1" "$2" | wc -l; } # pattern file

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    "$top/jobs/judge" --help >/dev/null
    run "$top/jobs/judge" nowhere.jsonl
    [ "$status" != 3 ] || skip "$output"
    python=python3
    "$python" -c "import numpy" 2>/dev/null || python=/usr/bin/python3
}

@test "made machines: GPUs, links, one way, hosts and pairs of hosts that are slow, alone" {
    "$python" "$top/tests/support/made_checks.py" machines
}

@test "noise: nobody is blamed, and what is slower by three times the noise is, in 995 of 1000" {
    local name
    for name in nobody nobody_of_two nobody_crowded nobody_loaded nobody_quiet gpu gpu_of_two link \
        gpu_crowded link_crowded link_loaded; do
        "$python" "$top/tests/support/made_checks.py" $name 200
    done
}

# Of each recorded check: what it must be, what it is, the suspects.
verdicts() { # FILE.gz
    local line number=0
    while read -r line; do
        jq -c '. as $all | .rounds | to_entries[] | {command: "recorded", check: (.value + {round: .key,
            verdict: "delivers", rows: [], ranks: $all.ranks})}' <<<"$line" >recorded.jsonl
        "$top/jobs/judge" recorded.jsonl >said || true
        echo "$((++number)) $(jq -r '.slow_rank // "healthy"' <<<"$line") $(head -n 1 said | cut -d : -f 1)" \
            "$(sed -nE 's/^[0-9]+\. ([a-zA-Z]+).* of rank ([0-9]+) .*/\1 \2/p' said | sort -u | xargs)"
    done < <(gzip -dc "$1")
}

@test "recorded checks: healthy H100s deliver, a rank that was slowed is named alone" {
    verdicts "$top/tests/support/records/checks/checks_h100.jsonl.gz" >all
    expect "all, healthy that deliver, slowed whose rank is named" "53 38 15" "$(wc -l <all) \
$(grep -cE '^[0-9]+ healthy delivers $' all) $(grep -cE '^[0-9]+ ([0-9]+) slow GPU \1$' all)"
    verdicts "$top/tests/support/records/checks/host_4x.jsonl.gz" >all
    grep -qE '^[0-9]+ ([0-9]+) slow processor \1$' all || { cat all; return 1; }
    ! grep -E ' healthy slow' all
    local file
    for file in $(grep -l '"check":' "$top"/jobs/results/*/*.jsonl); do judge 0 "$file"; done
}

@test "8 ranks with a slow link: its page has the suspect, a cell for each pair and way, and loads nothing" {
    check_records 1 8 2 >slow.jsonl
    judge 1 slow.jsonl --page slow.html --reference none
    grep -q '^1. link of ranks 2 and 3 (n1): 40 %, confidence 0.99: pair, one way alone 40 % (15. GB/s, ' said
    expect "what it would load" "" \
        "$(grep -oE '(src|href)="[^#"][^"]*"|url\([^#)]*\)|@import' slow.html || true)"
    grep -oE '<tr><td>[a-z]+[^<]* (alone|copy|read|f32|steps|peer|host)</td>' slow.html | sort -u >rows
    expect "suspects, rows, cells, cells of the suspect" "1 8 84 3" \
        "$(count '<strong>link of ranks 2 and 3 \(n1\)' slow.html) $(wc -l <rows) $(count '<td data-a' \
            slow.html) $(count '<td [^>]*class="blamed"' slow.html)"
}

@test "wrong bits, hosts whose names are markup, lines of wrong types: named, escaped, left out" {
    check_records 3 2 2 >hosts.jsonl
    jq -c '(.check.ranks[].host |= sub("n2"; "</script><img src=x>"))
        | .check.faults = [{like: "pair_both", a: 4, b: 5, round: 0, where: "word 7: <b>"}, {like: 7}, 8]
        | .check.figures |= map(select(.like != "pair_both" or .a != 4))
            + [{like: "copy", a: 99, b: -1, rate: 1}, {like: "copy", a: "x", b: -1, rate: 1}, 5]' \
        hosts.jsonl >hostile.jsonl
    judge 1 hostile.jsonl --page hostile.html
    expect "verdict" wrong "$(head -n 1 said | cut -d : -f 1)"
    grep -q '^1. link of ranks 4 and 5 (n3): wrong bits, confidence 0.90: wrong bits in pair, both ways' said
    expect "tags of other people, cells of wrong bits" "0 1" \
        "$(count '<img|<b>' hostile.html) $(count '<td [^>]*class="[^"]*faulty' hostile.html)"
}

@test "a rank that has no line in an incomplete round is named" {
    check_records 1 4 2 | jq -c 'if .check.round == 1 then .check |= (.verdict = "incomplete"
        | .ranks[].ended = true | .figures |= map(select(.a != 2 and .b != 2))) else . end' >dead.jsonl
    judge 3 dead.jsonl
    expect "who is silent" "silent: rank 2 (n1)" "$(grep silent said)"
}

@test "a check that died in its first round: its part is judged, the rank without a line named" {
    check_records 1 4 1 >whole.jsonl
    jq -c '{command, check_part: {level: "soak", ranks: .check.ranks}}' whole.jsonl >dead.jsonl.part
    for trial in "memory copy" "pairs, one way"; do
        for rank in 0 1 2 3; do
            [ "$trial $rank" = "pairs, one way 3" ] || jq -c --arg trial "$trial" --argjson rank $rank \
                '{rank: $rank, round: 0, trial: $trial, figures: [.check.figures[] | select(.a == $rank)],
                    faults: []}' whole.jsonl
        done
    done >>dead.jsonl.part
    echo '{"rank": 3, "rou' >>dead.jsonl.part
    judge 3 dead.jsonl
    expect "why" "the check did not end: its last lines are in round 1, trial 'pairs, one way'" \
        "$(sed -n 2p said)"
    expect "who is silent" "silent: rank 3 (n1)" "$(sed -n 3p said)"
}

@test "without numpy there is a sentence and status 3, and a reference that is none is refused" {
    echo 'raise ImportError("there is none")' >numpy.py
    PYTHONPATH=$PWD run "$top/jobs/judge" any.jsonl
    expect status 3 "$status"
    [[ $output == "judge: "*" cannot import numpy (there is none): install Debian's python3-numpy, or "* ]]
    rm numpy.py
    check_records 1 2 2 >two.jsonl
    echo '{"gpu": "NVIDIA H200", "rates": {"copy": {"low": 2, "high": 1, "machines": 1}}}' >bad.json
    judge 2 two.jsonl --reference bad.json
    expect "said" "judge: --reference bad.json: no reference that jobs/check_reference wrote" "$(cat err)"
}
