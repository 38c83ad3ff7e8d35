# Checkpoints that a thread of each rank writes while time steps go on: what the run, its files and its record
# look like when writes are slow, overtaken, failing and signalled. Slow and failing writes come from the
# sanitizers' build on request of WEFT_FAULT.
load ../support/helper

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=200 grid.ny=160)

whole() { "$weft_release" verify "$@"; }
files() { (cd "${1:-checkpoints}" && ls -A); }

# A run in checkpoints/ that lasts until it is told to stop; $run is its pid.
endless() { # ranks key=value...
    local ranks=$1
    shift
    "$MPIRUN" $LAUNCH_FLAGS -n "$ranks" "$weft" run d.ini time.steps=1000000000 "$@" >log 2>&1 3>&- &
    run=$!
}

teardown() { # what a failed test left
    [ -z "${run-}" ] || kill "$run" 2>/dev/null || true
}

some() { compgen -G "$1" >/dev/null; }

ended() { # sets status
    local mpirun=$run
    ends
}

# bats test_tags=gpus:part
@test "in the background and in the foreground: the same fingerprints and cells, the record says which it was" {
    deck d.ini "${heat[@]}" problem.kind=wave time.steps=40 checkpoint.every=20 checkpoint.keep=0
    sed -i 's/^kind = heat//' d.ini
    weft_run 4 d.ini run.ranks_x=2
    local reference
    reference=$(fingerprint)
    expect "async" true "$(record .checkpoint.async)"
    expect "bytes in the seconds of a write" true "$(record '.checkpoint | .bytes / .write_s / .bytes_per_s - 1 | fabs < 1e-6')"
    weft_run 3 d.ini checkpoint.async=false checkpoint.dir=fore
    expect "async" false "$(record .checkpoint.async)"
    expect "the file system is measured by weft bench io alone" "null null" "$(record '.checkpoint | "\(.raw) \(.raw_bytes_per_s)"')"
    expect "fingerprint" "$reference" "$(fingerprint)"
    local step
    for step in 0000000020 0000000040; do
        "$weft" diff checkpoints/step_$step.h5 fore/step_$step.h5
        h5diff checkpoints/step_$step.h5 fore/step_$step.h5 /fields /fields
    done
    local n=1 async
    for async in true false; do
        weft_run $((n + 3)) d.ini run.ranks_x=2 checkpoint.{writers=$n,dir=by$n,async=$async}
        expect "ranks that write" $n "$(record .checkpoint.writers)"
        expect "fingerprint" "$reference" "$(fingerprint)"
        h5diff checkpoints/step_0000000040.h5 by$n/step_0000000040.h5 /fields /fields
        n=3
    done
    weft_run 2 d.ini --restart checkpoints/step_0000000020.h5 checkpoint.dir=again checkpoint.writers=9
    expect "ranks that write" 2 "$(record .checkpoint.writers)"
    expect "fingerprint after the restart" "$reference" "$(fingerprint)"
}

@test "steps go on beside a slow write; one that comes too early waits, is counted as stall, and both are whole" {
    weft=$weft_sanitize
    deck d.ini "${heat[@]}" checkpoint.keep=0 time.steps=8
    export WEFT_FAULT=checkpoint_slow:300
    weft_run 2 d.ini checkpoint.every=4 checkpoint.dir=two
    expect "both written; the second waited for the first, the end for the second" true \
        "$(record '.checkpoint | .count == 2 and .stall_s > 0.5 and .stall_s < 2')"
    whole two/*.h5
    weft_run 2 d.ini checkpoint.every=5001 checkpoint.dir=one time.steps=10000
    expect "steps beside it" true "$(record '.checkpoint | .count == 1 and .stall_s < .write_s / 2')"
}

@test "a write that fails in one rank's thread: exit 3 with one sentence of it, or said once and gone on; nothing half written" {
    weft=$weft_sanitize
    deck d.ini "${heat[@]}" time.steps=400 checkpoint.every=100
    WEFT_FAULT=checkpoint_write:1 run weft_run 3 d.ini
    refused 3 checkpoints/step_0000000100.h5 "Input/output error"
    expect "files" "" "$(files)"
    WEFT_FAULT=checkpoint_write:2 run --separate-stderr weft_run 3 d.ini checkpoint.on_error=continue
    expect "status" 0 "$status"
    expect "sentences" 1 "$(grep -c '^weft: ' <<<"$stderr")"
    expect "files" "" "$(files)"
    expect "steps, files, failures" "400 0 4" "$(record '"\(.steps) \(.checkpoint.count) \(.checkpoint.failed)"')"
}

@test "a write that fails stops the run soon, not at its end" {
    weft=$weft_sanitize
    deck d.ini "${heat[@]}" time.steps=1000000000 checkpoint.every=1000000000
    endless 2 checkpoint.every=300000000
    kill -9 $run # the deck is right: it would have run
    wait $run || true
    rm -rf checkpoints
    export WEFT_FAULT=checkpoint_write:1
    endless 2 checkpoint.every=200
    ended
    output=$(<log) refused 3 checkpoints/step_0000000200.h5
}

@test "other bytes in a part than were written: exit 3 names part, block and rows; an older state stays" {
    weft=$weft_sanitize
    local how
    deck d.ini "${heat[@]}" time.steps=6 checkpoint.every=3 checkpoint.keep=0
    sed -i 's/^ny = .*/ny = 4000/' d.ini
    weft_run 2 d.ini time.steps=3
    for how in full sample; do
        WEFT_FAULT=checkpoint_flip:1 \
            run weft_run 2 d.ini checkpoint.verify=$how checkpoint.writers=2 --restart checkpoints --quiet
        refused 3 step_0000000006.h5 "rank 1 read back other values than were written: part 1" \
            "/1.h5), block 0, rows 2000 .. 3999 of /fields/u: CRC-32C"
        expect "files" step_0000000003.h5 "$(echo $(files))"
    done
    WEFT_FAULT=checkpoint_flip:0 run weft_run 3 d.ini checkpoint.writers=1
    refused 3 step_0000000003.h5 "rank 0 read back other values than were written"
    expect "files" step_0000000003.h5 "$(echo $(files))"
    whole checkpoints
    WEFT_FAULT=checkpoint_flip:1 weft_run 3 d.ini checkpoint.writers=1 # rank 0 writes alone
    expect "nothing happens to a rank that does not write" 2 "$(record .checkpoint.count)"
}

@test "file systems of every size up to two checkpoints: one sentence, the older file whole, the end as configured" {
    [ "$(id -u)" = 0 ] || skip "not root: no small file system can be mounted"
    mkdir small
    deck d.ini "${heat[@]}" time.steps=400 checkpoint.every=100 checkpoint.dir=small checkpoint.keep=1
    local kib policy kept fitted=0 said
    for kib in 64 384 500 800; do # a checkpoint has 256 kB, and two are there while the second is written
        for policy in stop continue; do
            mount -t tmpfs -o size=${kib}k none small 2>/dev/null || skip "no file system can be mounted here"
            run weft_run 2 d.ini checkpoint.on_error=$policy
            kept=$(cd small && ls -A)
            rm -rf kept && cp -a small kept
            umount small
            said=$(grep -c '^weft: ' <<<"$output" || true)
            echo "$kib KiB, $policy: status $status, left: $kept, $output"
            if some 'kept/*.????????'; then return 1; fi
            if some 'kept/*.h5'; then whole kept/*.h5; fi
            if [ "$said" = 0 ]; then
                expect "status and files" "0 4" "$status $(record .checkpoint.count)"
                fitted=$((fitted + 1))
            else
                [ $kib -lt 800 ] || return 1
                expect "status" $([ $policy = stop ] && echo 3 || echo 0) "$status"
                expect "sentences" 1 "$said"
            fi
        done
    done
    [ $fitted -ge 2 ] && [ $fitted -le 6 ]
}

@test "USR1 during a write: that file and the one of the step at which it stops are whole, exit 75" {
    weft=$weft_sanitize
    deck d.ini "${heat[@]}" checkpoint.keep=0
    export WEFT_FAULT=checkpoint_slow:400
    endless 2 checkpoint.every=50
    wait_for some 'checkpoints/step_*.????????'
    kill -USR1 $run
    ended
    expect "status" 75 "$status"
    [ "$(find checkpoints -name '*.h5' | wc -l)" -ge 2 ]
    expect "the newest is of the last step" "step_$(printf %010d "$(record .steps)").h5" "$(cd checkpoints && ls *.h5 | tail -n 1)"
    whole checkpoints/*.h5
}
