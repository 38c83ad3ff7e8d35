# A run survives what happens to jobs: USR1 or TERM makes a checkpoint and leaves with the requeue status 75, and a rank that dies
# ends the job with the newest checkpoint whole.
load ../support/helper

endless() { # key=value...; starts a run that would last hours, waits for its second checkpoint; $mpirun is its pid
    # so slow a decay that the mode is there after as many steps as a GPU takes in a minute
    deck d.ini problem.kind=heat problem.alpha=1e-5 grid.nx=300 grid.ny=200 time.steps=1000000000 checkpoint.every=500
    "$MPIRUN" $LAUNCH_FLAGS -n 3 "$weft" run d.ini "$@" >out 2>&1 3>&- &
    mpirun=$!
    local i
    for ((i = 0; i < 10 * hang_s; i++)); do
        [ "$(find checkpoints -name 'step_*.h5' 2>/dev/null | wc -l)" -ge 2 ] && return 0
        sleep 0.1
    done
    cat out
    kill -9 $mpirun
    return 1
}

a_rank() { # the pid of one: a child of mpirun, or of a process through which it starts them
    local pid=$mpirun
    until [ "$(<"/proc/$pid/comm")" = weft ]; do
        pid=$(pgrep -P "$pid" | tail -n 1)
        [ -n "$pid" ] || return 1
    done
    echo "$pid"
}

# Whether a run keeps its time is up to the machine, too: one that others use may be late twice, not three times.
in_time() { # limit_ms command...
    local attempt
    for attempt in 1 2 3; do
        rm -rf checkpoints
        "${@:2}"
        expect status 75 "$status"
        [ $took_ms -ge "$1" ] || return 0
    done
    echo "took $took_ms ms of $1"
    return 1
}

# A run whose time is limited, from the start of its processes to its last words in the record: the launch before it and what
# mpirun does after it are not the run's. Sets status, output and took_ms.
timed_run() { # ranks arguments...
    local ranks=$1
    shift
    rm -f results.jsonl
    run launch "$ranks" bash -c 'date +%s%3N >begun; exec "$@"' - "$weft" run "$@"
    took_ms=$(($(date -r results.jsonl +%s%3N) - $(<begun)))
    echo "took $took_ms ms: $output"
}

newest_step() { find checkpoints -name 'step_*.h5' | sort | tail -n 1 | sed 's/.*step_0*\([0-9]*\)\.h5/\1/'; }

# Goes on a few steps from the newest checkpoint, on other ranks, to an exact verdict.
goes_on() {
    local from
    from=$(newest_step)
    "$weft" verify "$(find checkpoints -name 'step_*.h5' | sort | tail -n 1)"
    weft_run 2 d.ini time.steps=$((from + 7)) checkpoint.every=0 --restart checkpoints
    expect steps_run 7 "$(record .steps_run)"
    expect verdict exact "$(record .verdict)"
}

# bats test_tags=gpus:part
@test "USR1 through mpirun: a checkpoint of that step, exit 75, and the run goes on from there" {
    endless
    kill -USR1 $mpirun
    ends
    expect status 75 "$status"
    expect "the checkpoint is of the step at which it stopped" "$(record .steps)" "$(newest_step)"
    expect "sentences" 1 "$(grep -c '^weft: stopped' out)"
    goes_on
}

# bats test_tags=gpus:part
@test "USR1, or TERM as Slurm sends it, to one rank only: all of them stop at one step" {
    local signal
    for signal in USR1 TERM; do
        rm -rf checkpoints results.jsonl
        endless
        kill -$signal "$(a_rank)"
        ends
        expect "status after $signal" 75 "$status"
        expect "the checkpoint is of the step at which it stopped" "$(record .steps)" "$(newest_step)"
    done
}

# A process that stays in MPI_Init until there is a file go_on: its pid is $mpirun.
in_init() { # program argument...
    rm -rf in_init go_on checkpoints results.jsonl
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=300 grid.ny=200 time.steps=1000000000
    [ -e init.so ] || cc -shared -fPIC -o init.so "$top/tests/support/shim_init.c" -ldl
    LD_PRELOAD=$PWD/init.so "$@" >out 2>&1 3>&- &
    mpirun=$!
    wait_for test -e in_init
}
no_int_waits() { [ $((0x$(sed -n 's/^ShdPnd:\s*//p' /proc/$mpirun/status) & 2)) = 0 ]; }
stops_well() { # what
    touch go_on
    ends
    cat out
    expect "status after $1" 75 "$status"
    expect "sentences" 1 "$(grep -c '^weft: stopped by a signal at step' out)"
    goes_on
}

@test "USR1, TERM or INT while a run is in MPI_Init: a checkpoint and exit 75; INT twice ends it at once" {
    for signal in USR1 TERM INT; do
        in_init "$weft" run d.ini
        kill -$signal $mpirun
        stops_well $signal
    done
    in_init "$weft" run d.ini
    kill -INT $mpirun
    wait_for no_int_waits
    kill -INT $mpirun
    ends
    expect "status" 130 "$status"
}

@test "signals that a launcher holds back arrive all the same" {
    local held=(env --block-signal=USR1,TERM,INT)
    "${held[@]}" true || skip "no env --block-signal here"
    for signal in USR1 TERM INT; do
        in_init "${held[@]}" "$weft" run d.ini
        kill -$signal $mpirun
        stops_well $signal
    done
    in_init "${held[@]}" "$weft" bench ceiling
    kill -TERM $mpirun
    ends
    expect "status of a command that has no handler" 143 "$status"
}

# jobs/weft.sbatch without Slurm: `scontrol` writes its words to a file, mpirun starts the program alone.
batch() { # sets $mpirun, the shell's pid
    mkdir -p bin
    printf '#!/bin/sh\n[ "$1" != requeue ] || echo "$*" >>requeued\n' >bin/scontrol
    printf '#!/bin/sh\nwhile [ "$1" != %s/program ]; do shift; done\nexec "$@"\n' "$PWD" >bin/mpirun
    printf '#!/bin/sh\n%s\n' "$1" >program
    chmod +x bin/* program
    rm -f there go_on requeued
    PATH=$PWD/bin:$PATH SLURM_JOB_ID=7 SLURM_NTASKS=1 WEFT_LAUNCHER=mpirun WEFT=$PWD/program \
        WEFT_JOBS=$top/jobs bash "$top/jobs/weft.sbatch" d.ini >out 2>&1 3>&- &
    mpirun=$!
    wait_for test -e there
}

@test "a batch job that is signalled before its run has begun, or as it begins, is requeued" {
    local waits='touch there; while [ ! -e go_on ]; do sleep 0.05; done'
    batch "[ \$1 != info ] || { $waits; exit; }; echo \"words: \$*\"; sleep 100"
    kill -USR1 $mpirun
    touch go_on
    ends
    cat out
    expect "status, requeues" "75 requeue 7" "$status $(cat requeued)"
    expect "runs" 0 "$(grep -c '^words' out)"
    batch "[ \$1 = info ] || { $waits; }"
    kill -USR1 $mpirun
    ends
    cat out
    expect "status of a run that had no handler yet, requeues" "75 requeue 7" "$status $(cat requeued)"
    batch "trap '[ ! -e go_on ] || exit 75' USR1; [ \$1 = info ] || { $waits; while :; do sleep 0.05; done; }"
    kill -USR1 $mpirun
    sleep 0.3
    touch go_on
    ends
    cat out
    expect "status of a run that lost its first signal, requeues" "75 requeue 7" "$status $(cat requeued)"
    batch "[ \$1 = info ] || { $waits; exit 5; }"
    touch go_on
    ends
    expect "status of a run that fails" 5 "$status"
    [ ! -e requeued ]
}

@test "a signal to a run whose picture cannot be written any more: that is said, the checkpoint is there, exit 75" {
    mkdir pictures
    endless output.picture=pictures/p.png
    rm -r pictures
    kill -USR1 $mpirun
    ends
    cat out
    expect status 75 "$status"
    expect "sentences" 2 "$(grep -c '^weft: \(cannot write the picture pictures/p.png: No such\|stopped by a signal\)' out)"
    goes_on
    expect "status of a run that goes on as it was" 3 \
        "$(weft_run 2 d.ini output.picture=pictures/p.png --restart checkpoints >out 2>&1 || echo $?)"
    grep -q '^weft: output.picture = pictures/p.png' out
}

@test "a signal to verify, diff or info ends it at once with the signal's own status, and leaves nothing" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=3000 grid.ny=3000 time.steps=1 checkpoint.every=1 run.device=host
    weft_run 1 d.ini
    rm d.ini
    local file=checkpoints/step_0000000001.h5 before name words number begun_ms tries ended records
    records=$(echo "$top"/jobs/results/*/*.jsonl | tr ' ' ,)
    before=$(find . | sort)
    while read -r name number words; do
        for ((tries = 0, ended = 0; ended != 128 + number; tries++)); do # one that had ended by itself says nothing
            [ $tries -lt 50 ]
            begun_ms=$(date +%s%3N)
            "$weft" $words >/dev/null 2>&1 3>&- &
            sleep "0.$(printf %03d $((RANDOM % (60 / (1 + tries / 3)) + 1)))" # info may end within 10 ms
            kill -$name $! 2>/dev/null || true
            wait $! && ended=0 || ended=$?
            echo "weft $words: $name ended with $ended"
            [ $ended = 0 ] || [ $ended = $((128 + number)) ]
        done
        [ $(($(date +%s%3N) - begun_ms)) -lt 1000 ]
    done <<END
TERM 15 verify $file
USR1 10 verify $file
TERM 15 diff $file $file
HUP 1 diff $file $file
TERM 15 info
USR1 10 info
END
    expect "what is there" "$before" "$(find . | sort)"
}

@test "INT: a checkpoint and exit 75; INT once more while that is written: at once, and the one before is whole" {
    local signals before
    weft=$weft_sanitize
    deck d.ini problem.kind=heat problem.alpha=0.001 grid.nx=300 grid.ny=200 time.steps=1000000000 checkpoint.every=1000000000
    weft_alone d.ini time.steps=7 checkpoint.every=7
    for signals in 1 2; do
        WEFT_FAULT=checkpoint_slow:$((signals * 4000)) "$weft" run d.ini --restart checkpoints output.progress=on >out 2>&1 3>&- &
        mpirun=$!
        wait_for grep -q 'step [1-9]' out
        kill -INT $mpirun
        wait_for compgen -G 'checkpoints/step_*.????????' >/dev/null
        [ $signals = 1 ] || kill -INT $mpirun
        ends
        cat out
        expect "status after $signals" $((signals == 1 ? 75 : 130)) "$status"
        [ $signals = 1 ] || expect "the newest checkpoint, since the write was not waited for" "$before" "$(newest_step)"
        before=$(newest_step)
        goes_on
    done
}

@test "a rank that is killed: mpirun ends with 137, the newest checkpoint is whole" {
    endless
    kill -9 "$(a_rank)"
    ends
    expect status 137 "$status"
    goes_on
}

@test "a wall limit, of the deck or of Slurm: a checkpoint before it is over, exit 75, and the run goes on" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=1500 grid.ny=1000 time.steps=1000000000 checkpoint.every=500
    in_time 5000 timed_run 3 d.ini run.wall_limit=5
    expect "sentences" 1 "$(grep -c '^weft: stopped by its time limit at step' <<<"$output")"
    expect "the checkpoint is of the step at which it stopped" "$(record .steps)" "$(newest_step)"
    goes_on
    rm -rf checkpoints
    SLURM_JOB_END_TIME=$(($(date +%s) + 5)) run weft_run 2 d.ini checkpoint.every=0
    expect "status by Slurm's time" 75 "$status"
    expect "the checkpoint is of the step at which it stopped" "$(record .steps)" "$(newest_step)"
    SLURM_JOB_END_TIME=$(($(date +%s) + 3600)) weft_run 2 d.ini checkpoint.every=0 time.steps=20
    rm -rf checkpoints && : >checkpoints
    run weft_alone d.ini checkpoint.every=0 run.wall_limit=1
    refused 3 checkpoint.dir "Not a directory"
}

@test "a checkpoint that is due when there is time for one more only is the last" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=4000 grid.ny=3000 time.steps=1000000000 checkpoint.every=1
    # two of 2 s each, as long as their time is not known, and 2 s for the end: more than there is from the first step on
    run weft_run 2 d.ini run.wall_limit=5.8
    expect status 75 "$status"
    expect "the checkpoint is of the step at which it stopped" "$(record .steps)" "$(newest_step)"
    expect files 1 "$(record .checkpoint.count)"
    expect steps 1 "$(record .steps)"
    goes_on
    rm -rf checkpoints
    run weft_run 2 d.ini run.wall_limit=5.8 time.steps=1 # the last step's is the last one, in time or not
    [ "$status" = 0 ] || expect "status" 75 "$status"
    expect files 1 "$(record .checkpoint.count)"
    run weft_run 2 d.ini run.wall_limit=5.8 checkpoint.every=0 output.final=f.h5
    expect "status with a file of the last state" 75 "$status"
    expect "steps, since that file is written after the checkpoint" 1 "$(record .steps)"
}

@test "writes that take long are begun so much earlier" {
    weft=$weft_sanitize
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=60 grid.ny=50 time.steps=1000000000 checkpoint.every=20000
    export WEFT_FAULT=checkpoint_slow:2500
    in_time 12000 timed_run 2 d.ini run.wall_limit=12
    expect "the checkpoint is of the step at which it stopped" "$(record .steps)" "$(newest_step)"
}
