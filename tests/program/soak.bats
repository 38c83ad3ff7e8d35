# The short form of tests/long/soak, with a seed of the clock's, which it says: some kills, a signal of each kind.
load ../support/helper

soak() { # part NAME=VALUE...
    local part=$1
    shift
    env BUILD="$BUILD" "$@" "$top/tests/long/soak" "$part" 2>&1 3>&- | tee said
    [ "${PIPESTATUS[0]}" = 0 ]
    grep -q "^| $part .* 0 wrong |$" said
}

@test "kill -9 at random instants: what has its name is whole, every restart goes on to the bits of a run never killed" {
    soak kills SOAK_KILLS=4 SOAK_RUN_STEPS=800
}

@test "a signal of each kind at random instants: the status it should have, and the run goes on to the bits of one left alone" {
    soak signals SOAK_SIGNALS=6 SOAK_RUN_STEPS=800
}
