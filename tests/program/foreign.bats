# problem.initial takes files that other programs wrote: here the HDF5 group's own h5import makes them, of every number
# type, chunked and compressed or not; what does not fit is refused with one sentence. And a state file that another program wrote.
load ../support/helper

# h5_text NAME.h5 PATH CLASS BITS DIMS [CHUNKS]: numbers from stdin into a dataset; CLASS IN (integer) or FP.
h5_text() {
    local kind=TEXTIN
    [ "$3" = IN ] || kind=TEXTFP
    cat >numbers.txt
    {
        printf 'PATH %s\nINPUT-CLASS %s\nRANK %s\nDIMENSION-SIZES %s\nOUTPUT-CLASS %s\nOUTPUT-SIZE %s\n' \
            "$2" "$kind" "$(wc -w <<<"$5")" "$5" "$3" "$4"
        [ -z "${6-}" ] || printf 'CHUNKED-DIMENSION-SIZES %s\nCOMPRESSION-TYPE GZIP\nCOMPRESSION-PARAM 6\n' "$6"
    } >numbers.conf
    h5import numbers.txt -c numbers.conf -o "$1"
}
numbers() { awk 'BEGIN { for (i = 0; i < '"$1"'; i++) printf "%d ", (i * 7919) % 2000 - 700 }'; } # count

heat=(problem.kind=heat problem.alpha=0.2 grid.nx=32 grid.ny=24 time.steps=7)

@test "one map as int16 in compressed chunks, int32, float32 and float64: one fingerprint, on 1 and 3 ranks" {
    numbers 768 | h5_text a.h5 /map IN 16 "24 32" "7 5"
    numbers 768 | h5_text b.h5 /map IN 32 "24 32"
    numbers 768 | h5_text c.h5 /group/map FP 32 "24 32" "24 8"
    numbers 768 | h5_text d.h5 /fields/u FP 64 "24 32"
    deck a.ini "${heat[@]}" problem.initial=a.h5:/map
    weft_alone a.ini
    reference=$(fingerprint)
    weft_run 3 a.ini problem.initial=b.h5:/map
    expect int32 "$reference" "$(fingerprint)"
    weft_run 3 a.ini problem.initial=c.h5:/group/map
    expect float32 "$reference" "$(fingerprint)"
    weft_run 4 a.ini problem.initial=d.h5
    expect "float64 under the default name" "$reference" "$(fingerprint)"
    weft_run 2 a.ini problem.initial=d.h5 time.steps=0
    [ "$(fingerprint)" != "$reference" ]
    expect verdict unchecked "$(record .verdict)"
}

@test "1D, and transpose from a file" {
    numbers 300 | h5_text v.h5 /v IN 16 "300" "64"
    deck v.ini problem.kind=heat problem.alpha=0.3 problem.initial=v.h5:/v grid.nx=300 time.steps=9
    weft_alone v.ini
    reference=$(fingerprint)
    weft_run 4 v.ini
    expect 1D "$reference" "$(fingerprint)"
    numbers 768 | h5_text a.h5 /map IN 16 "24 32" "7 5"
    deck t.ini problem.kind=transpose problem.initial=a.h5:/map grid.nx=32 grid.ny=24 time.steps=3
    weft_alone t.ini
    reference=$(fingerprint)
    weft_run 3 t.ini
    expect transpose "$reference" "$(fingerprint)"
}

@test "a final state of weft is a start like any other; wave takes the level before along" {
    deck w.ini problem.kind=wave problem.alpha=0.3 problem.initial=gaussian grid.nx=32 grid.ny=24 time.steps=20
    weft_run 2 w.ini
    reference=$(fingerprint)
    weft_run 2 w.ini time.steps=12 output.final=half.h5
    weft_run 3 w.ini problem.initial=half.h5 time.steps=8
    expect "12 steps, then 8 from the file" "$reference" "$(fingerprint)"
}

@test "another shape, a missing file, a missing dataset and a file that is not HDF5 are refused" {
    numbers 768 | h5_text a.h5 /map IN 16 "24 32"
    echo "not HDF5" >text.h5
    deck a.ini "${heat[@]}" problem.initial=a.h5:/map
    run weft_run 3 a.ini grid.nx=24 grid.ny=32
    refused 2 a.h5 /map 24 32
    run weft_run 3 a.ini problem.initial=nowhere.h5:/map
    refused 2 problem.initial nowhere.h5
    run weft_run 3 a.ini problem.initial=a.h5
    refused 2 a.h5 /fields/u
    run weft_run 3 a.ini problem.initial=text.h5:/map
    refused 2 text.h5
}

@test "jobs/state: a state in parts as one file, with the same cells; a part that is lost is one sentence" {
    /usr/bin/python3 -c 'import h5py' 2>/dev/null || skip "no h5py here (python3-h5py)"
    deck p.ini problem.kind=transpose grid.nx=1100 grid.ny=500 time.steps=3 output.final=p.h5 checkpoint.writers=3
    weft_run 3 p.ini
    /usr/bin/python3 "$top/jobs/state" p.h5 one.h5
    "$weft" verify one.h5 | grep -q '1 part, 4 blocks$'
    "$weft" diff p.h5 one.h5
    run /usr/bin/python3 "$top/jobs/state" p.h5 one.h5
    expect "status, twice" "2 state: one.h5 is there, and is not replaced" "$status $output"
    /usr/bin/python3 -c 'import h5py; a, b = h5py.File("one.h5"), h5py.File("changed.h5", "w")
for name in a: a.copy(name, b)
b.attrs.update(a.attrs)'
    run "$weft" verify changed.h5
    expect "status of one that h5py made" 3 "$status"
    /usr/bin/python3 "$top/jobs/state" changed.h5 again.h5
    "$weft" verify again.h5
    "$weft" diff p.h5 again.h5
    rm p.????????/1.h5
    run /usr/bin/python3 "$top/jobs/state" p.h5 two.h5
    expect status 1 "$status"
    [[ $output == "state: p.h5 is damaged: "*"/1.h5'" ]] || { echo "$output"; return 1; }
    expect "left" "again.h5 changed.h5 one.h5 p.h5" "$(echo *.h5*)"
}
