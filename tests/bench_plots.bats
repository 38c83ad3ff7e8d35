# jobs/plot draws what weft bench leaves: the roofline and every sweep become a PNG and an SVG that name the machine.
load helper

small=(device=host nx=64 ny=48 ceiling_bytes=1M samples=5)

@test "the roofline, of both types of data, from the records of two runs" {
    "$weft" bench roofline "${small[@]}" output=r.jsonl 3>&-
    "$weft" bench roofline "${small[@]}" output=r.jsonl dtype=f64 3>&-
    expect "intensity of a star of radius 8, f32: 2 * 33 - 1 flops for 8 bytes" 8.125 \
        "$(jq -s '.[] | select(.rung == "star" and .dtype == "f32").flops_per_byte' r.jsonl)"
    "$top/jobs/plot" r.jsonl >said
    expect "what it said" "r_roofline.png and r_roofline.svg" "$(cat said)"
    expect PNG 89504e47 "$(od -An -tx1 -N 4 r_roofline.png | tr -d ' ')"
    grep -q "$(jq -r .git r.jsonl | head -n 1)" r_roofline.svg
    for word in 'star f32' 'box f64' 'star r=8' fingerprint 'unpack r=8'; do grep -q "$word" r_roofline.svg || { echo "no $word"; return 1; }; done
}

@test "a sweep, one line for each rung and setting" {
    "$weft" bench roofline/star roofline/box "${small[@]}" output=r.jsonl 3>&-
    jq -c '.family = "sweeps"' r.jsonl >s.jsonl
    jq -c 'select(.rung == "star") | .family = "sweeps" | (.parameters, .sweep[].parameters).nx = 65' r.jsonl >>s.jsonl
    "$top/jobs/plot" s.jsonl other >said
    expect "what it said" "other_sweeps_radius.png and other_sweeps_radius.svg" "$(cat said)"
    for word in 'star nx=64' 'star nx=65' 'box nx=64'; do grep -q "$word" other_sweeps_radius.svg || { echo "no $word"; return 1; }; done
}

@test "records without a sweep, and records of two machines, are refused" {
    "$weft" bench roofline/transpose "${small[@]}" output=t.jsonl 3>&-
    jq -c '.family = "transpose"' t.jsonl >n.jsonl
    run "$top/jobs/plot" n.jsonl
    expect status 2 "$status"
    { cat t.jsonl; jq -c '.machine.processor = "another"' t.jsonl; } >two.jsonl
    run "$top/jobs/plot" two.jsonl
    expect status 2 "$status"
    [[ $output == *"one device and machine"* ]]
}
