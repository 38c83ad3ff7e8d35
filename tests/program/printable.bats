# Text that is not ours (attributes of files, names of files, decks, records) reaches stdout and stderr without a control character.
load ../support/helper

shown() { # text: stands in said and complaints, which hold no control character
    grep -qF -- "$1" said complaints || { echo "no $1"; cat -v said complaints; return 1; }
    expect "control characters" "" "$(tr -d '\n' <said | cat - <(tr -d '\n' <complaints) | LC_ALL=C grep -ao '[[:cntrl:]]\|'$'\xc2\x9b' | cat -v)"
}

@test "escape sequences of files, decks, names and records are shown as numbers, never obeyed" {
    local esc=$'\e[31m' name=$'\e[31mx\xc2\x9b\xff'
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=12 time.steps=2 output.final=s.h5 output.record=r.jsonl
    cp d.ini "$name.ini"
    weft_alone "$name.ini" >said 2>complaints
    shown 'weft run \x1b[31mx\xc2\x9b\xff.ini'
    weft_alone d.ini >said
    cp s.h5 "$name.h5"
    "$weft" verify "$name.h5" >said 2>complaints || true
    shown '\x1b[31mx\xc2\x9b\xff.h5'
    printf '[problem]\nkind = h%st\n' "$esc" >bad.ini
    "$weft" run bad.ini >said 2>complaints || true
    shown 'h\x1b[31mt'
    "$weft" run d.ini "problem.$esc=1" >said 2>complaints || true
    shown 'problem.\x1b[31m'
    "$weft" run d.ini output.record=none output.final=$'\x7f\xc2\x9b.h5' --dry-run >said 2>complaints || true
    shown '\x7f\xc2\x9b.h5'
    jq -c --arg text "$esc" '.machine.processor = $text' r.jsonl >p.jsonl
    WEFT=$weft "$top/jobs/predict" d.ini --from p.jsonl --ranks 1 >said 2>complaints || true
    shown '\x1b[31m'
}

@test "the name of a processor and of a host are the same in tables and records, whatever bytes they have" {
    unshare --mount --uts true 2>/dev/null || skip "no namespaces here"
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=12 time.steps=2
    printf 'model name\t: \e[31mred\xff\n' >cpuinfo
    unshare --mount --uts sh -ec 'mount --bind cpuinfo /proc/cpuinfo
        printf "\033[1mh" >/proc/sys/kernel/hostname
        exec "$@"' - "$weft" run d.ini run.device=host >said 2>complaints
    shown 'host: \x1b[31mred\xff, '
    shown 'rank 0 on \x1b[1mh'
    expect names '\x1b[31mred\xff \x1b[1mh' "$(record '"\(.machine.processor) \(.machine.hosts[0])"')"
}

@test "the kind that a file of another program claims is shown, never obeyed" {
    /usr/bin/python3 -c 'import h5py' 2>/dev/null || skip "no h5py here (python3-h5py)"
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=12 time.steps=2 output.final=s.h5
    weft_alone d.ini --quiet
    /usr/bin/python3 -c 'import h5py, numpy
with h5py.File("s.h5", "r+") as f: f.attrs["kind"] = numpy.bytes_(b"h\x1b]0;t\x07\x1b[1m")'
    "$top/jobs/state" s.h5 t.h5
    "$weft" verify t.h5 >said 2>complaints || true
    shown 'h\x1b]0;t\x07\x1b[1m'
}
