# weft check over several hosts (made here, support/hosts): who dies is named wherever it happens, by rank 0 or, where that is who died, by
# the lowest rank that lives; a signal of the user's is told from a death.
load ../support/helper
load ../support/hosts

of_check() { tail -n 1 check.jsonl | jq -r ".check | $1"; }

# Its status is in the file status.RANK; the launcher hears of its end late, as one that waits for all ranks does.
kept() { [ -e kept ] || printf '#!/bin/sh\ntrap "" TERM\n"$@"\necho $? >status.$OMPI_COMM_WORLD_RANK\nsleep 1\n' >kept && chmod +x kept; }
statuses() { cat status.* | paste -sd ' '; }

checks() { # hosts key=value...: in the background until its first record, that of a round; $mpirun is its pid
    rm -f check.jsonl status.*
    kept
    over "$1" ./kept "$weft" check device=host budget=0.05 "${@:2}" >out 2>err &
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

named() { # why, a pattern
    expect verdict incomplete "$(of_check .verdict)" || { cat out err; return 1; }
    [[ "$(of_check .why)" == $1 ]] || { of_check .why; return 1; }
    grep -q incomplete out
}

@test "a rank that is killed on the other host is named with its host, and the others end with 3, before the launcher ends them" {
    local level
    for level in "soak time=1h" "quick budget=2"; do
        checks a:1,b:2 level=$level
        kill -KILL "$(pid_of hostb weft 2)"
        ends
        named "rank 2 on hostb died in round *, trial '*'"
        expect "statuses" "3 3 137" "$(statuses)"
    done
}

@test "rank 0 is killed: the lowest rank that lives says who died, when, and where the rest is" {
    local said
    checks a:1,b:2 level=soak time=1h
    kill -KILL "$(pid_of hosta weft)"
    ends
    said=$(grep '^weft: ' err)
    [[ "$said" == "weft: rank 1 on hostb: rank 0 on hosta died in round "*", trial '"*"'; what is known is in the records of the rounds before" ]] ||
        { cat err; return 1; }
    expect "statuses" "137 3 3" "$(statuses)"
}

@test "TERM to mpirun ends a soak over two hosts with the verdict of its rounds" {
    OMPI_MCA_odls_base_sigkill_timeout=2 checks a:1,b:2 level=soak time=1h # mpirun waits so long, and kills
    kill -TERM "$(pid_of hosta mpirun)"
    ends
    [[ "$(of_check .verdict)" != incomplete && -s out ]] || { cat out err; return 1; }
    expect "sentences" "" "$(grep '^weft: ' err)"
}

@test "TERM when a host stands still: its ranks are named, for nobody knows whether they live" {
    checks a:1,b:2 level=soak time=1h
    kill -STOP $(pid_of hostb weft)
    kill -TERM "$(pid_of hosta weft)"
    ends
    named "rank 1 on hostb, rank 2 on hostb did not answer: stopped by a signal in round *, trial '*'"
}
