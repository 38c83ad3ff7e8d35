# Shared by the bats files of several hosts, after helper.bash: hosta .. hostd (tests/support/hosts), made
# once per file. They share the folders of the tests; /tmp, /dev/shm, names, addresses and boots are their
# own.

hosts=$top/tests/support/hosts
world=$BATS_FILE_TMPDIR/world
unset TMPDIR # theirs is /tmp
# when a rank ends with an error mpirun waits for the others four times as long: 4 s by default
export OMPI_MCA_odls_base_sigkill_timeout=0

setup_file() {
    mkdir "$world"
    "$hosts" up "$world" "$BATS_RUN_TMPDIR" 4 >"$world/log" 2>&1 3>&- 4>&- &
    local made=$!
    disown
    made_or_ended() { [ -s "$world/state" ] || ! kill -0 $made; }
    wait_for made_or_ended
    [ -s "$world/state" ] || { cat "$world/log"; return 1; }
    [ "$(<"$world/state")" = ready ] || return 0
    local seen
    seen=$(over a:1,b:1 hostname 2>&1 | sort | xargs)
    [ "$seen" = "hosta hostb" ] || echo "this mpirun starts no ranks on other hosts: $seen" >"$world/state"
}

teardown_file() { # bats deletes the tests' folders next: no process may still write there
    local first
    first=$(pgrep -P "$(<"$world/pid")") || return 0
    kill -KILL "$(<"$world/pid")"
    gone() { ! kill -0 "$first" 2>/dev/null; }
    hang_s=5 wait_for gone
}

setup() {
    [ "$(<"$world/state")" = ready ] || skip "$(<"$world/state")"
    "$MPIRUN" --version 2>&1 | grep -q 'Open MPI' ||
        skip "only Open MPI starts ranks through this stand-in for ssh"
    cd "$BATS_TEST_TMPDIR" || exit 1
}

teardown() { # what a failed test left running
    local host
    for host in hosta hostb hostc hostd; do
        [ ! -e "$world/$host" ] || kill -KILL $("$hosts" pids "$world" $host) 2>/dev/null || true
    done
}

on() { # host command...
    timeout -k 5 $hang_s "$hosts" on "$world" "$1" timeout -k 5 $hang_s "${@:2}" 3>&-
}

# On ranks of hosts as mpirun names them, "a:2,b:2" for two each of hosta and hostb; rank 0 is on the first.
over() { # hosts program arguments...
    local list=host${1//,/,host}
    on "${list%%:*}" "$MPIRUN" $LAUNCH_FLAGS --host "$list" "${@:2}"
}
