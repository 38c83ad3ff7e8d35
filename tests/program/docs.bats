# The pages can be followed, and are written so that they are read once (tests/support/pages.py, codespell).
# READMEs stay short: the front page three screens, a folder's one. docs/contract.md and the program name the
# same things, docs/numerics.md has its limits, docs/architecture.md cites what is there.
load ../support/helper

@test "links of pages lead somewhere; files and words of the code that they name are there, and what code cites" {
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
    git -c safe.directory='*' ls-files --cached --others --exclude-standard | grep -vE '^jobs/results/|\.(h5|png|svg)$' >"$BATS_TEST_TMPDIR/files"
    expect "misspelled" "" "$(xargs codespell --ignore-words tests/support/words <"$BATS_TEST_TMPDIR/files")"
}

@test "pages are short, and every folder has one" {
    expect "pages of more lines than meant" "" "$(cd "$top" &&
        wc -l {.,kernels,comm,io,miniapp,inputs,jobs,jobs/results,tests}/README.md docs/*.md 2>&1 | awk '
            BEGIN { most["./README.md"] = most["docs/predict.md"] = 60; most["docs/performance.md"] = 124
                    most["docs/numerics.md"] = 212; most["docs/architecture.md"] = 202
                    most["docs/guide.md"] = 182; most["docs/contract.md"] = 448; most["tests/README.md"] = 81; most["total"] = 9999 }
            $1 > ($2 in most ? most[$2] : /docs/ ? 120 : 80)')"
}

# ---- docs/contract.md and the program ----

contract=$top/docs/contract.md
section() { awk -v h="$1" '/^#/ { on = ($0 == h) } on' "$contract"; }          # heading, as it stands
rows() { section "$1" | grep '^|' | awk -F'|' "${2:-1}"; }                     # heading [condition on cells, $3 the second]
names() { rows "$@" | cut -d'|' -f2 | grep -o '`[^`]*`' | tr -d '`'; }         # of the first cells
sometimes='GPU|[*](slow|streamed|simulated)[*]'

# Of records on stdin every key that has a value; of arrays those of the elements.
keys_of() {
    jq -r 'paths(type != "object") | map(if type == "number" then "[]" else . end) | join(".")' |
        sed 's/\.\[\]/[]/g; s/\(\[\]\)*$//' | sort -u
}
as_patterns() { sed 's/[].[]/\\&/g; s/\*/.+/g; s/.*/^&$/'; }

# Each key of the file stands below the heading, and each row there that the condition takes has a key in the file.
has_keys() { # heading condition file-of-keys
    expect "keys that stand nowhere below '$1'" "" "$(grep -vE -f <(names "$1" | as_patterns) "$3" | xargs)"
    names "$1" "$2" | as_patterns >patterns
    [ -s patterns ] || { echo "$1: no row with $2"; return 1; }
    expect "keys below '$1' that no record has" "" "$(awk 'NR == FNR { lacks[$0]; next }
        { for (key in lacks) if ($0 ~ key) delete lacks[key] } END { for (key in lacks) print key }' patterns "$3")"
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
            if (t !~ /^(int|null|object|string|boolean|array)$/) t = t == "" || t ~ /deck/ ? ".*" : "int|number"
            print t >"allowed"
        } }' | as_patterns >patterns
    [ "$(wc -l <patterns)" -gt 50 ]
    expect "values of another type than below '$1'" "" "$(paste -d ' ' patterns allowed | awk '
        NR == FNR { pattern[NR] = $1; allowed[NR] = $2; rules = NR; next }
        { for (i = 1; i <= rules; i++) if ($1 ~ pattern[i] && $2 !~ "^(" allowed[i] "|null)$") print }' - types)"
}

# heading command: the keys that its --help lists
same_keys() { expect "keys below '$1'" "$(timeout $hang_s "$weft" "$2" --help | grep -oE '^  [a-z][a-z_.]+' | sort | xargs)" "$(names "$1" | sort | xargs)"; }

@test "the contract has the program's commands, options, statuses" {
    local command
    expect commands "$(timeout $hang_s "$weft" help | grep -oE '^  [a-z]+' | xargs)" "$(names '## Commands' | xargs)"
    for command in $(names '## Commands'); do
        expect "options of $command" "$(timeout $hang_s "$weft" "$command" --help | grep -oE '^  --[a-z-]+' | xargs)" \
            "$(rows '## Commands' | grep "^| .$command. " | grep -oE -- '--[a-z-]+' | xargs)"
    done
    expect statuses "$(timeout $hang_s "$weft" help | tail -n 2 | grep -oE '(: |; ?)[0-9]+|^[0-9]+' | grep -oE '[0-9]+' | xargs)" \
        "$(names '## Exit status' | xargs)"
    same_keys '### Keys of bench' bench
    same_keys '### Keys of check' check
}

@test "the contract has the program's deck keys, and their defaults" {
    local part
    deck d.ini problem.kind=laplace grid.nx=64 time.steps=10
    timeout $hang_s "$weft" run --help | grep -oE '^  [a-z]+\.[a-z_]+' | sort | xargs >there
    for part in problem grid time run checkpoint output; do names "### $part"; done | sort | xargs >written
    expect "keys of a deck" "$(cat there)" "$(cat written)"
    weft_alone d.ini >/dev/null
    record .deck | awk '/^\[/ { part = substr($1, 2, length($1) - 2) } / = / { print part "." $1 "=" $3 }' >resolved
    for part in problem grid time run checkpoint output; do
        rows "### $part" '{ keys = split($2, key, "`"); if (split($3, value, "`") == 3) for (i = 2; i < keys; i += 2) print key[i] "=" value[2] }'
    done >defaults
    [ "$(wc -l <defaults)" -ge 38 ] || { cat defaults; return 1; }
    expect "defaults that a deck does not get" "" "$(grep -vxF -f resolved defaults | xargs)"
}

@test "the contract has every key of a run's record, and only those" {
    local gpu
    gpu=("$top"/jobs/results/{h200x2/*-overlap,h200x1/*-shared-gpu,h100x1/*-small-grids}.jsonl)
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=64 time.steps=20 checkpoint.every=5 run.device=host
    weft_alone d.ini --quiet
    weft=$weft_sanitize
    WEFT_FAULT=slow_rank weft_run 2 d.ini --quiet
    keys_of <results.jsonl >keys
    jq 'select(.rung == null)' "${gpu[@]}" | keys_of >keys_gpu
    weft=$weft_release
    weft_alone d.ini --quiet grid.ny=64 run.memory=host run.device_memory=1M output.record=streamed.jsonl
    keys_of <streamed.jsonl >keys_streamed
    has_keys '### Run record' '$3 ~ /[*]streamed[*]/' keys_streamed
    has_keys '### Run record' "\$3 !~ /$sometimes/ || \$3 ~ /[*]slow[*]/" keys
    has_keys '### Run record' '$3 ~ /GPU/' keys_gpu
    all_typed '### Run record' results.jsonl
    all_typed '### Run record' streamed.jsonl
    expect phases "$(record '.phases | keys_unsorted[]' | xargs)" "$(names '### Phases' | xargs)"
}

# bats test_tags=gpus:2
@test "no run on GPUs leaves a key that the contract does not have" {
    needs_gpu
    local kind
    for kind in heat transpose; do
        deck $kind.ini problem.kind=$kind problem.alpha=0.2 grid.nx=2048 grid.ny=1024 time.steps=96 checkpoint.every=48 run.device=cuda
        weft_alone $kind.ini --quiet
        weft_run 2 $kind.ini --quiet
    done
    keys_of <results.jsonl >keys
    has_keys '### Run record' '$3 ~ /hex/' keys
}

@test "the contract has every key of a bench record, and only those; so has what predict and info leave" {
    local bench=(stencil/planeRows halo/staged_pair device=host nx=256 ny=256 bytes=64k samples=3)
    weft=$weft_sanitize
    WEFT_FAULT=slow_rank launch 2 "$weft" bench "${bench[@]}" >/dev/null
    keys_of <results.jsonl >keys
    has_keys '### Bench record' "\$3 !~ /GPU/" keys
    weft=$weft_release
    deck d.ini problem.kind=heat problem.dtype=f32 problem.alpha=0.2 grid.nx=4096 grid.ny=4096 time.steps=10
    WEFT=$weft timeout $hang_s "$top/jobs/predict" d.ini --from "$(echo "$top"/jobs/results/h200x2/*-overlap.jsonl)" --output p.jsonl >/dev/null
    keys_of <p.jsonl >keys
    has_keys '### Predict record' 1 keys
    { launch 2 "$weft" info --json; timeout $hang_s "$weft" info --json; } | keys_of >keys
    has_keys '### Info object' 1 keys
}

@test "the contract has every dataset and attribute of a state file" {
    local kind
    for kind in wave transpose; do
        deck d.ini problem.kind=$kind problem.alpha=0.2 grid.nx=30 grid.ny=20 time.steps=2 output.final=$kind.h5 output.record=none
        weft_alone d.ini --quiet
        h5dump -n 1 $kind.h5 | grep -v /VTKHDF/ | awk '/dataset/ { print $2 } /attribute/ { sub(/.*\//, "", $2); print $2 }'
    done | sort -u >there
    { names '## State file'; rows '## State file' '/^.*attribute/' | cut -d'|' -f2 | grep -o '`[^`]*`' | tr -d '`'; } |
        grep -v -e VTKHDF -e '/fields/NAME' -e trailer | sort -u >written
    expect "datasets and attributes" "$(xargs <there)" "$(xargs <written)"
}

@test "the numerics have the program's limits on alpha" {
    local order limits kind ny found
    grep -E '^\| [0-9]+ (\| [0-9.]+ ){7}\|$' "$top/docs/numerics.md" | tr -d '|' >table
    expect orders "2 4 6 8 10 12 14 16" "$(awk '{ print $1 }' table | xargs)"
    while read -r order limits; do
        found=$(for kind in heat wave advect sweep; do
            for ny in 1 20; do
                [ "$kind $ny" = "sweep 1" ] || timeout $hang_s "$weft" run /dev/null --dry-run problem.kind=$kind problem.order="$order" \
                    problem.alpha=9 grid.nx=20 grid.ny=$ny time.steps=1 2>&1 | awk '{ print $NF + 0 }'
            done
        done | xargs)
        expect "limits of order $order" "$(xargs -n 1 <<<"$limits" | awk '{ print $1 + 0 }' | xargs)" "$found"
    done <table
}
