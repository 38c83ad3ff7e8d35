# Fields in host memory, whose rows stream through the device (run.memory = host), in whole runs. The device
# is a host device with some hundred KiB, as it has to be where there is no GPU;
# tests/kernels/test_temporal_equals_single_steps has all shapes and sides.
load ../support/helper

small=(run.device=host run.memory=host run.device_memory=300k)
plate=(grid.nx=203 grid.ny=301 "grid.x_low=dirichlet 0" grid.x_high=neumann)

on_device() { weft_alone d.ini run.device=host run.memory=device "$@"; }
streamed() { weft_run $1 d.ini "${small[@]}" "${@:2}"; } # ranks key=value...

@test "ranks and steps per visit give the bits of fields on the device, and their last level" {
    local reference found='"\(.fingerprint) \(.steps) \(.last_change)"'
    deck d.ini problem.kind=laplace problem.initial=random "${plate[@]}" time.steps=400 time.tolerance=0.1 \
        time.norm_every=12
    on_device
    reference=$(record "$found")
    streamed 2
    expect "bits, level, norm" "$reference" "$(record "$found")"
    expect "memory, several steps, process grid, end" "host true 1 true" \
        "$(record '"\(.memory) \(.fuse > 1) \(.ranks_x) \(.steps < 400)"')"
    # a norm of every step leaves single steps to the processors
    streamed 2 time.steps=12 time.norm_every=1
    [[ $(record .plan.steps_per_pass.because) == *"single steps are taken by the processors"* ]]
}

@test "auto takes host memory where the fields do not fit into what is allowed" {
    deck d.ini problem.kind=heat problem.dtype=f32 problem.alpha=0.2 "${plate[@]}" time.steps=30 \
        run.device=host
    weft_alone d.ini run.device_memory=900k
    expect "memory, asked" "device auto 921600" \
        "$(record '"\(.memory) \(.asked.memory) \(.asked.device_memory)"')"
    local reference
    reference=$(fingerprint)
    weft_alone d.ini run.device_memory=400k
    expect "memory, bits" "host $reference" "$(record '"\(.memory) \(.fingerprint)"')"
    [[ $(record .plan.memory.because) == "grid 203 x 301: rank 0 needs "*" of memory; 410 KB are free for it" ]]
    expect "room that was taken" true \
        "$(record '.streaming.device_bytes <= 409600 and .streaming.chunk_rows > 0')"
    refuses 3 weft_alone d.ini run.device_memory=400k run.memory=device -- \
        "rank 0 needs" "410 KB are free for it"
    refuses 2 weft_alone d.ini "${small[@]}" run.device_memory=10k -- "10.2 KB of device memory are too few"
    refuses 2 weft_alone d.ini "${small[@]}" problem.kind=sweep -- "run.memory = host" "kind sweep"
    expect "notes" "[]" "$(record '.notes | tostring')"
    weft=$weft_sanitize
    WEFT_FAULT=memory_taken:96 weft_alone d.ini run.device_memory=400k # as 3 of 79 GiB free
    [[ $(record '.notes[]') == "other programs hold "*" of rank 0 on "*": fields are in host memory"* ]]
    WEFT_FAULT=memory_taken:5 weft_alone d.ini run.device_memory=400k
    expect "notes where a tenth is not taken" "[]" "$(record '.notes | tostring')"
}

# Bytes of memory that the run had at most, of all that it touched.
most_bytes() { # command...
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)' "$@"
}

@test "checkpoints, pictures and a restart: the bits of the device, and no memory beside the fields" {
    local plain reference level=$((2048 * 2048 * 8))
    deck d.ini problem.kind=wave problem.alpha=0.2 grid.nx=2048 grid.ny=2048 time.steps=16 run.device=host \
        run.memory=host run.device_memory=8M run.fuse=8
    on_device output.picture=device.png run.device_memory=0
    reference=$(fingerprint)
    plain=$(most_bytes "$weft" run d.ini)
    [ "$plain" -gt $((4 * level)) ]
    cat >>d.ini <<<$'[checkpoint]\nevery = 8\n[output]\nfinal = final.h5\npicture = p.png'
    local more
    for more in "" "--restart checkpoints/step_0000000008.h5"; do
        [ $(($(most_bytes "$weft" run d.ini $more) - plain)) -lt $((level / 2)) ]
        expect fingerprint "$reference" "$(fingerprint)"
        cmp device.png p.png
    done
    expect "beside the steps" false "$(record .checkpoint.async)"
    [[ $(record '.notes[]') == *"the steps wait while a checkpoint is written"* ]]
}
