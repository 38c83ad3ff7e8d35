# Runs between hosts: messages by TCP alone instead of the host's shared memory.
load ../support/helper

# bats test_tags=gpus:part
@test "over TCP every kind has the bits of one rank" {
    "$MPIRUN" --version 2>&1 | grep -q 'Open MPI' || skip "only Open MPI takes --mca"
    local kind
    for kind in heat sweep transpose; do
        deck "$kind.ini" problem.kind=$kind problem.alpha=0.1 problem.initial=random grid.nx=61 grid.ny=47 time.steps=7
        [ $kind != transpose ] || sed -i '/alpha/d' "$kind.ini"
        weft_alone "$kind.ini"
        local alone
        alone=$(fingerprint)
        LAUNCH_FLAGS="$LAUNCH_FLAGS --mca btl self,tcp" weft_run 3 "$kind.ini"
        expect "$kind over TCP" "$alone" "$(fingerprint)"
    done
}

@test "the record says what the transport was chosen from" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=60 grid.ny=50 time.steps=2
    weft_run 2 d.ini run.device=host
    expect "links, reason" "{} the host device has no other" "$(record '"\(.transports.links) \(.plan.transport.because)"')"
}
