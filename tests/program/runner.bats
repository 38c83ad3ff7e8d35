# tests/run, on a made tree of units, where `nvidia-smi` says that there are GPUs: who sees which, who runs beside whom, and that a job
# that is killed is told.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    mkdir -p bin tests/program tests/made build/tests/made build/sanitize/tests/made build/kernels/made
    cp "$top/tests/run" tests/
    touch build/kernels/made/one.cu.o log
    unset CUDA_VISIBLE_DEVICES TESTS_BEGAN TEST_GPU_JOBS BUILD
    export TEST_JOBS=4 PATH=$PWD/bin:$PATH
}

gpus() { # how many there are
    { echo '#!/bin/sh' && for ((i = 0; i < $1; i++)); do echo "echo 'GPU $i: Made Up M$i (UUID: GPU-$i)'"; done; } >bin/nvidia-smi
    chmod +x bin/nvidia-smi
}

# A unit that tells the log when it begins and ends, and on which GPUs. `await NAME` waits for another one to begin.
unit() { # name, line of its first comment, what it does
    printf '/* Made.\n * %s */\n' "$2" >"tests/made/test_$1.c"
    printf '#!/bin/bash\nexit 0\n' >"build/sanitize/tests/made/test_$1"
    {
        printf '#!/bin/bash\ncd "%s"\n' "$PWD"
        printf 'await() { for ((i = 0; i < %s; i++)); do ! grep -q "^begins $1 " log || return 0; sleep .1; done; exit 1; }\n' $((10 * hang_s))
        printf 'echo "begins %s ${CUDA_VISIBLE_DEVICES-any}" >>log\n%s\necho "ends %s ${CUDA_VISIBLE_DEVICES-any}" >>log\n' "$1" "$3" "$1"
    } >"build/tests/made/test_$1"
    chmod +x build/tests/made/test_"$1" build/sanitize/tests/made/test_"$1"
}

seen_by() { sed -n "s/^begins $1 //p" log; }

most_on_a_gpu() { # the largest number of jobs that one had at once
    awk '{ n = split($3, gpu, ","); for (i = 1; i <= n; i++) { now[gpu[i]] += $1 == "begins" ? 1 : -1; if (now[gpu[i]] > most) most = now[gpu[i]] } }
        END { print most + 0 }'
}

@test "jobs without GPUs see none, run beside those with GPUs, and a GPU has one job at a time" {
    gpus 2
    unit plain "no GPU" "await one_a"
    unit one_a "gpus: 1" "await plain; await one_b"
    unit one_b "gpus: 1" "await one_a"
    unit one_c "gpus: 1" ""
    unit all "gpus: all" "sleep .3"
    unit ranks "ranks: 1 2 3
 * gpus: rank" "sleep .3"
    export SLURM_JOB_GPUS=0,1
    printf '#!/bin/sh\nwhile [ "$1" != -n ]; do shift; done\nshift 2\n"$@"\n' >bin/mpirun
    chmod +x bin/mpirun
    MPIRUN=mpirun run tests/run
    expect status 0 "$status" || { echo "$output"; return 1; }
    expect "first line" "14 jobs, 4 at a time; 6 of them with GPUs, of which there are 2" "${lines[0]}"
    expect "last line" "14 passed, 0 failed, 0 skipped" "${lines[-1]}"
    cat log
    expect "what the plain one sees" "" "$(seen_by plain)"
    expect "what those of one GPU see" "0 1" "$(seen_by 'one_[ab]' | sort | xargs)"
    expect "what all see" "0,1" "$(seen_by all)"
    expect "how many three, one and two ranks see" "0 1 2" "$(seen_by ranks | awk -F , '{ print NF }' | sort | xargs)"
    expect "jobs on a GPU" 1 "$(grep -v plain log | most_on_a_gpu)"
    expect "the record" "2 Made Up M0 14 0" "$(jq -r '"\(.gpus) \(.gpu) \(.passed) \(.failed)"' build/tests.json)"
}

@test "jobs that share a GPU, as many as may; CUDA_VISIBLE_DEVICES names the GPUs; a file that is to be alone is alone" {
    gpus 4
    local n
    for n in 1 2 3; do unit part_$n "gpus: part" "await part_1; await part_2; sleep .2"; done
    unit alone "alone: a reason" ""
    CUDA_VISIBLE_DEVICES=GPU-3 TEST_GPU_JOBS=2 run tests/run part alone
    expect status 0 "$status" || { echo "$output"; return 1; }
    cat log
    expect "what they see" "GPU-3 GPU-3 GPU-3" "$(seen_by 'part_.' | xargs)"
    expect "jobs on the GPU" 2 "$(grep -v alone log | most_on_a_gpu)"
    expect "the last of all" "ends alone " "$(tail -n 1 log)"
    [ ! -e build/tests.json ] # these were not all
}

@test "a job that fits beside those GPUs for which a larger one waits does not wait with it" {
    gpus 3
    unit two_a "gpus: 2" "await one"
    unit two_b "gpus: 2" "await two_a"
    unit one "gpus: 1" ""
    run tests/run two one
    expect status 0 "$status" || { echo "$output"; return 1; }
    expect "what they see" "0,1 0,1 2" "$(seen_by two_a) $(seen_by two_b) $(seen_by one)"
    expect "jobs on a GPU" 1 "$(most_on_a_gpu <log)"
}

@test "no GPU, GPUs that are hidden, and a build without CUDA: the environment stays as it is" {
    unit one "gpus: 1" ""
    printf '#!/bin/sh\nexit 9\n' >bin/nvidia-smi
    chmod +x bin/nvidia-smi
    tests/run
    gpus 0
    tests/run
    gpus 2
    CUDA_VISIBLE_DEVICES=-1 tests/run >out
    expect "first line" "2 jobs, 4 at a time" "$(head -n 1 out)"
    rm build/kernels/made/one.cu.o
    tests/run
    expect "what it saw" "any any -1 any" "$(seen_by one | xargs)"
}

@test "all tests of a bats file run without GPUs, and those with a tag once more, each a job with as many as the tag says" {
    gpus 2
    printf '%s\n' 'saw() { echo "$BATS_TEST_DESCRIPTION ${CUDA_VISIBLE_DEVICES-any}" >>"'"$PWD"'/log"; }' '@test "plain" { saw; }' \
        '# bats test_tags=gpus:1' '@test "one (a.b), [c]" { saw; [ -n "$CUDA_VISIBLE_DEVICES" ] || skip "no GPU"; }' '@test "one (a.b), [c] and more" { saw; }' '# bats test_tags=slow,gpus:4' \
        '@test "all" { saw; }' '# bats test_tags=gpus:part' '@test "wrong" { [ -z "$CUDA_VISIBLE_DEVICES" ]; }' >tests/program/made.bats
    run tests/run made.bats
    expect status 1 "$status"
    expect "who saw what" 'all / all 0,1 / one (a.b), [c] / one (a.b), [c] 0 / one (a.b), [c] and more / plain' \
        "$(sed 's/ $//' log | LC_ALL=C sort | sed -z 's,\n, / ,g; s, / $,,')"
    expect "reports" 'FAIL wrong / ok all / ok one (a.b), [c]' \
        "$(sed -nE 's/^(FAIL|ok) +[0-9.]+ s  made.bats with GPUs: (.*)/\1 \2/p' <<<"$output" | LC_ALL=C sort | sed -z 's,\n, / ,g; s, / $,,')"
    expect "last line: what is skipped without a GPU is told of the job that has one" "6 passed, 1 failed, 0 skipped" "${lines[-1]}"
    printf '%s\n' '# bats file_tags=gpus:all' '@test "first" { false; }' '@test "second" { false; }' >tests/program/made.bats
    run tests/run made.bats
    expect "jobs" "3 jobs, 4 at a time; 2 of them with GPUs, of which there are 2" "${lines[0]}"
}

@test "a report is printed when its job ends; a job that is killed has one, too" {
    unit slow "" "await quick; until grep -q quick printed; do sleep .1; done"
    unit quick "" ""
    unit killed "" 'echo $PPID >limit; sleep 5'
    TEST_JOBS=9 tests/run >printed 3>&- &
    local runner=$! status=0
    wait_for grep -qs . limit
    wait_for grep -q test_slow printed
    kill -KILL "$(ps -o ppid= -p "$(<limit)" | tr -d ' ')" # the job that started the unit's time limit
    wait $runner || status=$?
    cat printed
    expect status 1 "$status"
    expect "what was killed" 1 "$(grep -c '^FAIL .*made/test_killed . 0  (ended without a report)' printed)"
    expect "last line" "5 passed, 1 failed, 0 skipped" "$(tail -n 1 printed)"
}
