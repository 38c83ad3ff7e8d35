# A run survives what happens to jobs: USR1, TERM, INT or a time limit makes a checkpoint and leaves with the requeue status
# 75, and a rank that dies ends the job with the newest checkpoint whole.
load ../support/helper

endless() { # ranks key=value...: a run that would last hours; so slow a decay that the mode is there after a GPU's minute
    deck d.ini problem.kind=heat problem.alpha=1e-5 grid.nx=300 grid.ny=200 time.steps=1000000000 checkpoint.every=200
    rm -rf checkpoints results.jsonl
    begin "$1" d.ini "${@:2}"
    second_is_there() { [ "$(steps_in 2>/dev/null | wc -w)" -ge 2 ]; }
    wait_for second_is_there || { cat out; return 1; }
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

launcher() { echo $mpirun; }

# bats test_tags=gpus:part
@test "USR1 to mpirun, TERM to a rank, between blocks of steps too: a checkpoint, 75, and it goes on" {
    local ranks signal victim fuse
    while read -r ranks signal victim fuse <&4; do # mpirun reads from 0
        endless $ranks run.fuse=$fuse
        kill -$signal "$($victim)"
        ends
        stopped "$signal to $victim"
        goes_on run.fuse=3
    done 4<<END
3 USR1 launcher 0
3 TERM a_rank 0
1 USR1 launcher 7
END
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

@test "signals in MPI_Init, or held back by the launcher: a checkpoint and exit 75" {
    local held=(env --block-signal=USR1,TERM,INT) signal launcher
    "${held[@]}" true || held=()
    for signal in USR1 TERM INT; do
        for launcher in "" ${held[@]:+held}; do
            in_init ${launcher:+"${held[@]}"} "$weft" run d.ini
            kill -$signal $mpirun
            touch go_on
            ends
            stopped "$signal $launcher"
        done
    done
    goes_on
    [ ${#held[@]} -gt 0 ] || skip "the rest: no env --block-signal here"
    in_init "${held[@]}" "$weft" bench ceiling
    kill -TERM $mpirun
    ends
    expect "status of a command that has no handler" 143 "$status"
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
requeued() { # when it was signalled
    ends
    expect "$1: status, requeues" "75 requeue 7" "$status $(cat requeued)" || { cat out; return 1; }
}

@test "a batch job that is signalled before its run has begun, or as it begins, is requeued" {
    local waits='touch there; while [ ! -e go_on ]; do sleep 0.05; done'
    batch "[ \$1 != info ] || { $waits; exit; }; echo \"words: \$*\"; sleep 100"
    kill -USR1 $mpirun
    touch go_on
    requeued "before the run"
    expect "runs" 0 "$(grep -c '^words' out)"
    batch "[ \$1 = info ] || { $waits; }"
    kill -USR1 $mpirun
    requeued "no handler yet"
    batch "trap '[ ! -e go_on ] || exit 75' USR1; [ \$1 = info ] || { $waits; while :; do sleep 0.05; done; }"
    kill -USR1 $mpirun
    sleep 0.3
    touch go_on
    requeued "the first signal was lost"
    batch "[ \$1 = info ] || { $waits; exit 5; }"
    touch go_on
    ends
    expect "status of a run that fails" 5 "$status"
    [ ! -e requeued ]
}

@test "a signal to a run whose picture cannot be written any more: that is said, and the checkpoint is there" {
    mkdir pictures
    endless 2 output.picture=pictures/p.png
    rm -r pictures
    kill -USR1 $mpirun
    ends
    grep '^weft: cannot write the picture pictures/p.png: No such' out || { cat out; return 1; }
    stopped USR1
    goes_on
    refuses 3 weft_run 2 d.ini output.picture=pictures/p.png --restart checkpoints -- output.picture
}

@test "a signal's checkpoint that cannot be written is exit 3, never 75, whatever checkpoint.on_error says" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=53 grid.ny=41 time.steps=1000000000 checkpoint.every=1000000000
    begin 1 d.ini checkpoint.on_error=continue output.progress=on
    wait_for grep -q 'step [1-9]' out
    rm -r checkpoints
    kill -USR1 $mpirun
    ends
    output=$(<out) refused 3 checkpoints
}

@test "a signal to verify, diff or info ends it at once with the signal's own status, and leaves nothing" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=3000 grid.ny=3000 time.steps=1 checkpoint.every=1 run.device=host
    weft_alone d.ini
    local file before name words number tries ended
    file=$(checkpoint 1) before=$(find . | sort)
    while read -r name number words; do
        for ((tries = 1, ended = 0; ended == 0; tries++)); do # one that had ended by itself says nothing
            [ $tries -lt 50 ]
            timeout --preserve-status -s $name "0.0$((RANDOM % 60 / tries + 10))" \
                "$weft" $words >/dev/null 2>&1 || ended=$?
        done
        expect "status of $words after $name" $((128 + number)) $ended
    done <<END
TERM 15 verify $file
USR1 10 verify $file
HUP 1 diff $file $file
TERM 15 info
END
    expect "what is there" "$before" "$(find . | sort)"
}

@test "a signal during a write: that file and the last step's are whole; INT twice: at once, the one before is" {
    local before
    weft=$weft_sanitize
    deck d.ini problem.kind=heat problem.alpha=0.001 grid.nx=300 grid.ny=200 time.steps=1000000000 \
        checkpoint.every=1000000000 checkpoint.keep=0
    WEFT_FAULT=checkpoint_slow:400 begin 2 d.ini checkpoint.every=50
    wait_for is_there 'checkpoints/step_*.????????'
    kill -USR1 $mpirun
    ends
    [ "$(steps_in | wc -w)" -ge 2 ]
    "$weft_release" verify checkpoints
    stopped "USR1 during a write"
    goes_on
    before=$(newest_step)
    WEFT_FAULT=checkpoint_slow:8000 begin 1 d.ini --restart checkpoints output.progress=on
    wait_for grep -q 'step [1-9]' out
    kill -INT $mpirun
    wait_for is_there 'checkpoints/step_*.????????/'
    kill -INT $mpirun
    ends
    expect "status, the newest checkpoint, since the write was not waited for" "130 $before" \
        "$status $(newest_step)"
}

@test "a rank that is killed: mpirun ends with 137, the newest checkpoint is whole" {
    endless 3
    kill -9 "$(a_rank)"
    ends
    expect status 137 "$status"
    goes_on
}

# Whether a run keeps its time, from the start of its processes to its last words in the record, is up to the machine, too:
# one that others use may be late twice, not three times.
in_time() { # limit_ms ranks arguments...
    local attempt took_ms
    for attempt in 1 2 3; do
        rm -rf checkpoints results.jsonl
        status=0
        launch "$2" bash -c 'date +%s%3N >begun; exec "$@"' - "$weft" run "${@:3}" >out 2>&1 || status=$?
        took_ms=$(($(date -r results.jsonl +%s%3N) - $(<begun)))
        [ $status = 75 ] && [ $took_ms -ge "$1" ] || return 0
    done
    echo "took $took_ms ms of $1"
    return 1
}

@test "a wall limit, of the deck or of Slurm: a checkpoint before it is over, exit 75, and the run goes on" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=1500 grid.ny=1000 time.steps=1000000000 checkpoint.every=500
    in_time 5000 3 d.ini run.wall_limit=5
    grep '^weft: stopped by its time limit at step' out
    stopped "its time limit"
    goes_on
    rm -rf checkpoints
    status=0
    SLURM_JOB_END_TIME=$(($(date +%s) + 5)) weft_run 2 d.ini checkpoint.every=0 >out 2>&1 || status=$?
    stopped "Slurm's time"
    SLURM_JOB_END_TIME=$(($(date +%s) + 3600)) weft_run 2 d.ini checkpoint.every=0 time.steps=20
    rm -rf checkpoints && : >checkpoints
    refuses 3 weft_alone d.ini checkpoint.every=0 run.wall_limit=1 -- checkpoint.dir "Not a directory"
}

@test "a checkpoint that is due when there is time for one more is the last; slow writes are begun earlier" {
    # so large that the first write is not over when the second step is
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=4000 grid.ny=3000 time.steps=1000000000 checkpoint.every=1
    # two of 2 s each, as long as their time is not known, and 2 s for the end: more than there is from the first step on
    in_time 100000 2 d.ini run.wall_limit=5.8
    expect "files, steps" "1 1" "$(record '"\(.checkpoint.count) \(.steps)"')"
    stopped "its time limit"
    weft=$weft_sanitize
    deck d.ini problem.kind=heat problem.alpha=0.001 grid.nx=60 grid.ny=50 time.steps=1000000000 checkpoint.every=20000
    WEFT_FAULT=checkpoint_slow:2500 in_time 12000 2 d.ini run.wall_limit=12
    stopped "its time limit"
}
