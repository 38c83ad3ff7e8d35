# Checkpoints of long runs: a thread of each rank writes them while time steps go on, also where a write is slow, fails or is
# signalled; which ones stay, whose directory it is, and what is left of runs that died. Slow and failing writes come from
# the sanitizers' build on request of WEFT_FAULT.
load ../support/helper

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=200 grid.ny=160)

endless() { begin "$1" d.ini time.steps=1000000000 "${@:2}"; } # ranks key=value...

# bats test_tags=gpus:part
@test "in the background and in the foreground, by one rank and by several: the same cells, and the record says how" {
    deck d.ini problem.kind=wave "${heat[@]:1}" time.steps=40 checkpoint.every=20 checkpoint.keep=0
    weft_run 4 d.ini run.ranks_x=2
    local reference
    reference=$(fingerprint)
    expect "async" true "$(record .checkpoint.async)"
    expect "bytes in the seconds of a write" true \
        "$(record '.checkpoint | .bytes / .write_s / .bytes_per_s - 1 | fabs < 1e-6')"
    expect "the file system is measured by weft bench io alone" "null null" \
        "$(record '.checkpoint | "\(.raw) \(.raw_bytes_per_s)"')"
    local n=1 async
    for async in true false; do
        weft_run $((n + 2)) d.ini checkpoint.{writers=$n,dir=by$n,async=$async}
        expect "async, writers, fingerprint" "$async $n $reference" \
            "$(record '"\(.checkpoint.async) \(.checkpoint.writers) \(.fingerprint)"')"
        "$weft" diff checkpoints by$n
        h5diff "$(checkpoint 40)" "$(checkpoint 40 by$n)" /fields /fields
        n=3
    done
    weft_run 2 d.ini --restart "$(checkpoint 20)" checkpoint.dir=again checkpoint.writers=9
    expect "writers, fingerprint after the restart" "2 $reference" \
        "$(record '"\(.checkpoint.writers) \(.fingerprint)"')"
}

@test "steps go on beside a slow write; one that comes too early waits and is counted as stall; both are whole" {
    weft=$weft_sanitize
    deck d.ini "${heat[@]}" checkpoint.keep=0 time.steps=8
    export WEFT_FAULT=checkpoint_slow:300
    weft_run 2 d.ini checkpoint.every=4 checkpoint.dir=two
    expect "both written; the second waited for the first, the end for the second" true \
        "$(record '.checkpoint | .count == 2 and .stall_s > 0.5 and .stall_s < 2')"
    "$weft_release" verify two
    weft_run 2 d.ini grid.nx=100 grid.ny=80 checkpoint.every=5001 checkpoint.dir=one time.steps=10000
    expect "steps beside it" true "$(record '.checkpoint | .count == 1 and .stall_s < .write_s / 2')"
}

@test "a write that fails in one rank's thread: exit 3 with one sentence, soon, or said once; nothing half written" {
    weft=$weft_sanitize
    deck d.ini "${heat[@]}" time.steps=400 checkpoint.every=100
    WEFT_FAULT=checkpoint_write:1 refuses 3 weft_run 3 d.ini time.steps=1000000000 -- \
        "$(checkpoint 100)" "Input/output error"
    expect "files" "" "$(ls -A checkpoints)"
    WEFT_FAULT=checkpoint_write:2 run --separate-stderr weft_run 3 d.ini checkpoint.on_error=continue
    expect "status, sentences" "0 1" "$status $(grep -c '^weft: ' <<<"$stderr")"
    expect "files" "" "$(ls -A checkpoints)"
    expect "steps, files, failures" "400 0 4" \
        "$(record '"\(.steps) \(.checkpoint.count) \(.checkpoint.failed)"')"
}

@test "other bytes in a part than were written: exit 3 names part, block and rows; an older state stays" {
    weft=$weft_sanitize
    deck d.ini "${heat[@]}" time.steps=6 checkpoint.every=3 checkpoint.keep=0
    weft_run 2 d.ini time.steps=3
    WEFT_FAULT=checkpoint_flip:1 refuses 3 \
        weft_run 2 d.ini checkpoint.writers=2 --restart checkpoints --quiet -- \
        "$(checkpoint 6)" "rank 1 read back other values than were written: part 1" \
        "/1.h5), block 0, rows 80 .. 159 of /fields/u: CRC-32C"
    expect "files" step_0000000003.h5 "$(echo $(ls -A checkpoints))"
    "$weft_release" verify checkpoints
    WEFT_FAULT=checkpoint_flip:1 weft_run 3 d.ini checkpoint.writers=1 # rank 0 writes alone
    expect "nothing happens to a rank that does not write" 2 "$(record .checkpoint.count)"
}

# Every call that fails: test_failed_calls_cost_no_state.
@test "a file system with room for one checkpoint: one sentence, the older one whole, the end as configured" {
    [ "$(id -u)" = 0 ] || skip "not root: no small file system can be mounted"
    mkdir small
    deck d.ini "${heat[@]}" time.steps=400 checkpoint.every=100 checkpoint.dir=small checkpoint.keep=1
    local policy dry_status
    for policy in stop continue; do # a checkpoint has 256 kB, and two are there while the second is written
        mount -t tmpfs -o size=500k none small 2>/dev/null || skip "no file system can be mounted here"
        run weft_run 2 d.ini checkpoint.on_error=$policy
        rm -rf kept && cp -a small kept
        dry_status=0
        weft_alone d.ini --dry-run >dry 2>&1 || dry_status=$?
        "$weft" bench io/write_slabs device=host dir=small bytes=4M samples=none output=none >bench 2>&1
        umount small
        refused $([ $policy = stop ] && echo 3 || echo 0) small/step_0000000
        expect "what is left" "step_0000000100.h5" "$(ls -A kept)"
        "$weft" verify kept
        expect "status of the dry run" 3 $dry_status
    done
    grep '^weft: checkpoint.dir = small: a file needs .*, but only' dry || { cat dry; return 1; }
    grep 'io/write_slabs skipped: dir = small: needs 10.5 MB, but only' bench || { cat bench; return 1; }
}

@test "checkpoint.keep: the newest; keep_every: every k-th besides, also over a restart; and the last seen whole" {
    deck d.ini "${heat[@]}" time.steps=50 checkpoint.every=10 checkpoint.keep=1 checkpoint.keep_every=2
    weft_run 2 d.ini
    expect "files" "20 40 50" "$(steps_in)"
    weft_alone d.ini time.steps=70 --restart checkpoints
    expect "files after the restart" "20 40 60 70" "$(steps_in)"
    weft_alone d.ini checkpoint.{keep_every=0,keep=2,dir=two}
    expect "files with keep=2" "40 50" "$(steps_in two)"
    # what was not read back is not known to be whole
    weft_alone d.ini checkpoint.{keep_every=0,verify=off,dir=two} time.steps=80 --restart two
    expect "files without verify" "50 80" "$(steps_in two)"
    weft_alone d.ini checkpoint.{keep_every=0,dir=two} time.steps=90 --restart "$(checkpoint 80 two)"
    expect "files after a verified one" 90 "$(steps_in two)"
    # a state of another problem is not replaced
    refuses 0 weft_alone d.ini checkpoint.{dir=two,keep_every=0} grid.nx=201 time.steps=90 --quiet -- \
        "two/step_0000000090.h5, a state of another problem, is kept as two/step_0000000090.heat-200x160-f64"
    expect "files of the later problem" 90 "$(steps_in two)"
    "$weft" verify two/step_0000000090.heat-200x160-f64.h5
    weft_alone d.ini time.steps=90 --restart two/step_0000000090.heat-200x160-f64.h5 checkpoint.dir=other
    weft_alone d.ini grid.nx=202 time.steps=90 checkpoint.dir=other output.{series=two,every=90} --quiet
    expect "files that are kept" "heat-200x160-f64 heat-201x160-f64" \
        "$(basename -a -s .h5 two/*.heat-*.h5 | cut -d . -f 2 | xargs)"
    expect "half written" "" "$(find . -name '*.tmp*')"
}

@test "a directory in which a run writes is refused; it is free again when that run has left or failed" {
    deck d.ini "${heat[@]}"
    endless 1 checkpoint.every=2000
    wait_for is_there 'checkpoints/*.h5'
    refuses 2 weft_run 2 d.ini time.steps=3 checkpoint.every=1 -- \
        checkpoint.dir checkpoints "$(uname -n)" "pid $mpirun"
    weft_alone d.ini time.steps=3 checkpoint.every=1 checkpoint.dir=other
    weft_alone d.ini time.steps=3
    kill -USR1 $mpirun
    ends
    expect "status of the first" 75 $status
    expect "locks left" "" "$(find . -name '*.lock')"
    run weft_alone d.ini time.steps=3 checkpoint.every=1 checkpoint.dir=/proc/self
    expect "status of a run that could not write" 3 "$status"
    run --separate-stderr weft_alone d.ini time.steps=3 checkpoint.every=1
    expect "status of the next, what it says of the directory" "0 " "$status $(ours "$stderr")"
}

@test "what a killed run leaves: its lock and what it had half written go, what is not its own stays" {
    deck d.ini "${heat[@]}"
    weft=$weft_sanitize
    WEFT_FAULT=checkpoint_slow:600000 endless 2 checkpoint.{every=2000,writers=2}
    weft=$weft_release
    wait_for is_there 'checkpoints/step_*.????????/1.h5'
    kill -9 $(pgrep -P $mpirun) $mpirun
    ends
    test -s checkpoints/.weft.lock
    mkdir checkpoints/step_0000000007.0123abcd
    touch checkpoints/step_0000000007.0123abcd/0.h5 # it has no mark
    run --separate-stderr weft_run 2 d.ini time.steps=3 checkpoint.every=1
    expect "status, notes" "0 1" "$status $(grep -c '^weft: ' <<<"$stderr")"
    [[ $stderr == *"took over checkpoints/.weft.lock"* ]]
    expect "attempts" step_0000000007.0123abcd "$(cd checkpoints && echo *.????????)"
    echo rubbish >checkpoints/.weft.lock
    weft_alone d.ini time.steps=3 checkpoint.every=1
    expect "locks left" "" "$(find . -name '*.lock')"
}

@test "of six runs that find one stale lock, one gets the directory" {
    deck d.ini "${heat[@]}"
    local pids=() ended=() i
    endless 1 checkpoint.every=20000
    wait_for test -e checkpoints/.weft.lock
    kill -9 $mpirun
    ends
    rm out
    for i in {1..6}; do
        endless 1 checkpoint.every=20000 "output.record=six.$$"
        wait_for mv out log$i 2>/dev/null
        pids+=($mpirun)
    done
    one_is_left() { [ "$(rank_pids "output.record=six.$$" | wc -l)" = 1 ]; }
    wait_for one_is_left || { kill -9 "${pids[@]}"; return 1; }
    sleep 0.3
    one_is_left
    kill -USR1 $(rank_pids "output.record=six.$$")
    for mpirun in "${pids[@]}"; do
        ends
        ended+=($status)
    done
    expect "exit statuses, sorted" "2 2 2 2 2 75" "$(printf '%s\n' "${ended[@]}" | sort -n | xargs)"
    # none where one run deleted the stale lock and another was quicker to make the new one
    [ "$(cat log* | grep -c 'took over')" -le 1 ]
}

