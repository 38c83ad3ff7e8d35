# A deck, and records of studies as jobs/study leaves them, for the tests of jobs/.

is_png() { expect "$1" 89504e47 "$(od -An -tx1 -N 4 "$1" | tr -d ' ')"; }

study_setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=400 grid.ny=300 time.steps=20 checkpoint.every=5 output.picture=p.png
}
setup() { study_setup; }

# Records of two settings on 1, 2 and 4 ranks as a study of d.ini leaves them, two runs each, with steps of our choice; as weft 1.0
# wrote them, with the fraction of the mean step alone: 0.5 where that of the median step is 0.6.
made_records() {
    weft_alone d.ini checkpoint.every=0 output.picture=none output.final=none run.lanes=1 run.threads=1 \
        output.record=one.jsonl >said
    local n lanes us
    while read -r n lanes us; do
        jq -c --argjson n "$n" --argjson lanes "$lanes" --argjson us "$us" '
            .ranks = $n | .asked.lanes = $lanes | .step_s.p50 = $us * 1e-6
            | .step_s.mean = 1.2 * .step_s.p50 | del(.fraction_of_ceiling_p50)
            | .fraction_of_ceiling = 0.5 | .overlap_hidden_fraction = 0.9 | .command |= sub("lanes=1"; "lanes=\($lanes)")' one.jsonl
    done <<END >made.jsonl
1 1 1000
1 1 1000
2 1 500
2 1 500
4 1 270
4 1 230
1 2 800
1 2 800
END
}
