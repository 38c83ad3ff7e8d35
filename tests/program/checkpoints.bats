# Checkpoints of long runs: a thread of each rank writes them while time steps go on, also where a write is
# slow or fails (tests/support/shim_process.c); which ones stay, and whose directory it is.
load ../support/helper

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=200 grid.ny=160)

endless() { begin "$1" d.ini time.steps=1000000000 "${@:2}"; } # ranks key=value...

# bats test_tags=gpus:part
@test "in the background and the foreground, by one writer and by all: the same cells, and a record of it" {
    deck d.ini problem.kind=wave "${heat[@]:1}" time.steps=40 checkpoint.every=20 checkpoint.keep=0
    weft_run 2 d.ini
    expect "async, writers, bytes in the seconds of a write, what weft bench io alone measures" \
        "true 1 true null null" "$(record '.checkpoint | (.bytes / .write_s / .bytes_per_s - 1 | fabs < 1e-6) as $right
            | "\(.async) \(.writers) \($right) \(.raw) \(.raw_bytes_per_s)"')"
    weft_run 3 d.ini checkpoint.{writers=9,dir=by3,async=false}
    expect "async, writers" "false 3" "$(record '"\(.checkpoint.async) \(.checkpoint.writers)"')"
    "$weft" diff checkpoints by3
}

@test "steps go on beside a slow write; one that comes too early waits, which is stall; both are whole" {
    weft=$weft_sanitize # whose steps take long
    deck d.ini "${heat[@]}" checkpoint.keep=0 time.steps=8
    SHIM_MS=300 preloaded weft_run 2 d.ini checkpoint.every=4 checkpoint.dir=two
    expect "both written; the second waited for the first, the end for the second" true \
        "$(record '.checkpoint | .count == 2 and .stall_s > 0.5')"
    "$weft" verify two
    SHIM_MS=100 preloaded weft_run 2 d.ini grid.nx=100 grid.ny=80 time.steps=10000 checkpoint.every=5001 \
        checkpoint.dir=one
    expect "steps beside it" true "$(record '.checkpoint | .count == 1 and .stall_s < .write_s / 2')"
}

@test "a write that fails in one rank's thread: exit 3, soon, or said once; nothing half written" {
    weft=$weft_sanitize
    deck d.ini "${heat[@]}" time.steps=400 checkpoint.every=100 checkpoint.writers=3
    export SHIM=fsync
    SHIM_RANK=1 preloaded refuses 3 weft_run 3 d.ini time.steps=1000000000 -- \
        "$(checkpoint 100)" "Input/output error"
    expect "files" "" "$(ls -A checkpoints)"
    SHIM_RANK=2 run --separate-stderr preloaded weft_run 3 d.ini checkpoint.on_error=continue
    expect "status, sentences" "0 1" "$status $(grep -c '^weft: ' <<<"$stderr")"
    expect "files" "" "$(ls -A checkpoints)"
    expect "steps, files, failures" "400 0 4" \
        "$(record '"\(.steps) \(.checkpoint.count) \(.checkpoint.failed)"')"
}

@test "other bytes in a part than were written: exit 3 names part, block and rows; an older state stays" {
    deck d.ini "${heat[@]}" time.steps=6 checkpoint.every=3 checkpoint.keep=0
    weft_run 2 d.ini time.steps=3
    SHIM=flip SHIM_RANK=1 preloaded refuses 3 \
        weft_run 2 d.ini checkpoint.writers=2 --restart checkpoints --quiet -- \
        "$(checkpoint 6)" "rank 1 read back other values than were written: part 1" \
        "/1.h5), block 0, rows 80 .. 159 of /fields/u: CRC-32C"
    expect "files" step_0000000003.h5 "$(echo $(ls -A checkpoints))"
    "$weft" verify checkpoints
}

@test "a file system with room for one checkpoint: a dry run and weft bench say what is needed" {
    [ "$(id -u)" = 0 ] || skip "not root: no small file system can be mounted"
    mkdir small
    deck d.ini "${heat[@]}" time.steps=400 checkpoint.every=100 checkpoint.dir=small checkpoint.keep=1
    mount -t tmpfs -o size=200k none small 2>/dev/null || skip "no file system can be mounted here"
    run weft_alone d.ini --dry-run
    "$weft" bench io/write_slabs device=host dir=small bytes=4M samples=none output=none >bench 2>&1
    umount small
    refused 3 "checkpoint.dir = small: a file needs " ", but only"
    grep 'io/write_slabs skipped: dir = small: needs 10.5 MB, but only' bench || { cat bench; return 1; }
}

@test "checkpoint.keep, keep_every, over a restart; and the last seen whole" {
    deck d.ini "${heat[@]}" time.steps=50 checkpoint.every=10 checkpoint.keep=1 checkpoint.keep_every=2
    weft_alone d.ini
    weft_alone d.ini time.steps=70 --restart checkpoints
    expect "files after the restart" "20 40 60 70" "$(steps_in)"
    # what was not read back is not known to be whole
    weft_alone d.ini checkpoint.{keep_every=0,verify=off} time.steps=80 --restart checkpoints
    expect "files without verify" "70 80" "$(steps_in)"
    weft_alone d.ini checkpoint.keep_every=0 time.steps=90 --restart "$(checkpoint 80)"
    expect "files after a verified one" 90 "$(steps_in)"
    # a state of another problem is not replaced
    local kept=checkpoints/step_0000000090.heat-200x160-f64.h5
    refuses 0 weft_alone d.ini checkpoint.keep_every=0 grid.nx=201 time.steps=90 --quiet -- \
        "checkpoints/step_0000000090.h5, a state of another problem, is kept as $kept"
    expect "files of the later problem" 90 "$(steps_in)"
    weft_alone d.ini time.steps=90 --restart $kept checkpoint.dir=other
    weft_alone d.ini grid.nx=202 time.steps=90 checkpoint.dir=other output.{series=checkpoints,every=90} \
        --quiet
    expect "files that are kept" "heat-200x160-f64 heat-201x160-f64" \
        "$(basename -a -s .h5 checkpoints/*.heat-*.h5 | cut -d . -f 2 | xargs)"
}

@test "a directory in which a run writes is refused; a stale lock is taken over" {
    deck d.ini "${heat[@]}"
    endless 1 checkpoint.every=2000
    wait_for is_there 'checkpoints/*.h5'
    refuses 2 weft_run 2 d.ini time.steps=3 checkpoint.every=1 -- \
        checkpoint.dir checkpoints "$(uname -n)" "pid $mpirun"
    weft_alone d.ini time.steps=3 checkpoint.every=1 checkpoint.dir=other
    weft_alone d.ini time.steps=3 --quiet
    expect "what is not promised" "checkpoint.dir: another run holds checkpoints/.weft.lock; \
a signal would end this run without a checkpoint" "$(record '.notes[-1]')"
    kill -9 $mpirun
    ends
    run --separate-stderr weft_alone d.ini time.steps=3 checkpoint.every=1
    expect "status of the next, sentences" "0 1" "$status $(ours "$stderr" | grep -c 'took over')"
    expect "locks left" "" "$(find . -name '*.lock')"
}
