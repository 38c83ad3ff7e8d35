# What a run would write is looked at before it begins: nothing that is no file is replaced, no output stands in the way of another or
# of an input, and a name that is too long is known at the start.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=12 time.steps=2
}
dry() { weft_alone d.ini --dry-run "$@"; }

@test "a device, a pipe, a socket and a link stay what they are: exit 2 before the first step, in a dry run too" {
    mkfifo pipe
    ln -s elsewhere link
    local names=(pipe link) key name what
    ! mknod dev c 1 3 2>/dev/null || names+=(dev)
    for name in "${names[@]}"; do
        what=$(stat -c %F "$name")
        for key in output.final output.picture output.trace; do
            [ $key != output.picture ] || mv "$name" "$name.png"
            run weft_alone d.ini "$key=$name$([ $key != output.picture ] || echo .png)"
            refused 2 "$key = $name" "allowed is a new name or that of a regular file"
            [ $key != output.picture ] || mv "$name.png" "$name"
        done
        expect "$name" "$what" "$(stat -c %F "$name")"
    done
    run dry output.final=/dev/null
    refused 2 "/dev/null is a link, pipe, socket or device" "or none, which writes nothing"
    expect "what was written" "d.ini" "$(ls -p | grep -v -e / -e '|' -e 'pipe' -e 'link' -e dev | xargs)"
    cat pipe >read & # the record is appended: to a pipe, a device, through a link
    local reader=$!
    weft_alone d.ini --quiet output.record=pipe
    wait $reader
    weft_alone d.ini --quiet output.record=link
    weft_alone d.ini --quiet output.record=/dev/null
    weft_alone d.ini --quiet output.record=/dev/stdout | cat >out
    expect records "3 3 3" "$(cat read elsewhere out | jq -r '.steps + 1' | xargs)"
    expect link "symbolic link" "$(stat -c %F link)"
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
        run dry $pair
        refused 2 "are the same f" "allowed is another name"
    done
    expect "the deck" 1 "$(grep -c alpha d.ini)"
    weft_alone d.ini --quiet --restart checkpoints checkpoint.every=1 output.final=a.h5 problem.initial=mode
}

@test "a name or a path that is too long with what is put behind it is exit 2, and the longest that fits is written" {
    local long path=p i
    long=$(printf 'n%.0s' {1..230})
    weft_alone d.ini --quiet "output.final=$long.h5" "output.trace=$long.t"
    [ -e "$long.h5" ] && [ -e "$long.t" ]
    for i in output.final=${long}nn.h5 output.picture=${long}n.png output.trace=${long}nnn.t output.record=$long$long; do
        run dry "$i"
        refused 2 "${i%%=*} = nnn" "allowed are 2" "which leave room for a suffix"
    done
    for i in {1..20}; do path+=/$(printf 'd%.0s' {1..200}); done
    mkdir -p "$path"
    path+=/$(printf 'f%.0s' {1..60})
    run dry "output.final=$path.h5"
    refused 2 "allowed are 4074"
    run dry checkpoint.every=1 "checkpoint.dir=$path"
    refused 2 "allowed are 4055"
}
