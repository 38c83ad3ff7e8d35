# Outputs are looked at before a run begins: only regular files are replaced, no output stands in the way of
# another or of an input, and a name that is too long is known at the start.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=12 time.steps=2
}
dry() { weft_alone d.ini --dry-run "$@"; }

@test "a device, a pipe and a link stay what they are: exit 2 before the first step, in a dry run too" {
    mkfifo pipe.png
    ln -s elsewhere link.png
    local name key what
    for name in pipe.png link.png; do
        what=$(stat -c %F $name)
        for key in output.final output.picture output.trace; do
            refuses 2 weft_alone d.ini $key=$name -- "$key = $name" \
                "allowed is a new name or that of a regular file"
        done
        expect "$name" "$what" "$(stat -c %F $name)"
    done
    refuses 2 dry output.final=/dev/null -- \
        "/dev/null is a link, pipe, socket or device" "or none, which writes nothing"
    refuses 2 dry output.final=step_0000000002.h5 -- output.final "has a checkpoint's name"
    expect "what was written" "d.ini" "$(ls | grep -v png)"
    cat pipe.png >read & # the record is appended: to a pipe, a device, through a link
    for name in pipe.png link.png /dev/null; do weft_alone d.ini --quiet output.record=$name; done
    wait $!
    weft_alone d.ini --quiet output.record=/dev/stdout | cat >out
    expect records "3 3 3" "$(cat read elsewhere out | jq -r '.steps + 1' | xargs)"
}

@test "no two outputs have one name, however it is spelt, and none has an input's" {
    mkdir sub
    weft_alone d.ini --quiet output.final=a.h5 checkpoint.every=1
    ln -s ../a.h5 sub/other.h5
    ln a.h5 hard.h5
    local words
    while read -r words <&4; do # the words are arguments
        # shellcheck disable=SC2086
        case $words in
        *lock) refuses 2 dry $words -- "the lock of " "are the same file" ;;
        *) refuses 2 dry $words -- "are the same f" "allowed is another name" ;;
        esac
    done 4<<END
output.final=$PWD/f output.record=f
output.final=a.h5 output.record=sub/other.h5
output.final=a.h5 output.trace=hard.h5
output.record=./d.ini
output.final=a.h5 problem.initial=sub/other.h5
output.final=./a.h5 --restart a.h5
checkpoint.every=1 output.every=1 output.series=./checkpoints/
output.every=1 output.picture=c.png output.series=sub/../c.frames
output.final=new checkpoint.every=1 checkpoint.dir=./new
output.final=f.h5 output.record=./f.lock
checkpoint.dir=sub output.trace=sub/.weft.lock
output.every=1 output.series=sub output.trace=sub/.weft.lock
END
    refuses 2 dry output.record=a.h5 -- "output.record = a.h5 is no file of records"
    refuses 2 "$weft" bench ceiling device=host output=d.ini -- "output = d.ini is no file of records"
    refuses 2 "$weft" check device=host output=a.h5 -- "output = a.h5 is no file of records"
    expect "the deck" 1 "$(grep -c alpha d.ini)"
    "$weft" verify a.h5
    weft_alone d.ini --quiet --restart checkpoints checkpoint.every=1 output.final=a.h5 problem.initial=mode
}

@test "what can never be written is exit 3 before the first step: each output is tried in its own way" {
    local long words
    long=$(printf 'n%.0s' {1..240}) # its own bytes fit, those of its temporary name do not
    mkdir closed folder checkpoints series checkpoints/step_0000000002.h5 series/step_0000000001.h5
    touch closed/{f.png,f} unreadable file p.frames
    chmod 200 unreadable
    chmod 555 closed # its files can be written, not replaced
    while read -r words <&4; do # what is written and how long it may be waited for; what is said
        refuses 3 unprivileged run d.ini time.steps=999999999 ${words%% -- *} -- "${words%%[.=]*}." \
            "${words#* -- }"
    done 4<<END
output.final=closed/f -- Permission denied
output.picture=closed/f.png -- Permission denied
output.trace=closed/f -- Permission denied
output.record=unreadable -- Permission denied
output.record=/dev/null/x -- /dev/null/x
output.final=folder -- folder
output.picture=nowhere/x.png -- No such file
output.picture=$long.png -- File name too long
output.record=$long$long -- File name too long
output.picture=p.png output.every=1 -- Not a directory
output.series=series output.every=1 -- series/step_0000000001.h5 is a folder
checkpoint.dir=closed run.wall_limit=1 -- cannot write in closed: Permission denied
checkpoint.dir=file run.wall_limit=1 -- Not a directory
checkpoint.dir=checkpoints checkpoint.every=1 -- checkpoints/step_0000000002.h5 is a folder
END
    refuses 3 launch 2 "$weft" run d.ini --dry-run checkpoint.every=1 checkpoint.dir=/dev/null/x -- \
        /dev/null/x
    unprivileged run d.ini output.record=closed/f --quiet
    expect "a record in a file whose folder is closed" exact "$(record .verdict closed/f)"
    # without a folder for it no time limit of the job asks for a checkpoint
    SLURM_JOB_END_TIME=$(date +%s) weft_alone d.ini checkpoint.dir=file --quiet
    record '.notes[]' | grep -q '^checkpoint.dir: rank 0 on .*would end this run without a checkpoint$'
}
