# `weft check fs DIR`: what a file system keeps is said for each promise, and nothing is left behind. Made
# hosts are many_hosts_files.bats.
load ../support/helper

checked() { # ranks program folder through...
    run launch "$1" "${@:4}" "$2" check fs "$3" seconds=1
}

words() { # of trials
    local trial
    for trial; do sed -nE "s/^  $trial +([A-Za-z]+)  .*/\1/p" <<<"$output"; done | xargs
}

lying() { # what... : preloaded, in what is started here
    [ -e lies.so ] || cc -shared -fPIC -o lies.so "$top/tests/support/shim_lying_files.c" -ldl
    printf '#!/bin/sh\nexport LD_PRELOAD=%s SHIM_LIES="%s"\nexec "$@"\n' "$PWD/lies.so" "$*" >lying
    chmod +x lying
}

@test "a good folder keeps all; a line for each promise, and nothing is left" {
    mkdir good
    checked 3 "$weft" good
    expect status 0 "$status" || { echo "$output"; return 1; }
    [[ $output == *"fit for checkpoints"* ]]
    expect "words" "kept kept kept kept kept" "$(words fsync O_EXCL rename 'flock here' rate)"
    grep -qE '^  rate .* 3 x 8.39 MB at [0-9.]+ [MG]B/s with fsync, read back as written$' <<<"$output"
    expect "left" "" "$(ls -A good)"
}

@test "what is not kept is named, and is exit 1 where weft relies on it" {
    mkdir bad
    lying excl rename flock lost
    checked 3 "$weft" bad ./lying
    expect status 1 "$status" || { echo "$output"; return 1; }
    expect "words" "BROKEN BROKEN BROKEN BROKEN" "$(words O_EXCL rename 'flock here' rate)"
    [[ $output == *"not fit for checkpoints"* ]]
    expect "left" "" "$(ls -A bad)"
    lying fsync
    checked 2 "$weft" bad ./lying
    expect status 3 "$status"
    expect "fsync" FAILED "$(words fsync)"
    expect "lines of trials between hosts" 0 "$(grep -c '^  flock  ' <<<"$output")"
}

@test "on a slow file system each trial is made a few times, and not as often as on a fast one" {
    mkdir far
    lying slow
    SHIM_WAITED=$PWD/waited checked 2 "$weft" far ./lying
    expect status 0 "$status" || { echo "$output"; return 1; }
    jq -e -n --argjson s "$(<waited.0)" '$s > 0.5 and $s < 4.5' || { cat waited.*; return 1; } # rank 0 slept: the load of this machine is not in it
}

endless() { # a check in the background that has made a file: mpirun's pid is $mpirun
    mkdir -p there
    start 2 check fs there seconds=3600
    wait_for is_there 'there/weft_check_fs.tmp.*/*'
}

@test "USR1, TERM or INT to a rank, beside another check: a sentence, status 3, and nothing is left" {
    local signal
    for signal in USR1 TERM INT; do
        endless
        "$weft" check fs there seconds=1 | grep -q 'fit for checkpoints'
        expect "folders" 1 "$(ls there | wc -l)"
        kill -$signal "$(pgrep -P $mpirun -f 'check fs' | tail -n 1)"
        ends
        expect "status after $signal" 3 "$status"
        expect "sentences" 1 "$(grep -c '^weft: check fs was stopped by a signal' out)"
        expect "left after $signal" "" "$(ls -A there)"
    done
}

@test "mistakes are exit 2 and one sentence" {
    touch file
    refuses 2 "$weft" check fs -- "check fs needs a folder"
    refuses 2 launch 2 "$weft" check fs nowhere -- "nowhere: No such file or directory"
    refuses 2 "$weft" check fs file -- "file: Not a directory; allowed: a folder in which files can be made"
    refuses 2 "$weft" check fs . file -- "takes one folder, and was given . and file"
    refuses 2 "$weft" check fs . second=3 -- "unknown key 'second'; allowed: seconds"
    refuses 2 "$weft" check fs . seconds=0 -- "seconds = 0; allowed: whole numbers 1 .. 3600"
}
