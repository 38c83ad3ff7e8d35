# States of ranks on several hosts: the sanitizers' build takes the ranks of this machine for
# WEFT_PRETEND_HOSTS hosts. Each part is read back by another host than wrote it, and the cells depend on none
# of it.
load ../support/helper

heat=(problem.kind=wave problem.alpha=0.2 grid.nx=203 grid.ny=170 time.steps=3 checkpoint.every=3)

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    weft=$weft_sanitize
    deck d.ini "${heat[@]}"
}

state=checkpoints/step_0000000003.h5

@test "any number of hosts and of writers, in the background and in the foreground: the same cells" {
    local ranks hosts n async
    weft_run 1 d.ini output.final=alone.h5
    while read -r ranks hosts n async <&4; do # mpirun reads from 0
        WEFT_PRETEND_HOSTS=$hosts \
            weft_run $ranks d.ini checkpoint.writers=$n checkpoint.async=$async output.final=f.h5
        expect "$ranks ranks on $hosts hosts" "$((n == 0 ? 1 : n))" "$(record .checkpoint.writers)"
        "$weft_release" diff alone.h5 $state
        "$weft_release" diff alone.h5 f.h5
    done 4<<'END'
4 2 0 true
4 4 4 true
4 2 2 false
3 3 2 true
END
}

@test "another host than the one that wrote reads a part back" {
    local writer reader hosts
    while read -r hosts writer reader <&4; do
        rm -rf checkpoints
        WEFT_PRETEND_HOSTS=$hosts WEFT_FAULT=checkpoint_flip:$writer run weft_run 4 d.ini checkpoint.writers=4
        refused 3 step_0000000003.h5 "rank $reader read back other values than were written: part $writer"
        expect "files" "" "$(cd checkpoints && ls -A)"
    done 4<<'END'
1 1 1
2 1 3
2 3 1
4 3 0
END
}

@test "--dry-run says of how many files a state is" {
    run weft_run 4 d.ini --dry-run checkpoint.writers=3
    echo "$output"
    [[ $output == *"# checkpoints  1 of 552 KB in 5 files into checkpoints"* ]]
}
