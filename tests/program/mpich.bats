# The same bits with MPICH: decks, a restart and weft's own commands, of the build in BUILD/mpich, which .ci/run makes.
#
#   make MPICC=mpicc.mpich MPIRUN=mpirun.mpich CUDA=0 BUILD=build/mpich
#
# test-all: MPICH, and a build with it
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    weft=$BUILD/mpich/weft MPIRUN=mpirun.mpich LAUNCH_FLAGS=
    [ -x "$weft" ] || skip "no build with MPICH: make MPICC=mpicc.mpich CUDA=0 BUILD=build/mpich"
    command -v $MPIRUN >/dev/null || skip "no $MPIRUN here"
}

wanted() { awk -v deck="$1" '$1 == deck { print $2 }' "$top/inputs/fingerprints"; }
changes() { awk -v deck="$1" '$1 == deck && $3 != "-" { $1 = $2 = ""; print }' "$top/inputs/fingerprints"; }

@test "it is built with MPICH alone" {
    expect "MPI libraries" libmpich.so.12 "$(ldd "$weft" | grep -o 'libmpi\(ch\)\{0,1\}\.so[.0-9]*' | sort -u)"
    "$weft" info | grep -q MPICH
}

@test "decks run to their fingerprints on 1, 2 and 3 ranks" {
    local name ranks=0
    cp -r "$top/inputs" .
    for name in advect2d heat1d transpose sweep2d; do
        [ -n "$(wanted $name)" ] || { echo "no fingerprint of $name"; return 1; }
        ranks=$((ranks % 3 + 1))
        weft_run $ranks inputs/$name.ini $(changes $name) --quiet checkpoint.every=0 output.picture=none output.record=r.jsonl
        expect "fingerprint of $name on $ranks ranks" "$(wanted $name)" "$(fingerprint r.jsonl)"
    done
}

@test "a restart on other ranks, verify and diff" {
    deck d.ini problem.kind=wave problem.alpha=0.2 grid.nx=60 grid.ny=50 time.steps=20 checkpoint.every=10 output.final=final.h5
    weft_run 2 d.ini --quiet
    cp final.h5 first.h5
    rm checkpoints/step_0000000020.*
    weft_run 3 d.ini --quiet --restart checkpoints
    launch 2 "$weft" verify final.h5
    "$weft" diff first.h5 final.h5
    "$weft" verify final.h5
    refuses 2 weft_run 2 d.ini problem.alpha=7 -- problem.alpha
}
