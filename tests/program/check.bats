# weft check runs on any number of ranks of the host device, says what was wrong with its words, keeps what it
# knows where ranks die, and names the part that is at fault.
load ../support/helper

check() { # ranks key=value...
    run launch "$1" "$weft" check device=host budget=0.2 "${@:2}"
}
of_check() { tail -n 1 check.jsonl | jq -r ".check | $1"; }
suspects() { of_check '.suspects | map("\(.part) \(.a) \(.b)") | join(", ")'; }
likes() { jq -s -r '[.[].check.figures[].like] | unique | join(" ")' check.jsonl; }

@test "one rank: everything but pairs; a record for each round, with the machine" {
    check 1
    expect "what was measured" "checkpoint copy disk_write fma_f32 fma_f64 heat_all heat_blocks heat_single patterns read transpose transpose_all" "$(likes)"
    expect "wrong bits" 0 "$(jq '.check.faults[]' check.jsonl | wc -l)"
    expect "rounds counted from 0" 0,1 "$(jq -s -r '.[:2] | map(.check.round | tostring) | join(",")' check.jsonl)"
}

@test "four ranks: each in turn, every pair once in each round; a line on stderr tells each part" {
    launch 4 "$weft" check device=host budget=0.2 2>err || true
    sed -nE 's/^weft: round 1, [0-9.]+ s: //p' err | diff - <(printf '%s\n' "trials of ranks by themselves" \
        "rounds of pairs" "fillings of memory" "trials of files" "trials of all ranks together")
    grep -qE '^weft: round 2, [0-9.]+ s: trials of ranks by themselves$' err
    [[ " $(likes) " == *" alltoall_staged "*" pair_both pair_oneway "*" ring_staged "* ]] || { likes; return 1; }
    expect "pairs both ways" "0-1 0-2 0-3 1-2 1-3 2-3" \
        "$(of_check '[.figures[] | select(.like == "pair_both") | "\(.a)-\(.b)"] | sort | join(" ")')"
    expect "pairs one way" 12 "$(of_check '[.figures[] | select(.like == "pair_oneway")] | length')"
    expect "copies" "true 0123" \
        "$(of_check '.figures | map(select(.like == "copy")) | "\(.[0].alone) \(map(.a | tostring) | sort | join(""))"')"
}

@test "bad words: the key, the value and what is allowed, exit 2" {
    local case
    for case in "report=x|report: jobs/judge" "level=fast|level = fast; allowed: quick, full, soak" "time=soon|time = soon; allowed: 1 s to 30 days" \
        "device=gpu|device = gpu; allowed: auto, host, cuda" "budget=0|budget = 0; allowed: 0.01 s" \
        "stall_limit=x|stall_limit = x; allowed" "dir=/nowhere|dir = /nowhere: No such file or directory; allowed: a folder" \
        "lvel=full|unknown key 'lvel'; allowed: level" "soak|unknown word 'soak'; allowed: fs, or key=value"; do
        refuses 2 "$weft" check "${case%%|*}" -- "weft: ${case#*|}"
    done
    for case in "x|'[' or '{' expected" '{"rates": 1}|Object item not found: gpu' \
        '{"gpu": "X", "ranks": 4, "hosts": 1, "rates": {"copy": {"low": 2}}}|Object item not found: high' \
        '{"gpu":"X","ranks":4,"hosts":1,"rates":{"copy":{"low":2,"high":1,"machines":2}}}|copy: allowed is'; do
        printf '%s' "${case%|*}" >bad.json
        refuses 3 "$weft" check device=host reference=bad.json -- "jobs/check_reference wrote: ${case##*|}"
    done
    mkfifo pipe
    refuses 3 timeout 20 "$weft" check device=host reference=pipe -- "'[' or '{' expected"
    echo mine >mine.part
    refuses 2 "$weft" check device=host output=mine -- "output = mine.part is no file of records"
    ln -s /dev/full full
    run -3 "$weft" check device=host budget=0.01 output=full
    [[ $output == *"cannot append the record to full: No space left"*"weft check: "* ]]
    run -3 bash -c 'ulimit -f 1; "$0" check device=host budget=0.01' "$weft"
    [[ $output == *"check.jsonl.part: File too large"* ]]
    refuses 3 "$weft" check device=host output=nowhere/check.jsonl -- "output = nowhere/check.jsonl: No such file or directory"
}

endless() { # ranks key=value...; a soak in the background that has finished a round: mpirun's pid is $mpirun
    mkdir -p files
    start "$1" check device=host budget=0.05 level=soak dir=files "${@:2}"
    wait_for [ -s check.jsonl ]
}
a_rank() { pgrep -P $mpirun -f "check device" | tail -n 1; } # the last one

@test "a rank that is killed: the launcher ends the others, and what was measured is in the part of the record" {
    endless 3
    wait_for grep -q '"trial"' check.jsonl.part
    kill -9 "$(a_rank)"
    ends
    [ "$status" != 0 ]
    expect "ranks in the part" 3 "$(head -n 1 check.jsonl.part | jq '.check_part.ranks | length')"
    run "$top/jobs/judge" check.jsonl
    [ "$status" = 3 ] && [[ "$output" == incomplete:*"the check did not end: the last lines that rank 0 wrote are in round "* ]] ||
        { echo "$output"; [[ "$output" == *numpy* ]]; }
    expect "files that stay" "" "$(ls files)"
}

@test "a rank that hangs: each says in which trial it is when the limit is over, but that one; status 3" {
    endless 3 stall_limit=10
    kill -STOP "$(a_rank)"
    wait_for grep -q 'rank 0 on .* made no progress for 10 s in phase .* of round ' out
    kill -KILL "$(a_rank)"
    ends
    expect "who says nothing" "0 1" "$(sed -nE 's/^weft: rank ([0-9]) on .*/\1/p' out | sort -u | xargs)"
}

# mpirun kills a second after its TERM: ranks whose trial lasts longer than .8 s leave without the page.
@test "a soak that is stopped by USR1 or TERM to mpirun, or to one rank, has its verdict from the rounds before" {
    local case signal
    for case in "USR1 mpirun" "TERM mpirun" "USR1 rank" "TERM rank" "INT rank"; do
        signal=${case% *}
        endless 3
        [ "${case#* }" = mpirun ] && kill -$signal $mpirun || kill -$signal "$(a_rank)"
        ends
        [ "$(of_check .verdict)" != incomplete ] || { cat out; return 1; }
        grep -q '^weft check: ' out || { [ "$signal" != USR1 ] && [ "$status" != 0 ]; } || { cat out; return 1; }
        expect "files that stay after $case" "" "$(ls files)"
        rm check.jsonl
    done
}

@test "three hosts, the last one of one rank: pairs within each, and the hosts with each other, every rank with its like" {
    weft=$weft_sanitize WEFT_PRETEND_HOSTS=3 check 5
    expect "pairs" "host_pair 0-2 host_pair 0-4 host_pair 2-4 pair_both 0-1 pair_both 2-3" \
        "$(of_check '[.figures[] | select(.like == "pair_both" or .like == "host_pair") | "\(.like) \(.a)-\(.b)"] | sort | join(" ")')"
}

@test "a disk that loses a page: the disk is to blame, and no file stays" {
    mkdir files
    SHIM=flip SHIM_RANK=2 preloaded check 3 dir=files
    expect "verdict, suspects" "wrong disk -1 -1" "$(of_check .verdict) $(suspects)"
    [[ "$(of_check '.faults[].where')" == *"rank 2 read back other values than were written"* ]]
    expect "files that stay" "" "$(ls files)"
}

# Two or three small rounds tell, on a busy machine some more.
rounds_of_check() {
    [ -e check.jsonl ] && { grep -q '"verdict":"slow"' check.jsonl || [ "$(wc -l <check.jsonl)" -ge 24 ]; }
}
slow() { # fault ranks suspect
    weft=$weft_sanitize WEFT_FAULT=$1 WEFT_FAULT_PERCENT=300 endless $2
    wait_for rounds_of_check
    kill -USR1 $mpirun
    ends
    expect "verdict, suspects" "slow $3" "$(of_check .verdict) $(suspects)"
}

@test "a rank or a link that takes four times as long: it alone is blamed" {
    slow slow_gpu:2 3 "gpu 2 -1"
    rm check.jsonl
    slow slow_link:1 4 "link 1 2"
}

@test "trials that take a second each: a quick check ends within 30 seconds, with the same trials in each round, and says what it had no time for" {
    weft=$weft_sanitize WEFT_FAULT=slow_trials:1 check 4
    expect "rounds that end in time" "[true,true]" "$(jq -cs 'map(.check.now_s <= 30)' check.jsonl)"
    expect "trials of the rounds" 1 "$(jq -c '[.check.figures[] | select(.a >= 0 and .like != "patterns") | [.like, .a, .b, .alone]] | sort' check.jsonl | sort -u | wc -l)"
    [[ "$(of_check .not_tried)" == *"no time for "*" of 28 trials of ranks by themselves"* ]]
    weft=$weft_sanitize WEFT_FAULT=slow_trials:1 WEFT_FAULT_PERCENT=200 check 4 output=busier.jsonl
    expect "rounds, status where the second one has no time" "1 4" "$(wc -l <busier.jsonl) $status"
}
