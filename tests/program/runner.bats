# tests/run, on a made tree of units, where `nvidia-smi` says that there are GPUs: which build runs, who sees
# which GPU, and who runs beside whom.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    mkdir -p bin tests/{program,made,jobs} build/{,sanitize/}tests/made build/kernels/made
    cp "$top/tests/run" tests/
    touch build/kernels/made/one.cu.o log
    unset CUDA_VISIBLE_DEVICES TESTS_BEGAN TEST_GPU_JOBS BUILD MPIRUN # which may be a path, past the stand-in
    export TEST_JOBS=4 PATH=$PWD/bin:$PATH
    # of one process
    stand_in bin/mpirun 'while [ "$1" != -n ]; do shift; done; export RANKS=$2; shift 2; "$@"'
}

gpus() { stand_in bin/nvidia-smi "for i in $*; do echo \"GPU \$i: Made Up M\$i (UUID: GPU-\$i)\"; done"; }

# A unit whose release build tells the log when it begins and ends, and on which GPUs; that of the sanitizers
# tells that it ran, and on how many ranks. `await NAME` waits for another one to begin.
unit() { # name, line of its first comment, what it does
    local sees="$1 \${CUDA_VISIBLE_DEVICES-any}"
    printf '/* Made.\n * %s */\n' "$2" >"tests/made/test_$1.c"
    stand_in build/sanitize/tests/made/test_$1 "echo sanitized $1 \${RANKS-alone} >>$PWD/log"
    stand_in build/tests/made/test_$1 "cd $PWD
await() { until grep -q \"^begins \$1 \" log; do sleep .1; done; }
echo \"begins $sees\" >>log
$3
echo \"ends $sees\" >>log"
}

passes() { # words of tests/run
    run tests/run "$@"
    cat log
    expect status 0 "$status" || { echo "$output"; return 1; }
}

seen_by() { sed -n "s/^begins $1 //p" log; }

most_on_a_gpu() { # the largest number of jobs that one had at once
    awk '/^sanitized/ { next }
        { for (i = split($3, gpu, ","); i > 0; i--) {
            now[gpu[i]] += $1 == "begins" ? 1 : -1
            if (now[gpu[i]] > most) most = now[gpu[i]]
        } }
        END { print most + 0 }'
}

@test "jobs without GPUs run beside those with GPUs, of which each has its own; which build has which ranks" {
    gpus 0 1
    unit plain "release: it tells" "await one_a"
    unit one_a "gpus: 1" "await plain; await one_b"
    unit one_b "gpus: 1" "await one_a"
    unit all "gpus: all" "sleep .3"
    unit ranks "ranks: 1 2 3
 * gpus: rank" "sleep .3"
    unit told "ranks: 1 2 6 release: it tells" 'echo "released $RANKS" >>log'
    SLURM_JOB_GPUS=0,1 passes
    expect "first line" "17 tests in 17 jobs, 4 at a time; 5 of them with GPUs, of which there are 2" \
        "${lines[0]}"
    expect "last line" "17 passed, 0 failed, 0 skipped" "${lines[-1]}"
    expect "what the plain one sees" "" "$(seen_by plain)"
    expect "what those of one GPU see" "0 1" "$(seen_by 'one_[ab]' | sort | xargs)"
    expect "what all see" "0,1" "$(seen_by all)"
    expect "how many one and two ranks see" "1 2" "$(seen_by ranks | awk -F , '{ print NF }' | sort | xargs)"
    expect "jobs on a GPU that do not share it" 1 \
        "$(grep -v 'plain\|told\|released\|ranks [01]$' log | most_on_a_gpu)"
    expect "ranks under the sanitizers, of one that says release:" "1 2 3 2" \
        "$(sed -n 's/^sanitized ranks //p' log | sort | xargs) $(sed -n 's/^sanitized told //p' log)"
    expect "in the release" "1 2 6" "$(sed -n 's/^released //p' log | sort | xargs)"
    expect "the record" "2 Made Up M0 17 0" \
        "$(jq -r '"\(.gpus) \(.gpu) \(.passed) \(.failed)"' build/tests.json)"
    sed -i 's/^[0-9]*/480000/' build/tests.times
    passes told
    expect "how long its four jobs took" "about 8 minutes, as last time" "${lines[1]}"
}

@test "jobs share a GPU, as many as may; CUDA_VISIBLE_DEVICES names the GPUs" {
    gpus 0 1 2 3
    local n
    for n in 1 2 3; do unit part_$n "gpus: part" "await part_1; await part_2; sleep .2"; done
    unit plain "release: it tells" ""
    CUDA_VISIBLE_DEVICES=GPU-3 TEST_GPU_JOBS=2 passes part
    expect "what they see" "GPU-3 GPU-3 GPU-3" "$(seen_by 'part_.' | xargs)"
    expect "jobs on the GPU" 2 "$(most_on_a_gpu <log)"
    [ ! -e build/tests.json ] # these were not all
    # no GPU, hidden ones, a build without CUDA: the environment stays as it is
    gpus
    tests/run plain
    gpus 0 1
    CUDA_VISIBLE_DEVICES=-1 tests/run plain
    rm build/kernels/made/one.cu.o
    tests/run plain
    expect "what it saw" "any -1 any" "$(seen_by plain | paste -sd ' ')"
    unit long "ranks: $(echo {1..20})" ""
    rm build/tests.times
    TEST_JOBS=1 passes long
    expect "how long twenty jobs may take, none of which ran before" "about 1 minutes" "${lines[1]}"
}

@test "a bats file runs without GPUs, its tests with a tag once more, each with as many as the tag says" {
    gpus 0 1
    printf '%s\n' 'saw() { echo "$BATS_TEST_DESCRIPTION ${CUDA_VISIBLE_DEVICES-any}" >>"'"$PWD"'/log"; }' \
        '@test "plain" { saw; }' '# bats test_tags=gpus:1' \
        '@test "one (a.b), [c]" { saw; [ -n "$CUDA_VISIBLE_DEVICES" ] || skip "no GPU"; }' \
        '@test "one (a.b), [c] and more" { saw; }' '# bats test_tags=gpus:4' '@test "all" { saw; }' \
        '# bats test_tags=gpus:part' '@test "wrong" { seq 3; [ -z "$CUDA_VISIBLE_DEVICES" ]; }' \
            >tests/program/made.bats
    run -1 tests/run made.bats
    # the one may have either GPU
    expect "who saw what" \
        'all / all 0,1 / one (a.b), [c] / one (a.b), [c] 0 / one (a.b), [c] and more / plain' \
        "$(sed 's/ $//; s/\] 1$/] 0/' log | LC_ALL=C sort | sed -z 's,\n, / ,g; s, / $,,')"
    expect "reports" 'FAIL wrong / ok all / ok one (a.b), [c]' "$(
        sed -nE 's/^(FAIL|ok) +[0-9.]+ s  made.bats with GPUs: (.*)/\1 \2/p' <<<"$output" | LC_ALL=C sort |
            sed -z 's,\n, / ,g; s, / $,,'
    )"
    expect "lines of the one that fails" 3 \
        "$(sed -n '/^FAIL .*wrong/,/^[^ ]/p' <<<"$output" | grep -c '^    # [1-3]$')"
    expect "last line: what is skipped without a GPU is told of the job that has one" \
        "6 passed, 1 failed, 0 skipped" "${lines[-1]}"
}

@test "pytest has a line per test; a file that needs a service is left to --all, or named" {
    /usr/bin/python3 -c 'import pytest' 2>/dev/null || skip "no pytest here (python3-pytest)"
    cp "$top/tests/jobs/conftest.py" tests/jobs/
    printf '%s\n' 'import pytest' 'def test_that_adds_up():' '    assert 1 + 1 == 2' 'def test_wrong():' \
        '    assert 3 == 4' 'def test_left_out():' '    pytest.skip("no numpy")' >tests/jobs/test_made.py
    printf '%s\n' '# Made.' '# test-all: a service' '@test "served" { true; }' '@test "too" { true; }' \
        >tests/program/served.bats
    run -1 tests/run
    expect "lines" \
        "ok test_made.py: that adds up/FAIL test_made.py: wrong/skip test_made.py: left out  (no numpy)" \
        "$(sed -nE 's/^(ok|FAIL|skip) +[0-9.]+ s  /\1 /p' <<<"$output" | paste -sd /)"
    [[ $output == *"    # E   assert 3 == 4"* ]]
    expect "last line" "1 passed, 1 failed, 1 skipped; 'make test-all' runs 2 more, which need services" \
        "${lines[-1]}"
    run -1 tests/run --all
    expect "all" "3 passed, 1 failed, 1 skipped" "${lines[-1]}"
    run -0 tests/run served
    expect "by its name" "2 passed, 0 failed, 0 skipped" "${lines[-1]}"
}
