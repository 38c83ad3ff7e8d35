# How runs and checks of several hosts (made here, support/hosts) end: a directory that a run of another host has, signals,
# ranks that are killed, a host that stands still. What has its name is whole, and the run goes on from it.
load ../support/helper
load ../support/hosts

heat=(problem.kind=heat problem.alpha=1e-5 grid.nx=300 grid.ny=200) # a mode that is there after as many steps as a GPU takes in a minute

begin() { # hosts command...: in the background; $mpirun is its pid, its output in the file out
    over "$@" >out 2>&1 &
    mpirun=$!
}

endless() { # hosts arguments...: until its second checkpoint
    two_are_there() { [ "$(steps_in 2>/dev/null | wc -w)" -ge 2 ]; }
    begin "$1" "$weft" run d.ini time.steps=1000000000 checkpoint.every=500 "${@:2}"
    wait_for two_are_there || { cat out; return 1; }
}

pids_on() { # host name [rank]: its processes of that name, or the one of a rank
    local pid
    for pid in $("$hosts" pids "$world" "$1"); do
        [ "$(<"/proc/$pid/comm")" = "$2" ] || continue
        [ -z "${3-}" ] || tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$3" || continue
        echo "$pid"
    done
}

goes_on() { # hosts: seven steps from the newest checkpoint
    local from
    from=$(newest_step)
    "$weft" verify checkpoints/*.h5
    over "$1" "$weft" run d.ini time.steps=$((from + 7)) checkpoint.every=1000 --restart checkpoints
    expect "steps, verdict" "7 exact" "$(record '"\(.steps_run) \(.verdict)"')"
}

@test "a directory that a run of another host has is refused by that host's name; TERM to its mpirun: a checkpoint, free again" {
    deck d.ini "${heat[@]}"
    OMPI_MCA_odls_base_sigkill_timeout=8 endless a:1,b:1 # mpirun waits so long, and kills
    refuses 2 over b:1,c:1 "$weft" run d.ini time.steps=3 checkpoint.every=1 -- \
        "checkpoint.dir: another run (host hosta, pid " "writes there: use another name, or delete checkpoints/.weft.lock"
    kill -TERM "$(pids_on hosta mpirun)"
    ends
    grep "^weft: stopped by a signal at step $(newest_step);" out || { cat out; return 1; }
    [ ! -e checkpoints/.weft.lock ]
    goes_on c:1,b:1
}

# bats test_tags=gpus:part
@test "USR1 through mpirun to the ranks of all hosts: they stop at one step with its checkpoint, 75" {
    deck d.ini "${heat[@]}"
    endless a:1,b:2
    kill -USR1 "$(pids_on hosta mpirun)"
    ends
    expect "status" 75 "$status"
    expect "its checkpoint" "$(record .steps)" "$(newest_step)"
}

@test "the ranks of one host are killed: the job ends, what is named is whole, the run goes on without that host" {
    deck d.ini "${heat[@]}"
    endless a:1,b:2
    kill -KILL $(pids_on hostb weft)
    ends
    [ "$status" != 0 ]
    refuses 2 over c:1,d:1 "$weft" run d.ini time.steps=3 checkpoint.every=1 -- \
        "another run (host hosta, pid " "delete checkpoints/.weft.lock if that run is gone" # hostc cannot know that hosta's run is gone
    goes_on a:2,c:1
}

@test "a host that stands still is named within run.stall_limit by the ranks that wait for it" {
    local said
    deck d.ini "${heat[@]}"
    begin a:2,b:1 "$weft" run d.ini time.steps=1000000000 run.stall_limit=4 output.progress=on
    wait_for grep -q 'step [1-9]' out
    said="weft: rank [01] on hosta made no progress for 4 s in phase 'steps' at step [1-9]"
    both_say_so() { [ "$(grep -c "$said" out)" = 2 ]; }
    kill -STOP $("$hosts" pids "$world" hostb)
    wait_for both_say_so || { cat out; return 1; }
    kill -CONT $("$hosts" pids "$world" hostb) # mpirun waits for its daemon there
    ends
    expect "status" 3 "$status"
}

@test "a host whose clock is a day ahead: times are of rank 0's clock, no time limit comes early, spans of ranks fit together" {
    local begun
    deck d.ini "${heat[@]}" time.steps=200 checkpoint.every=100 output.trace=t.json
    cc -shared -fPIC -o shim_clock.so "$top/tests/support/shim_clock.c" -ldl
    stand_in there "[ \"\$(hostname)\" != hostb ] || export LD_PRELOAD=$PWD/shim_clock.so SHIM_CLOCK_S=86400
        exec \"\$@\""
    expect "days that hostb is ahead" 1 $((($(on hostb ./there date +%s) - $(date +%s)) / 86000))
    begun=$(date +%s)
    SLURM_JOB_END_TIME=$((begun + 3600)) over a:1,b:2 ./there "$weft" run d.ini
    expect "steps, verdict" "200 exact" "$(record '"\(.steps) \(.verdict)"')"
    [ "$(date -d "$(record .started)" +%s)" -ge "$begun" ]
    [ "$(date -d "$(record .started)" +%s)" -le "$(date +%s)" ]
    expect "left beside the checkpoints" "" "$(find . -name '*.tmp*' -o -name .weft.lock)"
    over b:1,a:1 ./there "$weft" run d.ini time.steps=300 output.trace=none --restart checkpoints # its own clock counts there
    expect "steps" 300 "$(record .steps)"
    # without the offsets of clocks that were set at other boots the spans would be days apart
    expect "a run's length" true "$(jq '[.traceEvents[] | select(.ph == "X") | .ts + .dur] | max < 1e9' t.json)"
    if [ -e /proc/self/ns/time ]; then
        expect "offset of hostb, days" 1 "$(jq '.otherData.ranks[2].offset_us / 864e8 | fabs | round' t.json)"
    fi
}

# ---- weft check ----

checks() { # hosts key=value...: until its first record, that of a round
    rm -f check.jsonl
    begin "$1" "$weft" check device=host budget=0.05 "${@:2}"
    wait_for [ -s check.jsonl ] || { cat out; return 1; }
}

@test "weft check, a rank killed on the other host: the job ends, and the rounds before are kept" {
    local level
    for level in "soak time=1h" "quick budget=2"; do
        checks a:1,b:2 level=$level
        kill -KILL "$(pids_on hostb weft 2)"
        ends
        [ "$status" != 0 ] && [ -s check.jsonl ] && [ -s check.jsonl.part ] || { cat out; return 1; }
    done
}

@test "weft check, TERM to mpirun ends a soak over two hosts with the verdict of its rounds" {
    OMPI_MCA_odls_base_sigkill_timeout=2 checks a:1,b:2 level=soak time=1h # mpirun waits so long, and kills
    kill -TERM "$(pids_on hosta mpirun)"
    ends
    [[ "$(record .check.verdict check.jsonl)" != incomplete && -s out ]] || { cat out; return 1; }
    expect "sentences" "" "$(grep '^weft: ' out)"
}
