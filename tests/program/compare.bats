# jobs/compare tells what differs from what is noise: a rank-sum test, exact for few runs, whose probabilities are known, and which is
# corrected for the number of settings. Without the packages that it needs it says which.
load ../support/helper

compare=$top/jobs/compare

# Records of runs: settings and medians in ms, as "lanes ms ms ms ...", one setting a line on stdin.
records_of() {
    jq -Rc 'split(" ") | map(tonumber) | .[0] as $lanes | .[1:][]
        | {problem: {kind: "heat", dtype: "f32", order: 2}, grid: {nx: 64, ny: 64}, ranks: 2,
        device: "host", asked: {transport: "auto", lanes: $lanes}, step_s: {p50: (. / 1e3)}, verdict: "exact"}'
}
row() { grep "^lanes=$1 " said | tr -s ' ' | cut -d ' ' -f 2- | sed 's/ $//'; }

setup_file() {
    local status=0
    cd "$BATS_FILE_TMPDIR"
    echo "1 1" | records_of >a.jsonl
    why_not=$("$compare" a.jsonl a.jsonl 2>&1 3>&-) || status=$?
    case $status in 3 | 127) ;; *) why_not= ;; esac
    export why_not
}
setup() {
    [ -z "$why_not" ] || skip "$why_not"
    cd "$BATS_TEST_TMPDIR" || exit 1
}

# Settings 1, 2, ... with as many runs each, of 1 ms and noise as wide as is told, in A and in B; in B setting 1 is slower by a factor.
noisy() { # settings runs noise factor
    python3 - "$@" <<'END'
import random, sys
settings, runs, noise, factor = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
random.seed(20261123)
for name in "ab":
    with open(name, "w") as file:
        for lanes in range(1, settings + 1):
            scale = factor if name == "b" and lanes == 1 else 1
            times = [scale * (1 + noise * (random.random() - 0.5)) for _ in range(runs)]
            print(lanes, *times, file=file)
END
    records_of <a >a.jsonl
    records_of <b >b.jsonl
}

@test "what is slower or faster beyond the noise, and by what probability" {
    # 1, 2: separated, 1 of C(10,5) = 252, times the 5 settings that are tested; 3: 3 % and less is nothing; 4: overlapping, 58 of 252
    # sums of ranks are as large, times the 3 settings whose P is no smaller; 5: too few; 6: all alike, ties counted
    printf '%s\n' '1 1.00 1.01 1.02 1.01 1.01' '2 2 2.1 2.2 2.1 2.1' '3 1.00 1.01 1.02 1.01 1.005' '4 1.0 1.2 1.3 1.4 1.5' \
        '5 5 5 5 5' '6 1 1 1 1 1' | records_of >a.jsonl
    printf '%s\n' '1 1.12 1.10 1.11 1.13 1.14' '2 1.5 1.6 1.4 1.5 1.5' '3 1.03 1.04 1.04 1.03 1.04' '4 1.1 1.25 1.4 1.6 1.7' \
        '5 9 9 9 9 9' '6 1 1 1 1 1' | records_of >b.jsonl
    run "$compare" a.jsonl b.jsonl
    echo "$output" | tee said
    expect status 1 "$status"
    expect "slower" "5 5 1.01 ms 1.12 ms +10.89 % 0.02 slower" "$(row 1)"
    expect "faster" "5 5 2.1 ms 1.5 ms -28.57 % 0.02 faster" "$(row 2)"
    expect "less than 3 %" "5 5 1.01 ms 1.04 ms +2.97 % 0.02" "$(row 3)"
    expect "within the noise" "5 5 1.3 ms 1.4 ms +7.69 % 0.69" "$(row 4)"
    expect "too few" "4 5 5 ms 9 ms +80.00 % - ?" "$(row 5)"
    expect "all alike" "5 5 1 ms 1 ms +0.00 % 1" "$(row 6)"
    expect "the last line" "1 of 6 settings slower, 1 faster, of more than 3 %; 1 with too few runs to tell (?): run each 5 times" \
        "$(tail -n 1 said)"
    run "$compare" b.jsonl a.jsonl
    expect "the other way" 1 "$status"
    run "$compare" a.jsonl a.jsonl
    expect "a file beside itself" 0 "$status"
    run "$compare" a.jsonl b.jsonl --alpha 0.01
    expect "a smaller P, for which there are too few runs" 2 "$status"
    run "$compare" a.jsonl b.jsonl --least 12
    expect "more than 12 %" 0 "$status"
}

@test "of 200 settings a regression of 5 % in ten runs of little noise is found, and noise alone is none" {
    noisy 200 10 0.02 1.05
    run "$compare" a.jsonl b.jsonl
    expect status 1 "$status"
    expect "what is slower" "lanes=1" "$(grep 'slower$' <<<"$output" | cut -d ' ' -f 1)"
    expect "the last line" "1 of 200 settings slower, 0 faster, of more than 3 %" "$(tail -n 1 <<<"$output")"
    noisy 200 10 0.3 1
    run "$compare" a.jsonl b.jsonl
    expect "noise alone" 0 "$status"
    expect "the last line of noise" "0 of 200 settings slower, 0 faster, of more than 3 %" "$(tail -n 1 <<<"$output")"
    noisy 200 8 0.3 1.5
    run "$compare" a.jsonl b.jsonl
    expect "eight runs suffice" "1 of 200 settings slower, 0 faster, of more than 3 %" "$(tail -n 1 <<<"$output")"
}

@test "too few runs are refused with what it takes, whatever they differ by" {
    noisy 3 1 0.01 2
    run "$compare" a.jsonl b.jsonl
    expect "status of one run" 2 "$status"
    expect "the sentence" "compare: too few runs: run each setting 5 times for A and 5 for B" "$(tail -n 1 <<<"$output")"
    expect "the table" 3 "$(grep -c ' -  ?$' <<<"$output")"
    noisy 3 4 0.01 2
    run "$compare" a.jsonl b.jsonl
    expect "status of four runs" 2 "$status"
    noisy 200 5 0.01 2
    run "$compare" a.jsonl b.jsonl
    expect "status of five runs of 200 settings" 2 "$status"
    expect "what they take" "compare: too few runs: run each setting 8 times for A and 8 for B" "$(tail -n 1 <<<"$output")"
}

@test "many runs: the normal distribution takes over where the exact one ends" {
    local i half=() other=()
    for ((i = 0; i < 30; i++)); do half+=("1.$((10 + i))") other+=("1.$((19 + i))"); done
    echo "1 ${half[*]}" | records_of >a.jsonl
    echo "1 ${other[*]}" | records_of >b.jsonl
    "$compare" a.jsonl b.jsonl >said || true
    exact=$(grep -o '[0-9.e-]* *slower' said | cut -d ' ' -f 1)
    echo "1 1.245" | records_of >>a.jsonl # the 61st, in the middle of A
    "$compare" a.jsonl b.jsonl >said || true
    normal=$(grep -o '[0-9.e-]* *slower' said | cut -d ' ' -f 1)
    echo "exact $exact, normal $normal"
    awk -v e="$exact" -v n="$normal" 'BEGIN { exit !(e > 1e-4 && e < 1e-2 && n > e / 1.5 && n < 1.5 * e) }'
    printf '1%s\n' "$(printf ' 2%.0s' {1..40})" | records_of >a.jsonl
    run "$compare" a.jsonl a.jsonl
    expect "forty runs, all alike" "5 40 2 ms 2 ms +0.00 % 1" "5 $(grep -o '40 *2 ms.*' <<<"$output" | tr -s ' ' | sed 's/ $//')"
}

@test "failed verdicts of B, and files that hold nothing in common" {
    echo "1 1 1 1 1 1" | records_of >a.jsonl
    { cat a.jsonl; head -n 1 a.jsonl | jq -c '.verdict = "failed"'; } >b.jsonl
    run "$compare" a.jsonl b.jsonl
    expect status 1 "$status"
    [[ $output == *"1 runs of B have failed verdicts"* ]]
    jq -c '.verdict = "failed"' a.jsonl >c.jsonl
    run "$compare" a.jsonl c.jsonl
    expect "nothing but failed runs" 1 "$status"
    expect "nothing but failed runs" "5 runs of B have failed verdicts" "$(tail -n 1 <<<"$output")"
    echo "2 1 1 1" | records_of >c.jsonl
    run "$compare" a.jsonl c.jsonl
    expect "nothing in common" 2 "$status"
    local wrong
    for wrong in a.jsonl "a.jsonl nowhere.jsonl" "a.jsonl a.jsonl a.jsonl" "a.jsonl a.jsonl --least x" "a.jsonl a.jsonl --alpha 0" \
        "a.jsonl a.jsonl --what"; do
        run "$compare" $wrong
        expect "status of $wrong" 2 "$status"
        expect "sentences of $wrong" 1 "$(grep -c '^compare: ' <<<"$output")"
    done
    echo "garbage" >>a.jsonl
    "$compare" a.jsonl a.jsonl 2>&1 | grep 'left out 1 lines'
}

@test "rungs of weft bench are compared too, and fields that are not what they should be end nothing" {
    jq -nc 'range(5) | {family: "halo", rung: "ring", device: "host", dtype: "f32", ranks: 2, parameters: {bytes: 8},
        verified: true, time_s: {p50: (1 + . / 100)}}' >a.jsonl
    jq -c '.time_s.p50 *= 1.2' a.jsonl >b.jsonl
    jq -c 'select(.time_s.p50 == 1) | (.time_s = null), (.time_s.p50 = "1"), (.verified = null), (.parameters.bytes = "8")' a.jsonl >odd
    echo "1 1 1" | records_of | jq -c '(.asked = "x"), (.deck = 1), (.rung = "r"), (.problem.dtype = {})' >>odd
    cat odd >>a.jsonl
    cat odd >>b.jsonl
    run "$compare" a.jsonl b.jsonl
    expect status 1 "$status"
    [[ $output == *"1 of "*" settings slower"* ]]
    expect "the rung" 1 "$(grep -c '^.*bytes":8} .*+20.00 % .*  slower$' <<<"$output")"
}

@test "without pandas there is a sentence and status 3, and the module runs as the command does" {
    echo "1 1 1 1 1 1" | records_of >a.jsonl
    echo 'raise ImportError("there is none")' >pandas.py
    run env PYTHONPATH="$PWD" "$compare" a.jsonl a.jsonl
    expect status 3 "$status"
    [[ $output == "compare: "*" cannot import pandas (there is none): install Debian's python3-pandas and python3-scipy, or "* ]]
    expect lines 1 "${#lines[@]}"
    mv pandas.py away.py
    "$compare" a.jsonl a.jsonl >command
    PYTHONPATH=$top/jobs python3 -m weftlab.compare a.jsonl a.jsonl >module
    cmp command module
}
