# weft check names the part that is at fault: a disk that loses a page, a slow rank or link. The sanitizers' build has
# these faults on request of WEFT_FAULT.
load ../support/helper
weft=$weft_sanitize

check() { # fault key=value...
    WEFT_FAULT=$1 run launch 3 "$weft" check device=host level=quick budget=0.1 "${@:2}"
}
of_check() { tail -n 1 check.jsonl | jq -r ".check | $1"; }

@test "a disk that loses a page: the disk is to blame, and no file stays" {
    mkdir files
    check checkpoint_flip:2 dir=files
    expect verdict wrong "$(of_check .verdict)"
    expect suspect disk "$(of_check '.suspects | map(.part) | join(", ")')"
    [[ "$(jq -r '.check.faults[].where' check.jsonl)" == *"rank 2 read back other values than were written"* ]] || { jq .check.faults check.jsonl; return 1; }
    expect "files that stay" "" "$(ls files)"
}

# Two or three small rounds tell; where others use the machine so much that most of them are lost, some more.
rounds_of_check() {
    [ -e check.jsonl ] &&
        { grep -q '"verdict":"slow"' check.jsonl || [ "$(grep -c '"verdict"' check.jsonl)" -ge 24 ]; }
}
slow() { # fault [ranks]
    WEFT_FAULT=$1 WEFT_FAULT_PERCENT=300 start "${2:-4}" check device=host level=soak budget=0.05
    wait_for rounds_of_check
    kill -USR1 $mpirun
    ends
    expect verdict slow "$(of_check .verdict)"
}

@test "a rank or a link that takes four times as long: it alone is blamed" {
    slow slow_gpu:2 3
    expect suspects "gpu 2" "$(of_check '.suspects | map("\(.part) \(.a)") | join(", ")')"
    rm check.jsonl
    slow slow_link:1
    expect suspects "link 1-2" "$(of_check '.suspects | map("\(.part) \(.a)-\(.b)") | join(", ")')"
}

@test "trials that take a second each: a quick check ends within 30 seconds, with the same trials in each round, and says what it had no time for" {
    WEFT_FAULT=slow_trials:1 run launch 4 "$weft" check device=host level=quick budget=0.2
    [ "$(jq '.check.now_s <= 30' check.jsonl | sort -u)" = true ] || { jq .check.now_s check.jsonl; return 1; }
    expect "trials of the rounds" 1 "$(jq -c '[.check.figures[] | select(.a >= 0 and .like != "patterns") | [.like, .a, .b, .alone]] | sort' check.jsonl | sort -u | wc -l)"
    [[ "$(of_check .not_tried)" == *"no time for "*" of 28 trials of ranks by themselves"* ]] || { of_check .not_tried; return 1; }
    expect rounds 2 "$(wc -l <check.jsonl)"
    grep -q 'not tried: .*no time for' <<<"$output"
}
