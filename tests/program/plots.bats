# jobs/plot draws a file of runs: what can be made of it, from medians, with every text in its place and nothing joined or named that
# was not measured. What it makes of `weft bench` is in bench_plots.bats.
load ../support/helper
load ../support/study_records

setup() { python_with matplotlib pandas && study_setup; }

plot=$top/jobs/plot
pictures() { grep -o "^$1[^ ]*\.png" said | xargs; } # prefix

# Draws a file, and looks at where each text lies
in_place() { # FILE.jsonl option...
    PYTHONPATH=$PWD $python "$top/tests/support/picture_check.py" "$top/jobs" "$@" >looked 2>&1 || { cat looked; return 1; }
}

# A line per drawn line and error bar of the second axes: its marker, its style, whether it is filled, and its values
lines_of() { # FILE.jsonl function of run_pictures
    PYTHONPATH=$top/jobs $python - "$@" <<'END_OF_PYTHON'
import sys
from weftlab import frame, pictures, run_pictures
runs, _ = frame.read([sys.argv[1]], "lines_of")
more = {"predicted": pictures.predicted_of(sys.argv[3], "lines_of")} if len(sys.argv) > 3 else {}
for line in getattr(run_pictures, sys.argv[2])(runs, **more).axes[-1].lines:
    face = "hollow" if line.get_mfc() == "none" else "filled"
    values = " ".join(f"{x:g}:{y:.3g}" for x, y in zip(*line.get_data()))
    print(line.get_marker(), line.get_ls(), face if line.get_marker() != "None" else "-", line.get_color() if face == "filled" else line.get_mec(), values)
END_OF_PYTHON
}

@test "what is damaged or foreign, and runs with a failed verdict, are left out and counted, and the rest is drawn as without them" {
    made_records
    "$plot" made.jsonl good >said
    expect "pictures" "good.png good_values.png good_phases.png good_steps.png" "$(pictures good)"
    grep -q '^good.png and good.svg: strong scaling, efficiency 1.00 on 4 ranks$' said
    for word in 'lanes 1' ideal ranks "$(jq -r .git one.jsonl)" "$(jq -r '.started[:10]' one.jsonl)" \
        "$(jq -r .machine.processor one.jsonl)" 'Strong scaling: heat f64, order 2, 400 x 300, fuse' 'Rate by setting: heat f64'; do
        grep -q ">.*$word" good.svg good_values.svg || { echo "no $word"; return 1; }
    done
    {
        head -c 700 one.jsonl
        printf '\n{"loss": 0.5}\n'
        cat made.jsonl
        printf 'Killed\n{"schema":1}{"schema":1}\n\n[1, 2]\n'
        jq -c '.verdict = "failed" | .step_s.p50 = 1e-9' one.jsonl
    } >bad.jsonl
    "$plot" bad.jsonl bad 2>complaints >said
    expect "complaints" $'bad.jsonl: left out 5 lines: 3 damaged, 2 of another kind\nbad.jsonl: left out 1 runs with a failed verdict' \
        "$(cat complaints)"
    for kind in '' _values _phases _steps; do
        is_png bad$kind.png
        cmp good$kind.svg bad$kind.svg
    done
    echo nothing >none.jsonl
    run "$plot" none.jsonl
    expect "status of a file without records" 2 "$status"
}

@test "a point is the median of its runs, and lines join neighbours that were measured" {
    made_records
    jq -c 'select(.asked.lanes == 1), (select(.ranks != 2 and .asked.lanes == 1) | .asked.lanes = 2 | .step_s.p50 *= 2)' made.jsonl >gap.jsonl
    lines_of gap.jsonl draw_scaling >lines
    expect "efficiencies" $'o - filled 1:1 2:1 4:1\ns - filled 1:1 2:nan 4:1' "$(awk '$1 != "None" { $4 = ""; print }' lines | tr -s ' ')"
    jq -c 'select(.asked.lanes == 1 and .ranks != 2)' made.jsonl >two.jsonl
    head -n 1 two.jsonl | jq -c '.step_s.p50 *= 4' >>two.jsonl # and their mean is another
    PYTHONPATH=$top/jobs $python - <<'END_OF_PYTHON'
from weftlab import frame, series
points = series.study_of(frame.read(["two.jsonl"], "test")[0]).series[0].points
assert [round(1e6 * s) for s in points["median"]] == [1000, 250], points
assert [round(1e6 * s) for s in points.fastest] == [1000, 230] and round(1e6 * points.slowest[1]) == 270, points
assert round(1e6 * points.run[1]["step_s.p50"]) == 230, "the run drawn in phases"
END_OF_PYTHON
    # on one rank on each of two GPUs, those on the slower one count
    jq -c 'select(.asked.lanes == 1) | if .ranks == 1 then range(3) as $i | .machine.gpus = [{uuid: "GPU-\([$i, 1] | min)"}]
        | .step_s.p50 *= 1 - 0.1 * ([$i, 1] | min) else . end' made.jsonl >each.jsonl
    "$plot" each.jsonl each | grep '^each.png and each.svg: strong scaling, efficiency 1.00 on 4 ranks$'
}

@test "predicted points are hollow, grey where no record covers them, and no line joins them" {
    made_records
    jq -nc '{predicted: true, ranks: 2, step_s: 5e-4, efficiency: 0.99, beyond: []}, {predicted: true, ranks: 8, step_s: 2e-4, efficiency: 0.7,
        beyond: ["links between hosts"]}, {predicted: true, ranks: 16, step_s: "fast", efficiency: 1}' >p.jsonl
    jq -c 'select(.asked.lanes == 1)' made.jsonl >s.jsonl
    lines_of s.jsonl draw_scaling p.jsonl | grep hollow >hollow
    expect "points" $'o None hollow #222222 2:0.99\no None hollow #a0a0a0 8:0.7' "$(cat hollow)"
    "$plot" s.jsonl s --predicted p.jsonl --what strong >said
    grep -q '>predicted, beyond the records<' s.svg
    in_place s.jsonl --predicted p.jsonl
    run "$plot" s.jsonl --predicted one.jsonl
    expect "status of a file that predicts nothing" 2 "$status"
    jq -c 'select(.ranks == 1)' s.jsonl >alone.jsonl
    run "$plot" alone.jsonl --predicted p.jsonl
    expect "status without a scaling study" 2 "$status"
}

@test "as many steps per pass as pay are one setting, and what was asked for has the name of what was used instead, too" {
    made_records
    jq -c '.asked.fuse = 0 | .fuse = ({"1": 12, "2": 8}["\(.ranks)"] // 1)' made.jsonl >chosen.jsonl
    jq -c '.asked.fuse = 1 | .fuse = 1' made.jsonl >>chosen.jsonl
    "$plot" chosen.jsonl c
    expect "lines" "fuse 1 fuse chosen" \
        "$(grep -o '>fuse [^<]*<' c.svg | tr -d '<>' | sort -u | xargs)"
    # sides are asked for: runs with others are no repeats
    jq -c 'select(.ranks == 1 and .asked.lanes == 1), (select(.ranks == 1 and .asked.lanes == 1)
        | .problem.y_low = "neumann" | .problem.y_high = "neumann")' made.jsonl >sides.jsonl
    "$plot" sides.jsonl --what values --output sides.svg
    expect "settings" "periodic periodic/neumann" "$(grep -o '>periodic[^<,]*<' sides.svg | tr -d '<>' | sort -u | xargs)"
    jq -c 'select(.ranks == 1) | .asked.feed = "graph", .asked.feed = "serial" | .feed = "serial"' made.jsonl >feeds.jsonl
    "$plot" feeds.jsonl f
    expect "settings" "graph (serial), lanes 1 graph (serial), lanes 2 serial, lanes 1 serial, lanes 2" \
        "$(grep -o '>[a-z() ]*, lanes [12]<' f_values.svg | tr -d '<>' | sort -u | xargs)"
    grep -q '>Rate by setting: .*, 1 rank<' f_values.svg
}

@test "a mixture is drawn as settings; --what, --output and the filters choose, and what they leave empty is refused" {
    made_records
    jq -c '(select(.ranks == 1)), (select(.ranks == 2) | .grid.nx = 401 | .problem.kind = "wave" | .asked.tune = "off")' made.jsonl >m.jsonl
    "$plot" m.jsonl m >said
    expect "pictures" "m_values.png m_phases.png m_steps.png" "$(pictures m)"
    grep -q '>2 ranks: wave f64, 401 x 300' m_values.svg || grep -q '>2 ranks: wave, 401 x 300' m_values.svg
    expect "one of them" "one.svg" "$("$plot" m.jsonl --what values --output one.svg)"
    expect "two of them" $'two_values.png\ntwo_steps.png' "$("$plot" m.jsonl --what values,steps --output two.png)"
    "$plot" m.jsonl k --kind wave --what values --where asked.lanes=1 >said
    grep -q '>Rate by setting: wave f64, order 2, 401 x 300, fuse.*, 2 ranks<' k_values.svg
    # what is not in a picture is not in its title
    jq -c 'select(.asked.lanes == 1), (select(.asked.lanes == 2) | .problem.kind = "wave")' made.jsonl >beside.jsonl
    "$plot" beside.jsonl --what strong --output s.svg
    grep -q '>Strong scaling: heat f64, order 2, 400 x 300, ' s.svg
    grep -q '>measured<' s.svg
    "$plot" made.jsonl r --ranks 1,2 | grep 'efficiency 1.00 on 2 ranks'
    jq -c 'select(.ranks == 4)' made.jsonl >last.jsonl
    cat made.jsonl >>last.jsonl
    "$plot" last.jsonl l --last 1 --where run=x 2>&1 | grep '^plot: --where run: no record has this key$'
    "$plot" last.jsonl l --last 1 | grep 'efficiency 1.09 on 4 ranks' # 230 us, the last run
    local wrong
    for wrong in "m.jsonl --what strong" "m.jsonl --what nothing" "m.jsonl --output x.pdf" "m.jsonl --kind heat --ranks 2" "m.jsonl --ranks 0" \
        "m.jsonl --where lanes" "nowhere.jsonl" "m.jsonl a b"; do
        run "$plot" $wrong
        expect "status of $wrong" 2 "$status"
        expect "sentences of $wrong" 1 "$(grep -c '^plot: ' <<<"$output")"
    done
    run "$plot" m.jsonl nowhere/x
    expect "status of a folder that is not there" 3 "$status"
}

@test "a study is drawn beside what others reach, whose points no line joins" {
    made_records
    grep -v '"lanes":2' made.jsonl >s.jsonl
    printf '# from a paper\n1\t0.5\tanother program\n4\t1.5\tanother program\n' >others.tsv
    expect "what it said" "b.png and b.svg" "$("$plot" s.jsonl b --beside others.tsv)"
    is_png b.png
    for word in 'another program' weft ideal ranks 'bound by copies' "$(jq -rs '.[0].git' s.jsonl)"; do
        grep -q ">.*$word" b.svg || { echo "no $word"; return 1; }
    done
    jq -c '.fuse = 12' s.jsonl >f.jsonl
    cat f.jsonl s.jsonl >both.jsonl
    "$plot" both.jsonl b --beside others.tsv
    for word in '>weft<' '>weft, 12 steps per pass<' '>bound by copies, 12 steps each<'; do
        grep -q "$word" b.svg || { echo "no $word"; return 1; }
    done
    in_place both.jsonl --beside others.tsv
    local wrong
    for wrong in '# nothing' $'1\t0.5' $'one\t0.5\tanother'; do
        echo "$wrong" >others.tsv
        run "$plot" s.jsonl b --beside others.tsv
        expect "status of $wrong" 2 "$status"
    done
    printf '1\t0.5\tanother program\n' >others.tsv
    jq -c '.grid.nx = 401' one.jsonl >>s.jsonl
    run "$plot" s.jsonl b --beside others.tsv
    expect "status of two problems" 2 "$status"
}

@test "no text of a picture lies on another or beyond its edge, of records of every machine" {
    local file
    for file in "$top"/jobs/results/*/*{one-step,scaling,overlap}.jsonl; do
        [ ! -e "$file" ] || in_place "$file"
    done
    made_records
    in_place made.jsonl
    tail -n 1 looked | grep '^4 pictures$'
}

# Each text of a record, its file's name and a table's names would run a command in a shell, or begin a formula.
poison='x`touch PWNED1`y$(touch PWNED2)"."'"'"'.system("touch PWNED3")'"'"'@z $\alpha$ \e[31m'

@test "text of records, tables and file names is text: it runs nothing, leads nowhere, and no control character is printed" {
    made_records
    local mine="s\`touch PWNED4\`'\".jsonl"
    jq -c --arg text "$poison"$'\e[31m\n!touch PWNED5\n' 'select(.asked.lanes == 1) | .machine.processor = $text | .git = $text
        | .version = $text | .started = $text | .problem.kind = $text | .asked.transport = $text + "\(.fuse)"
        | .step_s.max = 1' made.jsonl >one_setting.jsonl
    jq -c '., (.asked.transport = "another" | .step_s.p50 *= 2)' one_setting.jsonl >"$mine"
    printf '1\t0.5\t%s\n' "$poison" >others.tsv
    jq -nc --arg text "$poison" '[1, 2] | .[] | {predicted: true, ranks: ., step_s: 1e-3, efficiency: 1},
        {predicted: true, ranks: $text, step_s: $text, efficiency: $text}' >p.jsonl
    mkdir in
    mv "$mine" one_setting.jsonl others.tsv p.jsonl in && cd in
    "$plot" "$mine" --predicted p.jsonl >said
    "$plot" one_setting.jsonl '|b' --beside others.tsv >>said
    "$top/jobs/compare" "$mine" "$mine" >>said || true
    expect pictures 10 "$(ls -- *.svg *.png | wc -l)"
    expect "control characters" 0 "$(grep -c '[[:cntrl:]]' said)"
    grep -qF 'touch PWNED1' "${mine%.jsonl}.svg"
    grep -qF 'touch PWNED1' '|b.svg'
    cd ..
    expect "what was run" "" "$(find . -name 'PWNED*')"
}

@test "a weak study whose process grids were asked for is one line" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=16 grid.ny=16 time.steps=4 output.picture=none run.ranks_x=1 run.ranks_y=1
    weft_alone d.ini --quiet
    jq -c '., (.ranks = 4 | .grid = { nx: 32, ny: 32 } | .asked.ranks_x = 2 | .asked.ranks_y = 2)' results.jsonl >w.jsonl
    run "$top/jobs/plot" w.jsonl --what weak
    expect "status" 0 "$status" || { echo "$output"; return 1; }
    [[ $output == *"weak scaling, efficiency"*"on 4 ranks"* ]] || { echo "$output"; return 1; }
}
