# Every command says what it does, and says it without running anything.
load helper

@test "--help and --version, everywhere" {
    "$weft" --help | grep -q 'weft run\|run .*DECK'
    "$weft" --version | grep -qE '^weft [0-9]+\.[0-9]+\.[0-9]+'
    local command
    for command in run info verify diff; do
        "$weft" $command --help | grep -q "usage:.*$command"
        "$weft" $command --version | grep -qE '^weft [0-9]'
    done
}

@test "the version is the Makefile's, the commit is the checkout's" {
    grep -q "^VERSION *:= $("$weft" --version | awk '{ print $2 }')$" "$top/Makefile"
    [ -e "$top/.git" ] || skip "not a git checkout"
    "$weft" --version | grep -qE '\([0-9a-f]{7,}(-dirty)?\)|-g[0-9a-f]{7,}'
}

@test "weft run --help lists every key" {
    "$weft" run --help >help
    local key
    for key in problem.{kind,dtype,order,alpha,weights,initial,mode_x,mode_y,seed} \
        grid.{nx,ny,x_low,x_high,y_low,y_high,boundary} time.{steps,tolerance,norm_every} \
        run.{device,transport,feed,lanes,fuse,threads,ranks_x,ranks_y,tune,wall_limit,stall_limit} checkpoint.{dir,every,keep,async} \
        output.{record,final,picture,trace,progress}; do
        grep -qF "$key" help || { echo "no $key"; return 1; }
    done
}

@test "weft info names MPI, HDF5 and every rank's device" {
    launch 2 "$weft" info >info
    grep -qi 'mpi' info
    grep -qE '[0-9]+\.[0-9]+\.[0-9]+' info
    grep -q 'rank 0' info
    grep -q 'rank 1' info
}

@test "--dry-run checks and prints the resolved deck, and leaves nothing behind" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=100 grid.ny=90 time.steps=5 checkpoint.every=1 output.picture=p.png
    launch 4 "$weft" run d.ini --dry-run >dry 2>/dev/null
    expect "files" "d.ini dry" "$(echo *)"
    run weft_run 4 d.ini --dry-run problem.alpha=0.3
    refused 2 problem.alpha
    weft_alone dry
    expect "the resolved deck runs" 5 "$(record .steps)"
}

@test "the progress line, with the time that is left, is for terminals only" {
    command -v script >/dev/null || skip "script is missing, which makes a terminal"
    script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "no pseudo-terminal can be made here"
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=1000 grid.ny=1000 time.steps=4000
    weft_alone d.ini 2>silent >&2
    ! grep -q ' left' silent || { cat silent; return 1; }
    weft_alone d.ini output.progress=on 2>asked
    grep -qE 'step [0-9]+ of 4000 .*GCells/s .*[0-9]{2}:[0-9]{2}:[0-9]{2} left' asked
    script -qec "$weft run d.ini" /dev/null >seen </dev/null 3>&-
    grep -qE 'step [0-9]+ of 4000 .*GCells/s .*[0-9]{2}:[0-9]{2}:[0-9]{2} left' seen
}
