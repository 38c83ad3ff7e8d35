# A mistake is one sentence on stderr that names the key, the value and what is allowed, from one rank, with exit
# status 2; what the machine cannot do is exit status 3.
load ../support/helper

good=(problem.kind=heat problem.alpha=0.2 grid.nx=40 grid.ny=30 time.steps=5)

# Every value of a deck that is refused: tests/miniapp/test_config_reads_or_refuses. Here each way to refuse, one rank of
# two that says it, and what the command line adds.
@test "a mistake in a deck or in words: the key, the value, what is allowed, from one rank" {
    deck d.ini "${good[@]}"
    deck misspelt.ini "${good[@]}" chekpoint.every=2
    deck twice.ini "${good[@]}" grid.nx=41
    refuses 2 weft_run 2 misspelt.ini -- misspelt.ini: chekpoint.every checkpoint.every
    refuses 2 weft_run 2 d.ini problem.kind=heet -- problem.kind heet heat
    refuses 2 weft_run 3 nowhere.ini -- nowhere.ini
    refuses 2 weft_run 2 d.ini --restrat x -- --restrat
    refuses 2 weft_run 6 d.ini run.ranks_x=4 run.ranks_y=2 -- run.ranks_x
    refuses 2 weft_run 6 d.ini problem.order=16 problem.alpha=0.13 run.ranks_x=6 -- 8
    refuses 2 weft_alone twice.ini -- grid.nx
    refuses 2 weft_alone d.ini checkpoint.writers=-1 -- checkpoint.writers -1 "0 .. 16777216"
    refuses 2 weft_alone d.ini 'output.final=~/a.h5' -- output.final '~/a.h5' "no shell expands"
    refuses 2 weft_alone d.ini 'checkpoint.dir=$SCRATCH/c' -- checkpoint.dir '$SCRATCH/c' "no shell expands"
    refuses 2 weft_alone d.ini lanes -- lanes
    refuses 2 weft_alone -- deck
    refuses 2 "$weft" jump -- jump run
    refuses 2 "$weft" -- command
}

@test "device = cuda without a GPU is exit 3" {
    deck d.ini "${good[@]}"
    local why="CUDA_VISIBLE_DEVICES hides all" # the driver is not asked
    ! "$weft" --version | grep -q '^CUDA  *none' || why="built without CUDA"
    CUDA_VISIBLE_DEVICES='' refuses 3 weft_run 2 d.ini run.device=cuda -- "run.device = cuda" "$why"
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
    LD_LIBRARY_PATH=$PWD refuses 3 weft_alone d.ini run.device=cuda -- \
        "driver is of CUDA 11.4, weft is built with CUDA $built"
}

@test "what was asked and cannot work here: one sentence, and the record holds both" {
    deck d.ini "${good[@]}"
    run weft_run 2 d.ini run.device=host run.transport=aware
    expect status 0 "$status"
    [[ $output == *"weft: "*aware* ]]
    expect "asked and used" "aware staged" "$(record '"\(.asked.transport) \(.transport)"')"
    weft_run 2 d.ini run.device=host
    expect "links, reason" "{} the host device has no other" \
        "$(record '"\(.transports.links) \(.plan.transport.because)"')"
    local key
    for key in run.transport=peer run.transport=mapped run.transport=nccl run.feed=graph run.fuse=64; do
        refuses 0 weft_alone d.ini run.device=host $key -- "${key%%=*}"
    done
    refuses 0 weft_alone d.ini problem.kind=sweep output.trace=t.json -- output.trace sweep
    [ ! -e t.json ]
}

@test "fields that fit each rank's share but not the memory that the ranks of a host share are exit 3" {
    local free_kib
    free_kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
    deck d.ini problem.kind=heat problem.alpha=0.2 time.steps=5 run.device=host grid.nx=65536 \
        "grid.ny=$((free_kib * 1024 / 65536 / 16 * 3 / 2))"
    refuses 3 weft_run 4 d.ini --dry-run -- memory
    deck t.ini problem.kind=transpose time.steps=5 grid.nx=65536 "grid.ny=$((free_kib * 1024 / 65536 / 16 * 4 / 5))" run.device=host
    weft_alone t.ini --dry-run
    refuses 3 weft_run 4 t.ini --dry-run -- memory # with its messages it needs 1.4 times of what is free
}

@test "a job that may take less than the machine has: the least limit is named, in dry runs and info too" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=4096 grid.ny=40000 time.steps=3 run.device=host # 2.6 GB
    weft_alone d.ini --dry-run >/dev/null
    limited_to() { ulimit -"$1" 2000000 && shift && timeout -k 5 $hang_s "$weft" "$@" 3>&-; }
    local limit
    for limit in v d; do
        refuses 3 limited_to $limit run d.ini --dry-run -- memory "limit: ulimit"
        expect "limit of info" ulimit "$(limited_to $limit info --json | jq -r '.ranks[0].memory_limit')"
        limited_to $limit run d.ini grid.ny=4000
    done
}

@test "unwritable places are exit 3, and named, before the run" {
    deck d.ini "${good[@]}" checkpoint.every=2
    refuses 3 weft_run 2 d.ini checkpoint.dir=/dev/null/x -- checkpoint.dir /dev/null/x
    refuses 3 weft_run 2 d.ini output.record=/dev/null/x -- output.record /dev/null/x
    refuses 3 weft_run 2 d.ini output.final=/dev/null/x.h5 -- output.final /dev/null/x.h5
    refuses 3 weft_run 2 d.ini output.picture=nowhere/x.png -- output.picture nowhere/x.png "No such file"
    refuses 3 weft_alone d.ini output.trace=no/such/t.json -- output.trace no/such/t.json
    mkdir folder
    refuses 3 weft_run 2 d.ini output.final=folder --dry-run -- output.final folder
    expect "files: all of it was said before the first step" "d.ini folder" "$(echo *)"
}

@test "a device that fails is exit 3: what, in which phase and step, and the checkpoint to go on from" {
    weft=$weft_sanitize
    deck d.ini "${good[@]:0:4}" time.steps=1000000
    WEFT_FAULT=device_error:7 refuses 3 weft_run 2 d.ini -- \
        "rank 1 on $(hostname): " "Input/output error; in phase 'steps' at step " "; there is no checkpoint yet"
    WEFT_FAULT=device_error:9000 refuses 3 weft_run 2 d.ini checkpoint.every=1000 -- \
        "in phase 'steps' at step 8" "; continue with --restart checkpoints (step "
    [[ $output =~ "(step "([0-9]+)" or later)" ]]
    weft_run 2 d.ini time.steps=$((BASH_REMATCH[1] + 3)) --restart "$(checkpoint "${BASH_REMATCH[1]}")"
    WEFT_FAULT=device_error:0 run weft_run 2 d.ini --quiet --restart checkpoints
    refused 3 "; continue with --restart checkpoints (step $(newest_step) or later)"
}

@test "ranks that were started with different words, or are another build, are refused" {
    deck d.ini problem.kind=heat problem.alpha=.1 grid.nx=40 time.steps=3
    mixed() { timeout -k 5 60 "$MPIRUN" $LAUNCH_FLAGS "$@" 3>&-; }
    refuses 2 mixed -n 1 "$weft" run d.ini time.steps=5 : -n 2 "$weft" run d.ini -- \
        "rank 1 on $(uname -n) was started as 'weft run d.ini', rank 0 'weft run d.ini time.steps=5'"
    refuses 2 mixed -n 2 "$weft" run d.ini : -n 1 "$weft" verify d.ini -- \
        "rank 2 on $(uname -n) was started as 'weft verify d.ini', rank 0 'weft run d.ini'"
    local version
    version=$("$weft" --version | awk 'NR == 1 { print $2 }')
    LC_ALL=C sed "s/${version//./\\.}/9.9.9/g" "$weft" >other
    chmod +x other
    refuses 2 mixed -n 1 "$weft" run d.ini : -n 1 ./other run d.ini -- \
        "rank 1 on $(uname -n) is weft '9.9.9" "rank 0 '$version"
    [ ! -e results.jsonl ]
}

@test "2^60 cells are counted right: fields of more than 64 bits of bytes are exit 3, in a dry run too" {
    deck d.ini problem.kind=wave problem.alpha=.1 grid.nx=1099511627776 grid.ny=1048576 time.steps=3 run.device=host
    refuses 3 weft_alone d.ini run.fuse=1 -- \
        "grid 1099511627776 x 1048576: rank 0 needs 18.4 EB of memory; " "B are free for it"
    refuses 3 weft_alone d.ini --dry-run -- " EB of memory"
    sed -i '/alpha/d; s/wave/transpose/' d.ini
    refuses 3 weft_alone d.ini --dry-run -- "needs 18.4 EB of memory"
    refuses 3 weft_alone d.ini --dry-run grid.nx=64 grid.ny=1099511627776 -- " PB of memory"
}
