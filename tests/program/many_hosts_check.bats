# weft check over several hosts (made here, support/hosts): a death ends it and keeps the rounds before; a signal
# of the user's ends it with its verdict.
load ../support/helper
load ../support/hosts

of_check() { tail -n 1 check.jsonl | jq -r ".check | $1"; }

checks() { # hosts key=value...: in the background until its first record, that of a round; $mpirun is its pid
    rm -f check.jsonl
    over "$1" "$weft" check device=host budget=0.05 "${@:2}" >out 2>err &
    mpirun=$!
    wait_for [ -s check.jsonl ] || { cat out err; return 1; }
}

pid_of() { # host name rank: of that rank's process there; rank "": of the only one
    local pid
    for pid in $("$hosts" pids "$world" "$1"); do
        [ "$(<"/proc/$pid/comm")" = "$2" ] || continue
        [ -z "${3:-}" ] || tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$3" || continue
        echo "$pid"
    done
}

@test "a rank that is killed on the other host: the launcher ends the others, and the rounds before are kept" {
    local level
    for level in "soak time=1h" "quick budget=2"; do
        checks a:1,b:2 level=$level
        kill -KILL "$(pid_of hostb weft 2)"
        ends
        [ "$status" != 0 ] && [ -s check.jsonl ] && [ -s check.jsonl.part ] || { cat out err; return 1; }
    done
}

@test "TERM to mpirun ends a soak over two hosts with the verdict of its rounds" {
    OMPI_MCA_odls_base_sigkill_timeout=2 checks a:1,b:2 level=soak time=1h # mpirun waits so long, and kills
    kill -TERM "$(pid_of hosta mpirun)"
    ends
    [[ "$(of_check .verdict)" != incomplete && -s out ]] || { cat out err; return 1; }
    expect "sentences" "" "$(grep '^weft: ' err)"
}
