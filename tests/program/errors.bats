# A mistake is one sentence on stderr that names the key, the value and what is allowed, from one rank, with
# exit status 2; what the machine cannot do is exit status 3; what a result is worth is said, too.
load ../support/helper

good=(problem.kind=heat problem.alpha=0.2 grid.nx=40 grid.ny=30 time.steps=5)

# Every value of a deck that is refused: tests/miniapp/test_config_reads_or_refuses. Here each way to refuse,
# one rank of two that says it, and what the command line adds.
@test "a mistake in a deck or in words: key, value, what is allowed, from one rank" {
    deck d.ini "${good[@]}"
    deck misspelt.ini "${good[@]}" chekpoint.every=2
    refuses 2 weft_run 2 misspelt.ini -- misspelt.ini: chekpoint.every checkpoint.every
    refuses 2 weft_run 6 d.ini run.ranks_x=4 run.ranks_y=2 -- run.ranks_x
    refuses 2 weft_run 6 d.ini problem.order=16 problem.alpha=0.13 run.ranks_x=6 -- 8
    refuses 2 weft_alone nowhere.ini -- nowhere.ini
    refuses 2 weft_alone d.ini problem.kind=heet -- problem.kind heet "allowed: heat"
    refuses 2 weft_alone d.ini --dryrun -- --dryrun "allowed: --restart, --restart-if-any, --dry-run"
    refuses 2 weft_alone d.ini 'output.final=~/a.h5' -- output.final '~/a.h5' "no shell expands"
    refuses 2 weft_alone d.ini --dry-run problem.initial=nowhere.h5 -- \
        "problem.initial = nowhere.h5 cannot be read: No such file"
    refuses 2 weft_alone -- deck
    refuses 2 "$weft" frobnicate -- frobnicate "allowed: run, bench"
    refuses 2 "$weft" bench --lits -- --lits "allowed: --list"
    refuses 2 "$weft" verify --quiet x.h5 -- --quiet
    refuses 2 "$weft" info here -- "'here'"
    refuses 2 "$weft" -- command
}

@test "device = cuda without a GPU, or with a driver older than the toolkit, is exit 3" {
    deck d.ini "${good[@]}"
    local why="CUDA_VISIBLE_DEVICES hides all" # the driver is not asked
    ! "$weft" --version | grep -q '^CUDA  *none' || why="built without CUDA"
    CUDA_VISIBLE_DEVICES='' refuses 3 weft_run 2 d.ini run.device=cuda -- "run.device = cuda" "$why"
    [[ $why == CUDA* ]] || return 0
    # a driver older than the toolkit, made here; Open MPI with CUDA would call what it lacks
    echo 'int cuInit(void) { return 0; } int cuDriverGetVersion(int *v) { *v = 11040; return 0; }' >driver.c
    cc -shared -fPIC -o libcuda.so.1 driver.c
    OMPI_MCA_mpi_cuda_support=0 LD_LIBRARY_PATH=$PWD refuses 3 env -u CUDA_VISIBLE_DEVICES "$weft" run d.ini \
        run.device=cuda -- "the driver is of CUDA 11.4, weft is built with CUDA $("$weft" --version |
        awk '$1 == "CUDA" { sub(",", ""); print $2 }')"
}

@test "what was asked and cannot work here: one sentence, and the record holds both" {
    deck d.ini "${good[@]}"
    refuses 0 weft_run 2 d.ini run.device=host run.transport=aware -- aware
    expect "asked, used, links, reason" "aware staged {} the host device has no other" "$(record \
        '"\(.asked.transport) \(.transport) \(.transports.links) \(.plan.transport.because)"')"
    refuses 0 weft_alone d.ini problem.kind=sweep output.trace=t.json -- output.trace sweep
    [ ! -e t.json ]
}

@test "fields that fit each rank's share but not the memory that the ranks of a host share are exit 3" {
    local free_kib
    free_kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
    deck d.ini problem.kind=heat problem.alpha=0.2 time.steps=5 run.device=host grid.nx=65536 \
        "grid.ny=$((free_kib * 1024 / 65536 / 16 * 3 / 2))"
    refuses 3 weft_run 4 d.ini --dry-run -- memory
    refuses 3 weft_alone d.ini run.fuse=1 grid.nx=1099511627776 grid.ny=1048576 --dry-run -- \
        "grid 1099511627776 x 1048576: rank 0 needs 18.4 EB of memory; " "B are free for it"
    sed -i '/alpha/d; s/heat/transpose/' d.ini
    weft_alone d.ini --dry-run "grid.ny=$((free_kib * 1024 / 65536 / 16 * 4 / 5))"
    # with its messages it needs 1.4 times of what is free
    refuses 3 weft_run 4 d.ini --dry-run "grid.ny=$((free_kib * 1024 / 65536 / 16 * 4 / 5))" -- memory
}

# Which limit is the least: test_host_limits_take_the_least.
@test "a job that may take less than the machine has: the limit is named, in dry runs and info too" {
    # 2.6 GB
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=4096 grid.ny=40000 time.steps=3 run.device=host
    limited() { ulimit -v 2000000 && timeout -k 5 $hang_s "$weft" "$@" 3>&-; }
    weft_alone d.ini --dry-run >/dev/null
    refuses 3 limited run d.ini --dry-run -- memory "limit: ulimit"
    expect "limit of info" ulimit "$(limited info --json | jq -r '.ranks[0].memory_limit')"
    limited run d.ini grid.ny=4000
    cc -shared -fPIC -o little.so -x c - <<<'#include <stddef.h>
        void *__libc_malloc(size_t);
        void *malloc(size_t bytes) { return bytes > 1000000 ? NULL : __libc_malloc(bytes); }'
    LD_PRELOAD=$PWD/little.so refuses 3 "$weft" run d.ini --dry-run -- "deck.c:" "out of memory"
}

@test "a device that fails is exit 3: what, in which phase and step, and the checkpoint to go on from" {
    weft=$weft_sanitize
    deck d.ini "${good[@]:0:4}" time.steps=1000000
    WEFT_FAULT=device_error:7 refuses 3 weft_run 2 d.ini -- \
        "rank 1 on $(hostname): " "Input/output error; in phase 'steps' at step " \
            "; there is no checkpoint yet"
    WEFT_FAULT=device_error:900 refuses 3 weft_run 2 d.ini checkpoint.every=100 -- \
        "in phase 'steps' at step 8" "; continue with --restart checkpoints (step "
    [[ $output =~ "(step "([0-9]+)" or later)" ]]
    weft_alone d.ini time.steps=$((BASH_REMATCH[1] + 3)) --restart "$(checkpoint "${BASH_REMATCH[1]}")"
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

@test "a record's folder is made, but by a dry run; a file beside the deck is found, by a restart too" {
    mkdir sub
    deck sub/d.ini "${good[@]}" output.record=new/folder/r.jsonl
    weft_alone sub/d.ini --dry-run >dry
    [ ! -e new ]
    weft_alone sub/d.ini output.final=sub/beside.h5
    weft_run 2 sub/d.ini problem.initial=beside.h5 checkpoint.every=3
    cd sub
    weft_alone d.ini problem.initial=beside.h5 output.record=../again.jsonl --restart ../checkpoints
    cd ..
    expect fingerprint "$(fingerprint new/folder/r.jsonl)" "$(fingerprint again.jsonl)"
}

# bats test_tags=gpus:part
@test "said, and in the record: cells that are NaN, where, since when; weights that amplify; no convergence" {
    told() { # 0 or 1, pattern of a sentence, key=value...
        weft_alone d.ini "${@:3}" >said 2>&1
        expect "said, notes of $*" "$1 $1" \
            "$(tr -s ' \n' ' ' <said | grep -c "$2") $(record .notes[] | grep -c "$2")"
    }
    deck d.ini problem.kind=custom "problem.weights=9 9 9" grid.nx=64 problem.dtype=f32 \
        problem.initial=random time.norm_every=7 time.steps=60 run.fuse=1
    told 1 '64 of 64 cells are NaN or infinite, the first at x = 0, y = 0; level 28 is the first'
    told 0 'NaN or infinite' time.steps=25
    deck d.ini problem.kind=custom "problem.weights=1 2 1" grid.nx=64 run.fuse=1
    local type step
    for type in f32:63 f64:512; do
        step=${type#*:} type=${type%:*}
        told 1 "amplify the initial mode 3.99 times in a step: from step $step on" \
            problem.dtype=$type time.steps=$step
        expect "verdict of $type" "unchecked after $step steps the mode has grown beyond the range of $type" \
            "$(record '"\(.verdict) \(.verdict_why)"')"
        told 0 amplify problem.dtype=$type time.steps=$((step - 1))
    done
    deck d.ini problem.kind=laplace grid.nx=40 grid.ny=40 "grid.boundary=dirichlet 0" time.steps=9
    told 1 'not converged after 9 steps: max .* is .*, time.tolerance 1e-09' time.tolerance=1e-9
    told 0 'not converged' time.tolerance=1
}

@test "escape sequences of files, decks, names and records are shown as numbers, never obeyed" {
    local esc=$'\e[31m' name=$'\e[31mx\xc2\x9b\xff'
    shown() { # text, command...: the text is in what the command says, which holds no control character
        "${@:2}" >seen 2>&1 || true
        grep -qF -- "$1" seen || { echo "no $1"; cat -v seen; return 1; }
        expect "control characters" "" \
            "$(tr -d '\n' <seen | LC_ALL=C grep -ao '[[:cntrl:]]\|'$'\xc2\x9b' | cat -v)"
    }
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=12 time.steps=2 output.final=s.h5 \
        output.record=r.jsonl
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
    local other_machine=(unshare --map-root-user --uts --mount sh -c 'mount --bind cpuinfo /proc/cpuinfo &&
        /usr/bin/python3 -c "import socket; socket.sethostname(b\"\33[31mhost\")" && "$@"' sh)
    printf 'model name\t: \e[31mcpu\n' >cpuinfo
    "${other_machine[@]}" true || return 0 # nothing may be mounted here
    shown '\x1b[31mcpu' "${other_machine[@]}" "$weft" run d.ini run.device=host output.record=named.jsonl
    expect "names in the record, on a real machine" '\x1b[31mcpu \x1b[31mhost null' \
        "$(record '.machine | "\(.processor) \(.hosts[0]) \(.simulated)"' named.jsonl)"
}

@test "the deck of a later version in a state" {
    /usr/bin/python3 -c 'import h5py' 2>/dev/null || skip "no h5py here (python3-h5py)"
    deck d.ini "${good[@]}" output.final=now.h5
    weft_alone d.ini
    /usr/bin/python3 -c 'import h5py, numpy; a = h5py.File("now.h5", "a").attrs
a["deck"] = numpy.bytes_(a["deck"] + b"[later]\nkey = 1\n")'
    /usr/bin/python3 "$top/jobs/state" now.h5 later.h5
    refuses 3 weft_alone d.ini --restart later.h5 -- "later.h5: the deck stored in it cannot be read: " \
        "later"
}
