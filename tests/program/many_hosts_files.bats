# State files of several hosts (made here, support/hosts): written into a folder that all share, read on other
# hosts; where hosts do not share it, or may not write there, one sentence names the host before the first
# step. /tmp is each host's own.
load ../support/helper
load ../support/hosts

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=61 grid.ny=47 time.steps=30)
quiet="--quiet output.record=none"

@test "checkpoints written by two hosts have one rank's cells, and go on on other hosts" {
    deck d.ini "${heat[@]}" checkpoint.every=10 output.final=f.h5
    over a:2,b:1 "$weft" run d.ini checkpoint.writers=3
    expect "who wrote" "3 3 exact" "$(record '"\(.checkpoint.writers) \(.checkpoint.count) \(.verdict)"')"
    mkdir several
    mv checkpoints/* f.* several
    weft_alone d.ini
    "$weft" diff f.h5 several/f.h5
    "$weft" diff checkpoints/step_0000000020.h5 several/step_0000000020.h5
    over c:1,b:2,d:1 "$weft" run d.ini time.steps=50 --restart several run.ranks_x=2
    expect "went on" "20 exact hostc,hostb,hostd" \
        "$(record '"\(.steps_run) \(.verdict) \(.machine.hosts | join(","))"')"
    expect "found by rank 0's name for it" "$(cd several && ls)" "$(on hostd ls several)"
}

@test "a folder that each host has for itself: one sentence names a host, nothing is computed or left there" {
    local host name unseen="rank 1 on hostb does not see what rank 0 writes to /tmp/own"
    local outputs="run d.ini $quiet checkpoint.every=10 output.every=10 output.series=none"
    declare -A pid=()
    try() { # name of its output, words: all at a time, since each waits for a network's file system
        over a:1,b:1 "$weft" "${@:2}" >"$1" 2>&1 &
        pid[$1]=$!
    }
    told() { # name, status, texts
        status=0
        wait "${pid[$1]}" || status=$?
        output=$(<"$1") refused "${@:2}" || { echo "for $1"; return 1; }
    }
    deck d.ini run.device=host "${heat[@]}"
    for host in hosta hostb; do on $host mkdir /tmp/own; done # of the same name
    try checkpoint.dir $outputs checkpoint.dir=/tmp/own
    try output.series $outputs output.series=/tmp/own
    try output.final $outputs output.final=/tmp/own/f.h5
    try checkpoint run d.ini checkpoint.every=10 checkpoint.dir=/tmp/own/new --dry-run
    try signal run d.ini checkpoint.every=0 checkpoint.dir=/tmp/own output.record=signal.jsonl
    try fs check fs /tmp/own
    for name in checkpoint.dir output.series output.final checkpoint; do told $name 3 $name "$unseen"; done
    told fs 1 "$unseen"
    wait "${pid[signal]}"
    expect "note" "checkpoint.dir: $unseen: state files need a folder that all hosts share; \
a signal would end this run without a checkpoint" "$(record '.notes[]' signal.jsonl)"
    for host in hosta hostb; do expect "left on $host" "" "$(on $host ls -A /tmp/own)"; done
    [ ! -e checkpoints ]
}

@test "what rank 0 alone writes needs no shared folder: record, pictures and their frames, trace" {
    deck d.ini "${heat[@]}" \
        output.{record=/tmp/r.jsonl,picture=/tmp/p.png,every=10,series=none,trace=/tmp/t.json}
    over a:1,b:1 "$weft" run d.ini
    expect "files" "0000000000.png 0000000010.png 0000000020.png 0000000030.png p.png r.jsonl t.json" \
        "$(on hosta sh -c 'ls /tmp/p.frames; cd /tmp && ls p.png r.jsonl t.json' | paste -sd ' ')"
}

@test "a file that one host lacks, a shared folder that one mounts read-only: refused by that host's name" {
    local words=(checkpoint.every=10 checkpoint.dir=shared/new)
    deck d.ini "${heat[@]}"
    on hosta mkdir /tmp/only
    on hosta "$weft" run d.ini $quiet output.final=/tmp/only/a.h5
    refuses 2 over a:1,b:1 "$weft" run d.ini $quiet --restart /tmp/only/a.h5 -- \
        "/tmp/only/a.h5: no such file (rank 1 on hostb)"
    refuses 2 over a:1,b:1 "$weft" run d.ini problem.initial=/tmp/only/a.h5 --dry-run -- \
        "problem.initial" "/tmp/only/a.h5" "(rank 1 on hostb)"
    mkdir shared
    on hostb mount --bind shared shared
    on hostb mount -o remount,bind,ro shared
    refuses 3 over a:1,b:1 "$weft" run d.ini "${words[@]}" --dry-run -- \
        "checkpoint.dir" "rank 1 on hostb cannot write in" "Read-only file system"
    refuses 3 over b:1,a:1 "$weft" run d.ini $quiet "${words[@]}" -- \
        "checkpoint.dir" "rank 0 on hostb cannot write in shared: Read-only"
    on hostb umount shared
}

@test "a host that for ever misses a name that it once missed writes and reads all that others make" {
    cc -O1 -shared -fPIC -o sticky.so "$top/tests/support/shim_sticky_names.c" -ldl
    printf '#!/bin/sh\nexport LD_PRELOAD=%s SHIM_HOST=hostb\nexec "$@"\n' "$PWD/sticky.so" >late
    chmod +x late
    on hostb ./late bash -c '[ ! -e there ] && /bin/touch there && [ ! -e there ]' # what the shim does
    deck d.ini "${heat[@]}" checkpoint.every=10 checkpoint.writers=3 output.every=10 output.series=s \
        output.final=new/f.h5 output.picture=p.png output.trace=t.json output.record=r/r.jsonl
    mkdir new
    late() { over a:1,b:2 ./late "$weft" "$@"; }
    late run d.ini --restart-if-any checkpoints --quiet
    late run d.ini --restart-if-any checkpoints time.steps=60 output.record=r/r2.jsonl --quiet
    expect "verdicts, steps" "exact 30 exact 30" "$(cat r/*.jsonl | jq -r '.verdict, .steps_run' | xargs)"
    over b:1,a:2 ./late "$weft" run d.ini checkpoint.dir=of_late output.series=s2 output.final=new/g.h5 output.record=r/r3.jsonl --quiet
    late verify checkpoints s new/f.h5 of_late s2 new/g.h5
    late check fs new seconds=1 >fs
    grep -q '^new: 3 ranks on 2 hosts' fs
    grep -q '^fit for checkpoints' fs
    late bench io dir=new bytes=1M samples=2 output=r/b.jsonl
}
