# Every command says what it does, and says it without running anything.
load ../support/helper

@test "--help and --version, everywhere, in lines under 100 columns" {
    "$weft" --version >version
    grep -q "^VERSION *:= $(awk 'NR == 1 { print $2 }' version)$" "$top/Makefile"
    expect "lines, those without a value" "weft MPI HDF5 CUDA compiler " \
        "$(awk '{ print $1 }' version | xargs) $(awk 'NF < 2' version)"
    local command
    for command in run bench info verify diff; do
        "$weft" $command --help >$command
        grep -q "usage:.*$command" $command
        "$weft" $command --version | grep -qE '^weft [0-9]'
        cmp <("$weft" help $command) $command
    done
    for command in -V version; do "$weft" $command | cmp - version; done
    "$weft" --help >help
    for command in help "help --help"; do cmp <("$weft" $command) help; done
    expect "lines of 100 columns and more" "" \
        "$(cat help run bench info verify diff | grep -E '.{100}' || true)"
    refuses 2 "$weft" help rnu -- "'rnu'" "allowed: run, bench"
    refuses 2 "$weft" predict d.ini -- "jobs/predict DECK --from RECORDS"
}

@test "an output that is full is exit 3 and one sentence; one that is closed, or not read on, is no failure" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=20 time.steps=1 output.final=a.h5
    weft_alone d.ini --quiet
    local command
    for command in "verify --help" info "diff a.h5 a.h5" "bench --list" "run d.ini"; do
        run bash -c '"$0" $1 2>&1 >/dev/full' "$weft" "$command"
        refused 3 "standard output"
        # its reader has ended before it begins
        run bash -c 'exec 5> >(true); wait $!; "$0" $1 2>err >&5; echo $?; cat err' "$weft" "$command"
        expect "status of $command" 0 "${lines[0]}"
        [[ $output != *weft:* ]] || { echo "$output"; return 1; }
    done
    : >results.jsonl
    run -0 bash -c '"$0" run d.ini >&-' "$weft"
    expect "lines of the record" 1 "$(wc -l <results.jsonl)"
    # one that does not block, and a slow reader: nothing is cut
    /usr/bin/python3 - "$weft" >slow <<'END'
import fcntl, os, subprocess, sys, time
reads, writes = os.pipe()
os.set_blocking(writes, False)
fcntl.fcntl(writes, 1031, 4096)  # F_SETPIPE_SZ
child = subprocess.Popen([sys.argv[1], "run", "--help"], stdout=writes)
os.close(writes)
time.sleep(0.5)
while text := os.read(reads, 1000):
    sys.stdout.buffer.write(text)
END
    "$weft" run --help | cmp - slow
}

@test "one process that no launcher started does without MPI, weft run starts it; more are not run as one" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=40 grid.ny=30 time.steps=4 checkpoint.every=2 \
        output.final=a.h5
    weft_alone d.ini --quiet
    local command words
    ${CC:-cc} -shared -fPIC -o no_mpi.so -x c - <<<'#include <sys/syscall.h>
        #include <unistd.h>
        int MPI_Init_thread(int *argc, char ***argv, int level, int *given)
        { return (int)syscall(SYS_exit_group, argc && argv && level && given ? 98 : 99); }'
    without_mpi() { env LD_PRELOAD="$PWD/no_mpi.so" "$@"; }
    for command in "verify a.h5" "diff checkpoints checkpoints" "info --json" help \
        "run d.ini --dry-run --restart checkpoints" \
        "run d.ini --dry-run run.fuse=2 problem.initial=a.h5 output.final=b.h5 output.picture=p.png"; do
        run -0 without_mpi "$weft" $command
    done
    run -99 without_mpi "$weft" run d.ini
    for words in OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0 PMI_RANK=0 "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2"; do
        run -99 without_mpi env $words "$weft" verify a.h5
    done
    # srun --pty
    for words in "SLURM_NTASKS=2 SLURM_STEP_NUM_TASKS=1" "SLURM_PTY_PORT=40000 SLURM_STEP_NUM_TASKS=2"; do
        run -0 without_mpi env SLURM_PROCID=0 $words "$weft" verify a.h5
    done
    for words in PMI_SIZE=4 SLURM_STEP_NUM_TASKS=4; do # those of another MPI's launcher
        refuses 3 env "$words" "$weft" run d.ini -- "${words/=/ = }, but MPI sees one rank"
    done
    env SLURM_STEP_NUM_TASKS=4 SLURM_PTY_PORT=40000 "$weft" run d.ini
}

# bats test_tags=gpus:part
@test "--dry-run prints the resolved deck and counts what a run would take; --quiet says nothing" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=100 grid.ny=90 time.steps=25 checkpoint.every=10 \
        run.device=host run.fuse=1 output.picture="$(printf './%.0s' {1..300})p.png"
    launch 3 "$weft" run d.ini --dry-run --explain >dry 2>/dev/null
    expect "files" "d.ini dry" "$(echo *)"
    grep -q '^# ranks  *3 on 1 host, process grid 1 x 3$' dry
    # a row of 100 cells to either side: 600 of 9000 cells
    grep -q '^# halo .* 1.6 KB per pass; 4.8 KB on all ranks$' dry
    grep -q '^# checkpoints  2 of 72 KB into checkpoints' dry
    weft_run 3 d.ini --dry-run checkpoint.writers=2 output.final=f.h5 |
        grep -c '^# [cf].* of 72 KB in 3 files into ' | grep 2
    weft_alone dry
    expect "the resolved deck runs" 25 "$(record .steps)"
    weft_alone d.ini --dry-run --restart checkpoints time.steps=45 >dry
    grep -q '^# checkpoints  2 of 72 KB' dry
    grep -q '^# restart .*from step 20$' dry
    run --separate-stderr weft_alone d.ini --quiet output.progress=on time.steps=5
    expect "status, what was said" "0 " "$status $output$(ours "$stderr")"
    refuses 2 weft_alone d.ini --quiet problem.alpha=7 -- problem.alpha
}

rest='.*GCells/s, [0-9.]+(e-[0-9]+)? x a copy .*[0-9]{2}:[0-9]{2}:[0-9]{2} left' # of a line of progress

@test "the progress line, with the time that is left, is for terminals; a short run leaves none in a log" {
    command -v script >/dev/null || skip "script is missing, which makes a terminal"
    script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "no pseudo-terminal can be made here"
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=300 grid.ny=300 time.steps=1000000000
    weft_alone d.ini time.steps=200 >seen 2>&1
    grep -q '^verdict  *exact: max error' seen
    ! grep -q ' left' seen || { cat seen; return 1; }
    TERM=xterm script -qfec "$weft run d.ini output.record=progress.jsonl" /dev/null >seen </dev/null 3>&- &
    wait_for grep -qE $'\r'"step [0-9]+ of 1000000000 $rest" seen
    kill -KILL $(rank_pids output.record=progress.jsonl)
    wait $! || true
}

@test "a run that is killed leaves a log of what ran, where, and how far it came" {
    deck d.ini problem.kind=custom problem.weights="0.1 0.8 0.1" grid.nx=100000 time.steps=1000000000
    begin 2 d.ini run.tune=off output.progress=on output.record=killed.jsonl
    wait_for grep -qE "^step [1-9][0-9]* of 1000000000 $rest\$" out
    kill -9 $(rank_pids output.record=killed.jsonl)
    ends
    expect "how it ended" 137 "$status"
    grep -q '^command  *weft run d.ini run.tune=off output.progress=on output.record=killed.jsonl$' out
    grep -qF " in $PWD" out
    grep -q "^ranks  *2 as .* rank 0 on $(hostname)$" out
    grep -q '^problem  *custom, f64, line of radius 1, 100000 x 1 cells, initial mode, 1000000000 steps$' out
}
