# For one input every rank count, process grid, lane count, feed and transport gives the same bits: the fingerprint of
# one rank, one lane, serial, is that of all others. 61 x 47 cells divide evenly by nothing.
load ../support/helper

# Each line: ranks, then run.* settings. Every value of every setting occurs, and the pairs that share code: lanes with
# feeds, both axes cut, ranks next to themselves across a periodic side.
choices_2d=(
    "1 run.lanes=3 run.feed=openmp run.threads=2"
    "2 run.ranks_x=2 run.lanes=1 run.feed=serial run.transport=staged"
    "3 run.ranks_y=3 run.lanes=3 run.feed=openmp"
    "4 run.ranks_x=2 run.ranks_y=2 run.lanes=3 run.feed=serial run.transport=auto"
    "4 run.ranks_x=1 run.ranks_y=4 run.lanes=1 run.feed=openmp run.transport=staged"
    "6 run.ranks_x=3 run.ranks_y=2 run.lanes=3 run.feed=openmp run.transport=staged"
    "6 run.ranks_x=2 run.lanes=1 run.feed=serial"
)
choices_1d=(
    "1 run.lanes=3 run.feed=openmp run.threads=2"
    "2 run.lanes=3 run.feed=serial run.transport=staged"
    "3 run.lanes=1 run.feed=openmp run.transport=auto"
    "4 run.lanes=3 run.feed=openmp"
    "6 run.lanes=1 run.feed=serial"
)

same_bits() { # deck choice...: on a GPU, which its ranks share, every second one
    local deck=$1 choice reference verdict every i
    shift
    weft_alone "$deck" run.lanes=1 run.feed=serial
    reference=$(fingerprint) verdict=$(record .verdict)
    [[ $reference =~ ^[0-9a-f]{16}$ ]]
    every=$(by_device 1 2)
    for ((i = every; i <= $#; i += every)); do
        choice=${!i}
        # the words of a choice are arguments of their own
        # shellcheck disable=SC2086
        weft_run ${choice%% *} "$deck" ${choice#* }
        expect "fingerprint with $choice" "$reference" "$(fingerprint)"
        expect "verdict with $choice" "$verdict" "$(record .verdict)"
        expect "ranks with $choice" "${choice%% *}" "$(record .ranks)"
    done
    [ -z "${wanted_verdict-}" ] || expect verdict "$wanted_verdict" "$verdict"
}

plate=(grid.nx=61 grid.ny=47 time.steps=13)

# bats test_tags=slow,gpus:part
@test "heat, mixed sides, order 6, f64" {
    deck d.ini problem.kind=heat problem.order=6 problem.alpha=0.15 "${plate[@]}" "grid.x_low=dirichlet 0" \
        grid.x_high=neumann grid.y_low=neumann "grid.y_high=dirichlet 0" problem.mode_x=3 problem.mode_y=2
    wanted_verdict=exact same_bits d.ini "${choices_2d[@]}"
}

@test "wave, mixed sides, order 4, f64" {
    deck d.ini problem.kind=wave problem.order=4 problem.alpha=0.3 "${plate[@]}" "grid.x_low=dirichlet 0" \
        "grid.x_high=dirichlet 0" grid.y_low=neumann grid.y_high=neumann problem.mode_x=2
    wanted_verdict=exact same_bits d.ini "${choices_2d[@]}"
}

@test "wave in 1D, order 16, f32, gaussian" {
    deck d.ini problem.kind=wave problem.order=16 problem.alpha=0.5 problem.dtype=f32 problem.initial=gaussian \
        grid.nx=150 "grid.x_low=dirichlet 0" grid.x_high=neumann time.steps=17
    same_bits d.ini "${choices_1d[@]}"
}

# bats test_tags=slow,gpus:part
@test "laplace stops at the same level everywhere" {
    deck d.ini problem.kind=laplace grid.nx=37 grid.ny=29 "grid.boundary=dirichlet 0" time.steps=5000 \
        time.tolerance=2e-3 time.norm_every=7
    wanted_verdict=exact same_bits d.ini "${choices_2d[@]}"
    expect "one level in all records" 1 "$(jq .steps results.jsonl | sort -u | wc -l)"
    [ "$(record .steps)" -gt 7 ]
    [ "$(record .steps)" -lt 5000 ]
}

@test "custom box, 5 x 5, no symmetry, periodic: corners arrive" {
    deck d.ini problem.kind=custom "${plate[@]}" problem.mode_x=5 problem.mode_y=4 \
        "problem.weights=.01 .02 .03 .04 .05 | .02 .03 .04 .05 .06 | .03 .04 .12 .04 .03
            | .05 .04 .03 .02 .01 | .01 .05 .02 .04 .03"
    wanted_verdict=exact same_bits d.ini "${choices_2d[@]}"
}

@test "sweep, mixed sides, order 4" {
    deck d.ini problem.kind=sweep problem.order=4 problem.alpha=0.3 "${plate[@]}" "grid.x_low=dirichlet 0" \
        grid.x_high=neumann problem.mode_x=2
    wanted_verdict=exact same_bits d.ini "${choices_2d[@]}"
}

# bats test_tags=slow,gpus:part
@test "transpose, f64 and f32" {
    deck d.ini problem.kind=transpose "${plate[@]}"
    wanted_verdict=exact same_bits d.ini "${choices_2d[@]}"
    deck f.ini problem.kind=transpose problem.dtype=f32 "${plate[@]}" problem.initial=random
    same_bits f.ini "${choices_2d[@]:1:4}"
}

host_and_gpu() { # kind...
    local kind fuse
    needs_gpu
    for kind; do
        (cd "$top" && "$weft" run "inputs/$kind.ini" run.device=host output.picture=none \
            "output.record=$BATS_TEST_TMPDIR/host.jsonl")
        # as it comes, then by single steps
        for fuse in 0 1; do
            (cd "$top" && launch 2 "$weft" run "inputs/$kind.ini" run.device=cuda run.fuse=$fuse output.picture=none \
                "output.record=$BATS_TEST_TMPDIR/cuda.jsonl")
            expect "$kind, run.fuse = $fuse" "$(fingerprint host.jsonl)" "$(fingerprint cuda.jsonl)"
        done
        (cd "$top" && "$weft" run "inputs/$kind.ini" run.device=cuda run.tune=off output.picture=none \
            "output.record=$BATS_TEST_TMPDIR/off.jsonl")
        expect "$kind, run.tune = off" "$(fingerprint host.jsonl)" "$(fingerprint off.jsonl)"
        expect "$kind, tried with run.tune = off" null "$(tail -n 1 off.jsonl | jq .plan.kernel_variant)"
        [ $kind = transpose ] || expect "$kind, tried and chosen" true "$(tail -n 1 cuda.jsonl |
            jq '.plan.kernel_variant == null or .tune.variant == .plan.kernel_variant.chosen')"
    done
}

# bats test_tags=gpus:2
@test "host and GPU give the same bits: heat, wave, transpose" { host_and_gpu heat2d wave2d transpose; }

# bats test_tags=gpus:2
@test "host and GPU give the same bits: advect, a box, sweep" { host_and_gpu advect2d custom_box2d sweep2d; }

# The host's bits, from a GPU, by every feed, over transports with and without the host; a checkpoint on the way holds the same
# level. Ranks may share the GPU.
gpu_choices=(
    "graph 1"
    "openmp 1"
    "serial 2 run.transport=peer"
    "openmp 2 run.transport=peer"
    "graph 2 run.transport=peer"
    "graph 2 run.transport=peer run.ranks_x=2"
    "openmp 4 run.transport=peer run.ranks_x=2 run.ranks_y=2"
    "graph 2 run.transport=nccl"
    "graph 2 run.transport=staged"
)

few_choices=("graph 1" "graph 2 run.transport=peer run.ranks_x=2" "openmp 2 run.transport=nccl")

every_feed() { # deck choice...
    local deck=$1 choice words steps reference
    needs_gpu
    shift
    weft_alone "$deck" run.device=host checkpoint.dir=host
    reference=$(fingerprint) steps=$(record .steps)
    for choice; do
        read -ra words <<<"$choice"
        rm -rf device
        weft_run "${words[1]}" "$deck" run.device=cuda checkpoint.dir=device "run.feed=${words[0]}" "${words[@]:2}"
        expect "fingerprint with $choice" "$reference" "$(fingerprint)"
        expect "last level with $choice" "$steps" "$(record .steps)"
        "$weft" diff host/step_0000000010.h5 device/step_0000000010.h5
        # a transport with messages that the host sends has no graphs
        case $(record .transport) in staged | aware | mapped) [ "${words[1]}" = 1 ] || words[0]=openmp ;; esac
        expect "feed with $choice" "${words[0]}" "$(record .feed)"
    done
}

way=(grid.nx=61 grid.ny=47 time.steps=43 checkpoint.every=10 checkpoint.keep=0)

# bats test_tags=gpus:2
@test "on a GPU every feed: heat, mixed sides, order 6" {
    deck d.ini problem.kind=heat problem.order=6 problem.alpha=0.15 "${way[@]}" "grid.x_low=dirichlet 0" \
        grid.x_high=neumann grid.y_low=neumann "grid.y_high=dirichlet 0" problem.mode_x=3 problem.mode_y=2
    every_feed d.ini "${gpu_choices[@]}"
}

# bats test_tags=gpus:2
@test "on a GPU every feed: wave, periodic, f32, random start" {
    deck d.ini problem.kind=wave problem.alpha=0.3 problem.dtype=f32 "${way[@]}" problem.initial=random
    every_feed d.ini "${few_choices[@]}"
}

# bats test_tags=gpus:2
@test "on a GPU every feed: box, 3 x 3, no symmetry" {
    deck d.ini problem.kind=custom "${way[@]}" problem.initial=random "problem.weights=.06 .12 .05 | .11 .25 .125 | .07 .1 .115"
    every_feed d.ini "${few_choices[@]}"
}

# bats test_tags=gpus:2
@test "on a GPU every feed: laplace stops at the level where the host does" {
    deck d.ini problem.kind=laplace grid.nx=37 grid.ny=29 "grid.boundary=dirichlet 0" time.steps=5000 \
        time.tolerance=2e-3 time.norm_every=7 checkpoint.every=10 checkpoint.keep=0
    every_feed d.ini "${few_choices[@]}"
    [ "$(record .steps)" -gt 14 ]
    [ "$(record .steps)" -lt 5000 ]
}

# bats test_tags=gpus:2
@test "on a GPU many steps a graph, each with its norm, and the last one is the host's" {
    local feed reference
    deck d.ini problem.kind=laplace problem.dtype=f32 grid.nx=137 grid.ny=229 "grid.boundary=dirichlet 0" time.steps=83 \
        time.norm_every=1 checkpoint.every=50
    needs_gpu
    weft_alone d.ini run.device=host
    reference=$(record '[.fingerprint, .steps, .last_change] | tostring')
    for feed in graph openmp; do
        weft_run 2 d.ini run.device=cuda run.transport=peer "run.feed=$feed"
        expect "$feed" "$reference" "$(record '[.fingerprint, .steps, .last_change] | tostring')"
    done
}

# bats test_tags=gpus:2
@test "on a GPU every feed: heat in 1D" {
    deck d.ini problem.kind=heat problem.order=4 problem.alpha=0.3 grid.nx=211 "grid.boundary=dirichlet 1.5" "${way[@]:2}"
    every_feed d.ini "serial 1" "graph 2 run.transport=nccl"
}
