# What is made of the records of weft bench: jobs/plot draws the roofline and every sweep as a PNG and an SVG that name the
# machine, jobs/compare --points holds two runs side by side, jobs/ncu_bench holds what was predicted against counters.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    python_with matplotlib pandas
}

small=(device=host nx=64 ny=48 ceiling_bytes=1M samples=5)

@test "the roofline, of both types of data, from the records of two runs" {
    "$weft" bench roofline "${small[@]}" output=r.jsonl 3>&-
    "$weft" bench roofline fused/production "${small[@]}" output=r.jsonl dtype=f64 3>&-
    expect "intensity of a star of radius 8, f32: 2 * 33 - 1 flops for 8 bytes" 8.125 \
        "$(jq -s '.[] | select(.rung == "star" and .dtype == "f32").flops_per_byte' r.jsonl)"
    mkdir scratch
    LC_ALL=C TMPDIR=$PWD/scratch "$top/jobs/plot" r.jsonl >said 2>complaints
    expect "what it said" $'r_roofline.png and r_roofline.svg\nr_fused_steps.png and r_fused_steps.svg' "$(cat said complaints)"
    expect "left in the scratch folder" "" "$(ls scratch)"
    expect PNG 89504e47 "$(od -An -tx1 -N 4 r_roofline.png | tr -d ' ')"
    grep -q "$(jq -r .git r.jsonl | head -n 1)" r_roofline.svg
    for word in 'star f32' 'box f64' 'star r=8' fingerprint 'unpack r=8' 'fused f64' '12 steps per pass'; do
        grep -q "$word" r_roofline.svg || { echo "no $word"; return 1; }
    done
}

@test "a sweep, one line for each rung and setting" {
    "$weft" bench roofline/star roofline/box "${small[@]}" output=r.jsonl 3>&-
    jq -c '.family = "sweeps"' r.jsonl >s.jsonl
    jq -c 'select(.rung == "star") | .family = "sweeps" | (.parameters, .sweep[].parameters).nx = 65' r.jsonl >>s.jsonl
    "$top/jobs/plot" s.jsonl other >said
    expect "what it said" "other_sweeps_radius.png and other_sweeps_radius.svg" "$(cat said)"
    for word in 'star nx=64' 'star nx=65' 'box nx=64'; do
        grep -q "$word" other_sweeps_radius.svg || { echo "no $word"; return 1; }
    done
}

@test "of records of one rung and setting the last is drawn, but a sweep before a single point, and no wrong one" {
    jq -nc '{family: "f", rung: "r", dtype: "f32", verified: true, swept: "k", parameters: {n: 1, k: 1}, rate: 1}
        | .sweep = [{parameters: {k: 1}}, {parameters: {k: 2}}] | (.rate = 1), (.rate = 2), (.rate = 3 | .sweep = .sweep[:1]),
          (.rate = 4 | .verified = false), (.rate = 5 | .parameters.n = 2), (.rate = 6 | .parameters.k = 2 | .dtype = "f64")' >r.jsonl
    expect "rates" "2 2 5 5 6 6" "$(PYTHONPATH=$top/jobs $python -c '
from weftlab import frame
print(*sorted(frame.newest(frame.read(["r.jsonl"], "test")[1]).rate))')"
    jq -c '.verified = false' r.jsonl >wrong.jsonl
    run "$top/jobs/plot" wrong.jsonl
    expect status 2 "$status"
    expect "the sentence" "plot: wrong.jsonl: no verified record" "$output"
    jq -c '.sweep[].verified = false' r.jsonl >none.jsonl
    run "$top/jobs/plot" none.jsonl
    expect "status without points" 2 "$status"
    echo 'raise ImportError' >matplotlib.py
    PYTHONPATH=$PWD run "$top/jobs/plot" r.jsonl
    expect "status without matplotlib" 3 "$status"
    [[ $output == "plot: "*" cannot import matplotlib "*python3-matplotlib* ]]
}

@test "small messages are drawn by their latency, large ones by their bandwidth, with whiskers over the samples" {
    jq -nc '{schema: 1, device: "cuda", family: "halo", dtype: "f32", unit: "B/s", verified: true, ranks: 2, swept: "bytes", started: "2026-11-23T",
        machine: {processor: "a GPU"}} | .rung = ("peer_ring", "mpi_ring") | (if .rung == "peer_ring" then 5e-6 else 2e-5 end) as $us
        | .sweep = [8, 4096, 65536, 1048576 | . as $bytes | ($us + $bytes / 1e11) as $s | {parameters: {bytes: .}, rate: ($bytes / $s),
            verified: true, time_s: {min: (0.9 * $s), p50: $s, p90: (1.5 * $s)}}]' >h.jsonl
    expect "points" $'5 5.04 5.66 4.5 4.54 5.09 7.5 7.56 8.48\n11.6 67.7 7.73 45.1 12.9 75.2' "$(PYTHONPATH=$top/jobs $python -c '
from weftlab import bench_pictures, frame
[(*_, points)] = bench_pictures.sweeps_of(frame.read(["h.jsonl"], "test")[1])
for axes in bench_pictures.draw_sweep(points).axes:
    print(*(f"{y:.3g}" for line in axes.lines[:3] for y in line.get_ydata()))')"
    expect "what it said" "h_halo_bytes.png and h_halo_bytes.svg" "$("$top/jobs/plot" h.jsonl)"
    for word in 'halo: latency of small and bandwidth of large messages' 'time \[µs\]' 'GB/s' '>peer_ring<' '>64 KiB<' 'a GPU, 2 ranks, 2026-11-23'; do
        grep -q "$word" h_halo_bytes.svg || { echo "no $word"; return 1; }
    done
}

@test "no text of a picture lies on another or beyond its edge" {
    local file
    for file in "$top"/jobs/results/{h100x1,h200x2}/*{ladder,transports}.jsonl; do
        [ ! -e "$file" ] || PYTHONPATH=$PWD $python "$top/tests/support/picture_check.py" "$top/jobs" "$file" >>looked || { cat looked; return 1; }
    done
    [ "$(wc -l <looked)" -gt 0 ]
}

@test "text of records is text: it runs nothing and leads no picture elsewhere, and what is to be a number is one" {
    "$weft" bench roofline/star "${small[@]}" output=r.jsonl 3>&-
    local text='x`touch PWNED`"@y$\oops$'"'"
    jq -c --arg text "$text" '.machine.processor = $text | .git = $text | .version = $text | .started = $text | .ceiling_name = $text' \
        r.jsonl >in.jsonl
    jq -c --arg text "$text" '.family = "../../" + $text | .rung = $text | (.parameters, .sweep[].parameters)[$text] = $text | ., (.parameters.nx = 65)' in.jsonl >s.jsonl
    jq -c '., (.rung = "../../star"), (.sweep[0].ceiling = "`touch PWNED`")' in.jsonl >>s.jsonl
    mkdir -p a/b/scratch
    cd a/b
    TMPDIR=$PWD/scratch "$top/jobs/plot" ../../s.jsonl here 2>complaints
    grep -q 'left out 1 lines: 0 damaged, 1 of another kind' complaints
    expect pictures 4 "$(ls here_* | wc -l)"
    expect "what else" "a a/b a/b/complaints a/b/scratch in.jsonl r.jsonl s.jsonl" \
        "$(cd ../.. && find * ! -name 'here_*' | LC_ALL=C sort | xargs)"
    grep -qF 'touch PWNED' here_roofline.svg
}

@test "records without a sweep, and records of two machines, are refused" {
    "$weft" bench roofline/transpose "${small[@]}" output=t.jsonl 3>&-
    jq -c '.family = "transpose"' t.jsonl >n.jsonl
    run "$top/jobs/plot" n.jsonl
    expect status 2 "$status"
    { cat t.jsonl; jq -c '.machine.processor = "another"' t.jsonl; } >two.jsonl
    run "$top/jobs/plot" two.jsonl
    expect status 2 "$status"
    [[ $output == "plot: two.jsonl: records of more than one device and machine" ]]
}

@test "two runs side by side: what differs by more than the bound is counted, in the rung's figure and its sweep" {
    local both='{schema: 1, device: "host", family: "f", unit: "B/s", dtype: "f32", parameters: {n: 7}}'
    jq -nc "$both"' | (.rung = "same" | .rate = 1e9), (.rung = "far" | .rate = 2e9), (.rung = "only" | .rate = 1)' >a.jsonl
    jq -nc "$both"' | .rung = "swept" | .swept = "k" | .parameters.k = 2 | .rate = 3e12
        | .sweep = [{rate: 1e12, parameters: {n: 7, k: 1}}, {rate: 3e12, parameters: {n: 7, k: 2}}]' >>a.jsonl
    jq -c 'select(.rung != "only")
        | if .rung == "far" then .rate *= 1.04 elif .rung == "swept" then .sweep[0].rate *= 0.9 else .rate *= 1.02 end' \
        a.jsonl >b.jsonl
    run "$top/jobs/compare" a.jsonl b.jsonl --points
    expect status 1 "$status"
    [[ $output == *"1 of 3 rungs differ by more than 3 %"*"2 of 4 points"* ]]
    expect "the far one" "f/far f32 2 GB/s 2.08 GB/s +4.00*" "$(grep /far <<<"$output" | tr -s ' ' | sed 's/ $//')"
    [[ $(grep /swept <<<"$output") == *"+0.00  "*"-10.00*" ]]
    "$top/jobs/compare" a.jsonl b.jsonl --points --least 5 >said
    grep -q '^0 of 3 rungs differ by more than 5 %' said
    jq -c '.rung = "other"' b.jsonl >c.jsonl
    run "$top/jobs/compare" a.jsonl c.jsonl --points
    expect "nothing in common" 2 "$status"
    echo 'raise ImportError' | tee pandas.py scipy.py >numpy.py
    PYTHONPATH=$PWD "$top/jobs/compare" a.jsonl a.jsonl --points | grep '^0 of 4 rungs' # without a package
}

# bats test_tags=gpus:1
@test "what is predicted is held against the counters, where ncu and a GPU are" {
    local status=0
    "$top/jobs/ncu_bench" "$weft" >said 2>reason || status=$?
    [ $status != 77 ] || skip "$(cat reason)"
    expect status 0 "$status" || { cat said reason; return 1; }
}

@test "what the counters deny is marked, and the exit status is 1" {
    local metric=l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op
    mkdir bin
    jq -nc '{family: "access", rung: "offsetRead", swept: "offset",
        sweep: [5, 6 | {parameters: {offset: .}, predicted: {"sectors per load": ., "sectors per store": 4}}]}' >access.jsonl
    jq -nc '{family: "launch", rung: "pipelined", parameters: {}},
        {family: "launch", rung: "ilp", parameters: {loads: 2}, predicted: {occupancy: 0.5}}' >launch.jsonl
    csv() {
        printf '"ID","Kernel Name","Metric Name","Metric Value"\n'
        for row; do printf '"%s","k(T1 *, long)","%s","%s"\n' $row; done
    }
    csv "0 ${metric}_ld.ratio 5" "0 ${metric}_st.ratio 4" "1 ${metric}_ld.ratio 7" "1 ${metric}_st.ratio 4" >access.csv
    csv "0 sm__warps_active.avg.pct_of_peak_sustained_active 1.2" \
        "1 sm__warps_active.avg.pct_of_peak_sustained_active 48.0" >launch.csv
    cat >bin/ncu <<'END'
#!/bin/bash
while [ $# -gt 0 ]; do
    case $1 in --log-file) log=$2 ;; access | launch) f=$1 ;; output=*) o=${1#*=} ;; esac
    shift
done
cp $f.csv $log; cp $f.jsonl $o
END
    printf '#!/bin/sh\n' >bin/weft
    chmod +x bin/*
    run env PATH="$PWD/bin:$PATH" "$top/jobs/ncu_bench" bin/weft
    expect status 1 "$status"
    [[ $output == *"1 of 2 points differ"*"0 of 1 points are above"* ]]
    expect "what is marked" "access/offsetRead offset=6 6 7 4 4 *" "$(grep '\*$' <<<"$output" | tr -s ' ')"
    run env LEAST=0.97 PATH="$PWD/bin:$PATH" "$top/jobs/ncu_bench" bin/weft
    [[ $output == *"1 of 1 points are above what is predicted, or below 0.97 of it" ]]
    jq -c 'select(.rung != "pipelined")' launch.jsonl >l && mv l launch.jsonl
    run env PATH="$PWD/bin:$PATH" "$top/jobs/ncu_bench" bin/weft
    expect "kernels and points do not match" 2 "$status"
}
