# Several hosts, made on this machine: each with a name, an address, a boot, a /tmp and a /dev/shm of its own,
# TCP between them. Kinds have the bits of one rank, wherever their ranks are and however the grid is cut.
load ../support/helper
load ../support/hosts

plate=(grid.nx=61 grid.ny=47 time.steps=13)

# One rank's bits over two, three and four hosts. Each layout: hosts and their ranks, then the columns of the
# process grid.
same_bits() { # deck layout...
    local deck=$1 layout alone where
    weft_alone "$deck"
    alone=$(fingerprint)
    for layout in "${@:2}"; do
        over "${layout% *}" "$weft" run "$deck" "run.ranks_x=${layout#* }"
        where=$(sed 's/:[0-9]*//g; s/[a-d]/host&/g' <<<"${layout% *}")
        expect "hosts, columns, fingerprint" "$where ${layout#* } $alone" \
            "$(record '"\(.machine.hosts | join(",")) \(.ranks_x) \(.fingerprint)"')"
    done
}

# bats test_tags=gpus:2
@test "heat, transpose, a box without symmetry, sweep" {
    deck heat.ini problem.kind=heat problem.order=6 problem.alpha=0.15 "${plate[@]}" grid.boundary=neumann
    same_bits heat.ini "a:3,b:1 2" "a:1,b:1,c:1,d:1 4"
    deck transpose.ini problem.kind=transpose "${plate[@]}"
    same_bits transpose.ini "a:2,b:1,c:1 4"
    deck box.ini problem.kind=custom problem.dtype=f32 "${plate[@]}" problem.initial=random \
        "problem.weights=.05 .1 .02 | .1 .43 .1 | .07 .1 .03"
    same_bits box.ini "a:1,b:1,c:1,d:1 2"
    deck sweep.ini problem.kind=sweep problem.alpha=0.3 "${plate[@]}" grid.boundary=neumann
    same_bits sweep.ini "a:2,b:2 1"
}

@test "hosts with different processors: the same bits, and a note names the first rank with another" {
    deck d.ini problem.kind=heat problem.alpha=0.2 run.device=host "${plate[@]}"
    grep -q '^model name' /proc/cpuinfo || skip "this kernel does not name processors"
    sed 's/^model name.*/model name\t: Slow 1000/' /proc/cpuinfo >cpuinfo
    on hostb mount --bind "$PWD/cpuinfo" /proc/cpuinfo
    same_bits d.ini "a:2,b:1 1"
    expect "notes" "rank 2 on hostb computes on Slow 1000, rank 0 on $(record .machine.processor)" \
        "$(record '.notes[] | select(test("computes"))')"
    # as arm64 has it: a Grace has no name there
    printf '%s\n' "processor	: 0" "Features	: fp asimd" "CPU implementer	: 0x41" "CPU architecture: 8" \
        "CPU part	: 0xd4f" >cpuinfo
    same_bits d.ini "a:2,b:1 1"
    on hostb umount /proc/cpuinfo
    expect "notes" "rank 2 on hostb computes on arm 0x41 0xd4f, rank 0 on $(record .machine.processor)" \
        "$(record '.notes[] | select(test("computes"))')"
}
