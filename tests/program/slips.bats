# What a newcomer meets first, said in one sentence: a wrong launcher, cells that overflow, folders and files
# that are not there, a state of a later version.
load ../support/helper

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=32 grid.ny=24 time.steps=7)

@test "processes that the launcher of another MPI started are refused, not run as many times as there are" {
    deck d.ini "${heat[@]}"
    for variable in PMI_SIZE=4 SLURM_STEP_NUM_TASKS=4; do
        refuses 3 env "$variable" "$weft" run d.ini -- "${variable/=/ = }, but MPI sees one rank"
    done
    env SLURM_STEP_NUM_TASKS=4 SLURM_PTY_PORT=40000 "$weft" run d.ini # a shell that srun --pty started
}

# bats test_tags=gpus:part
@test "cells that become NaN or infinite are said: how many, where, since which checked level" {
    deck d.ini problem.kind=custom "problem.weights=9 9 9" grid.nx=64 problem.dtype=f32 \
        problem.initial=random time.norm_every=7 time.steps=60 run.fuse=1
    local said='^weft: 64 of 64 cells are NaN or infinite, the first at x = 0, y = 0; level 28 is the first'
    weft_alone d.ini 2>said >&2
    expect "sentences" 1 "$(grep -c "$said" said)"
    expect "notes of the record" 1 "$(record '[.notes[] | select(contains("NaN or infinite"))] | length')"
    weft_alone d.ini time.steps=25 2>said >&2
    ! grep -q 'NaN or infinite' said || { cat said; return 1; }
}

@test "a record's folder is made, but by a dry run; a file beside the deck is found, by a restart too" {
    mkdir sub
    deck sub/d.ini "${heat[@]}" output.record=new/folder/r.jsonl
    weft_alone sub/d.ini --dry-run >dry
    [ ! -e new ]
    refuses 2 weft_alone sub/d.ini --dry-run problem.initial=nowhere.h5 -- \
        "problem.initial = nowhere.h5 cannot be read: No such file"
    weft_alone sub/d.ini output.final=sub/beside.h5
    weft_alone sub/d.ini problem.initial=sub/beside.h5
    expect records 2 "$(wc -l <new/folder/r.jsonl)"
    weft_run 2 sub/d.ini problem.initial=beside.h5 checkpoint.every=5
    cd sub
    weft_alone d.ini problem.initial=beside.h5 output.record=../again.jsonl --restart ../checkpoints
    cd ..
    expect fingerprints 1 "$(tail -q -n 2 new/folder/r.jsonl again.jsonl | jq .fingerprint | uniq | wc -l)"
}

@test "frames that cannot be made or deleted" {
    deck d.ini "${heat[@]}" output.picture=p.png output.every=5
    ln -s nowhere/frames p.frames
    refuses 3 weft_alone d.ini -- "output.picture: cannot make the directory p.frames"
    rm p.frames
    mkdir -p p.frames/0000000000.png
    refuses 3 weft_alone d.ini -- "output.picture: an older run's frames in p.frames cannot be deleted"
}

@test "the deck of a later version in a state" {
    /usr/bin/python3 -c 'import h5py' 2>/dev/null || skip "no h5py here (python3-h5py)"
    deck d.ini "${heat[@]}" output.final=now.h5
    weft_alone d.ini
    /usr/bin/python3 -c 'import h5py, numpy; a = h5py.File("now.h5", "a").attrs
a["deck"] = numpy.bytes_(a["deck"] + b"[later]\nkey = 1\n")'
    /usr/bin/python3 "$top/jobs/state" now.h5 later.h5
    refuses 3 weft_alone d.ini --restart later.h5 -- "later.h5: the deck stored in it cannot be read: " \
        "later"
}
