# jobs/predict: steps that were measured on 1, 2 and 4 GPUs come out within 10 % from the ceilings in their records, what is
# said for other numbers of ranks is what the program would do there, and what no record covers is named.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    records=$(printf '%s\n' "$older"/h200x4/*.jsonl | paste -sd,)
    deck d.ini problem.kind=heat problem.dtype=f32 problem.alpha=0.2 grid.nx=16384 grid.ny=16384 time.steps=10
}
predict() { WEFT=$weft timeout $hang_s "$top/jobs/predict" "$@" 3>&-; }

# The newest record of each machine: one, two and four H200s, and what `weft bench` measured there. Of grids that the cache holds the
# model knows too little.
results=$top/jobs/results
newest=
for question in h200x1/*-one-step h200x1/*-temporal-blocking h200x1/*-transposes h200x2/*-overlap h200x2/*-scaling h200x4/*-scaling; do
    newest+=,$(echo "$results"/$question.jsonl)
done
newest=${newest#,}
rungs=$(echo "$results"/h200x1/*-ladder.jsonl "$results"/h200x2/*-transports.jsonl "$results"/h200x4/*-transports.jsonl | tr ' ' ,)
one_step=$(echo "$results"/h200x1/*-one-step.jsonl) overlap=$(echo "$results"/h200x2/*-overlap.jsonl)
older=$top/tests/support/records # of older commits, which these tests know

# within_5_of_100 LEAST: of the steps that were checked, which are at least as many
within_5_of_100() {
    grep -E '[*]$|^[0-9]+ of' said
    awk -v least="$1" '/^[0-9]+ of [0-9]+ steps are/ { found = $3 >= least && $1 <= 0.05 * $3 } END { exit !found }' said
}

@test "the newest record of each machine: at most 5 of 100 steps are more than 10 % off, and they stand at the end" {
    predict --from "$newest,$rungs" --check "$newest" >said || true
    within_5_of_100 229
    awk '$NF ~ /^[-+][0-9.]+[*]?$/ { off = $NF + 0; if (off < 0) off = -off; if (off < last) exit 1; last = off } END { exit last <= 10 }' said
    # each machine by itself, from its own ceilings
    local of
    for of in h200x1/*-one-step h200x1/*-temporal-blocking h200x2/*-overlap h200x2/*-scaling h200x4/*-scaling; do
        of=$(echo "$results"/$of.jsonl)
        predict --from "$of" --check "$of" >said || true
        within_5_of_100 6
    done
}

@test "simulated ranks: from 16 to 256, and from all, steps, norms and transposes to 4096 come within 15 %" {
    local all most
    all=$(echo "$results"/simulated/*-weak.jsonl)
    for most in 256 4096; do
        jq -c "select(.ranks <= $most)" "$all" >few.jsonl
        predict --from few.jsonl --check "$all" >said || true
        cat said
        expect "steps that are compared" 15 "$(grep -c ' staged host ' said)"
        expect "more than 15 % off" "" "$(awk '/ staged host / { off = $NF + 0; if (off > 15 || off < -15) print $0 }' said)"
    done
}

@test "of equal work the newest counts, whatever its commit and the order of the files: runs, and rungs" {
    local of=$older/h200x4/heat_weak.jsonl links=$older/h200x4/bench_links.jsonl
    jq -c '.started = "2026-01-01T00:00:00Z" | .step_s.p50 *= 1.5' "$of" >old.jsonl
    jq -c '.started = "2027-01-01T00:00:00Z" | .step_s.p50 *= 1.5' "$of" >new.jsonl
    jq -c '.started = "2026-01-01T00:00:00Z" | (.time_s, .sweep[].time_s).p50 *= 10' "$links" >old_links.jsonl
    steps() {
        predict d.ini --ranks 1,2,4 --mode weak grid.ny=1024 --output s.jsonl --from "$1" run.transport="${2:-auto}" >said
        tail -n 3 s.jsonl | jq -c .step_s | xargs
    }
    expect "an older one, named last" "$(steps "$of")" "$(steps "$of,old.jsonl")"
    grep -q '^ *left out: 3 runs with a newer one of equal work$' said
    expect "a newer one, named first" "$(steps new.jsonl)" "$(steps "new.jsonl,$of")"
    [ "$(steps new.jsonl)" != "$(steps "$of")" ]
    expect "an older scan, named last" "$(steps "$of,$links" aware)" "$(steps "$of,$links,old_links.jsonl" aware)"
    [ "$(steps "$of,$links" aware)" != "$(steps "$of,old_links.jsonl" aware)" ]
}

@test "what no record covers is named, in records, and grey in a picture: ranks per host, links between hosts, a rate by one size" {
    local of=$older/h200x4/heat_weak.jsonl
    predict d.ini --from "$of" --mode weak run.transport=peer --per-host 8 --ranks 1,4,8,16 --output p.jsonl >said
    expect "of each line" '[[],[],["ranks per host"],["ranks per host","links between hosts"]]' "$(jq -sc 'map(.beyond)' p.jsonl)"
    expect "lines with a star" "8 16" "$(awk '/^ .*[*]$/ { print $1 }' said | xargs)"
    grep -q '^[*] The records have at most 4 ranks per host; more were not measured.$' said
    grep -q '^[*] No record has several hosts: the links between them were not measured.$' said
    grep -Eq '^between .*[(]assumed, not measured[)]$' said
    grep -Eq '^copy .* per launch [(]assumed, not measured[)]$' said
    grep -q '^blocks  *of steps: as on 132 SMs per GPU (assumed)$' said
    grep -q '^peer .* whatever the size: the records have too few sizes to show a rate$' said
    expect "infinite rates" 0 "$(grep -c 'inf\b' said)"
    cp "$of" w.jsonl
    "$top/jobs/plot" w.jsonl --predicted p.jsonl >said
    grep -q '>predicted, beyond the records<' w.svg # in grey: plots.bats looks at the points
    jq -c 'select(.beyond == [])' p.jsonl >covered.jsonl
    "$top/jobs/plot" w.jsonl --predicted covered.jsonl >said
    grep -q '>predicted<' w.svg
    expect "labels of what no record covers" 0 "$(grep -c '>predicted, beyond' w.svg)"
}

@test "norms are taken from the record's key, and from the deck of records of before it" {
    jq -c 'del(.deck) | .norm_every = 1' "$older/h200x4/laplace_strong.jsonl" >key.jsonl
    jq -c 'del(.deck)' "$older/h200x4/laplace_strong.jsonl" >none.jsonl
    norms() {
        predict d.ini problem.kind=laplace problem.alpha=0 time.norm_every=1 --ranks 4 --from "$1" \
            --output n.jsonl >said
        tail -n 1 n.jsonl | jq .parts_s.norm
    }
    expect "of the key" "$(norms "$older/h200x4/laplace_strong.jsonl")" "$(norms key.jsonl)"
    [ "$(norms none.jsonl)" != "$(norms key.jsonl)" ]
    launch 1 "$weft" run d.ini grid.nx=64 grid.ny=64 time.norm_every=3 --quiet
    expect "a run's" 3 "$(tail -n 1 results.jsonl | jq .norm_every)"
}

@test "two and four GPUs from runs on one and the links that weft bench measured" {
    jq -c 'select(.ranks == 1)' "$older"/h200x4/{heat_4096,heat_f64,laplace_no_norm}_strong.jsonl \
        "$older/h200x4/heat_small_weak.jsonl" >one.jsonl
    jq -c 'select(.ranks > 1)' "$older"/h200x4/{heat_4096,heat_f64,laplace_no_norm,laplace}_strong.jsonl \
        "$older"/h200x4/{heat,heat_small}_weak.jsonl >more.jsonl
    predict --from "one.jsonl,$older/h200x4/bench_links.jsonl" --check more.jsonl >said || true
    cat said
    grep -q '^1 of 14 steps' said
    grep -Eq ' 4096x4096 +1x4 .*\*$' said
}

@test "what a run would choose: how many steps per pass, over which transport, by which feed" {
    local from=$newest,$rungs with_older=$newest,$rungs,$older/fused_h200.jsonl
    fused() { predict d.ini --from "$from" --output f.jsonl time.steps=1000 "$@" >said && jq -s "map(.fuse)|.[-${n:-1}:]" -c f.jsonl; }
    expect "f32, on 1 and 4 ranks" "[12,12]" "$(n=2 fused --ranks 1,4)"
    expect "of lengths that the kernels have" "[8]" "$(from=$with_older fused --ranks 1 run.fuse=10)"
    expect "over, and fed by" '"peer" "graph" 1 2,"peer" "graph" 1 4,"peer" "host" 2 8' \
        "$(fused --ranks 2,4,8 --per-host 4 >/dev/null; tail -n 3 f.jsonl | jq -r '"\(.transport|tojson) \(.feed|tojson) \(.hosts) \(.ranks)"' | paste -sd,)"
    expect "f64" "[12]" "$(fused --ranks 2 problem.dtype=f64)"
    expect "radius 3" "[4]" "$(fused --ranks 1 problem.order=6 problem.alpha=0.1)"
    expect "asked" "[4]" "$(from=$with_older fused --ranks 1 run.fuse=4)"
    expect "single steps between hosts, which wait for these" "1 true" \
        "$(fused --ranks 8 --per-host 4 run.fuse=1 --between-us 1000 >/dev/null; tail -n 1 f.jsonl | jq -r '"\(.fuse) \(.step_s > 0.9e-3)"')"
    jq -c 'select(.ranks == 1 or .transport == "aware")' "$overlap" >aware.jsonl
    expect "of the transports that records tell of" aware "$(from=aware.jsonl fused --ranks 2 >/dev/null; tail -n 1 f.jsonl | jq -r .transport)"
    expect "advection of order 4, by a wave's records" "[8]" "$(fused --ranks 1 problem.kind=advect problem.order=4)"
    expect "a norm every other step" "[1]" "$(fused --ranks 1 time.norm_every=2)"
    expect "short runs" "[1]" "$(fused --ranks 1 time.steps=10)"
    expect "a box as narrow as a run would not try" "[1]" "$(fused --ranks 1 grid.nx=60 grid.ny=4000000)"
    expect "another machine's records" "[1]" "$(jq -c '.machine.processor = "X"' "$one_step" >x.jsonl
        from=$records,x.jsonl fused --ranks 1)"
}

@test "a step that took half as long again is told, and ends with 1" {
    jq -c 'if .ranks == 4 then .step_s.p50 *= 1.5 else . end' "$older/h200x4/heat_weak.jsonl" >slow.jsonl
    run predict --from "$older/h200x4/heat_weak.jsonl" --check slow.jsonl
    expect status 1 "$status"
    [[ $output == *"1 of 3 steps are more than 10 % off"* ]]
}

@test "a weak study to 100000 ranks: records of it, drawn over what was measured" {
    predict d.ini --from "$records" --mode weak --ranks 1,4,8,64,100000 run.feed=openmp --mtbf-hours 50000 \
        --file-gbs 100 --output p.jsonl >said
    expect "lines" 5 "$(wc -l <p.jsonl)"
    line() { jq -s "$1" p.jsonl; }
    expect "on 4 GPUs as measured, within 2 %" true "$(line '.[1].step_s / 503.52e-6 - 1 | fabs < 0.02')"
    expect "whole on one host, split on eight" '"peer",1,8' "$(line '.[1].transport, .[2].hosts, .[3].hosts' | paste -sd,)"
    expect "the grid" 1638400000 "$(line '.[4].grid.ny + 0')"
    expect "efficiency falls" true "$(line '[.[].efficiency] | .[0] == 1 and . == (sort | reverse) and .[4] > 0.9')"
    expect "the parts make the step" true "$(line 'all(.[]; ([.parts_s[]] | add) / .step_s - 1 | fabs < 1e-9)')"
    expect "file: 4 bytes a cell" true "$(line '.[3].checkpoint_s * 100e9 / (4 * 16384 * 16384 * 64) - 1 | fabs < 1e-9')"
    expect "Young's interval, all but Daly's terms" true \
        "$(line '.[0] | .interval_s / (2 * .checkpoint_s * 50000 * 3600 | sqrt) - 1 | fabs < 0.01')"
    grep -q 'between .*assumed, not measured' said
    cp "$older/h200x4/heat_weak.jsonl" w.jsonl
    "$top/jobs/plot" w.jsonl --predicted p.jsonl >said
    grep -q '>predicted, beyond the records<' w.svg
}

# 1 TB/s, launches of 1 us, links of 10 us and 1 GB/s within a host, 20 us and 10 GB/s between hosts;
# 1000 x 1000 f64 cells per rank.
@test "by hand: what bytes, launches, messages and norms of a step add up to; Daly's interval" {
    PYTHONPATH=$top/jobs /usr/bin/python3 - <<'END'
import math
from weftlab.predict_model import *
machine = Machine(True, "", 1e-6, copies=[(1e6, 1e12)], between=(20e-6, 1e10))
machine.exchange = {t: (10e-6, 1e9) for t in TRANSPORTS}
machine.transposes = {"peer": {2: 3e11, 4: 1e11}}
heat = dict(kind="heat", dtype="f64", radius=1, stencil="star", words=2)
heat.update(two_levels=False, transposes=0, by_lines=False)
over = "staged", "split"
turn, sweep = dict(heat, words=4, transposes=1), dict(heat, words=4, transposes=2, by_lines=True)
machine.pass_cell_s["star", False, "f64", 1, 10] = 20e-12
machine.norm_cell_s = 1e-12
def case(ranks, ranks_x, transport, form, **more):
    given = dict(problem=heat, per_host=4, graph=False, norm_every=0, steps=1, pass_cells=1.018e6)
    return Case(nx=1000, ny=1000 * ranks, ranks=ranks, ranks_x=ranks_x, ranks_y=ranks // ranks_x, form=form,
                transport=transport, **{**given, **more})
for us, part, of in (
    (17.4, "step", case(1, 1, "staged", "whole")),  # 16 MB, and 1.4 launches
    (18.2, "step", case(4, 1, "peer", "whole")),  # .8 of one for having neighbours
    (16.54, "step", case(4, 1, "peer", "whole", graph=True)),
    (22, "step", case(4, 1, *over)),  # rows of 8000 bytes: 2 us longer than the interior
    (34, "step", case(4, 1, *over, exchange_s=30e-6)),  # as it was measured
    (16 + 2.2 + 18 - 3.2, "step", case(4, 1, "nccl", "split")),  # hidden behind a fifth of the interior
    (40, "alone", case(4, 2, "aware", "split")),  # rows of 500 cells, columns of 2000
    (1.25, "norm", case(4, 2, "aware", "split", norm_every=2)),
    (21.6, "alone", case(16, 1, *over)),  # two rows leave each host
    (138, "alone", case(16, 16, *over)),  # columns of 16000 cells
    (42.5, "norm", case(16, 16, *over, norm_every=1)),  # 2.5 launches, and 2 hops
    (45.6, "alone", case(16, 16, *over, per_host=1)),
    (1.6, "memory", case(4, 1, *over, steps=10)),
    (.436, "arithmetic", case(4, 1, *over, steps=10)),  # 20.36 us, of which a copy takes 16
    (7.264, "exchange", case(4, 1, *over, steps=10)),  # 90 us beside the pass, and 3
    (.35, "norm", case(4, 1, *over, steps=10, norm_every=10, norm_in_pass=True)),
    (61.4, "step", case(4, 1, "peer", "split", problem=turn)),  # 6 of 8 MB are sent; 32 us of memory
    (153.4, "step", case(4, 1, "peer", "split", problem=sweep)),
    (861.4, "step", case(4, 1, "peer", "split", problem=turn, per_host=2)),  # half of 16 MB leaves a host
):
    found = dict(parts_of_step(machine, of), step=step_s(machine, of), alone=exchange_alone(machine, of))
    assert math.isclose(found[part], us * 1e-6), (us, part, found)
assert not knows(machine, case(4, 1, *over, steps=4))
assert not knows(machine, case(3, 1, "nccl", "split", problem=turn))
assert [machine.transpose_rate("peer", ranks) for ranks in (2, 3, 16)] == [3e11, 1e11, 1e11]
machine.add_copy(1e8, .25e12), machine.add_copy(1.02e8, .2e12)
assert len(machine.copies) == 2 and math.isclose(machine.copy_rate(1e7), .5e12)
assert math.isclose(interval_daly(50, 10000), 1000 * (1 + 0.05 / 3 + 0.0025 / 9) - 50)
assert interval_daly(50, 20) == 20
assert math.isclose(waste(950, 50, 10000), 0.1)
END
}

@test "by hand: the cells of a pass of 8 steps, whose warps store 112 cells of f64, on 132 SMs of 8 warps" {
    deck s.ini problem.kind=heat problem.alpha=0.2 grid.nx=10752 grid.ny=242 time.steps=999 run.fuse=8 run.ranks_x=1
    rows() { # in each of 11 chunks
        "$weft" run s.ini --dry-run --json "$@" |
            jq '.pass | (.cells, .cells_exchange_first) / (8 * 132 * 112) * 11 | round' | xargs
    }
    expect "96 strips of 11 chunks: 22 rows, and 8 above and below" "418 418" "$(rows)"
    expect "21 rows, and shells of 8 that are 24 with their ghosts; no shells" "455 418" "$(rows ranks=2 grid.ny=484)"
}

@test "what is missing or wrong is said in one sentence" {
    local heat=$older/h200x4/heat_weak.jsonl status_of words text
    echo '{"a": 1}' >foreign.jsonl
    deck small.ini problem.kind=heat problem.alpha=0.2 grid.nx=64 grid.ny=64 time.steps=20 run.device=host output.record=streamed.jsonl
    weft_alone small.ini --quiet run.memory=host run.device_memory=1M # no pass in memory
    while IFS='|' read -r status_of words text; do
        run predict $words
        expect "status of $words" "$status_of" "$status"
        [ "$(grep -c '^predict: ' <<<"$output")" = 1 ] && [[ $output == *"$text"* ]] || { echo "$words: $output"; return 1; }
    done <<END
2|d.ini|--from
2|d.ini --from nowhere.jsonl|nowhere.jsonl: No such file
2|d.ini --from foreign.jsonl|foreign.jsonl: no record
2|d.ini --from streamed.jsonl|streamed.jsonl: no record
2|d.ini --from $heat rank=4|rank=4
2|d.ini --from $heat --restart checkpoints|--restart
2|--from $heat|a deck
2|d.ini --from $heat --check $heat|a deck, or --check
2|--per-host 4 --from $heat --check $heat|--per-host is not used together with --check
2|d.ini --from $heat --ranks 4,x|--ranks: x; allowed
2|d.ini --from $heat --per-host 2.5|--per-host: 2.5; allowed: a whole number
2|d.ini --from $heat --mode middling|middling
2|d.ini --from $heat --ranks 4 run.transport=mapped|mapped costs on 4 ranks
2|d.ini --from $one_step --ranks 1 run.fuse=4|ranks = 1: no record shows what blocks of 4 steps
2|d.ini --from $heat --ranks 1000001|1000001; allowed: a whole number from 1 to 1000000
2|d.ini --from $heat --ranks 4 grid.ny=3 run.ranks_x=1|ranks = 4:
3|d.ini --from $heat --ranks 4 --output /nowhere/p.jsonl|/nowhere
END
    WEFT=/nowhere/weft run "$top/jobs/predict" d.ini --from "$heat"
    expect "status without a program" 3 "$status"
    expect sentence "predict: /nowhere/weft: No such file or directory; WEFT names the program" "$output"
    { cat "$heat"; head -c 300 "$heat"; } >torn.jsonl
    predict d.ini --from torn.jsonl --ranks 1 | grep '3 runs and 0 rungs of bench; left out: 0 not modelled, 1 damaged'
    run "$weft" predict d.ini from="$heat"
    refused 2 "jobs/predict"
}

@test "the plan in JSON is what ranks that are here choose: grid, passes, transport, feed, messages, memory" {
    local n words plan
    for words in kind=heat "kind=heat run.fuse=4 grid.boundary=neumann" kind=transpose "kind=sweep run.fuse=1" \
        "kind=wave run.fuse=1" "kind=wave run.ranks_x=1 run.fuse=4"; do
        for n in 1 3 4; do
            deck p.ini problem.$words problem.alpha=0.2 grid.nx=2000 grid.ny=1500 time.steps=100 run.device=host output.record=none
            launch $n "$weft" run p.ini --dry-run >dry
            plan=$(timeout $hang_s "$weft" run p.ini --dry-run --json ranks=$n per_host=$n)
            here() { sed -n "s/^# $1/\\1/p" dry; }
            said() { jq -r "$1" <<<"$plan"; }
            expect "grid of $words on $n" "$(here '.*process grid \([0-9]* x [0-9]*\)$')" \
                "$(said '"\(.ranks_x) x \(.ranks_y)"')"
            expect "device of $words on $n" "$(here 'device .*, \(transport.*\)$')" \
                "$(said 'def s: if . == 1 then "" else "s" end;
                    "transport \(.transport), feed \(.feed), \(.lanes) lane\(.lanes | s), \(.fuse) step\(.fuse | s) per pass"')"
            expect "memory of $words on $n" "$(here 'memory *\([0-9.]*\) MB.*')" \
                "$(printf %.3g "$(said '.memory_bytes / 1e6')")"
        done
    done
    expect "bytes to a neighbour, per block" 64000 "$(said '.halo.bytes_along_y | floor')"
    for words in --json "--dry-run --json ranks=0" "--dry-run --json answers=3" "--dry-run ranks=4"; do
        run "$weft" run p.ini $words
        refused 2
    done
}
