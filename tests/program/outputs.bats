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
    for pair in "output.final=f output.record=./f.lock" "output.final=f.h5 output.record=f.lock" \
        "checkpoint.dir=sub output.trace=sub/.weft.lock" "output.every=1 output.series=sub output.trace=sub/.weft.lock"; do
        refuses 2 dry $pair -- "the lock of " "are the same file"
    done
    refuses 2 dry output.record=a.h5 -- "output.record = a.h5 is no file of records"
    refuses 2 launch 1 "$weft" bench ceiling device=host output=d.ini -- \
        "output = d.ini is no file of records"
    refuses 2 launch 1 "$weft" check device=host output=a.h5 -- "output = a.h5 is no file of records"
    expect "the deck" 1 "$(grep -c alpha d.ini)"
    "$weft" verify a.h5
    weft_alone d.ini --quiet --restart checkpoints checkpoint.every=1 output.final=a.h5 problem.initial=mode
}

@test "a name that is too long is exit 3 before the first step" {
    local long
    long=$(printf 'n%.0s' {1..240}) # its own bytes fit, those of its temporary name do not
    refuses 3 dry "output.picture=$long.png" -- "output.picture = nnn" "File name too long"
    refuses 3 dry "output.trace=$long" -- "output.trace = nnn" "File name too long"
    refuses 3 dry "output.record=$long$long" -- "output.record = nnn" "File name too long"
    touch p.frames
    refuses 3 dry output.picture=p.png output.every=1 -- "output.picture's frames" "Not a directory"
}

@test "what can never be written is known before the first step: each output is tried in its own way" {
    mkdir closed gone
    touch closed/{f.png,f} unreadable file
    chmod 200 unreadable
    chmod 555 closed # its files can be written, not replaced
    tried() { # output, other words, text
        refuses 3 unprivileged run d.ini time.steps=999999999 "$1" $2 -- "${1%%=*}" "$3"
    }
    for output in final=closed/f picture=closed/f.png trace=closed/f record=unreadable; do
        tried output.$output '' "Permission denied"
    done
    tried checkpoint.dir=closed run.wall_limit=1 "cannot write in closed: Permission denied"
    tried checkpoint.dir=file run.wall_limit=1 "Not a directory"
    unprivileged run d.ini output.record=closed/f --quiet
    expect "a record in a file whose folder is closed" exact "$(record .verdict closed/f)"
    # without a folder for it no time limit of the job asks for a checkpoint
    SLURM_JOB_END_TIME=$(date +%s) weft_alone d.ini checkpoint.dir=file --quiet
    record '.notes[]' | grep -q '^checkpoint.dir: rank 0 on .*would end this run without a checkpoint$'
    cd gone
    rmdir ../gone
    for output in output.record=r output.final=f "checkpoint.dir=c checkpoint.every=1"; do
        refuses 3 weft_alone ../d.ini $output -- "No such file or directory"
    done
}
