# Text that is not ours (attributes of files, names of files, decks, records) reaches stdout and stderr without a control character.
load ../support/helper

shown() { # text, command...: the text is in what the command says, which holds no control character
    "${@:2}" >seen 2>&1 || true
    grep -qF -- "$1" seen || { echo "no $1"; cat -v seen; return 1; }
    expect "control characters" "" \
        "$(tr -d '\n' <seen | LC_ALL=C grep -ao '[[:cntrl:]]\|'$'\xc2\x9b' | cat -v)"
}

@test "escape sequences of files, decks, names and records are shown as numbers, never obeyed" {
    local esc=$'\e[31m' name=$'\e[31mx\xc2\x9b\xff'
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=12 time.steps=2 output.final=s.h5 output.record=r.jsonl
    cp d.ini "$name.ini"
    shown 'weft run \x1b[31mx\xc2\x9b\xff.ini' weft_alone "$name.ini"
    cp s.h5 "$name.h5"
    shown '\x1b[31mx\xc2\x9b\xff.h5' "$weft" verify "$name.h5"
    printf '[problem]\nkind = h%st\n' "$esc" >bad.ini
    shown 'h\x1b[31mt' "$weft" run bad.ini
    shown 'problem.\x1b[31m' "$weft" run d.ini "problem.$esc=1"
    shown '\x7f\xc2\x9b.h5' "$weft" run d.ini output.record=none output.final=$'\x7f\xc2\x9b.h5' --dry-run
    jq -c --arg text "$esc" '.machine.processor = $text' r.jsonl >p.jsonl
    WEFT=$weft shown '\x1b[31m' "$top/jobs/predict" d.ini --from p.jsonl --ranks 1
}

@test "the name of a processor and of a host are the same in tables and records, whatever bytes they have" {
    unshare --mount --uts true 2>/dev/null || skip "no namespaces here"
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=12 time.steps=2
    printf 'model name\t: \e[31mred\xff\n' >cpuinfo
    unshare --mount --uts sh -ec 'mount --bind cpuinfo /proc/cpuinfo
        printf "\033[1mh" >/proc/sys/kernel/hostname
        exec "$@"' - "$weft" run d.ini run.device=host >said 2>complaints
    shown 'host: \x1b[31mred\xff, ' cat said complaints
    shown 'rank 0 on \x1b[1mh' cat said complaints
    expect names '\x1b[31mred\xff \x1b[1mh' "$(record '"\(.machine.processor) \(.machine.hosts[0])"')"
}
