# weft bench halo, alltoall, io: all ranks climb together; every rung is right before it is timed, stands
# beside a ceiling of the same size, and names a rank that is slow.
load ../support/helper
load ../support/bench_records

bench() { # ranks arguments...
    local ranks=$1
    shift
    launch "$ranks" "$weft" bench "$@" device=host samples=3
}

rungs() { jq -rs 'map(.rung) | join(" ")' results.jsonl; }

@test "halo: every transport of the host device, links, patterns, in f32 and f64" {
    bench 4 halo bytes=4K >table
    sound
    expect rungs "link_oneway link_both $(echo {mpi,staged}_{pair,ring,grid})" "$(rungs)"
    grep -q '^Skipped: 20 rungs that cannot run here' table
    expect ranks 4 "$(record .ranks)"
    # a rank of the ring sends two rows, of the grid two rows, two columns of as many cells, four corners of 8 x 8
    expect "cells sent" "1024 2048 4352" "$(jq -rs 'map(select(.rung | startswith("staged")).size) | join(" ")' results.jsonl)"
    expect "rates" true "$(jq -s 'map(select(.rung | startswith("staged")))
        | all((.rate * .time_s.p50 / (4 * .size) - 1) | fabs < 1e-9)' results.jsonl)"
    rm results.jsonl
    bench 2 halo bytes=1000 dtype=f64 >table
    sound
    expect "lines about rungs that are not here" 1 "$(grep -ci 'skipped\|not here' table)"
    expect "rungs of two ranks" "link_oneway link_both $(echo {mpi,staged}_{pair,ring})" "$(rungs)"
    launch 2 "$weft" bench --list halo device=host >list
    grep -q 'staged_grid .*(not here: needs at least 4 ranks, not a prime number)' list
    grep -q 'peer_pair .*(not here: the host device has transport staged only)' list
    grep -q 'nvshmem_ring .*(not here: needs a GPU)' list
    bench 3 halo/staged_ring halo/staged_pair bytes=64 >table 2>said
    grep -q '^weft: halo/staged_pair skipped: needs an even number of ranks' said
    expect "three in a ring" "staged_ring 3" "$(record '"\(.rung) \(.ranks)"')"
}

@test "halo: a sweep from 8 bytes to 64 MiB is one record, with a ceiling of each size; it needs ranks" {
    "$weft" bench halo/staged_ring device=host >table 2>said 3>&-
    grep -q '^weft: halo/staged_ring skipped: needs at least 2 ranks' said
    bench 2 halo/staged_pair >table
    expect sizes "8 64 512 4096 32768 262144 2097152 16777216 67108864" "$(record '[.sweep[].parameters.bytes] | join(" ")')"
    expect "ceilings by size" 9 "$(record '[.sweep[].ceiling] | unique | length')"
}

@test "alltoall: slabs and blocks, even and uneven" {
    bench 4 alltoall n=1000 >table
    sound
    expect rungs "staged_slabs staged_blocks" "$(rungs)"
    expect "what a rank of the slabs sends" true \
        "$(jq -s '.[0] | (.rate * .time_s.p50 / (4 * 250 * 750) - 1) | fabs < 1e-9' results.jsonl)"
    bench 4 alltoall n=37 dtype=f64 >table
    sound
}

@test "io: shared files and raw ones are right, and nothing is left" {
    mkdir there
    bench 4 io bytes=100000 dir=there >table
    sound
    expect rungs "write_slabs write_blocks read_slabs read_blocks" "$(rungs)"
    expect ceilings "raw read raw write" "$(jq -rs 'map(.ceiling_name) | unique | join(" ")' results.jsonl)"
    expect "bytes of all ranks" true "$(record '(.rate * .time_s.p50 / 400000 - 1) | fabs < 0.01')"
    expect "what is left" "" "$(ls -A there)"
    run launch 11 "$weft" bench io/write_slabs device=host dtype=f64 bytes=64 samples=none output=none
    expect said 1 "$(grep -c "io/write_slabs skipped: needs at least one row per rank" <<<"$output")"
}

@test "io: USR1, TERM or INT to a rank ends it with the signal's status, and nothing is left" {
    mkdir there
    local signal
    for signal in USR1=138 TERM=143 INT=130; do
        start 2 bench io/write_slabs device=host bytes=4M samples=1000 dir=there
        wait_for is_there 'there/weft_bench_io.*'
        kill -${signal%=*} "$(pgrep -P $mpirun -f 'bench io' | tail -n 1)"
        ends
        expect "status after $signal" ${signal#*=} "$status"
        expect "left after $signal" "" "$(ls -A there)"
    done
}

@test "a slow rank is named, in the table and the record" {
    WEFT_FAULT=slow_rank:3 launch 4 "$weft_sanitize" bench halo/staged_ring io/read_slabs device=host bytes=512 samples=15 >table
    expect slowest "3 3" "$(jq -rs 'map(.slowest.rank) | join(" ")' results.jsonl)"
    expect host "$(hostname)" "$(record .slowest.host)"
    expect "lines that name it" 2 "$(grep -c 'slowest: rank 3 on .* over the median' table)"
}

@test "alone, all means the families of one device; with several ranks, these too" {
    of_all() { jq -rs 'map(.family | select(IN("halo", "alltoall", "io", "transpose"))) | unique | join(" ")' results.jsonl; }
    local small=(device=host samples=none ceiling_bytes=1M nx=64 ny=64 n=3000)
    launch 1 "$weft" bench "${small[@]}" >table
    expect "families of one rank" transpose "$(of_all)"
    launch 2 "$weft" bench "${small[@]}" bytes=10000 >table 2>said
    expect "families of two ranks" "alltoall halo io transpose" "$(of_all)"
}

@test "a mistake is one sentence from one rank" {
    refuses 2 bench 4 halo bytes=7 -- "bytes = 7" "whole numbers 8 .."
    refuses 2 bench 2 io/write_slabs bytes=1000 dir=nowhere -- "dir = nowhere: No such file" "allowed"
}
