# How runs of several hosts (made here, support/hosts) end: a directory that a run of another host has, a
# signal, ranks that are killed. What has its name is whole, and the run goes on from it.
load ../support/helper
load ../support/hosts

# a mode that is there after as many steps as a GPU takes in a minute
heat=(problem.kind=heat problem.alpha=1e-5 grid.nx=300 grid.ny=200)

# In the background until its second checkpoint; $mpirun is its pid, its output in the file out.
endless() { # hosts
    over "$1" "$weft" run d.ini time.steps=1000000000 checkpoint.every=500 >out 2>&1 &
    mpirun=$!
    wait_for two_checkpoints || { cat out; return 1; }
}

pids_on() { # host name: its processes of that name
    local pid
    for pid in $("$hosts" pids "$world" "$1"); do
        [ "$(<"/proc/$pid/comm")" != "$2" ] || echo "$pid"
    done
}

goes_on() { # hosts: seven steps from the newest checkpoint
    local from
    from=$(newest_step)
    "$weft" verify checkpoints/*.h5
    over "$1" "$weft" run d.ini time.steps=$((from + 7)) checkpoint.every=1000 --restart checkpoints
    expect "steps, verdict" "7 exact" "$(record '"\(.steps_run) \(.verdict)"')"
}

# bats test_tags=gpus:part
@test "a directory of another host's run is refused by that name; USR1 to mpirun: 75, and it is free" {
    deck d.ini "${heat[@]}"
    endless a:1,b:1
    refuses 2 over b:1,c:1 "$weft" run d.ini time.steps=3 checkpoint.every=1 -- \
        "checkpoint.dir: another run (host hosta, pid " \
        "writes there: use another name, or delete checkpoints/.weft.lock"
    kill -USR1 "$(pids_on hosta mpirun)"
    ends
    expect "status, its checkpoint" "75 $(record .steps)" "$status $(newest_step)"
    [ ! -e checkpoints/.weft.lock ]
    goes_on c:1,b:1
}

@test "the ranks of one host are killed: the job ends, and the run goes on without that host" {
    deck d.ini "${heat[@]}"
    endless a:1,b:2
    kill -KILL $(pids_on hostb weft)
    ends
    [ "$status" != 0 ]
    # hostc cannot know that this run is gone
    refuses 2 over c:1,d:1 "$weft" run d.ini time.steps=3 checkpoint.every=1 -- \
        "another run (host hosta, pid " "delete checkpoints/.weft.lock if that run is gone"
    goes_on a:2,c:1
}

@test "a host whose clock is a day ahead: times are rank 0's, no limit comes early, spans fit together" {
    local begun
    deck d.ini "${heat[@]}" time.steps=200 checkpoint.every=100 output.trace=t.json
    cc -shared -fPIC -o shim_clock.so "$top/tests/support/shim_clock.c"
    stand_in there "[ \"\$(hostname)\" != hostb ] || export LD_PRELOAD=$PWD/shim_clock.so SHIM_CLOCK_S=86400
        exec \"\$@\""
    begun=$(date +%s)
    SLURM_JOB_END_TIME=$((begun + 3600)) over a:1,b:2 ./there "$weft" run d.ini
    expect "steps, verdict, whether it started meanwhile" "200 exact true" \
        "$(record "\"\(.steps) \(.verdict) \(.started | fromdate | . >= $begun and . <= now)\"")"
    # its own clock counts
    over b:1,a:1 ./there "$weft" run d.ini time.steps=300 output.trace=none --restart checkpoints
    expect "steps" 300 "$(record .steps)"
    # without the offsets of clocks that were set at other boots the spans would be days apart
    expect "a run's length" true \
        "$(jq '[.traceEvents[] | select(.ph == "X") | .ts + .dur] | max < 1e9' t.json)"
    [ ! -e /proc/self/ns/time ] ||
        expect "offset of hostb, days" 1 "$(jq '.otherData.ranks[2].offset_us / 864e8 | fabs | round' t.json)"
}
