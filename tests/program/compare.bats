# jobs/compare tells what differs from what is noise: a rank-sum test, exact for few runs, whose probabilities are known.
load ../support/helper

# Records of runs: settings and medians in ms, as "lanes ms ms ms ...", one setting a line on stdin.
records_of() {
    jq -Rc 'split(" ") | map(tonumber) | .[0] as $lanes | .[1:][]
        | {problem: {kind: "heat", dtype: "f32", order: 2}, grid: {nx: 64, ny: 64}, ranks: 2,
        device: "host", asked: {transport: "auto", lanes: $lanes}, step_s: {p50: (. / 1e3)}, verdict: "exact"}'
}
row() { grep "^lanes=$1 " said | tr -s ' ' | cut -d ' ' -f 2- | sed 's/ $//'; }

@test "what is slower or faster beyond the noise, and by what probability" {
    # separated by 10 %: 1 of C(6,3) = 20; shuffled; 3 % and less is nothing; overlapping: 7 of 20 sums of ranks are as large
    printf '1 1.00 1.01 1.02\n2 2 2.1 2.2\n3 1.00 1.01 1.02\n4 1.0 1.2 1.3\n5 5 5\n6 1 1 1\n' | records_of >a.jsonl
    printf '1 1.12 1.10 1.11\n2 1.5 1.6 1.4\n3 1.03 1.04 1.04\n4 1.1 1.25 1.4\n5 9 9\n6 1 1 1\n' | records_of >b.jsonl
    run "$top/jobs/compare" a.jsonl b.jsonl
    echo "$output" | tee said
    expect status 1 "$status"
    expect "slower" "3 3 1.01 ms 1.11 ms +9.90 % 0.05 slower" "$(row 1)"
    expect "faster" "3 3 2.1 ms 1.5 ms -28.57 % 0.05 faster" "$(row 2)"
    expect "less than 3 %" "3 3 1.01 ms 1.04 ms +2.97 % 0.05" "$(row 3)"
    expect "within the noise: 7 of 20" "3 3 1.2 ms 1.25 ms +4.17 % 0.35" "$(row 4)"
    expect "too few" "2 2 5 ms 9 ms +80.00 % 0.17 ?" "$(row 5)"
    expect "all alike" "3 3 1 ms 1 ms +0.00 % 1" "$(row 6)"
    expect "the last line" "1 of 6 settings slower, 1 faster, of more than 3 %; 1 with too few runs to tell (?)" "$(tail -n 1 said)"
    run "$top/jobs/compare" b.jsonl a.jsonl
    expect "the other way" 1 "$status"
    run "$top/jobs/compare" a.jsonl a.jsonl
    expect "a file beside itself" 0 "$status"
    run "$top/jobs/compare" a.jsonl b.jsonl --alpha 0.01
    expect "a smaller P" 0 "$status"
    run "$top/jobs/compare" a.jsonl b.jsonl --least 12
    expect "more than 12 %" 0 "$status"
}

@test "many runs: the normal distribution takes over where the exact one ends" {
    local i half=() other=()
    for ((i = 0; i < 12; i++)); do half+=("1.$((10 + i))") other+=("1.$((15 + i))"); done
    echo "1 ${half[*]}" | records_of >a.jsonl
    echo "1 ${other[*]}" | records_of >b.jsonl
    "$top/jobs/compare" a.jsonl b.jsonl >said || true
    exact=$(grep -o '[0-9.e-]* *slower' said | cut -d ' ' -f 1)
    echo "1 1.155" | records_of >>a.jsonl # the 25th, in the middle of A
    "$top/jobs/compare" a.jsonl b.jsonl >said || true
    normal=$(grep -o '[0-9.e-]* *slower' said | cut -d ' ' -f 1)
    echo "exact $exact, normal $normal"
    awk -v e="$exact" -v n="$normal" 'BEGIN { exit !(e > 1e-4 && e < 1e-2 && n > e / 1.5 && n < 1.5 * e) }'
}

@test "failed verdicts of B, and files that hold nothing in common" {
    echo "1 1 1 1" | records_of >a.jsonl
    { cat a.jsonl; head -n 1 a.jsonl | jq -c '.verdict = "failed"'; } >b.jsonl
    run "$top/jobs/compare" a.jsonl b.jsonl
    expect status 1 "$status"
    [[ $output == *"1 runs of B have failed verdicts"* ]]
    echo "2 1 1 1" | records_of >c.jsonl
    run "$top/jobs/compare" a.jsonl c.jsonl
    expect "nothing in common" 2 "$status"
    run "$top/jobs/compare" a.jsonl
    expect "one file" 2 "$status"
    echo "garbage" >>a.jsonl
    "$top/jobs/compare" a.jsonl a.jsonl 2>&1 | grep 'left out 1 lines'
}

@test "rungs of weft bench are compared too" {
    jq -nc 'range(3) | {family: "halo", rung: "ring", device: "host", dtype: "f32", ranks: 2, parameters: {bytes: 8},
        verified: true, time_s: {p50: (1 + . / 100)}}' >a.jsonl
    jq -c '.time_s.p50 *= 1.2' a.jsonl >b.jsonl
    run "$top/jobs/compare" a.jsonl b.jsonl
    expect status 1 "$status"
    [[ $output == *"1 of 1 settings slower"* ]]
}
