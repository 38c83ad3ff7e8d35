# The record of a run says what was asked, done and measured; what could not be measured is null.
load ../support/helper

# docs.bats compares keys and types with the contract.
# bats test_tags=gpus:part
@test "what the record says holds together, and what every run measures is not null" {
    local more name=$'d\xe9ck.ini' \
        measured='^(step_s|gcells_|bytes_|ceiling_|fraction_|phases|max_error|error_bound|checkpoint)'
    deck "$name" problem.kind=heat problem.alpha=0.2 grid.nx=60 grid.ny=50 time.steps=6
    for more in "" problem.kind=transpose time.steps=0; do
        weft_run 2 "$name" checkpoint.every=3 $more
        expect "with $more: ranks; overlap: a fraction, or a reason; power of a GPU" "true true true" "$(record '
            [.ranks == .ranks_x * .ranks_y,
             (.overlap_hidden_fraction as $f
                | [$f == null, .overlap_hidden_why == null, .overlap_hidden_uncertainty == null]
                | IN([true, false, true], [false, true, false]) and ($f == null or $f >= 0 and $f <= 1)),
             (.device == "host") == (.power == null)] | join(" ")')"
        [ -z "$more" ] || continue
        expect "null where figures should be" "checkpoint.raw checkpoint.raw_bytes_per_s" "$(record \
            "[paths(. == null) | map(tostring) | join(\".\") | select(test(\"$measured\"))]
                | sort | join(\" \")")"
        expect "checkpoints, command" "2 true weft run d?ck.ini checkpoint.every=3" \
            "$(record '"\(.checkpoint.count) \(.checkpoint.bytes >= 2 * 60 * 50 * 8) \(.command)"')"
    done
}

# bats test_tags=gpus:part
@test "rates follow from time, cells and words" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=600 grid.ny=500 time.steps=40 run.fuse=1
    near() { record "($1) as \$a | ($2) as \$b | (\$a / \$b - 1) | fabs < 1e-6"; }
    weft_run 2 d.ini
    expect gcells_per_s true "$(near .gcells_per_s '600 * 500 / .step_s.mean / 1e9')"
    expect "bytes_per_s, heat f64" true "$(near .bytes_per_s '.gcells_per_s * 1e9 * 2 * 8')"
    expect fraction true "$(near .fraction_of_ceiling '.bytes_per_s / .ceiling_bytes_per_s')"
    expect "fraction of the median step" true \
        "$(near .fraction_of_ceiling_p50 '600 * 500 * 2 * 8 / .step_s.p50 / .ceiling_bytes_per_s')"
    expect "percentiles in order" true \
        "$(record '.step_s | .min <= .p50 and .p50 <= .p90 and .p90 <= .p99 and .p99 <= .max')"
    expect "steps in the histogram" 40 "$(record '.step_histogram | add')"
    weft_run 2 d.ini problem.kind=wave problem.dtype=f32
    expect "bytes_per_s, wave f32" true "$(near .bytes_per_s '.gcells_per_s * 1e9 * 3 * 4')"
    deck t.ini problem.kind=transpose grid.nx=600 grid.ny=500 time.steps=10
    weft_run 2 t.ini
    expect "bytes_per_s, transpose f64" true "$(near .bytes_per_s '.gcells_per_s * 1e9 * 4 * 8')"
}

# That the resolved deck of the record runs as it did: test_config_reads_or_refuses.
# bats test_tags=gpus:part
@test "the command line wins over the deck; the record has what was asked and what was used" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=60 grid.ny=50 time.steps=6
    weft_run 2 d.ini time.steps=4 run.lanes=2 run.feed=openmp run.threads=1 run.ranks_y=2 run.transport=staged
    expect asked "auto staged openmp 2 0 1 0 2" "$(record '.asked |
        "\(.device) \(.transport) \(.feed) \(.lanes) \(.fuse) \(.threads) \(.ranks_x) \(.ranks_y)"')"
    expect used "4 60 50 openmp 2 1 1 2" "$(record \
        '"\(.steps) \(.grid.nx) \(.grid.ny) \(.feed) \(.lanes) \(.fuse) \(.ranks_x) \(.ranks_y)"')"
}

# bats test_tags=gpus:part
@test "the phases make the run whole, in the record; the table has their means" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=2000 grid.ny=1000 time.steps=40 \
        checkpoint.every=20 time.norm_every=10 \
        output.every=20 problem.dtype=f32
    weft_run 2 d.ini >table
    expect "phases beside what contains them" "" "$(record '.phases | map_values(.mean_s) | . as $all
        | {run: [.start_up, .loop, .output, .verify], loop: [.steps, .norm, .checkpoint, .series],
           start_up: [.mpi, .device, .fields, .transport, .passes, .tune, .calibrate, .initialise, .writer]}
        | to_entries[] | (.value | add) as $parts |
            select($parts > 1.001 * $all[.key] or $parts < 0.97 * $all[.key] - 0.02)
        | "\(.key): \($parts) of \($all[.key])"')"
    grep -q '^run  *100.0 ' table
    record '.phases | to_entries[] | "\(.key) \(.value.mean_s)"' >means
    expect "rows with another mean than the record's" "" "$(awk '
        BEGIN { unit["s"] = 1; unit["ms"] = 1e-3; unit["us"] = 1e-6 }
        FNR == NR { mean[$1] = $2; next } /^phase/ { on = 1; next } NF == 0 { on = 0 }
        on && $1 in mean && ($3 * unit[$4] / mean[$1] - 1)^2 > 1e-4' means table)"
}

@test "a rank whose copies are slow is named, in the table and the record" {
    weft=$weft_sanitize
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=1200 grid.ny=900 time.steps=6
    WEFT_FAULT=slow_rank weft_run 2 d.ini >table
    expect "rank, host, far longer" "1 $(hostname) true" \
        "$(record '.slowest.copies | "\(.rank) \(.host) \(.over_median > 1)"')"
    expect "lines that name it" 1 "$(grep -c "^slow rank *1 on $(hostname): its copies take .* longer" table)"
    "$weft_release" run d.ini --quiet
    expect "a rank alone" null "$(record .slowest.copies)"
}

@test "names that are not UTF-8 do not cost the record" {
    local name=$'d\xe9ck.ini'
    deck "$name" problem.kind=heat problem.alpha=0.2 grid.nx=60 time.steps=2 "output.final=$'f\xe9.h5'"
    weft_alone "$name"
    expect command "weft run d?ck.ini" "$(record .command)"
}
