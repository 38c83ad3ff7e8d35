# A run that was cut and went on, on other ranks, has the bits of the run that was not cut; damaged checkpoints are named
# and skipped; a restart of another problem is refused.
load ../support/helper

plate=(grid.nx=53 grid.ny=41)

# That every kind does: test_random_decks_match_a_plain_reference.
# bats test_tags=gpus:part
@test "heat goes on with the same bits on other ranks" {
    deck d.ini problem.kind=heat problem.alpha=0.2 "${plate[@]}" "grid.x_low=dirichlet 0" \
        grid.x_high=neumann time.steps=40 \
        checkpoint.every=20
    weft_run 2 d.ini run.ranks_x=2 checkpoint.dir=whole
    local reference
    reference=$(fingerprint)
    weft_run 3 d.ini time.steps=20
    weft_run 4 d.ini run.ranks_x=2 run.lanes=3 --restart checkpoints
    expect "on 4 ranks: fingerprint, verdict, steps, steps_run" "$reference exact 40 20" \
        "$(record '"\(.fingerprint) \(.verdict) \(.steps) \(.steps_run)"')"
    weft_alone d.ini --restart "$(checkpoint 20)"
    expect "fingerprint after the restart on 1 rank" "$reference" "$(fingerprint)"
}

# Three checkpoints, 10 20 30, of a run to 30.
three_checkpoints() {
    deck d.ini problem.kind=heat problem.alpha=0.2 "${plate[@]}" time.steps=30 checkpoint.every=10 checkpoint.keep=0
    weft_alone d.ini
    reference=$(fingerprint)
    newest=$(checkpoint 30)
}
flip() { flip_a_bit "$1" /fields/u $((8 * 53 * 20 + 3)); } # file: in the middle of its field

goes_on() { # steps that it runs to the end, texts of its sentences in their order: on 2 ranks
    run weft_run 2 d.ini --restart checkpoints
    expect "status, steps run, fingerprint" "0 $1 $reference" "$status $(record '"\(.steps_run) \(.fingerprint)"')"
    local pattern
    pattern=$(printf '*%s' "${@:2}")
    [[ $output == $pattern* ]] || { echo "no $pattern in: $output"; return 1; }
}

@test "damaged checkpoints are named and skipped: a flipped bit, cut short, not HDF5; exit 3 where none is left" {
    three_checkpoints
    flip "$newest"
    goes_on 10 "$newest"
    truncate -s 3000 "$newest"
    echo "not HDF5" >"$(checkpoint 20)"
    goes_on 20 "$newest" "$(checkpoint 20)"
    for f in checkpoints/*.h5; do flip "$f"; done
    run weft_run 2 d.ini --restart checkpoints
    expect status 3 "$status"
    refuses 3 weft_alone d.ini --restart "$(checkpoint 10)" -- step_0000000010.h5
}

# Root, too, may not read what others may not.
unprivileged() {
    local drop=()
    [ "$(id -u)" != 0 ] || drop=(setpriv --inh-caps=-all --bounding-set=-dac_override,-dac_read_search)
    timeout -k 5 60 "${drop[@]}" "$weft" "$@" 3>&-
}

@test "a file that may not be read is not called damaged: it is skipped with the reason, or exit 3" {
    three_checkpoints
    cp "$newest" same.h5
    chmod 000 "$newest"
    refuses 3 unprivileged run d.ini --restart "$newest" -- "$newest" "Permission denied"
    refuses 3 unprivileged verify "$newest" -- "$newest" "Permission denied"
    refuses 3 unprivileged diff same.h5 "$newest" -- "$newest" "Permission denied"
    run unprivileged run d.ini --restart checkpoints
    expect "status, steps run" "0 10" "$status $(record .steps_run)"
    [[ $output == *"$newest: Permission denied; skipped"* ]]
    flip "$(checkpoint 10)"
    chmod 000 "$(checkpoint 20)" "$newest"
    run unprivileged run d.ini --restart checkpoints
    expect status 3 "$status"
    [[ $output == *"checkpoints: no checkpoint can be used; damaged: 1, not readable: 2"* ]] || { echo "$output"; return 1; }
    chmod 000 checkpoints
    for asked in "$(checkpoint 10)" checkpoints/below; do
        refuses 3 unprivileged run d.ini checkpoint.dir=. --restart $asked -- $asked "Permission denied"
    done
    refuses 3 unprivileged run d.ini checkpoint.dir=. --restart checkpoints -- "--restart checkpoints: the directory cannot be read"
    refuses 3 unprivileged verify checkpoints -- "checkpoints: the directory cannot be read"
    chmod 755 checkpoints
}

@test "--restart: an empty folder starts at step 0, a missing one is refused; --restart-if-any starts in both" {
    deck d.ini problem.kind=heat problem.alpha=0.2 "${plate[@]}" time.steps=5
    mkdir empty
    local asked
    for asked in "--restart empty" "--restart-if-any empty" "--restart-if-any missing"; do
        run weft_alone d.ini $asked
        expect "status with $asked" 0 "$status"
        [[ $output == *"${asked#* }; starting at step 0"* ]] || { echo "$output"; return 1; }
        expect steps_run 5 "$(record .steps_run)"
    done
    for asked in missing missing.h5 d.ini/under; do
        refuses 2 weft_run 2 d.ini --restart $asked -- "--restart $asked: no such file or directory"
    done
    refuses 2 weft_alone d.ini --dry-run --restart missing -- "--restart missing: no such"
    refuses 2 weft_alone d.ini --restart empty --restart-if-any missing -- "--restart-if-any missing" empty
}

@test "a restart beyond time.steps, or of another problem, is refused by key; at time.steps it ends with 0" {
    three_checkpoints
    refuses 2 weft_run 2 d.ini time.steps=29 --restart checkpoints -- "time.steps = 29" "$newest" "step 30"
    refuses 2 weft_alone d.ini time.steps=29 --dry-run --restart "$newest" -- "time.steps = 29"
    refuses 2 weft_run 2 d.ini problem.alpha=0.19 --restart checkpoints -- problem.alpha
    refuses 2 weft_alone d.ini grid.nx=54 --restart checkpoints -- grid.nx
    refuses 2 weft_alone d.ini grid.x_low=neumann grid.x_high=neumann --restart checkpoints -- grid.x_
    refuses 2 weft_alone d.ini problem.dtype=f32 --restart checkpoints -- problem.dtype
    run weft_run 2 d.ini --restart-if-any checkpoints
    expect status 0 "$status"
    [[ $output == *"restarted from step 30"*"no step remains"* ]] || { echo "$output"; return 1; }
    expect "steps_run, verdict, fingerprint" "0 exact $reference" "$(record '"\(.steps_run) \(.verdict) \(.fingerprint)"')"
    weft_run 2 d.ini time.steps=35 run.lanes=2 output.record=other.jsonl --restart checkpoints
    expect steps 35 "$(record .steps other.jsonl)"
}
