# A restart takes the newest checkpoint that can be used, names those that cannot, and refuses another
# problem's. That it goes on with the same bits on any ranks: test_random_decks_match_a_plain_reference.
load ../support/helper

plate=(grid.nx=53 grid.ny=41)

# Three checkpoints, 10 20 30, of a run to 30.
three_checkpoints() {
    deck d.ini problem.kind=heat problem.alpha=0.2 "${plate[@]}" time.steps=30 checkpoint.every=10 \
        checkpoint.keep=0
    weft_alone d.ini
    reference=$(fingerprint)
    newest=$(checkpoint 30)
}
flip() { flip_a_bit "$1" /fields/u $((8 * 53 * 20 + 3)); } # file: in the middle of its field

goes_on() { # steps that it runs to the end, texts of its sentences in their order: on 2 ranks
    run weft_run 2 d.ini --restart checkpoints
    expect "status, steps run, fingerprint" "0 $1 $reference" \
        "$status $(record '"\(.steps_run) \(.fingerprint)"')"
    local pattern
    pattern=$(printf '*%s' "${@:2}")
    [[ $output == $pattern* ]] || { echo "no $pattern in: $output"; return 1; }
}

@test "damaged checkpoints are named and skipped: a flipped bit, not HDF5; exit 3 where none is left" {
    three_checkpoints
    flip "$newest"
    echo "not HDF5" >"$(checkpoint 20)"
    goes_on 20 "$newest" "$(checkpoint 20)"
    for f in checkpoints/*.h5; do flip "$f"; done
    run -3 weft_run 2 d.ini --restart checkpoints
}

@test "a file that may not be read is not called damaged: it is skipped with the reason, or exit 3" {
    three_checkpoints
    cp "$newest" same.h5
    chmod 000 "$newest"
    for command in "run d.ini --restart $newest" "verify $newest" "diff same.h5 $newest"; do
        refuses 3 unprivileged $command -- "$newest" "Permission denied"
    done
    run -0 unprivileged run d.ini --restart checkpoints
    [[ $output == *"$newest: Permission denied; skipped"* ]]
    flip "$(checkpoint 10)"
    chmod 000 "$(checkpoint 20)" "$newest" # which that run wrote anew
    run -3 unprivileged run d.ini --restart checkpoints
    [[ $output == *"checkpoints: no checkpoint can be used; damaged: 1, not readable: 2"* ]]
    chmod 000 checkpoints
    for command in "run d.ini checkpoint.dir=. --restart checkpoints" "verify checkpoints"; do
        refuses 3 unprivileged $command -- "checkpoints: the directory cannot be read"
    done
    chmod 755 checkpoints
}

@test "--restart of an empty folder starts at step 0, of none is refused; --restart-if-any starts in both" {
    deck d.ini problem.kind=heat problem.alpha=0.2 "${plate[@]}" time.steps=5
    mkdir empty
    local asked
    for asked in "--restart empty" "--restart-if-any empty" "--restart-if-any missing"; do
        run -0 weft_alone d.ini $asked
        [[ $output == *"${asked#* }; starting at step 0"* ]] || { echo "$output"; return 1; }
        expect steps_run 5 "$(record .steps_run)"
    done
    for asked in missing missing.h5 d.ini/under; do
        refuses 2 weft_alone d.ini --restart $asked -- "--restart $asked: no such file or directory"
    done
    refuses 2 weft_run 2 d.ini --dry-run --restart missing -- "--restart missing: no such"
    refuses 2 weft_alone d.ini --restart empty --restart-if-any missing -- "--restart-if-any missing" empty
}

@test "a restart beyond time.steps, or of another problem, is refused by key; at time.steps it ends with 0" {
    three_checkpoints
    local change
    refuses 2 weft_run 2 d.ini time.steps=29 --restart checkpoints -- "time.steps = 29" "$newest" "step 30"
    refuses 2 weft_alone d.ini time.steps=29 --dry-run --restart "$newest" -- "time.steps = 29"
    for change in problem.alpha=0.19 grid.nx=54 problem.dtype=f32; do
        refuses 2 weft_alone d.ini $change --restart checkpoints -- "${change%=*}" "$newest"
    done
    refuses 2 weft_alone d.ini grid.boundary=neumann --restart checkpoints -- grid.x_low "$newest"
    goes_on 0 "restarted from step 30" "no step remains"
}
