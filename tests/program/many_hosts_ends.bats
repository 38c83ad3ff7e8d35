# How runs of several hosts (made here, support/hosts) end: a directory that a run of another host has, signals, ranks that are killed, a
# host that stands still, a build that is another. What has its name is whole, and the run goes on from it.
load ../support/helper
load ../support/hosts

heat=(problem.kind=heat problem.alpha=1e-5 grid.nx=300 grid.ny=200) # a mode that is there after as many steps as a GPU takes in a minute

begin() { # hosts arguments...: in the background; $mpirun is its pid, its output in the file out
    over "$1" "$weft" run d.ini "${@:2}" >out 2>&1 &
    mpirun=$!
}

endless() { # hosts arguments...: until its second checkpoint
    two_are_there() { [ "$(find checkpoints -name 'step_*.h5' 2>/dev/null | wc -l)" -ge 2 ]; }
    begin "$1" time.steps=1000000000 checkpoint.every=500 "${@:2}"
    wait_for two_are_there || { cat out; return 1; }
}

named_on() { # host name: its processes of that name
    local pid
    for pid in $("$hosts" pids "$world" "$1"); do [ "$(<"/proc/$pid/comm")" != "$2" ] || echo "$pid"; done
}

newest_step() { find checkpoints -name 'step_*.h5' | sort | tail -n 1 | sed 's/.*step_0*\([0-9]*\)\.h5/\1/'; }

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
    run over b:1,c:1 "$weft" run d.ini time.steps=3 checkpoint.every=1
    refused 2 "checkpoint.dir: another run (host hosta, pid " "writes there: use another name, or delete checkpoints/.weft.lock"
    kill -TERM "$(named_on hosta mpirun)"
    ends
    grep "^weft: stopped by a signal at step $(newest_step);" out || { cat out; return 1; }
    [ ! -e checkpoints/.weft.lock ]
    goes_on c:1,b:1
}

# bats test_tags=gpus:part
@test "USR1 through mpirun to the ranks of all hosts: they stop at one step with its checkpoint, 75" {
    deck d.ini "${heat[@]}"
    endless a:1,b:2
    kill -USR1 "$(named_on hosta mpirun)"
    ends
    expect "status" 75 "$status"
    expect "its checkpoint" "$(record .steps)" "$(newest_step)"
}

@test "the ranks of one host are killed: the job ends, what is named is whole, the run goes on without that host" {
    deck d.ini "${heat[@]}"
    endless a:1,b:2
    kill -KILL $(named_on hostb weft)
    ends
    [ "$status" != 0 ]
    run over c:1,d:1 "$weft" run d.ini time.steps=3 checkpoint.every=1 # hostc cannot know that hosta's run is gone
    refused 2 "another run (host hosta, pid " "delete checkpoints/.weft.lock if that run is gone"
    goes_on a:2,c:1
}

@test "a host that stands still is named within run.stall_limit by the ranks that wait for it" {
    local said
    deck d.ini "${heat[@]}"
    begin a:2,b:1 time.steps=1000000000 run.stall_limit=4 output.progress=on
    wait_for grep -q 'step [1-9]' out
    said="weft: rank [01] on hosta made no progress for 4 s in phase 'steps' at step [1-9]"
    both_say_so() { [ "$(grep -c "$said" out)" = 2 ]; }
    kill -STOP $("$hosts" pids "$world" hostb)
    wait_for both_say_so || { cat out; return 1; }
    kill -CONT $("$hosts" pids "$world" hostb) # mpirun waits for its daemon there
    ends
    expect "status" 3 "$status"
}

@test "a host with another build of weft is named with its version, before anything is computed" {
    local version
    deck d.ini "${heat[@]}" time.steps=3
    version=$("$weft" --version | awk 'NR == 1 { print $2 }')
    LC_ALL=C sed "s/${version//./\\.}/9.9.9/g" "$weft" >older
    printf '#!/bin/sh\n[ "$(hostname)" = hostb ] && exec ./older "$@"\nexec "%s" "$@"\n' "$weft" >installed
    chmod +x older installed
    run over a:2,b:1 ./installed run d.ini
    refused 2 "rank 2 on hostb is weft '9.9.9 (" "rank 0 '$version ("
    [ ! -e results.jsonl ]
}

@test "a host whose clock is a day ahead: times are of rank 0's clock, no time limit comes early, spans of ranks fit together" {
    local begun
    deck d.ini "${heat[@]}" time.steps=200 checkpoint.every=100 output.trace=t.json
    cc -shared -fPIC -o shim_clock.so "$top/tests/support/shim_clock.c" -ldl
    printf '#!/bin/sh\n[ "$(hostname)" != hostb ] || export LD_PRELOAD=%s/shim_clock.so SHIM_CLOCK_S=86400\nexec "$@"\n' "$PWD" >there
    chmod +x there
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
