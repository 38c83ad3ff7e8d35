# weft verify names the part, the block and the global rows that are damaged, whatever the ranks that wrote and
# read; and checkpoint.verify says what is read back before a state gets its name.
load ../support/helper

data_offset() { h5dump -p -H -d "$2" "$1" | awk '/OFFSET/ { print $2; exit }'; }
flip_a_bit() { # file dataset byte
    local at=$(($(data_offset "$1" "$2") + $3)) byte
    byte=$(od -An -tu1 -j "$at" -N 1 "$1" | tr -d ' ')
    printf "\\x$(printf %02x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}
# 8192 bytes a row: 512 rows a block of 4 MiB, 3 blocks, the last of 376 rows.
plate() {
    deck d.ini problem.kind=wave problem.alpha=0.2 grid.{nx=1024,ny=1400} time.steps=2 output.final=good.h5 "$@"
}

@test "one flipped bit in the first, a middle and the last block is named, on one rank and on three" {
    plate
    weft_run 2 d.ini
    launch 3 "$weft" verify good.h5
    local at block rows
    while read -r at block rows <&4; do # mpirun reads from 0
        cp good.h5 bad.h5
        flip_a_bit bad.h5 /fields/u_prev "$at"
        run "$weft" verify bad.h5
        refused 3 "bad.h5 is damaged: block $block, rows $rows of /fields/u_prev:"
        run launch 3 "$weft" verify good.h5 bad.h5
        expect status 3 "$status"
        [[ $output == *"good.h5: whole"* && $output == *"bad.h5 is damaged: block $block, rows $rows of /fields/u_prev:"* ]]
    done 4<<<"0 0 0 .. 511
        $((8192 * 600)) 1 512 .. 1023
        $((8192 * 1400 - 1)) 2 1024 .. 1399"
}

@test "parts: a flipped bit, one that is lost, two that were exchanged; moved with their index they are whole" {
    plate checkpoint.writers=3
    weft_run 3 d.ini
    local parts
    parts=$(echo good.????????)
    mkdir elsewhere
    cp -r good.* elsewhere
    (cd / && "$weft" verify "$OLDPWD/elsewhere/good.h5")
    flip_a_bit $parts/1.h5 /u 8192
    run launch 2 "$weft" verify good.h5
    refused 3 "good.h5 is damaged: part 1 ($parts/1.h5), block 0, rows 466 .. 932 of /fields/u:"
    flip_a_bit $parts/1.h5 /u 8192
    mv $parts/0.h5 aside
    mv $parts/2.h5 $parts/0.h5
    mv aside $parts/2.h5
    run launch 2 "$weft" verify good.h5
    expect status 3 "$status"
    [[ $output == *"part 0 ($parts/0.h5) has another length"* ]]
    rm $parts/1.h5
    run weft_run 2 d.ini --restart good.h5 time.steps=4 output.final=other.h5
    refused 3 "good.h5" "part"
    run "$weft" diff good.h5 elsewhere/good.h5
    refused 3 "good.h5 is damaged: part"
}

@test "damage to the structure is one sentence, before the fields and behind them; another step's name is damage" {
    plate checkpoint.every=2
    weft_run 2 d.ini
    local at bytes
    bytes=$(stat -c %s good.h5)
    for at in 20 900 $((bytes - 200)) $((bytes - 60)) $((bytes - 1)); do
        cp good.h5 bad.h5
        printf "\\x$(printf %02x $(($(od -An -tu1 -j $at -N 1 bad.h5) ^ 4)))" | dd of=bad.h5 bs=1 seek=$at conv=notrunc status=none
        run "$weft" verify bad.h5
        expect status 3 "$status"
        [[ $output == *"bad.h5 "*"trailer"* ]] || { echo "$output"; return 1; }
    done
    cp checkpoints/step_0000000002.h5 checkpoints/step_0000000007.h5
    run "$weft" verify checkpoints
    refused 3 "checkpoints/step_0000000007.h5 is damaged: it holds step 2 under the name of step 7"
    run "$weft" diff good.h5 checkpoints/step_0000000007.h5
    refused 3 "checkpoints/step_0000000007.h5 is damaged"
    cp checkpoints/step_0000000007.h5 start.h5
    "$weft" verify start.h5
    run weft_alone d.ini --restart checkpoints
    expect status 0 "$status"
    [[ $output == *"step_0000000007.h5 is damaged: "*"; skipped"* ]]
    expect "the newest that is whole has the last step" 0 "$(record .steps_run)"
}

@test "in 1D the block's columns are named" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=1200000 time.steps=2 output.final=good.h5
    weft_run 2 d.ini
    flip_a_bit good.h5 /fields/u $((8 * 1199999))
    run "$weft" verify good.h5
    refused 3 "good.h5 is damaged: block 2, columns 1048576 .. 1199999 of /fields/u:"
}

@test "several files: the worst decides; cut short or no state file at all is unreadable" {
    plate
    weft_alone d.ini
    cp good.h5 bad.h5
    flip_a_bit bad.h5 /fields/u 12345
    head -c 100000 good.h5 >short.h5
    echo "not HDF5" >text.h5
    run "$weft" verify good.h5 bad.h5 short.h5 good.h5
    expect status 3 "$status"
    [[ $output == *"bad.h5 is damaged"*"short.h5"*"good.h5: whole"* ]]
    run "$weft" verify text.h5
    refused 3 text.h5
    run "$weft" verify good.h5 nowhere.h5
    expect status 2 "$status"
    run "$weft" verify bad.h5 nowhere.h5
    expect status 3 "$status"
}

@test "many damaged blocks: the first is named, the others counted" {
    plate
    weft_alone d.ini grid.ny=10000
    local k
    for ((k = 0; k < 20; k++)); do flip_a_bit good.h5 /fields/u $((4194304 * k)); done
    run "$weft" verify good.h5
    expect status 3 "$status"
    expect "sentences" 1 "$(grep -c '^weft: ' <<<"$output")"
    [[ $output == *"block 0, rows 0 .. 511 of /fields/u"*"; and 19 more"* ]]
}

@test "checkpoint.verify: full, sample and off write the same cells; the resolved deck says which" {
    plate
    local how
    for how in full sample off; do
        weft_run 3 d.ini checkpoint.verify=$how output.final=$how.h5
        launch 2 "$weft" verify $how.h5
        "$weft" diff full.h5 $how.h5
        h5dump -a /deck $how.h5 | grep -q "verify = $how"
    done
    weft_alone d.ini
    h5dump -a /deck good.h5 | grep -q "verify = full"
    run weft_alone d.ini checkpoint.verify=some
    refused 2 checkpoint.verify some "full, sample, off"
}

@test "a folder: every checkpoint of it, one line each, from the first on; the worst decides" {
    plate checkpoint.every=1 checkpoint.keep=0 checkpoint.dir=kept
    weft_alone d.ini
    launch 2 "$weft" verify kept | sed 's/: whole.*//' >seen
    expect "checkpoints" "kept/step_0000000001.h5 kept/step_0000000002.h5" "$(echo $(<seen))"
    cp kept/step_0000000001.h5 good.h5
    flip_a_bit kept/step_0000000001.h5 /fields/u 12345
    run "$weft" verify kept
    refused 3 "kept/step_0000000001.h5 is damaged: block 0, rows 0 .. 511 of /fields/u"
    [[ $output == *"kept/step_0000000002.h5: whole"* ]]
    run "$weft" diff good.h5 kept/step_0000000001.h5
    refused 3 kept/step_0000000001.h5 damaged
    mkdir empty
    run "$weft" verify empty
    refused 2 "empty holds no checkpoints"
    run "$weft" verify kept empty nowhere
    expect status 3 "$status"
}
