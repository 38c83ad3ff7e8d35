# `weft check storm`: nothing is found in the program as it is, a wait that is left out in the sanitizers'
# build is named with its cell and the run that it was in, and a mistake in its words costs one sentence.
load ../support/helper

storm() { # ranks words...
    local ranks=$1
    shift
    launch "$ranks" "$weft" check storm "$@"
}

# bats test_tags=gpus:2
@test "nothing is found in the program as it is" {
    local device
    device=$([ "$(gpus)" = 0 ] && echo host || echo cuda)
    run storm 3 steps=960 seed=5
    expect status 0 "$status"
    [[ $output == *"weft check storm: 10 runs, 960 steps on 3 ranks, device $device, seed 5: nothing found"* ]] || { echo "$output"; return 1; }
}

@test "a wait that is left out is found and named" {
    weft=$weft_sanitize
    WEFT_FAULT=race:1 run storm 2 device=host
    expect status 1 "$status"
    [[ $output =~ "seed 1: found" ]]
    [[ $output =~ step\ [0-9]+,\ rank\ [01],\ [a-z_,\ ]+,\ cell\ \(-?[0-9]+,\ -?[0-9]+\):\ .+\ instead\ of\ level\ [0-9]+\'s ]]
    [[ $output =~ "put in on purpose: the exchange does not wait for the level" ]]
    weft=$weft_release
    WEFT_FAULT=race:1 run storm 2 device=host steps=96
    expect "status of the release build" 0 "$status"
}

@test "a mistake costs one sentence" {
    run storm 2 seeds=1
    expect status 2 "$status"
    [[ $output == *"weft: check storm: 'seeds=1'; allowed: seed=N, steps=N, seconds=S, device=auto|host|cuda"* ]]
    run storm 1 device=gpu
    expect status 2 "$status"
    [[ $output == *"weft: device = gpu; allowed: auto, host, cuda"* ]]
    run storm 1 steps=0
    expect status 2 "$status"
    [[ $output == *"weft: steps = 0; allowed: a whole number from 1 to"* ]]
}
