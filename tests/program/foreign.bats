# problem.initial takes files that other programs wrote (test_state_reads_foreign_files) and states of weft;
# jobs/state makes one file of parts.
load ../support/helper

@test "a final state of weft is a start like any other; wave takes the level before along" {
    deck w.ini problem.kind=wave problem.alpha=0.3 problem.initial=gaussian grid.nx=32 grid.ny=24 \
        time.steps=20
    weft_alone w.ini
    reference=$(fingerprint)
    weft_run 2 w.ini time.steps=12 output.final=half.h5
    weft_run 3 w.ini problem.initial=half.h5 time.steps=8
    expect "12 steps, then 8 from the file" "$reference" "$(fingerprint)"
}

@test "jobs/state: a state in parts as one file, with the same cells; a part that is lost is one sentence" {
    /usr/bin/python3 -c 'import h5py' 2>/dev/null || skip "no h5py here (python3-h5py)"
    deck p.ini problem.kind=transpose grid.nx=1100 grid.ny=500 time.steps=3 output.final=p%d.h5 \
        checkpoint.writers=3
    weft_run 3 p.ini
    ln -s -t p%d.???????? ../p%d.h5
    /usr/bin/python3 "$top/jobs/state" p%d.????????/p%d.h5 one.h5
    "$weft" verify one.h5 | grep -q '1 part, 4 blocks$'
    "$weft" diff p%d.h5 one.h5
    run /usr/bin/python3 "$top/jobs/state" p%d.h5 one.h5
    expect "status, twice" "2 state: one.h5 is there, and is not replaced" "$status $output"
    /usr/bin/python3 -c 'import h5py; a, b = h5py.File("one.h5"), h5py.File("changed.h5", "w")
for name in a: a.copy(name, b)
b.attrs.update(a.attrs)
deck = a.attrs["deck"]
b.attrs["deck"] = type(deck)(deck.replace(b"writers", b"aggregators").replace(b"= full", b"= sample"))'
    /usr/bin/python3 "$top/jobs/state" changed.h5 again.h5
    "$weft" diff p%d.h5 again.h5
    weft_alone p.ini --restart again.h5 output.final=none
    rm p%d.????????/1.h5
    run -1 /usr/bin/python3 "$top/jobs/state" p%d.h5 two.h5
    [[ $output == "state: p%d.h5 is damaged: "*"/1.h5'" ]] || { echo "$output"; return 1; }
    expect "left" "again.h5 changed.h5 one.h5 p%d.h5" "$(echo *.h5*)"
}
