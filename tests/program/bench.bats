# weft bench: every rung is right before it is timed, and leaves a record that holds what it promises.
load ../support/helper
load ../support/bench_records

bench() { launch 1 "$weft" bench "$@"; }
small=(nx=300 ny=200 ceiling_bytes=1M samples=5)          # of the transpose
small_all=("${small[@]}" n=30000 steps=4 samples=3) # of all families of the host

@test "--list names families and rungs, and runs nothing" {
    bench --list >list
    grep -q '^transpose: .* (docs/teaching/transpose.md)$' list
    grep -q '  transpose/naiveRow ' list
    grep -q '  nx=' list
    expect files list "$(echo *)"
    bench transpose/naiveRow --list device=host >list
    expect "rungs of a chosen one" 1 "$(grep -c ' transpose/' list)"
}

@test "the rung's own figure comes last, columns fit, rows name values that are not the usual ones" {
    bench fused/production device=host nx=300 ny=200 ceiling_bytes=1M samples=3 >table
    expect steps "steps=1 steps=2 steps=4 steps=12 steps=8" \
        "$(awk '$1 == "fused/production" { printf "%s%s", sep, $2; sep = " " }' table)"
    grep -q '^fused: .*, f32$' table
    expect "rows with what was set" 5 "$(grep -c '  nx=300: ny=200: weft' table)"
    expect "rows whose last column stands below its heading" 5 \
        "$(awk '/^rung / { at = index($0, "what it shows") } /^fused\// && substr($0, at - 2, 3) ~ /^  [^ ]/' table | wc -l)"
}

@test "on several ranks one measures, and says so; rows stand there as soon as they are measured" {
    exec 8>>results.jsonl # while another process keeps the file of records, it ends at none
    flock 8
    launch 2 "$weft" bench access device=host n=30000 ceiling_bytes=1M samples=3 >out 2>said 8>&- &
    mpirun=$!
    wait_for grep -q '^access/strideRead *stride=64 ' out
    expect "records, rows of others" "0 0" "$(wc -l <results.jsonl) $(grep -c access/chain out)"
    exec 8>&-
    ends
    expect "status, records, rows" "0 2 1" "$status $(wc -l <results.jsonl) $(grep -c access/chain out)"
    grep -q '^weft: .*rank 0' said
}

@test "what is unknown is one sentence, and nothing runs" {
    local mistake
    for mistake in "transpos|no rung transpos" "transpose/naiverow|no rung transpose/naiverow" "transpose nz=5|the key of nz=5" \
        "transpose nx=0|nx = 0; allowed: whole numbers 1 .." "transpose nx=12b|nx = 12b" \
        "transpose dtype=f16|dtype = f16; allowed: f32, f64" "device=gpu|device = gpu; allowed: auto, host, cuda" \
        "transpose samples=some|samples = some" "--lst|--lst" "--foo=bar transpose/copyRow|--foo=bar"; do
        refuses 2 bench ${mistake%|*} -- "${mistake#*|}"
    done
    expect files "" "$(find . -type f)"
}

@test "without a GPU device=cuda is exit 3; device=auto is the host where there is none, and never a silent one where a GPU was given" {
    [ "$(gpus)" = 0 ] || skip "a GPU is here"
    refuses 3 bench device=cuda -- "device = cuda"
    export CUDA_VISIBLE_DEVICES=GPU-none # as a job is given one: by a name, which no GPU has
    local given="there is CUDA_VISIBLE_DEVICES = GPU-none"
    { bench --list && bench transpose/copyRow device=host "${small[@]}"; } >out 2>&1
    ! grep CUDA_VISIBLE_DEVICES out
    run bench transpose/copyRow "${small[@]}"
    if "$weft" info | grep -q '^CUDA *none'; then
        expect status 0 "$status"
        [[ $output == *"this build has no CUDA (make CUDA=1), but $given: the run uses the host"* ]]
    else
        refused 3 "no GPU can be used" "$given; device=host runs without"
    fi
}

@test "every host rung is right, and its record holds what it promises" {
    bench device=host "${small_all[@]}" >table
    expect "wrong rungs" 0 "$(grep -c WRONG table)"
    expect "records" "$(bench device=host --list | grep '^  [a-z]*/' | grep -cvE '^  (halo|alltoall|io)/')" \
        "$(wc -l <results.jsonl)"
    bench device=host dtype=f64 "${small_all[@]}" >table
    bench device=host threads=3 "${small_all[@]}" nx=37 ny=131 n=1003 >table
    bench streaming device=host threads=3 nx=203 ny=101 chunk_rows=5 steps=40 dtype=f64 ceiling_bytes=1M >table
    sound
}

of_memory=(ceiling memory access shared transpose stencil)
of_work=(fused reduce launch constant arith streams roofline streaming)
right_on_the_gpu() { # words of weft bench...
    local type
    needs_gpu
    for type in f32 f64; do bench "$@" device=cuda dtype=$type samples=3 ceiling_bytes=64M nx=2048 ny=1024 n=1M >table; done
    sound
    bench "${@/bytes=4M/bytes=1000000}" device=cuda samples=none nx=1003 ny=517 n=100003 >table
}

# bats test_tags=gpus:part
@test "every rung of the GPU's memory is right, at odd sizes too" {
    right_on_the_gpu "${of_memory[@]}" bytes=4M
}

# bats test_tags=gpus:part
@test "every rung of the GPU's work is right, at odd sizes too; these are all families" {
    right_on_the_gpu "${of_work[@]}"
    expect "families" "$(printf '%s\n' halo alltoall io "${of_memory[@]}" "${of_work[@]}" | sort)" \
        "$(bench --list device=cuda | sed -n 's/^\([a-z]*\): .*/\1/p' | sort)"
}

@test "samples=none verifies and times nothing; output=FILE leaves that one, output=none none" {
    bench transpose access/strideRead device=host "${small[@]}" n=30000 samples=none output=mine.jsonl >table
    expect "lines that say right" "$(grep -cE '^(transpose|access)/' table)" "$(grep -c ' right ' table)"
    ! grep -q ceilings table
    expect "what the record says" "true null null null" \
        "$(jq -r '"\(.verified) \(.rate) \(.time_s.p50) \(.ceiling)"' mine.jsonl | sort -u)"
    bench transpose/copyRow device=host "${small[@]}" output=none
    expect files "./mine.jsonl ./table" "$(find . -type f | sort | xargs)"
    refuses 3 bench transpose/copyRow device=host output=no/such/folder.jsonl -- "no/such/folder.jsonl"
}

@test "a sweep stands in one record, point by point; a set value is one point" {
    bench access/strideRead device=host n=100000 ceiling_bytes=1M samples=3
    expect swept "stride 1 2 4 8 16 32 64" "$(record '"\(.swept) \([.sweep[].parameters.stride | tostring] | join(" "))"')"
    expect "the rung's own figure is the last point's" true "$(record '.rate == .sweep[-1].rate and .parameters.stride == 64')"
    bench access/strideRead device=host n=100000 stride=3 ceiling_bytes=1M samples=3
    expect "records, one point" "2 3" "$(wc -l <results.jsonl) $(record '[.sweep[].parameters.stride | tostring] | join(" ")')"
}

@test "rates follow from bytes and time; rows of a machine that was not quiet bear a mark, and are counted" {
    bench transpose/naiveRow ceiling/copy reduce/registers device=host nx=640 ny=480 n=4096 ceiling_bytes=1M \
        samples=20 dtype=f64 >table
    expect "marks" "$(jq -s 'map(select(.spread > .1)) | length' results.jsonl)" "$(grep -cE '^[a-z]+/.* % \*  ' table)"
    expect "bytes: a copy reads and writes, so does a transpose, a sum reads" "copy 2097152 naiveRow 4915200 registers 32768" \
        "$(jq -rs 'map("\(.rung) \(.rate * .time_s.p50 | round)") | sort | join(" ")' results.jsonl)"
    cc -shared -fPIC -o jumps.so -x c - <<'END'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *t)
{
    static int calls;
    const int code = (int)syscall(SYS_clock_gettime, clock, t);
    t->tv_sec += calls++ / 6; /* of three samples one takes a second more */
    return code;
}
END
    LD_PRELOAD=$PWD/jumps.so bench reduce/registers device=host n=4096 ceiling_bytes=1M samples=9 \
        output=none >table
    grep -E '^reduce/registers .*>9999 % \* .*B/s      -  ' table || { cat table; return 1; }
    expect "what the record says" "640 480 f64 B/s" \
        "$(jq -r 'select(.rung == "naiveRow") | "\(.parameters.nx) \(.parameters.ny) \(.dtype) \(.unit)"' results.jsonl)"
}
