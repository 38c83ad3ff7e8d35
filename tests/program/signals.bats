# A run survives what happens to jobs: USR1, TERM, INT or a time limit makes a checkpoint and leaves with the
# requeue status 75. Ranks that are killed: soak.bats.
load ../support/helper

# A run that would last hours; so slow a decay that the mode is there after a GPU's minute.
endless() { # ranks key=value...
    deck d.ini problem.kind=heat problem.alpha=1e-5 grid.nx=300 grid.ny=200 time.steps=1000000000 \
        checkpoint.every=200
    rm -rf checkpoints results.jsonl
    begin "$1" d.ini "${@:2}"
    wait_for two_checkpoints || { cat out; return 1; }
}

a_rank() { # the pid of one: a child of mpirun, or of a process through which it starts them
    local pid=$mpirun
    until [ "$(<"/proc/$pid/comm")" = weft ]; do
        pid=$(pgrep -P "$pid" | tail -n 1)
        [ -n "$pid" ] || return 1
    done
    echo "$pid"
}

# Goes on a few steps from the newest checkpoint, on other ranks, to an exact verdict.
goes_on() { # key=value...
    local from
    from=$(newest_step)
    "$weft" verify "$(checkpoint "$from")"
    weft_run 2 d.ini time.steps=$((from + 7)) checkpoint.every=0 --restart checkpoints "$@"
    expect "steps_run, verdict" "7 exact" "$(record '"\(.steps_run) \(.verdict)"')"
}

stopped() { # by what: with 75, one sentence, and the checkpoint of the last step
    expect "status after $1" 75 "$status" || { cat out; return 1; }
    expect "sentences after $1" 1 "$(grep -c '^weft: stopped by .* at step' out)"
    expect "the checkpoint after $1 is of the step at which it stopped" "$(record .steps)" "$(newest_step)"
}

# bats test_tags=gpus:part
@test "USR1 to mpirun, TERM to a rank between blocks of steps: a checkpoint, 75, and it goes on" {
    endless 3
    kill -USR1 $mpirun
    ends
    stopped "USR1 to mpirun"
    goes_on run.fuse=3
    endless 2 run.fuse=7
    kill -TERM "$(a_rank)"
    ends
    stopped "TERM to a rank"
    goes_on
}

@test "signals in MPI_Init, held back by the launcher: a checkpoint and 75; the status of other commands" {
    local held=(env --block-signal=USR1,TERM,INT) signal wanted words
    "${held[@]}" true || held=()
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=300 grid.ny=200 time.steps=1000000000
    make_shim
    in_init() { # program arguments...: stays in MPI_Init until there is a file go_on; its pid is $mpirun
        rm -rf in_init go_on checkpoints results.jsonl
        SHIM=hold LD_PRELOAD=$shim "${held[@]}" "$@" >out 2>&1 3>&- &
        mpirun=$!
        wait_for test -e in_init
    }
    for signal in USR1 TERM INT; do
        in_init "$weft" run d.ini
        kill -$signal $mpirun
        touch go_on
        ends
        stopped $signal
    done
    export OMPI_COMM_WORLD_SIZE=1 # so that all begin with MPI
    # a command that has no handler ends with the signal's own status
    while read -r signal wanted words <&4; do
        in_init "$weft" $words
        kill -$signal $mpirun
        ends
        expect "status of $words" $wanted "$status"
    done 4<<END
USR1 138 verify a.h5
HUP 129 diff a.h5 b.h5
TERM 143 info
END
}

# jobs/weft.sbatch without Slurm: `scontrol` writes its words to a file, mpirun starts the program alone.
batch() { # what the program does; sets $mpirun, the shell's pid
    stand_in bin/scontrol '[ "$1" != requeue ] || echo "$*" >>requeued'
    stand_in bin/mpirun "while [ \"\$1\" != $PWD/program ]; do shift; done; exec \"\$@\""
    stand_in program "$1"
    rm -f there go_on requeued
    PATH=$PWD/bin:$PATH SLURM_JOB_ID=7 SLURM_NTASKS=1 WEFT_LAUNCHER=mpirun WEFT=$PWD/program \
        WEFT_JOBS=$top/jobs bash "$top/jobs/weft.sbatch" d.ini >out 2>&1 3>&- &
    mpirun=$!
    wait_for test -e there
}

@test "a batch job that is signalled before its run has begun, or as it begins, is requeued" {
    local waits='touch there; while [ ! -e go_on ]; do sleep 0.05; done' when program
    while IFS='|' read -r when program <&4; do
        batch "$program"
        kill -USR1 $mpirun
        sleep 0.3
        touch go_on
        ends
        expect "$when: status, requeues, runs" "75 requeue 7 0" \
            "$status $(cat requeued) $(grep -c '^words' out)"
    done 4<<END
before the run|[ \$1 != info ] || { $waits; exit; }; echo "words: \$*"; sleep 100
no handler yet|[ \$1 = info ] || { $waits; }
the first signal was lost|trap '[ ! -e go_on ] || exit 75' USR1; [ \$1 = info ] || { $waits; while :; do sleep 0.05; done; }
END
    batch "[ \$1 = info ] || { $waits; exit 5; }"
    touch go_on
    ends
    expect "status of a run that fails" 5 "$status"
    [ ! -e requeued ]
}

@test "a signal's picture that cannot be written is said; a checkpoint that cannot is exit 3, in any case" {
    mkdir pictures
    endless 2 output.picture=pictures/p.png
    rm -r pictures
    kill -USR1 $mpirun
    ends
    grep '^weft: cannot write the picture pictures/p.png: No such' out || { cat out; return 1; }
    stopped USR1
    goes_on
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=53 grid.ny=41 time.steps=1000000000
    begin 1 d.ini checkpoint.every=1000000000 checkpoint.{on_error=continue,dir=lost} output.progress=on
    wait_for grep -q 'step [1-9]' out
    rm -r lost
    kill -USR1 $mpirun
    ends
    output=$(<out) refused 3 lost
}

@test "a signal during a write: that file and the last step's are whole; INT twice: at once" {
    local before
    deck d.ini problem.kind=heat problem.alpha=0.001 grid.nx=300 grid.ny=200 time.steps=1000000000 \
        checkpoint.every=1000000000 checkpoint.keep=0
    SHIM_MS=400 preloaded begin 2 d.ini checkpoint.every=50
    wait_for is_there 'checkpoints/step_*.????????'
    kill -USR1 $mpirun
    ends
    [ "$(steps_in | wc -w)" -ge 2 ]
    "$weft" verify checkpoints
    stopped "USR1 during a write"
    goes_on
    before=$(newest_step)
    SHIM_MS=8000 preloaded begin 1 d.ini --restart checkpoints output.progress=on
    wait_for grep -q 'step [1-9]' out
    kill -INT $mpirun
    wait_for is_there 'checkpoints/step_*.????????/'
    kill -INT $mpirun
    ends
    expect "status, the newest checkpoint, since the write was not waited for" "130 $before" \
        "$status $(newest_step)"
}

# Whether a run keeps its time, from the start of its processes to its last words in the record, is up to the
# machine, too: one that others use may be late twice, not three times.
in_time() { # limit_ms ranks arguments...
    local attempt took_ms
    for attempt in 1 2 3; do
        rm -rf checkpoints results.jsonl
        status=0
        launch "$2" bash -c 'date +%s%3N >begun; exec "$@"' - "$weft" run "${@:3}" >out 2>&1 || status=$?
        took_ms=$(($(date -r results.jsonl +%s%3N) - $(<begun)))
        [ $status = 75 ] && [ $took_ms -ge "$1" ] || return 0
    done
    [ "$(cut -d . -f 1 /proc/loadavg)" -lt $((4 * $(nproc))) ] || skip "four processes wait for each CPU"
    echo "took $took_ms ms of $1"
    return 1
}

@test "a wall limit, of the deck or of Slurm: a checkpoint before it is over, exit 75, and the run goes on" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=1500 grid.ny=1000 time.steps=1000000000
    in_time 5000 2 d.ini run.wall_limit=5 checkpoint.every=500
    grep '^weft: stopped by its time limit at step' out
    stopped "its time limit"
    goes_on
    rm -rf checkpoints
    status=0
    SLURM_JOB_END_TIME=$(($(date +%s) + 5)) weft_alone d.ini >out 2>&1 || status=$?
    stopped "Slurm's time"
}

@test "a time limit: a checkpoint that is due when one more fits is the last; slow ones begin earlier" {
    # so large that the first write is not over when the second step is
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=4000 grid.ny=3000 time.steps=1000000000 \
        checkpoint.every=1
    # two of 2 s each, as long as their time is not known, and 2 s for the end: more than there is from step 1
    in_time 100000 2 d.ini run.wall_limit=5.8
    expect "files, steps" "1 1" "$(record '"\(.checkpoint.count) \(.steps)"')"
    stopped "its time limit"
    deck d.ini problem.kind=heat problem.alpha=0.001 grid.nx=60 grid.ny=50 time.steps=1000000000 \
        checkpoint.every=20000
    SHIM_MS=2000 preloaded in_time 10000 1 d.ini run.wall_limit=10
    stopped "its time limit"
}
