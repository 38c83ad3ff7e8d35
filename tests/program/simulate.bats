# Hundreds of ranks: the program under SimGrid's SMPI gives the fingerprints of one rank, and its checkpoints.
#
# test-all: SimGrid, and minutes
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    command -v smpirun >/dev/null || skip "no SimGrid here: .ci/install-deps simgrid"
    [ -x "$BUILD/sim/weft" ] || skip "no simulated ranks: make SIM=1"
    export SIMULATED_WEFT=$BUILD/sim/weft
    weft=$weft_release
}

simulated() { # arguments of jobs/simulate...
    timeout -k 5 $hang_s "$top/jobs/simulate" "$@" --quiet output.picture=none 3>&-
}

# A rank has 8 x 8 cells and more, in 1D 64.
@test "64 ranks: every kind runs to the fingerprint of one rank" {
    local of="grid.nx=64 grid.ny=72 time.steps=6 output.picture=none" kind
    deck heat.ini problem.kind=heat problem.alpha=0.1 problem.order=4 $of
    deck line.ini problem.kind=heat problem.alpha=0.2 grid.nx=4096 grid.ny=1 time.steps=6 output.picture=none
    deck fused.ini problem.kind=heat problem.alpha=0.2 run.fuse=2 $of
    deck wave.ini problem.kind=wave problem.alpha=0.2 problem.initial=random $of
    deck advect.ini problem.kind=advect problem.alpha=0.2 $of
    deck laplace.ini problem.kind=laplace "grid.boundary=dirichlet 1" time.tolerance=1e-3 $of
    deck custom.ini problem.kind=custom "problem.weights=0.1 0.1 0.1 | 0.1 0.2 0.1 | 0.1 0.1 0.1" $of
    deck transpose.ini problem.kind=transpose $of
    deck sweep.ini problem.kind=sweep problem.alpha=0.2 $of
    for kind in heat line fused wave advect laplace custom transpose sweep; do
        weft_alone $kind.ini --quiet output.record=one.jsonl
        simulated --ranks 64 run $kind.ini output.record=r.jsonl
        expect "fingerprint of $kind" "$(fingerprint one.jsonl)" "$(fingerprint r.jsonl)"
    done
    expect "ranks" 64 "$(record .ranks r.jsonl)"
    expect "the platform" "fat_tree of 8 hosts with 8 ranks, 50 GB/s per rank, 0.5 us per link" \
        "$(record .machine.simulated.platform r.jsonl)"
}

@test "256 ranks write checkpoints, and 64 others go on from them" {
    deck d.ini problem.kind=wave problem.alpha=0.2 grid.nx=128 grid.ny=128 time.steps=20 checkpoint.every=10
    weft_alone d.ini --quiet
    mv checkpoints one
    simulated --ranks 256 run d.ini time.steps=10
    simulated --ranks 64 run d.ini --restart checkpoints
    "$weft" diff one checkpoints
}

# Calls of MPI of the rank that has most of them; a call for all ranks sends log P messages. Elements of
# tables with an entry per rank, which all-gathers and gathers make: 8 bytes each at most, text one.
calls() { awk 'FNR == 1 { n = 0 } $2 != "compute" { if (++n > most) most = n } END { print most }' \
    "$1"_files/*; }
table_bytes() { awk '/ (all)?gather / { bytes += $3 * ($NF == 6 ? 1 : 8) } END { print bytes }' \
    "$1"_files/*rank-1.txt; }

# The bytes of the rank that allocates most, beyond those on 16 ranks.
allocated_beyond_16() { jq -s \
    "(map({ (.ranks | tostring): .machine.simulated.allocated_bytes }) | add) | .\"$1\" - .\"16\"" r.jsonl; }

@test "a rank makes no more calls on 256 than on 16 ranks, and allocates at most 64 bytes more per rank" {
    deck d.ini problem.kind=heat problem.alpha=0.2 time.steps=10 output.record=r.jsonl
    for ranks in 16 64 256; do simulated --weak --ranks $ranks --calls c$ranks run d.ini grid.nx=16 \
        grid.ny=16; done
    expect "ranks with calls" 256 "$(ls c256_files | wc -l)"
    expect "calls of a rank" "$(calls c16)" "$(calls c256)"
    reductions=$(grep -c allreduce <(cat c256_files/*rank-2.txt))
    # three are of a simulation alone
    [ "$reductions" -le 42 ] || { echo "$reductions all-reduces"; return 1; }
    [ "$(table_bytes c256)" -le 64 ] || { echo "$(table_bytes c256) bytes per rank"; return 1; }
    for ranks in 64 256; do
        more=$(allocated_beyond_16 $ranks)
        [ "$more" -gt 0 ] && [ "$more" -le $((64 * ranks)) ] ||
            { echo "$more bytes more on $ranks ranks"; return 1; }
    done
}

@test "a mistake is one sentence" {
    for words in "--ranks 12 run d.ini" "--ranks 64 verify x" "--ranks 64" "--network ring run d.ini"; do
        run -2 "$top/jobs/simulate" $words
        expect "lines of $words" 1 "${#lines[@]}"
    done
}
