# The short form of tests/long/soak, with a seed of the clock's, which it says.
load ../support/helper

@test "kill -9 at random: what has its name is whole, restarts go on to the bits of a run never killed" {
    BUILD=$BUILD SOAK_KILLS=3 SOAK_RUN_STEPS=800 "$top/tests/long/soak" kills >said 2>&1 3>&- ||
        { cat said; return 1; }
    grep -q '^| kills .* 0 wrong |$' said
}
