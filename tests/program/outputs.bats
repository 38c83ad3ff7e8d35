# Outputs are looked at before a run begins: only regular files are replaced, no output stands in the way of another or
# of an input, and a name that is too long is known at the start.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=12 time.steps=2
}
dry() { weft_alone d.ini --dry-run "$@"; }

@test "a device, a pipe, a socket and a link stay what they are: exit 2 before the first step, in a dry run too" {
    mkfifo pipe.png
    ln -s elsewhere link.png
    local names=(pipe.png link.png) key name what
    ! mknod dev.png c 1 3 2>/dev/null || names+=(dev.png)
    for name in "${names[@]}"; do
        what=$(stat -c %F $name)
        for key in output.final output.picture output.trace; do
            refuses 2 weft_alone d.ini $key=$name -- "$key = $name" "allowed is a new name or that of a regular file"
        done
        expect "$name" "$what" "$(stat -c %F $name)"
    done
    refuses 2 dry output.final=/dev/null -- \
        "/dev/null is a link, pipe, socket or device" "or none, which writes nothing"
    expect "what was written" "d.ini" "$(ls | grep -v png)"
    cat pipe.png >read & # the record is appended: to a pipe, a device, through a link
    for name in pipe.png link.png /dev/null; do weft_alone d.ini --quiet output.record=$name; done
    wait $!
    weft_alone d.ini --quiet output.record=/dev/stdout | cat >out
    expect records "3 3 3" "$(cat read elsewhere out | jq -r '.steps + 1' | xargs)"
    expect link "symbolic link" "$(stat -c %F link.png)"
}

@test "no two outputs have one name, however it is spelt, and none has an input's" {
    mkdir sub
    weft_alone d.ini --quiet output.final=a.h5 checkpoint.every=1
    ln -s ../a.h5 sub/other.h5
    ln a.h5 hard.h5
    local pair
    for pair in "output.final=f output.trace=./f" "output.final=sub/../f output.trace=f" "output.final=$PWD/f output.record=f" \
        "output.final=a.h5 output.record=sub/other.h5" "output.final=a.h5 output.trace=hard.h5" "output.final=d.ini" \
        "output.record=./d.ini" "output.final=a.h5 problem.initial=sub/other.h5" "output.final=./a.h5 --restart a.h5" \
        "checkpoint.every=1 output.every=1 output.series=./checkpoints/" \
        "output.every=1 output.picture=c.png output.series=sub/../c.frames" "output.final=new checkpoint.every=1 checkpoint.dir=./new"; do
        # its words are the arguments
        # shellcheck disable=SC2086
        refuses 2 dry $pair -- "are the same f" "allowed is another name"
    done
    expect "the deck" 1 "$(grep -c alpha d.ini)"
    weft_alone d.ini --quiet --restart checkpoints checkpoint.every=1 output.final=a.h5 problem.initial=mode
}

@test "a name that is too long is exit 3 before the first step" {
    local long
    long=$(printf 'n%.0s' {1..256})
    refuses 3 dry "output.picture=$long.png" -- "output.picture = nnn" "File name too long"
}
