# Nobody types a figure: the tables that pages show are rendered from jobs/results, each file of which the index names with the command
# that gave it.
load ../support/helper

report=$top/jobs/report measure=$top/jobs/measure

export WEFT=$weft

setup() { cd "$BATS_TEST_TMPDIR" || exit 1; }

@test "the tables and pictures of all pages are what the results say" {
    run "$report" --check
    echo "$output"
    expect status 0 "$status"
}

@test "a table that was edited, a figure that was typed, a table that there is not: each is named" {
    mkdir -p tree/docs
    cp "$top/README.md" tree/
    cp -r "$top/docs/figures" tree/docs/
    "$report" --root tree --results "$top/jobs/results" --check
    sed -i '0,/GCells/s/[0-9.]* GCells/1 GCells/' tree/README.md
    printf '%s\n' '# A page' 'It takes 17 us and `18 us`.' '' '    19 us' >tree/docs/page.md
    run "$report" --root tree --results "$top/jobs/results" --check
    expect status 1 "$status"
    expect lines 2 "$(wc -l <<<"$output")"
    [[ $output == *"README.md: table 'headline' is not what jobs/results says"*"docs/page.md:2: '17 us' is typed"* ]]
    expect "what is rendered anew" README.md "$("$report" --root tree --results "$top/jobs/results" --pages)"
    cmp "$top/README.md" tree/README.md
    printf '%s\n' '<!-- table no-such -->' '<!-- end -->' >tree/docs/page.md
    run "$report" --root tree --results "$top/jobs/results" --check
    expect status 2 "$status"
    [[ $output == "report: docs/page.md: no table 'no-such'; there are "* ]]
    local words
    for words in "table one-step more" "picture beside more"; do
        printf '%s\n' "<!-- $words -->" '<!-- end -->' >tree/docs/page.md
        run "$report" --root tree --results "$top/jobs/results" --check
        expect "status of $words" 2 "$status"
        expect "lines for $words" 1 "$(wc -l <<<"$output")"
    done
    printf '%s\n' '<!-- table one-step -->' >tree/docs/page.md
    run "$report" --root tree --results "$top/jobs/results" --pages
    expect status 2 "$status"
    [[ $output == *"without its '<!-- end -->'"* ]]
    mkdir empty
    "$report" --table ladder access | grep -q '^| `strideRead`, stride 33 | '
    run "$report" --results empty --table one-step
    expect "without results" 0 "$(grep -c '[0-9] us' <<<"$output")"
}

@test "a table and a picture that are not what they have to be are named, and rendered anew" {
    mkdir -p tree/docs/teaching tree/docs/figures
    local page=docs/teaching/access.md picture=docs/figures/ladder-access.svg
    cp "$top/$page" tree/docs/teaching/
    cp "$top/$picture" tree/docs/figures/
    cp -r "$top/jobs/results" results
    check() { run "$report" --root tree --results results "$@"; }
    check --check
    expect "as they are" "" "$output"
    jq -c 'if .rung == "strideWrite" then .sweep[-1].fraction_of_ceiling = 0.5 else . end' results/h200x1/*-ladder.jsonl >other
    mv other results/h200x1/*-ladder.jsonl
    sed -i 's/^## .*/& of 0.5 ns/' tree/$page
    check --check
    [[ $output == *"$page: table 'ladder access' is not what jobs/results says"* ]]
    [[ $output == *"$picture: shows other values than jobs/results; run jobs/report --pages"* ]]
    python_with matplotlib
    check --pages
    expect "with other results" "$page $picture" "$(xargs <<<"$output")"
    expect "parts of the picture" 1 "$(grep -c '>0.50<' tree/$picture)"
    printf '%s\n' '<!-- picture ladder none -->' '<!-- end -->' >tree/docs/page.md
    check --check
    expect "of a family that there is not" "report: docs/page.md: no result has the family 'none'" "$output"
}

@test "the index has every file of results once, and each file the name of its machine, date and question" {
    cd "$top/jobs/results"
    expect files "$(find . -mindepth 2 -type f | sed 's,^\./,,' | LC_ALL=C sort)" "$(cut -f 1 index.tsv | tail -n +2 | LC_ALL=C sort)"
    expect "names that are none" "" "$(find . -mindepth 2 -type f | grep -vE '^\./[a-z0-9]+/20[0-9]{2}-[0-9]{2}-[0-9]{2}-[a-z0-9-]+\.(jsonl|tsv)$')"
    expect "machines with more than ten" "" "$(find . -mindepth 2 -type f | cut -d / -f 2 | sort | uniq -c | awk '$1 > 10')"
    expect "superseded files in the tree" "" "$(awk -F '\t' 'NR > 1 && $5 != ""' index.tsv)"
}

@test "the last run of all tests on each kind of GPU machine has a row of tests/README.md" {
    mkdir -p tree/tests results
    sed '/^<!-- table/,$!d; /^<!-- end/q' "$top/tests/README.md" >tree/tests/README.md
    local run='{date: "2026-11-27", gpus: 1, gpu: "Made H1", cpus: 16, commit: "a1", passed: 3, failed: 1, skipped: 2, minutes: 9.5, gpu_minutes: 5.1}'
    jq -nc "$run, ($run | .gpus = 4), ($run | .commit = \"b2\" | .failed = 0)" >results/tests.jsonl
    expect "what is rendered" tests/README.md "$("$report" --root tree --results results --pages)"
    expect "rows" "1 x Made H1, 16 CPUs | b2 | 2026-11-27 | 3 | 0 | 2 | 9.5 | 5.1;4 x Made H1, 16 CPUs | a1 | 2026-11-27 | 3 | 1 | 2 | 9.5 | 5.1" \
        "$(sed -n 's/^| \(. x .*\) |$/\1/p' tree/tests/README.md | paste -sd ';')"
    rm results/tests.jsonl
    run "$report" --root tree --results results --check
    expect "rows without their runs" 1 "$status"
}

@test "jobs/measure runs the cases of a question in turns, and its records get a row of the index" {
    printf '%s\n' '[tiny]' 'claim = It runs.' 'repeats = 2' \
        'heat = run inputs/heat2d.ini grid.nx={16,32} grid.ny=16 time.steps=2 "grid.boundary=dirichlet 0" problem.initial=gaussian' \
        '[two]' 'ranks = 2' 'all = bench halo/staged_pair bytes=64k samples=1' '[wrong]' 'case = run inputs/none.ini' >q.ini
    export WEFT=$weft WEFT_MPIRUN="$MPIRUN $LAUNCH_FLAGS"
    (cd "$top" && timeout $hang_s "$measure" --questions "$BATS_TEST_TMPDIR/q.ini" --folder "$BATS_TEST_TMPDIR/results" tiny 3>&-)
    local file
    file=$(cut -f 1 results/index.tsv | tail -n 1)
    [[ $file =~ ^[a-z0-9]+/20[0-9-]+-tiny\.jsonl$ ]]
    expect "cases in turns" "16 32 16 32" "$(jq .grid.nx "results/$file" | xargs)"
    expect row "$(jq -r .git "results/$file" | sort -u)|jobs/measure tiny|It runs.|" "$(tail -n 1 results/index.tsv | cut -f 2- | tr '\t' '|')"
    run "$measure" --questions q.ini --folder results three
    expect status 2 "$status"
    expect "what it says" "measure: no question 'three'; there are tiny, two, wrong; try --help" "$output"
    expect "cases" 3 "$("$measure" --questions q.ini --cases tiny two | wc -l)"
    run "$measure" --questions q.ini --folder results wrong
    expect "of a case that fails" 1 "$status"
    expect "rows" 2 "$(wc -l <results/index.tsv)"
}

@test "an HTML page of records stands alone" {
    jq -c 'select(.rung == "star")' "$top"/jobs/results/h100x1/*-ladder.jsonl >star.jsonl
    "$report" "$top"/jobs/results/h100x1/*-transposes.jsonl star.jsonl
    expect "what it would load" "" "$(grep -oE '(src|href)="[^#"][^"]*"|url\([^#)]*\)|@import' report.html)"
    expect "rows of runs" 4 "$(grep -c '^<tr><td>transpose, order' report.html)"
    jq -c '.command = "<script>alert(1)</script>" | .problem.kind = "<b>"' "$top"/jobs/results/h100x1/*-transposes.jsonl >other.jsonl
    "$report" other.jsonl --output other.html
    expect "other people's tags" 0 "$(grep -c '<b>\|<script>alert' other.html || true)"
}
