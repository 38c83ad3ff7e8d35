# The commands of jobs/ work on what runs leave: a study becomes records and a table. Pictures of them are in plots.bats.
load ../support/helper
load ../support/study_records

study() { # arguments of jobs/study
    WEFT=$weft WEFT_MPIRUN_FLAGS=$LAUNCH_FLAGS PATH=$(dirname "$(command -v "$MPIRUN")"):$PATH \
        timeout $hang_s "$top/jobs/study" "$@" 3>&-
}
@test "a strong study: one record a run, the grid stays, nothing else is written, and what is there is not run again" {
    study mode=strong ranks="1 2" repeats=2 deck=d.ini out=s.jsonl launcher=mpirun run.lanes=2 >said
    expect "ranks of the records" "1 1 2 2" "$(jq .ranks s.jsonl | sort | xargs)"
    expect "grids" "400 300" "$(jq -r '"\(.grid.nx) \(.grid.ny)"' s.jsonl | sort -u)"
    expect "settings" 2 "$(jq .asked.lanes s.jsonl | sort -u)"
    expect files "d.ini s.jsonl said" "$(printf '%s\n' * | LC_ALL=C sort | xargs)"
    expect "rows of the table" "1 2 2 2" "$(awk '/^values/ { t = 1; next } t && NF { print $1, $2 }' said | grep -v '*' | xargs)"
    head -c 500 s.jsonl >>s.jsonl # a run that was killed in the middle of its line
    echo >>s.jsonl
    sed -i 2d s.jsonl
    study mode=strong ranks="1 2" repeats=2 deck=d.ini out=s.jsonl run.lanes=2 >said 2>complaints
    grep -q '2 points, 2 runs each; 3 of 4 are in s.jsonl' said
    grep -q 's.jsonl: left out 1 lines: 1 damaged, 0 of another kind' complaints
    expect "ranks of the good records" "1 1 2 2" "$("$top/jobs/records" run s.jsonl 2>/dev/null | jq .ranks | sort | xargs)"
}

@test "a weak study: the grid grows with the ranks, and lists of values are combined" {
    study mode=weak ranks="1 3" repeats=1 deck=d.ini out=w.jsonl
    expect "grids" "400 300 400 900" "$(jq -r '"\(.grid.nx) \(.grid.ny)"' w.jsonl | sort | xargs)"
    deck line.ini problem.kind=heat problem.alpha=0.2 grid.nx=400 time.steps=20
    printf '; weak in 1D\n[study]\ndeck = line.ini ; the deck\nmode = weak\nranks = 1, 3\nrepeats = 1\n' >lines.ini
    printf '[grid]\nnx = 50, 70\n[problem]\nalpha=0.1,0.2' >>lines.ini # no newline at its end
    study lines.ini --list >said
    expect "points" "grid.nx=150 grid.nx=210 grid.nx=50 grid.nx=70" "$(grep -o 'grid.nx=[0-9]*$' said | sort -u | xargs)"
    expect "how many" 8 "$(grep -c 'weft run' said)"
    "$top/jobs/plot" w.jsonl other | grep weak
    for name in other other_phases other_steps; do is_png $name.png && grep -q '<svg' $name.svg; done
}

@test "of runs on one rank on several GPUs, each alone, the table takes those on the slowest" {
    made_records
    jq -c 'select(.asked.lanes == 1) | if .ranks == 1 then range(2) as $i | .machine.gpus = [{uuid: "GPU-\($i)"}]
        | .step_s.p50 *= 1 - 0.1 * $i else . end' made.jsonl >each.jsonl
    study deck=d.ini ranks="1 2" repeats=4 out=each.jsonl run.lanes=1 --table >said
    cat said
    grep -q '^# one rank alone on each of 2 GPUs: 900 to 1000 us; the table has the slowest' said
    expect "one rank" '1 4 1 ms 0.0 % 0.12 1.000 1.000' "$(grep '^  *1 ' said | xargs | cut -d ' ' -f 1-9)"
    expect "speed-up on two" 2.000 "$(grep '^  *2 ' said | xargs | cut -d ' ' -f 8)"
}

@test "the table: medians, spread, speed-up and efficiency of each setting, flagged where repeats differ" {
    made_records
    study deck=d.ini ranks="1 2 4" repeats=2 out=made.jsonl run.lanes=1,2 --table >said
    cat said
    grep -q '6 points, 2 runs each; 8 of 12 are in made.jsonl' said
    row() { expect "$1" "$2" "$(grep "^$1 " said | tr -s ' ')"; }
    row 'lanes=1      2' 'lanes=1 2 2 500 us 0.0 % 0.24 2.000 1.000 0.600 0.900'
    row 'lanes=1      4' 'lanes=1 4 2 250 us 16.0 %* 0.48 4.000 1.000 0.600 0.900'
    row 'lanes=2      1' 'lanes=2 1 2 800 us 0.0 % 0.15 1.000 1.000 0.600 0.900'
    grep -q 'the repeats of 1 of 4 points differ' said
    study deck=d.ini ranks="2 4" repeats=2 out=made.jsonl run.lanes=1,2 --table >said
    row 'lanes=1      4' 'lanes=1 4 2 250 us 16.0 %* 0.48 2.000 1.000 0.600 0.900'
    study mode=sweep deck=d.ini ranks=1 repeats=2 out=made.jsonl run.lanes=1,2 >said
    row 'lanes=1      1' 'lanes=1 1 2 1 ms 0.0 % 0.12 0.800 0.600 0.900'
    jq -c '.verdict = "failed"' made.jsonl >wrong.jsonl
    study deck=d.ini ranks=1 repeats=2 out=wrong.jsonl run.lanes=1 --table | grep '0 of 2 are in'
}

@test "a point that fails is named, the others are run, and the status is 1" {
    run study ranks="1" repeats=1 deck=d.ini out=f.jsonl problem.alpha=0.1,7
    expect status 1 "$status"
    [[ $output == *"alpha=7: failed with status 2: weft: "*"problem.alpha"* ]]
    expect "what was run" 0.1 "$(jq '.problem.alpha + 0' f.jsonl)" # jq 1.7 prints a number that it only reads as it stands
}

@test "records: what is no record of weft is left out, and what is printed are JSON and characters of UTF-8" {
    made_records
    {
        jq -c 'select(.ranks == 4)' made.jsonl
        jq -c '(.ranks = true), (.grid.nx = "64"), (.step_s.p50 = 0), del(.problem.kind), (.fuse = "12")' one.jsonl
        sed 's/"ranks":1,/"ranks":NaN,/;q' one.jsonl
        sed 's/"ranks":1,/"ranks":1e999,/;q' one.jsonl
        printf '%5000s\n' '' | tr ' ' '['
        sed 's/"git":"[^"]*"/"git":"\\u001b[31m\xff\\ud800\\ud83d\\ude00"/;q' one.jsonl
        printf ' \r\n\n'
        printf '{"rung":"r","family":"f","swept":"k","sweep":[{"parameters":{"k":1}}],"rate":2}\n'
        printf '{"rung":"r","family":"f","swept":"k","sweep":[{"parameters":{"k":"1"}}]}\n[1]'
    } >mixed.jsonl
    LC_ALL=C "$top/jobs/records" run mixed.jsonl >runs 2>complaints
    expect "the records of runs" "4 4 1" "$(jq .ranks runs | xargs)"
    expect "text" $'\\x1b[31m\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80' "$(tail -n 1 runs | jq -r .git)"
    expect "lines of a deck" "$(jq -r .deck one.jsonl)" "$(tail -n 1 runs | jq -r .deck)"
    expect "complaints" "mixed.jsonl: left out 11 lines: 3 damaged, 8 of another kind" "$(cat complaints)"
    expect "rungs" '{"rung":"r","family":"f","swept":"k","sweep":[{"parameters":{"k":1}}],"rate":2}' \
        "$("$top/jobs/records" bench mixed.jsonl 2>/dev/null)"
    expect "both" 4 "$("$top/jobs/records" any mixed.jsonl 2>/dev/null | wc -l)"
    for i in {1..99}; do cat one.jsonl; done >long.jsonl # more than a pipe holds
    "$top/jobs/records" any long.jsonl 2>complaints | head -n 1 >/dev/null
    expect "what is said to a reader that leaves" "" "$(cat complaints)"
    : >empty.jsonl
    local wrong
    for wrong in "run empty.jsonl" "run nowhere.jsonl" "run ." "some mixed.jsonl" "run"; do
        run "$top/jobs/records" $wrong
        expect "status of $wrong" 2 "$status"
        expect "sentences of $wrong" 1 "$(grep -c '^records: ' <<<"$output")"
    done
}

@test "records: a variant that in-kernel steps do not have never ran, so there was no trial" {
    made_records
    jq -c '(.step_form = "whole"), . | .fuse = 1 | .tune.variant = "straight line"' one.jsonl >tuned.jsonl
    expect "variants" "null straight line" "$("$top/jobs/records" run tuned.jsonl | jq -r .tune.variant | xargs)"
    expect "in the results" "" "$("$top/jobs/records" run "$top"/jobs/results/*/*.jsonl 2>/dev/null |
        jq -r 'select(.step_form == "whole") | .tune.variant // empty' | grep straight)"
}

@test "every study of jobs/studies has its points" {
    local file
    for file in "$top"/jobs/studies/*.ini; do
        study "$file" out=none.jsonl --list >said
        expect "$file: settings of a key" 0 "$(grep -c 'weft run.*=[^ ]*,' said)"
        expect "$file: points" "$(sed -n '1s/ points.*//p' said)" "$(grep -c 'weft run' said)"
    done
}

@test "bad arguments of a study are refused" {
    printf 'deck d.ini\n' >bad.ini
    local wrong
    for wrong in mode=sideways deck=nowhere.ini "ranks=1 x" repeats=0 launcher=rocket speed=9 bad.ini nowhere.ini --what; do
        run study deck=d.ini "$wrong"
        expect "status of $wrong" 2 "$status"
        expect "sentences of $wrong" 1 "$(grep -c '^study: ' <<<"$output")"
    done
}

@test "a study on GPUs asks for them: one per rank, unless its options do" {
    mkdir bin
    printf '#!/bin/sh\necho "$@" >>asked\necho 7\n' >bin/sbatch
    chmod +x bin/sbatch
    local PATH=$PWD/bin:$PATH
    "$top/jobs/study" deck=d.ini ranks=6 ranks_per_node=4 run.device=cuda out=g.jsonl --submit >said
    "$top/jobs/study" deck=d.ini ranks=2 run.device=cuda sbatch=--gres=gpu:a:8 out=g.jsonl --submit >>said
    "$top/jobs/study" deck=d.ini ranks=2 out=g.jsonl --submit >>said
    expect "what sbatch was asked" "--nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --nodes=1 --ntasks-per-node=2 --gres=gpu:a:8 \
--nodes=1 --ntasks-per-node=2" "$(sed 's/--parsable //;s/ --array.*//' asked | xargs)"
    for file in "$top"/jobs/studies/*.ini; do
        ! grep -q 'GPUs' "$file" || grep -q 'device = cuda\|run.device=cuda' "$file" || { echo "$file"; return 1; }
    done
}

@test "the Slurm scripts are sound shell and say how they are used" {
    local script
    for script in weft.sbatch study.sbatch check.sbatch; do
        bash -n "$top/jobs/$script"
        run bash "$top/jobs/$script"
        expect status 2 "$status"
    done
    run bash "$top/jobs/weft.sbatch"
    [[ $output == usage:* ]]
}
