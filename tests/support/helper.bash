# Shared by the bats files. Every test works in a folder of its own; decks are made from key=value pairs;
# results are read from the JSON records, never from what was printed.
bats_require_minimum_version 1.5.0

top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
: "${BUILD:=build}" "${MPIRUN:=mpirun}" "${LAUNCH_FLAGS=--oversubscribe --bind-to none}"
case $BUILD in /*) ;; *) BUILD=$top/$BUILD ;; esac
weft_release=$BUILD/weft
# with the sanitizers, hooks for faults (WEFT_FAULT) and NaN in unset ghosts
weft_sanitize=$BUILD/sanitize/weft
weft=$weft_release
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
# MPI itself leaks; shims are loaded before AddressSanitizer's library; for the stack see tests/run.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:verify_asan_link_order=0
export UBSAN_OPTIONS=print_stacktrace=1
# A process that no launcher started needs no daemon of Open MPI's (pages.bats does without this).
export OMPI_MCA_ess_singleton_isolated=1

setup() { cd "$BATS_TEST_TMPDIR" || exit 1; }

# The calls below end what hangs, before the runner's limit does. That is their only use of time: on a machine
# that others use too a second may last ten, so a test waits for events, and what has to come at once is told
# from what comes late by what happened first.
hang_s=200

# One rank is started without mpirun, within a tenth of a second.
launcher() { # ranks: sets launcher
    launcher=()
    [ "$1" = 1 ] || launcher=("$MPIRUN" $LAUNCH_FLAGS -n "$1")
}
launch() { # ranks program arguments...
    launcher "$1"
    timeout -k 5 $hang_s "${launcher[@]}" "${@:2}" 3>&-
}

# A deck from key=value pairs. The record goes to results.jsonl in the test's own folder.
deck() { # file key=value...
    local file=$1 pair key section
    shift
    for pair; do
        key=${pair%%=*} section=${pair%%.*}
        printf '[%s]\n%s = %s\n' "$section" "${key#*.}" "${pair#*=}"
    done >"$file"
}

weft_run() { launch "$1" "$weft" run "${@:2}"; } # ranks deck arguments...
weft_alone() { weft_run 1 "$@"; }

# Root, too, may not read or write what others may not.
unprivileged() {
    local drop=()
    [ "$(id -u)" != 0 ] || drop=(setpriv --inh-caps=-all --bounding-set=-dac_override,-dac_read_search)
    timeout -k 5 60 "${drop[@]}" "$weft" "$@" 3>&-
}

# In the background, with the output in the file out: $mpirun is the pid of mpirun, or of a single rank.
begin() { start "$1" run "${@:2}"; } # ranks arguments of weft run...
start() { # ranks words of weft...
    launcher "$1"
    : >out # what an earlier run left is not this one's
    "${launcher[@]}" "$weft" "${@:2}" >out 2>&1 3>&- &
    mpirun=$!
}

ends() { # sets status
    local i
    for ((i = 0; i < 10 * hang_s; i++)); do
        if ! kill -0 $mpirun 2>/dev/null; then
            status=0
            wait $mpirun || status=$?
            return 0
        fi
        sleep 0.1
    done
    cat out
    kill -9 $mpirun
    return 1
}

teardown() { # what a failed test left running
    local job
    for job in $(jobs -p); do kill -9 "$job" 2>/dev/null || true; done
}

rank_pids() { pgrep -f "^$weft run .*$1" || true; } # argument of the run that no other has

wait_for() { # command..., which is cheap: it takes its CPU from what it waits for
    local tries
    for ((tries = 0; tries < 10 * hang_s; tries++)); do
        "$@" && return 0
        sleep 0.1
    done
    echo "nothing came of: $*"
    return 1
}

# Checkpoints: the name of a step's, the steps that [folder] has, the newest of them.
checkpoint() { printf '%s/step_%010d.h5' "${2-checkpoints}" "$1"; } # step [folder]
steps_in() { (cd "${1-checkpoints}" && ls) | sed -n 's/^step_0*\([0-9][0-9]*\)\.h5$/\1/p' | xargs; }
two_checkpoints() { local all=(checkpoints/step_*.h5) && [ ${#all[@]} -ge 2 ]; }
newest_step() { steps_in | grep -o '[0-9]*$'; }
is_there() { compgen -G "$1" >/dev/null; } # pattern of names

flip_a_bit() { # file dataset byte of its data
    local at byte
    at=$(($(h5dump -p -H -d "$2" "$1" | awk '/OFFSET/ { print $2; exit }') + $3))
    byte=$(od -An -tu1 -j "$at" -N 1 "$1" | tr -d ' ')
    printf "\\x$(printf %02x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

# tests/support/shim_process.c: a library to preload, $shim, and HDF5's filter 300, through which `filtered`
# puts a field. Made once per file.
make_shim() {
    export HDF5_PLUGIN_PATH=$BATS_FILE_TMPDIR/plugins
    shim=$HDF5_PLUGIN_PATH/libshim.so
    [ ! -e "$shim" ] || return 0
    mkdir "$HDF5_PLUGIN_PATH"
    cc -O1 -shared -fPIC -o "$shim" "$top/tests/support/shim_process.c" -ldl -lm \
        $(pkg-config --cflags --libs hdf5-serial 2>/dev/null || pkg-config --cflags --libs hdf5)
}
preloaded() { make_shim && LD_PRELOAD=$shim "$@"; }
filtered() { # file: its /fields/u alone, in filtered.h5
    h5copy -p -i "$1" -s /fields/u -o copied.h5 -d /fields/u
    h5repack -l CHUNK=43x160 -f UD=300,0,0 copied.h5 filtered.h5
}

# A program that stands in for one of the system.
stand_in() { # file, script
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod +x "$1"
}

record() { tail -n 1 "${2:-results.jsonl}" | jq -r "$1"; } # filter [file]
fingerprint() { record .fingerprint "$@"; }

# GPUs that a run sees. Where there are some, tests/run starts a test without them, and once more with them if
# it has a tag gpus:...
gpus() { "$weft" info | awk '/^gpus / { print $2 + 0 }'; }
needs_gpu() { [ "$(gpus)" -gt 0 ] || skip "no GPU"; }
by_device() { record "if .device == \"cuda\" then \"$2\" else \"$1\" end"; } # of the last run: host, GPU

expect() { # what wanted found
    [ "$2" = "$3" ] && return 0
    echo "$1: expected '$2', found '$3'"
    return 1
}

# A text from stderr without the lines that MPI, PMIx, hwloc and UCX add.
ours() { grep -v -e '^\[[^]]*:[0-9]*\] ' -e '^\[hwloc' -e '^hwloc' -e '^\[[0-9.]*\] \[.*UCX' -e '^PMIX' <<<"$1" | grep . || true; }

# After `run`: the status, and exactly one line of weft's own that holds every given text.
refused() { # status text...
    local wanted=$1 said text
    shift
    said=$(grep '^weft: ' <<<"$output" || true)
    expect status "$wanted" "$status" || { echo "$output"; return 1; }
    expect "sentences of weft" 1 "$(grep -c . <<<"$said")" || { echo "$output"; return 1; }
    for text; do
        [[ $said == *"$text"* ]] || { echo "no '$text' in: $said"; return 1; }
    done
}

# Runs a command that has to end with that status and one sentence of weft that holds the texts.
refuses() { # status command... -- text...
    local wanted=$1 command=()
    shift
    while [ "$1" != -- ]; do
        command+=("$1")
        shift
    done
    run "${command[@]}"
    refused "$wanted" "${@:2}" || { echo "of: ${command[*]}"; return 1; }
}
