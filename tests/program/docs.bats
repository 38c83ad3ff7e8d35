# The pages can be followed, and are written so that they are read once (tests/support/pages.py, codespell).
# READMEs stay short: the front page three screens, a folder's one. docs/contract.md and the program name the
# same things, docs/numerics.md has its limits, docs/architecture.md cites what is there.
load ../support/helper

@test "links of pages lead somewhere; files and words that they name are there, and what code cites" {
    local check
    for check in links names; do
        run -0 /usr/bin/python3 "$top/tests/support/pages.py" "$top" $check
        [ "$output" -ge 60 ] || { echo "only $output places found"; return 1; }
    done
}

@test "spelling: pages, comments and sentences" {
    [ -e "$top/.git" ] || skip "not a git checkout"
    codespell --version >/dev/null 2>&1 || skip "codespell is missing (.ci/install-deps test)"
    cd "$top"
    git -c safe.directory='*' ls-files --cached --others --exclude-standard |
        grep -vE '^jobs/results/|\.(h5|png|svg)$' >"$BATS_TEST_TMPDIR/files"
    expect "misspelled" "" "$(xargs codespell --ignore-words tests/support/words <"$BATS_TEST_TMPDIR/files")"
}

@test "pages are short, and every folder has one" {
    expect "pages of more lines than meant" "" "$(cd "$top" &&
        wc -l {.,kernels,comm,io,miniapp,inputs,jobs,jobs/results,tests}/README.md docs/*.md 2>&1 | awk '
            BEGIN { most["./README.md"] = most["docs/predict.md"] = 60; most["docs/performance.md"] = 116
                    most["docs/numerics.md"] = 212; most["docs/architecture.md"] = 202
                    most["docs/guide.md"] = 169; most["docs/contract.md"] = 448; most["tests/README.md"] = 81
                    most["total"] = 9999 }
            $1 > ($2 in most ? most[$2] : /docs/ ? 120 : 80)')"
}

@test "what a page says behind a command begins with ' # ', so that the line can be pasted" {
    expect "lines" "" "$(cd "$top" && grep -nE \
        '^    (make|mpirun|srun|sbatch|apptainer|(build/)?weft|(jobs|tests|\.ci)/[a-z/-]+)( [^ ]+)*  +[^# ]' ./*.md */README.md jobs/results/README.md docs/*.md docs/teaching/*.md)"
}

# ---- docs/contract.md and the program ----

contract=$top/docs/contract.md
rows() { # heading, as it stands [condition on cells, $3 the second]
    awk -v h="$1" '/^#/ { on = ($0 == h) } on && /^[|]/' "$contract" | awk -F'|' "${2:-1}"
}
names() { rows "$@" | cut -d'|' -f2 | grep -o '`[^`]*`' | tr -d '`'; } # of the first cells
sorted_names() { for heading; do names "$heading"; done | sort -u | xargs; }
sometimes='GPU|[*](slow|streamed|simulated)[*]'
as_patterns() { sed 's/[].[]/\\&/g; s/\*/.+/g; s/.*/^&$/'; }

# Each key of the records stands below the heading, and each row there that the condition takes is in one.
has_keys() { # heading condition file of records
    jq -r 'paths(type != "object") | map(if type == "number" then "[]" else . end) | join(".")' "$3" |
        sed 's/\.\[\]/[]/g; s/\(\[\]\)*$//' | sort -u >keys
    expect "keys that stand nowhere below '$1'" "" "$(grep -vE -f <(names "$1" | as_patterns) keys | xargs)"
    names "$1" "$2" | as_patterns >patterns
    [ -s patterns ] || { echo "$1: no row with $2"; return 1; }
    expect "keys below '$1' that no record has" "" "$(awk 'NR == FNR { lacks[$0]; next }
        { for (key in lacks) if ($0 ~ key) delete lacks[key] }
        END { for (key in lacks) print key }' patterns keys)"
}

# Every value has the type that its row says, or is null; a row has a type per key, or one for all.
all_typed() { # heading, file of records
    jq -r 'paths(true) as $p | getpath($p) | (if type == "number" and . == floor then "int" else type end) as $type
        | $p | map(if type == "number" then "[]" else . end) | "\(join(".") | gsub("\\.\\[\\]"; "[]")) \($type)"' \
        "$2" | sort -u >types
    rows "$1" | awk -F'|' '{ keys = split($2, key, "`"); types = split($3, type, ";")
        for (i = 2; i < keys; i += 2) {
            t = type[types == int(keys / 2) ? i / 2 : 1]; sub(/,.*/, "", t); gsub(/^ | $/, "", t)
            sub(/^bool/, "boolean", t); sub(/^array .*/, "array", t); sub(/.*hex.*/, "string", t)
            print key[i]
            if (t !~ /^(int|null|object|string|boolean|array)$/) t = t == "" ||
                t ~ /deck/ ? ".*" : "int|number"
            print t >"allowed"
        } }' | as_patterns >patterns
    [ "$(wc -l <patterns)" -gt 50 ]
    expect "values of another type than below '$1'" "" "$(paste -d ' ' patterns allowed | awk '
        NR == FNR { pattern[NR] = $1; allowed[NR] = $2; rules = NR; next }
        { for (i = 1; i <= rules; i++) if ($1 ~ pattern[i] && $2 !~ "^(" allowed[i] "|null)$") print }' - types)"
}

help_of() { # command, what begins a line
    timeout $hang_s "$weft" "$1" --help | grep -oE "^  $2" | sort | xargs
}

@test "the contract has the program's commands, options, statuses, keys of a deck and their defaults" {
    local command part parts=(problem grid time run checkpoint output)
    expect commands "$(timeout $hang_s "$weft" help | grep -oE '^  [a-z]+' | xargs)" \
        "$(names '## Commands' | xargs)"
    for command in $(names '## Commands'); do
        expect "options of $command" "$(help_of $command '--[a-z-]+')" \
            "$(grep "^| .$command. " "$top/docs/contract.md" | grep -oE -- '--[a-z-]+' | sort -u | xargs)"
    done
    expect statuses "$(timeout $hang_s "$weft" help | tail -n 2 |
        grep -oE '(: |; ?)[0-9]+|^[0-9]+' | tr -d ':; ' | xargs)" \
        "$(names '## Exit status' | xargs)"
    expect "keys of bench" "$(help_of bench '[a-z][a-z_.]+')" "$(sorted_names '### Keys of bench')"
    expect "keys of check" "$(help_of check '[a-z][a-z_.]+')" "$(sorted_names '### Keys of check')"
    expect "keys of a deck" "$(help_of run '[a-z]+\.[a-z_]+')" "$(sorted_names "${parts[@]/#/### }")"
    deck d.ini problem.kind=laplace grid.nx=64 time.steps=10
    weft_alone d.ini >/dev/null
    record .deck |
        awk '/^\[/ { part = substr($1, 2, length($1) - 2) } / = / { print part "." $1 "=" $3 }' >resolved
    for part in "${parts[@]}"; do
        rows "### $part" '{ keys = split($2, key, "`"); if (split($3, value, "`") == 3)
            for (i = 2; i < keys; i += 2) print key[i] "=" value[2] }'
    done >defaults
    [ "$(wc -l <defaults)" -ge 38 ] || { cat defaults; return 1; }
    expect "defaults that a deck does not get" "" "$(grep -vxF -f resolved defaults | xargs)"
}

@test "the contract has every key of a run's record, and only those" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=64 time.steps=20 checkpoint.every=5 run.device=host
    weft_alone d.ini --quiet
    expect phases "$(record '.phases | keys_unsorted[]' | xargs)" "$(names '### Phases' | xargs)"
    WEFT_FAULT=slow_rank launch 2 "$weft_sanitize" run d.ini --quiet
    has_keys '### Run record' "\$3 !~ /$sometimes/ || \$3 ~ /[*]slow[*]/" results.jsonl
    all_typed '### Run record' results.jsonl
    weft_alone d.ini --quiet grid.ny=64 run.memory=host run.device_memory=1M output.record=streamed.jsonl
    has_keys '### Run record' '$3 ~ /[*]streamed[*]/' streamed.jsonl
    all_typed '### Run record' streamed.jsonl
    cat "$top"/jobs/results/{h200x2/*-overlap,h200x1/*-shared-gpu,h100x1/*-small-grids}.jsonl |
        jq 'select(.rung == null)' >gpu.jsonl
    has_keys '### Run record' '$3 ~ /GPU/' gpu.jsonl
}

# bats test_tags=gpus:2
@test "no run on GPUs leaves a key that the contract does not have" {
    needs_gpu
    local kind
    for kind in heat transpose; do
        deck $kind.ini problem.kind=$kind problem.alpha=0.2 grid.nx=2048 grid.ny=1024 time.steps=96 \
            checkpoint.every=48 run.device=cuda
        weft_alone $kind.ini --quiet
        weft_run 2 $kind.ini --quiet
    done
    has_keys '### Run record' '$3 ~ /hex/' results.jsonl
}

@test "the contract has every key of a bench record, and only those; so has what predict and info leave" {
    local bench=(stencil/planeRows halo/staged_pair device=host nx=256 ny=256 bytes=64k samples=3)
    WEFT_FAULT=slow_rank launch 2 "$weft_sanitize" bench "${bench[@]}" >/dev/null
    has_keys '### Bench record' '$3 !~ /GPU/' results.jsonl
    deck d.ini problem.kind=heat problem.dtype=f32 problem.alpha=0.2 grid.nx=4096 grid.ny=4096 time.steps=10
    WEFT=$weft timeout $hang_s "$top/jobs/predict" d.ini --output p.jsonl \
        --from "$(echo "$top"/jobs/results/h200x2/*-overlap.jsonl)" >/dev/null
    has_keys '### Predict record' 1 p.jsonl
    { launch 2 "$weft" info --json; timeout $hang_s "$weft" info --json; } >info.json
    has_keys '### Info object' 1 info.json
}

@test "the contract has every dataset and attribute of a state file" {
    local kind
    for kind in wave transpose; do
        deck d.ini problem.kind=$kind problem.alpha=0.2 grid.nx=30 grid.ny=20 time.steps=2 \
            output.final=$kind.h5 output.record=none
        weft_alone d.ini --quiet
        h5dump -n 1 $kind.h5 | grep -v /VTKHDF/ |
            awk '/dataset/ { print $2 } /attribute/ { sub(/.*\//, "", $2); print $2 }'
    done | sort -u >there
    expect "datasets and attributes" "$(xargs <there)" \
        "$(names '## State file' | grep -v -e VTKHDF -e '/fields/NAME' -e trailer | sort -u | xargs)"
}

@test "the numerics have the program's limits on alpha" {
    local order limits kind ny found
    grep -E '^\| [0-9]+ (\| [0-9.]+ ){7}\|$' "$top/docs/numerics.md" | tr -d '|' >table
    expect orders "2 4 6 8 10 12 14 16" "$(awk '{ print $1 }' table | xargs)"
    while read -r order limits; do
        found=$(for kind in heat wave advect sweep; do
            for ny in 1 20; do
                [ "$kind $ny" = "sweep 1" ] || timeout $hang_s "$weft" run /dev/null --dry-run time.steps=1 \
                    problem.kind=$kind problem.order="$order" problem.alpha=9 grid.nx=20 grid.ny=$ny 2>&1 |
                    awk '{ print $NF + 0 }'
            done
        done | xargs)
        expect "limits of order $order" "$(xargs -n 1 <<<"$limits" | awk '{ print $1 + 0 }' | xargs)" "$found"
    done <table
}
