# A mistake is one sentence on stderr that names the key, the value and what is allowed, from one rank, with exit
# status 2; what the machine cannot do is exit status 3.
load ../support/helper

good=(problem.kind=heat problem.alpha=0.2 grid.nx=40 grid.ny=30 time.steps=5)

# The table: what is added to a good deck, then words that the sentence must hold. Without mpirun, which takes a second
# over a rank that fails.
bad() { # key=value text...
    local change=$1
    shift
    run weft_alone d.ini "$change"
    refused 2 "$@" || { echo "for $change"; return 1; }
}

@test "bad values: the key, the value and what is allowed" {
    deck d.ini "${good[@]}"
    bad problem.kind=heet problem.kind heet heat
    bad problem.dtype=f16 problem.dtype f16 f32
    bad problem.order=3 problem.order 3
    bad problem.order=18 problem.order 18 16
    bad problem.alpha=fast problem.alpha fast
    bad grid.nx=0 grid.nx 0
    bad grid.nx=many grid.nx many
    bad grid.nx=12.5 grid.nx 12.5
    bad grid.x_low=neumann grid.x_ periodic
    bad grid.boundary=open grid.boundary open dirichlet
    bad "grid.boundary=dirichlet" grid.boundary dirichlet
    bad time.steps=-1 time.steps -1
    bad run.feed=fast run.feed fast openmp
    bad run.tune=maybe run.tune maybe "off, on"
    bad run.lanes=-2 run.lanes -2
    bad 'output.final=~/a.h5' output.final '~/a.h5' "no shell expands"
    bad 'checkpoint.dir=$SCRATCH/c' checkpoint.dir '$SCRATCH/c' "no shell expands"
    bad checkpoint.async=perhaps checkpoint.async perhaps
    bad checkpoint.writers=-1 checkpoint.writers -1 "0 .. 16777216"
    bad checkpoint.writers=two checkpoint.writers two "0 .. 16777216"
    bad problem.mode_x=40 problem.mode_x 40 39
}

@test "unknown keys: the nearest known one is named" {
    deck d.ini "${good[@]}"
    bad problem.alhpa=0.1 problem.alhpa problem.alpha
    bad grid.n_x=8 grid.n_x grid.nx
    bad runs.lanes=2 runs.lanes run.lanes
    deck e.ini "${good[@]}" chekpoint.every=2
    run weft_run 2 e.ini
    refused 2 chekpoint.every checkpoint.every e.ini:
}

@test "unstable alpha: the limit is named" {
    deck d.ini "${good[@]}"
    bad problem.alpha=0.2501 problem.alpha 0.25
    bad problem.alpha=-0.1 problem.alpha -0.1
    run weft_run 2 d.ini problem.kind=wave problem.order=4 problem.alpha=0.375
    refused 2 problem.alpha 0.375
    run weft_run 2 d.ini problem.kind=advect problem.order=8 problem.alpha=-0.3
    refused 2 problem.alpha 0.2889
    run weft_run 2 d.ini problem.kind=sweep problem.alpha=0.51
    refused 2 problem.alpha 0.5
    run weft_run 2 d.ini problem.kind=advect "grid.x_low=dirichlet 0" grid.x_high=neumann
    refused 2 grid.x_
}

@test "what is required and missing" {
    deck d.ini problem.kind=heat grid.nx=40 time.steps=5
    run weft_run 2 d.ini
    refused 2 problem.alpha
    deck d.ini problem.kind=heat problem.alpha=.1 time.steps=5
    run weft_run 2 d.ini
    refused 2 grid.nx
    deck d.ini problem.kind=heat problem.alpha=.1 grid.nx=40
    run weft_run 2 d.ini
    refused 2 time.steps
}

@test "a key given twice" {
    deck d.ini "${good[@]}" grid.nx=41
    run weft_run 2 d.ini
    refused 2 grid.nx
}

@test "grids that do not fit the ranks: the limit is named" {
    deck d.ini problem.kind=heat problem.order=16 problem.alpha=0.13 grid.nx=40 grid.ny=30 time.steps=5
    run weft_run 6 d.ini run.ranks_x=6
    refused 2 8
    run weft_run 6 d.ini run.ranks_x=4 run.ranks_y=2
    refused 2 run.ranks_x
    run weft_run 2 d.ini grid.nx=7
    refused 2 grid.nx 8
}

@test "missing decks and bad command lines" {
    run weft_run 3 nowhere.ini
    refused 2 nowhere.ini
    run weft_run 2
    refused 2 deck
    deck d.ini "${good[@]}"
    run weft_run 2 d.ini --restrat x
    refused 2 --restrat
    run weft_run 2 d.ini lanes
    refused 2 lanes
    run launch 2 "$weft" jump
    refused 2 jump run
    run launch 2 "$weft"
    refused 2 command
}

@test "device = cuda without a GPU is exit 3" {
    deck d.ini "${good[@]}"
    local why="CUDA_VISIBLE_DEVICES hides all" # the driver is not asked
    ! "$weft" --version | grep -q '^CUDA  *none' || why="built without CUDA"
    run env CUDA_VISIBLE_DEVICES= timeout $hang_s "$MPIRUN" $LAUNCH_FLAGS -n 2 "$weft" run d.ini run.device=cuda
    refused 3 "run.device = cuda" "$why"
}

@test "a driver older than the toolkit is exit 3, with both versions" {
    local built
    built=$("$weft" --version | awk '$1 == "CUDA" { sub(",", ""); print $2 }')
    [ "$built" != none ] || skip "built without CUDA"
    echo 'int cuInit(void) { return 0; } int cuDriverGetVersion(int *v) { *v = 11040; return 0; }' >driver.c
    cc -shared -fPIC -o libcuda.so.1 driver.c
    deck d.ini "${good[@]}"
    export OMPI_MCA_mpi_cuda_support=0 # Open MPI with CUDA would call what the made driver lacks
    unset CUDA_VISIBLE_DEVICES
    LD_LIBRARY_PATH=$PWD run weft_alone d.ini run.device=cuda
    refused 3 "driver is of CUDA 11.4, weft is built with CUDA $built"
}

@test "what was asked and cannot work here: one sentence, and the record holds both" {
    deck d.ini "${good[@]}"
    run weft_run 2 d.ini run.device=host run.transport=aware
    expect status 0 "$status"
    [[ $output == *"weft: "*aware* ]]
    expect "asked and used" "aware staged" "$(record '"\(.asked.transport) \(.transport)"')"
    local key
    for key in run.transport=peer run.transport=mapped run.transport=nccl run.feed=graph run.fuse=64; do
        run weft_alone d.ini run.device=host $key
        expect status 0 "$status"
        expect "sentences about $key" 1 "$(grep -c "^weft: .*${key%%=*}" <<<"$output")"
    done
    run weft_alone d.ini problem.kind=sweep output.trace=t.json
    expect "sentences about output.trace" 1 "$(grep -c "^weft: .*output.trace.*sweep" <<<"$output")"
    [ ! -e t.json ]
}

@test "fields that fit each rank's share but not the memory that the ranks of a host share are exit 3" {
    local free_kib
    free_kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
    deck d.ini "${good[@]}" grid.nx=65536 "grid.ny=$((free_kib * 1024 / 65536 / 16 * 3 / 2))" run.device=host
    sed -i '/^nx = 40$/d; /^ny = 30$/d' d.ini
    run weft_run 4 d.ini --dry-run
    refused 3 memory
    deck t.ini problem.kind=transpose time.steps=5 grid.nx=65536 "grid.ny=$((free_kib * 1024 / 65536 / 16 * 4 / 5))" run.device=host
    weft_alone t.ini --dry-run
    run weft_run 4 t.ini --dry-run # with its messages it needs 1.4 times of what is free
    refused 3 memory
}

@test "a job that may take less than the machine has: the least limit is named, in info and in refusals, and holds in dry runs" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=4096 grid.ny=40000 time.steps=3 run.device=host # 2.6 GB
    weft_alone d.ini --dry-run >/dev/null
    limited_to() { ulimit -"$1" 2000000 && shift && timeout -k 5 $hang_s "$weft" "$@" 3>&-; }
    local limit
    for limit in v d; do
        run limited_to $limit run d.ini --dry-run
        refused 3 memory "own limits (ulimit -v, -d)"
        expect "limit of info" ulimit "$(limited_to $limit info --json | jq -r '.ranks[0].memory_limit')"
        limited_to $limit run d.ini grid.ny=4000
    done
}

@test "the job's cgroup limits memory, shared by its ranks, and threads: nothing is killed" {
    local top=/sys/fs/cgroup groups group
    if [ -e $top/cgroup.controllers ]; then # version 2
        groups=("$top/weft_$$")
        echo "+memory +cpu" >$top/cgroup.subtree_control || skip "$top: it has no memory and cpu to give"
    else
        groups=("$top/memory/weft_$$" "$top/cpu/weft_$$")
    fi 2>/dev/null
    for group in "${groups[@]}"; do mkdir -p "$group/step" 2>/dev/null || skip "$group: no group can be made"; done
    if [ -e $top/cgroup.controllers ]; then
        echo 400M >"${groups[0]}/memory.max"
        echo "100000 100000" >"${groups[0]}/cpu.max" # one CPU
    else
        echo 400M >"${groups[0]}/memory.limit_in_bytes"
        echo 100000 >"${groups[1]}/cpu.cfs_quota_us"
    fi
    within() (
        for group in "${groups[@]}"; do echo "$BASHPID" >"$group/step/cgroup.procs"; done
        unset OMP_NUM_THREADS
        "$@"
    )
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=4096 grid.ny=7000 time.steps=3 run.device=host # 459 MB
    weft_alone d.ini --dry-run >/dev/null
    run within weft_alone d.ini --dry-run
    refused 3 memory "the job's cgroup"
    run within weft_run 2 d.ini grid.ny=6500
    refused 3 memory "the job's cgroup"
    within weft_run 2 d.ini grid.ny=3000
    expect "limit and threads of info" "cgroup 1" \
        "$(within timeout -k 5 $hang_s "$weft" info --json 3>&- | jq -r '.ranks[0] | "\(.memory_limit) \(.threads)"')"
    for group in "${groups[@]}"; do
        wait_for rmdir "$group/step" 2>/dev/null
        wait_for rmdir "$group" 2>/dev/null
    done
}

@test "unwritable places are exit 3, and named, before the run" {
    deck d.ini "${good[@]}" checkpoint.every=2
    run weft_run 2 d.ini checkpoint.dir=/dev/null/x
    refused 3 checkpoint.dir /dev/null/x
    run weft_run 2 d.ini output.record=/dev/null/x
    refused 3 output.record /dev/null/x
    run weft_run 2 d.ini output.final=/dev/null/x.h5
    refused 3 output.final /dev/null/x.h5
    run weft_run 2 d.ini output.picture=nowhere/x.png
    refused 3 output.picture nowhere/x.png "No such file"
    mkdir folder
    run weft_run 2 d.ini output.final=folder --dry-run
    refused 3 output.final folder
    expect "files: all of it was said before the first step" "d.ini folder" "$(echo *)"
}

@test "a device that fails is exit 3: what failed, in which phase and step, and the checkpoint to go on from" {
    weft=$weft_sanitize
    deck d.ini "${good[@]}" time.steps=1000000
    sed -i 's/^steps = 5$//' d.ini
    WEFT_FAULT=device_error:7 run weft_run 2 d.ini
    refused 3 "rank 1 on $(hostname): " "Input/output error; in phase 'steps' at step " "; there is no checkpoint yet"
    WEFT_FAULT=device_error:9000 run weft_run 2 d.ini checkpoint.every=1000
    refused 3 "in phase 'steps' at step 8" "; continue with --restart checkpoints (step "
    [[ $output =~ "(step "([0-9]+)" or later)" ]]
    weft_run 2 d.ini time.steps=$((BASH_REMATCH[1] + 3)) --restart "checkpoints/step_$(printf %010d "${BASH_REMATCH[1]}").h5"
    WEFT_FAULT=device_error:0 run weft_run 2 d.ini --quiet --restart checkpoints
    local files=(checkpoints/step_*.h5) digits
    digits=$(tr -dc 0-9 <<<"${files[-1]%.h5}")
    refused 3 "; continue with --restart checkpoints (step $((10#$digits)) or later)"
}

@test "a full disk is exit 3, leaves no half file, and the checkpoint before it is good" {
    [ "$(id -u)" = 0 ] || skip "not root: no small file system can be mounted"
    mkdir small
    mount -t tmpfs -o size=3m none small 2>/dev/null || skip "no file system can be mounted here"
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=512 grid.ny=500 time.steps=6 checkpoint.every=3 checkpoint.dir=small
    run weft_run 3 d.ini --dry-run grid.nx=1024
    local dry=$output dry_status=$status
    run "$weft" bench io/write_slabs device=host dir=small bytes=4M samples=none output=none
    local bench=$output
    run weft_run 3 d.ini
    local files
    files=$(cd small && echo *)
    cp -a small kept
    umount small
    refused 3 small/step_0000000006.h5
    output=$dry status=$dry_status refused 3 "checkpoint.dir = small: a file needs 4.1 MB, but only"
    [[ $bench = *"io/write_slabs skipped: dir = small: needs 10.5 MB, but only"* ]]
    [[ $files != *.tmp* ]]
    "$weft" verify kept/step_0000000003.h5
}

@test "ranks that were started with different words, or are another build, are refused" {
    deck d.ini problem.kind=heat problem.alpha=.1 grid.nx=40 time.steps=3
    mixed() { timeout -k 5 60 "$MPIRUN" $LAUNCH_FLAGS "$@" 3>&-; }
    run mixed -n 1 "$weft" run d.ini time.steps=5 : -n 2 "$weft" run d.ini
    refused 2 "rank 1 on $(uname -n) was started as 'weft run d.ini', rank 0 'weft run d.ini time.steps=5'"
    run mixed -n 2 "$weft" run d.ini : -n 1 "$weft" verify d.ini
    refused 2 "rank 2 on $(uname -n) was started as 'weft verify d.ini', rank 0 'weft run d.ini'"
    local version
    version=$("$weft" --version | awk 'NR == 1 { print $2 }')
    LC_ALL=C sed "s/${version//./\\.}/9.9.9/g" "$weft" >other
    chmod +x other
    run mixed -n 1 "$weft" run d.ini : -n 1 ./other run d.ini
    refused 2 "rank 1 on $(uname -n) is weft '9.9.9" "rank 0 '$version"
    [ ! -e results.jsonl ]
}

@test "2^60 cells are counted right: fields of more than 64 bits of bytes are exit 3, in a dry run too" {
    deck d.ini problem.kind=wave problem.alpha=.1 grid.nx=1099511627776 grid.ny=1048576 time.steps=3 run.device=host
    run weft_alone d.ini run.fuse=1
    refused 3 "grid 1099511627776 x 1048576: rank 0 needs 18.4 EB of memory; " "B are free for it"
    run weft_alone d.ini --dry-run
    refused 3 " EB of memory"
    sed -i '/alpha/d; s/wave/transpose/' d.ini
    run weft_alone d.ini --dry-run
    refused 3 "needs 18.4 EB of memory"
    run weft_alone d.ini --dry-run grid.nx=64 grid.ny=1099511627776
    refused 3 " PB of memory"
}
