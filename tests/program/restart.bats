# A run that was cut and went on, on other ranks, has the bits of the run that was not cut; damaged checkpoints are named
# and skipped; a restart of another problem is refused.
load ../support/helper

plate=(grid.nx=53 grid.ny=41)

cut_and_go_on() { # key=value...
    deck d.ini "$@" time.steps=40 checkpoint.every=20
    weft_run 2 d.ini run.ranks_x=2 checkpoint.dir=whole
    local reference
    reference=$(fingerprint)
    weft_run 3 d.ini time.steps=20
    weft_run 4 d.ini run.ranks_x=2 run.lanes=3 --restart checkpoints
    expect "fingerprint after the restart on 4 ranks" "$reference" "$(fingerprint)"
    expect "steps, steps_run" "40 20" "$(record '"\(.steps) \(.steps_run)"')"
    expect "verdict" "$(jq -r .verdict results.jsonl | head -n 1)" "$(record .verdict)"
    weft_alone d.ini --restart checkpoints/step_0000000020.h5
    expect "fingerprint after the restart on 1 rank" "$reference" "$(fingerprint)"
}

# bats test_tags=gpus:part
@test "heat goes on with the same bits on other ranks" {
    cut_and_go_on problem.kind=heat problem.alpha=0.2 "${plate[@]}" "grid.x_low=dirichlet 0" grid.x_high=neumann
    expect verdict exact "$(record .verdict)"
}
@test "transpose goes on with A and B" {
    cut_and_go_on problem.kind=transpose "${plate[@]}"
    expect verdict exact "$(record .verdict)"
}

# Three checkpoints, 10 20 30, of a run to 30.
three_checkpoints() {
    deck d.ini problem.kind=heat problem.alpha=0.2 "${plate[@]}" time.steps=30 checkpoint.every=10 checkpoint.keep=0
    weft_run 2 d.ini
    reference=$(fingerprint)
}
data_offset() { h5dump -p -H -d "$2" "$1" | awk '/OFFSET/ { print $2; exit }'; }
flip_a_byte() { # file [dataset]: of the field's data, in the middle of it
    local at=$(($(data_offset "$1" "${2:-/fields/u}") + 8 * 53 * 20 + 3))
    local byte
    byte=$(od -An -tu1 -j "$at" -N 1 "$1" | tr -d ' ')
    printf "\\x$(printf %02x $((byte ^ 16)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

@test "checkpoint.keep leaves that many of the newest" {
    three_checkpoints
    expect "files with keep=0" "step_0000000010.h5 step_0000000020.h5 step_0000000030.h5" "$(cd checkpoints && echo *.h5)"
    weft_run 2 d.ini checkpoint.keep=2 checkpoint.dir=two
    expect "files with keep=2" "step_0000000020.h5 step_0000000030.h5" "$(cd two && echo *.h5)"
    expect "no file is left half written" "" "$(find . -name '*.tmp*')"
}

@test "one flipped bit in the newest checkpoint: it is named, the one before is used" {
    three_checkpoints
    flip_a_byte checkpoints/step_0000000030.h5
    run weft_run 3 d.ini --restart checkpoints
    expect status 0 "$status"
    [[ $output == *step_0000000030.h5* ]]
    expect "steps run from 20 to 30" 10 "$(record .steps_run)"
    expect fingerprint "$reference" "$(fingerprint)"
}

@test "one flipped bit in the level before, or in the matrix that is not the result: it is named and skipped too" {
    local kind field
    for kind in wave transpose; do
        field=/fields/u_prev
        [ $kind = wave ] || field=/fields/a
        deck d.ini problem.kind=$kind problem.alpha=0.2 "${plate[@]}" time.steps=20 checkpoint.every=10 checkpoint.dir=$kind
        [ $kind = wave ] || sed -i '/alpha/d' d.ini
        weft_alone d.ini
        reference=$(fingerprint)
        flip_a_byte $kind/step_0000000020.h5 $field
        run weft_run 2 d.ini --restart $kind
        expect status 0 "$status"
        [[ $output == *$kind/step_0000000020.h5*$field* ]] || { echo "$output"; return 1; }
        expect "steps run from 10 to 20" 10 "$(record .steps_run)"
        expect fingerprint "$reference" "$(fingerprint)"
    done
}

@test "newest checkpoint cut short, next one not HDF5 at all: both named, the third used" {
    three_checkpoints
    truncate -s 3000 checkpoints/step_0000000030.h5
    echo "not HDF5" >checkpoints/step_0000000020.h5
    run weft_run 2 d.ini --restart checkpoints
    expect status 0 "$status"
    [[ $output == *step_0000000030.h5*step_0000000020.h5* ]]
    expect steps_run 20 "$(record .steps_run)"
    expect fingerprint "$reference" "$(fingerprint)"
}

@test "only damaged checkpoints: exit 3" {
    three_checkpoints
    for f in checkpoints/*.h5; do flip_a_byte "$f"; done
    run weft_run 2 d.ini --restart checkpoints
    expect status 3 "$status"
    run weft_run 2 d.ini --restart checkpoints/step_0000000010.h5
    refused 3 step_0000000010.h5
}

# Root, too, may not read what others may not.
unprivileged() {
    local drop=()
    [ "$(id -u)" != 0 ] || drop=(setpriv --inh-caps=-all --bounding-set=-dac_override,-dac_read_search)
    timeout -k 5 60 "${drop[@]}" "$weft" "$@" 3>&-
}

@test "a file that may not be read is not called damaged: it is skipped with the reason, or exit 3" {
    three_checkpoints
    local newest=checkpoints/step_0000000030.h5
    cp $newest same.h5
    chmod 000 $newest
    run unprivileged run d.ini --restart $newest
    refused 3 $newest "Permission denied"
    run unprivileged verify $newest
    refused 3 $newest "Permission denied"
    run unprivileged diff same.h5 $newest
    refused 3 $newest "Permission denied"
    run unprivileged run d.ini --restart checkpoints
    expect status 0 "$status"
    [[ $output == *"$newest: Permission denied; skipped"* ]]
    expect "steps run from 20 to 30" 10 "$(record .steps_run)"
    flip_a_byte checkpoints/step_0000000010.h5
    chmod 000 checkpoints/step_0000000020.h5 checkpoints/step_0000000030.h5
    run unprivileged run d.ini --restart checkpoints
    expect status 3 "$status"
    [[ $output == *"checkpoints: no checkpoint can be used; damaged: 1, not readable: 2"* ]] || { echo "$output"; return 1; }
    chmod 000 checkpoints
    run unprivileged run d.ini checkpoint.dir=. --restart checkpoints/step_0000000010.h5
    refused 3 checkpoints/step_0000000010.h5 "Permission denied"
    run unprivileged run d.ini checkpoint.dir=. --restart checkpoints/below
    refused 3 checkpoints/below "Permission denied"
    run unprivileged verify checkpoints
    refused 3 "checkpoints: the directory cannot be read"
    chmod 755 checkpoints
}

@test "--restart: an empty directory starts at step 0 and says so, a missing one is refused; --restart-if-any starts in both" {
    deck d.ini problem.kind=heat problem.alpha=0.2 "${plate[@]}" time.steps=5
    mkdir empty
    local asked
    for asked in "--restart empty" "--restart-if-any empty" "--restart-if-any missing"; do
        run weft_run 2 d.ini $asked
        expect "status with $asked" 0 "$status"
        [[ $output == *"${asked#* }; starting at step 0"* ]] || { echo "$output"; return 1; }
        expect steps_run 5 "$(record .steps_run)"
    done
    for asked in missing missing.h5 d.ini/under; do
        run weft_run 2 d.ini --restart $asked
        refused 2 "--restart $asked: no such file or directory"
    done
    run weft_alone d.ini --dry-run --restart missing
    refused 2 "--restart missing: no such"
    run weft_alone d.ini --restart empty --restart-if-any missing
    refused 2 "--restart-if-any missing" empty
}

@test "a restart beyond time.steps is refused; at time.steps the run is complete and ends with 0" {
    three_checkpoints
    run weft_run 2 d.ini time.steps=29 --restart checkpoints
    refused 2 "time.steps = 29" checkpoints/step_0000000030.h5 "step 30"
    run weft_alone d.ini time.steps=29 --dry-run --restart checkpoints/step_0000000030.h5
    refused 2 "time.steps = 29"
    run weft_run 2 d.ini --restart-if-any checkpoints
    expect status 0 "$status"
    [[ $output == *"restarted from step 30"*"no step remains"* ]] || { echo "$output"; return 1; }
    expect "steps_run, verdict, fingerprint" "0 exact $reference" "$(record '"\(.steps_run) \(.verdict) \(.fingerprint)"')"
}

@test "a deck that disagrees with the checkpoint is refused by key; run, time and output may differ" {
    three_checkpoints
    run weft_run 2 d.ini problem.alpha=0.19 --restart checkpoints
    refused 2 problem.alpha
    run weft_run 2 d.ini grid.nx=54 --restart checkpoints
    refused 2 grid.nx
    run weft_run 2 d.ini grid.x_low=neumann grid.x_high=neumann --restart checkpoints
    refused 2 grid.x_
    run weft_run 2 d.ini problem.dtype=f32 --restart checkpoints
    refused 2 problem.dtype
    weft_run 2 d.ini time.steps=35 run.lanes=2 output.record=other.jsonl --restart checkpoints
    expect steps 35 "$(record .steps other.jsonl)"
}

@test "weft verify and weft diff see what happened to a file" {
    three_checkpoints
    launch 2 "$weft" verify checkpoints/*.h5
    cp checkpoints/step_0000000030.h5 same.h5
    "$weft" diff same.h5 checkpoints/step_0000000030.h5
    run "$weft" diff checkpoints/step_0000000020.h5 same.h5
    expect "diff of two levels" 1 "$status"
    flip_a_byte same.h5
    run "$weft" verify same.h5
    refused 3 same.h5 /fields/u
    run "$weft" diff same.h5 checkpoints/step_0000000030.h5
    refused 3 same.h5 /fields/u
    run "$weft" verify nowhere.h5
    refused 2 nowhere.h5
    deck ab.ini problem.kind=transpose problem.initial=random grid.nx=8 grid.ny=6 time.steps=0
    for seed in 1 2; do weft_alone ab.ini problem.seed=$seed output.final=$seed.h5; done
    run "$weft" diff 1.h5 2.h5
    expect "of two fields the first differs" "1 same" "$status $(sed -n 's/^b: \(same\) bits$/\1/p' <<<"$output")"
}

@test "weft verify and weft diff: more ranks than rows, and a difference that is only a sign of zero" {
    deck d.ini problem.kind=custom problem.initial=zero "problem.weights=-1 -1 1" grid.nx=5 time.steps=1 \
        "grid.x_low=dirichlet 0"
    weft_alone d.ini "grid.x_high=dirichlet 0" output.final=a.h5
    weft_alone d.ini "grid.x_high=dirichlet -0" output.final=b.h5
    launch 7 "$weft" verify a.h5 b.h5
    run launch 3 "$weft" diff a.h5 b.h5
    expect status 1 "$status"
    [[ $output == *"u: 1 cells differ, by at most 0.000e+00 at (x 4, y 0)"* ]] || { echo "$output"; return 1; }
}

@test "weft diff: the largest absolute and relative difference, each where it is; and whole runs by their steps" {
    deck d.ini problem.kind=custom "problem.weights=0 1 0" grid.nx=4 grid.ny=1 time.steps=2 checkpoint.every=1 checkpoint.keep=0
    printf '1.5 2 1000 0\n' >a.txt
    printf '1.96875 2.75 1001 0\n' >b.txt
    printf 'PATH /fields/u\nINPUT-CLASS TEXTFP\nRANK 1\nDIMENSION-SIZES 4\nOUTPUT-CLASS FP\nOUTPUT-SIZE 64\n' >conf
    local name
    for name in a b; do
        h5import $name.txt -c conf -o start_$name.h5
        weft_alone d.ini problem.initial=start_$name.h5 checkpoint.dir=$name --quiet
    done
    run launch 3 "$weft" diff a/step_0000000002.h5 b/step_0000000002.h5
    expect status 1 "$status"
    local at_2="by at most 1.000e+00 at (x 2, y 0)" at_1="relative 2.727e-01 at (x 1, y 0)"
    [[ $output == *"u: 3 cells differ, $at_2; $at_1"* ]] || { echo "$output"; return 1; }
    weft_alone d.ini problem.initial=start_a.h5 checkpoint.dir=c checkpoint.every=2 --quiet
    run "$weft" diff a c
    expect "a run that lacks a step" "1 step 2 u: same bits step 1: only in a" "$status $(echo $output)"
    weft_alone d.ini problem.initial=start_a.h5 checkpoint.dir=same checkpoint.every=1 --quiet
    run "$weft" diff a same
    expect "two runs that agree" "0 step 1 u: same bits step 2 u: same bits" "$status $(echo $output)"
    run "$weft" diff a b
    expect "two runs that differ: status and steps" "1 2" "$status $(grep -c '^step' <<<"$output")"
    mkdir empty
    run "$weft" diff a empty
    refused 2 empty
}

@test "weft diff: a last bit of f32 counts; what has nothing to compare is said" {
    deck d.ini problem.kind=custom problem.initial=zero "problem.weights=0 0 1" problem.dtype=f32 grid.nx=5 \
        "grid.x_low=dirichlet 0" time.steps=1
    local v
    for v in 1 1.00000011920929; do weft_alone d.ini "grid.x_high=dirichlet $v" "output.final=$v.h5"; done
    run "$weft" diff 1.h5 1.00000011920929.h5
    [[ $status = 1 && $output == *"u: 1 cells differ, by at most 1.192e-07 at (x 4, y 0)"* ]] || { echo "$output"; return 1; }
    weft_alone d.ini "grid.x_high=dirichlet 1" checkpoint.every=1 checkpoint.dir=one grid.nx=6 output.final=w.h5
    weft_alone d.ini "grid.x_high=dirichlet 1" checkpoint.every=2 checkpoint.dir=two time.steps=2
    run "$weft" diff 1.h5 w.h5
    refused 1 "1.h5 (custom, f32, 5 x 1)" "w.h5 (custom, f32, 6 x 1) differ in kind, type or grid"
    run "$weft" diff one two
    expect "runs without a common step" "1 step 1: only in one step 2: only in two" "$status $(echo $output)"
    run "$weft" diff 1.h5
    refused 2 "diff needs two state files"
}

@test "a state file holds what it promises" {
    three_checkpoints
    local f=checkpoints/step_0000000030.h5
    h5dump -H "$f" >header
    for a in schema_version kind step fingerprint deck folder; do grep -q "ATTRIBUTE \"$a\"" header; done
    h5dump -d /fields/u -H "$f" | grep -q 'SIMPLE { ( 41, 53 )'
    h5dump -a /fingerprint "$f" | grep -q "$reference"
    h5dump -a /fields/u/fingerprint "$f" | grep -q "$reference"
    h5dump -a /deck "$f" | grep -q 'alpha'
}
