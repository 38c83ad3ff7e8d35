# What of jobs/ is Python can be read; Spack's recipe and ReFrame's tests are sound, by the tools themselves where they are on PATH.
load ../support/helper

@test "the Python of jobs/ can be read, and what the recipe says to make are the Makefile's variables" {
    command -v python3 >/dev/null || skip "no python3 here"
    local name
    python3 - "$top"/jobs/spack/packages/weft/package.py "$top"/jobs/{reframe,weftlab}/*.py <<<'import ast, sys
for file in sys.argv[1:]: ast.parse(open(file).read(), file)'
    names=$(grep -o '"[A-Z_0-9]*=' "$top/jobs/spack/packages/weft/package.py" | tr -d '"=' | sort -u)
    [ -n "$names" ]
    for name in $names; do grep -q "^ *$name *?=\|($name)" "$top/Makefile" || { echo "make knows no $name"; return 1; }; done
}

@test "ReFrame runs a deck to its fingerprint on 1, 2 and 4 ranks, and fails where the bits are others" {
    command -v reframe >/dev/null || skip "no reframe here (pip install reframe-hpc)"
    reframe_said() {
        timeout $hang_s reframe --prefix "$PWD/r" -C "$top/jobs/reframe/local.py" -c "$top/jobs/reframe/weft.py" --nocolor \
            -n heat1d -S weft="$weft" "$@" 3>&-
    }
    reframe_said -r >said || { cat said; return 1; }
    grep -q 'PASSED.* Ran 3/3 test case(s)' said
    expect "rates" 3 "$(grep -c '^P: rate: [0-9.e-]* GCells/s' said)"
    run reframe_said -r -S keys=problem.alpha=0.1
    expect status 1 "$status"
    [[ $output == *"Ran 3/3 test case(s) from 3 check(s) (3 failure(s)"* ]]
    sed "s/'environs'/'devices': [{'type': 'gpu', 'num_devices': 2}], &/" "$top/jobs/reframe/local.py" >gpus.py
    reframe_said -C gpus.py --keep-stage-files -r >said || true # this machine may have no GPU
    expect "runs where there are GPUs" 3 "$(grep -rh ' run run.device=cuda heat1d.ini' r/stage | wc -l)"
}

@test "Spack finds nothing wrong with its recipe" {
    command -v spack >/dev/null || skip "no spack here"
    printf 'repos:\n- %s\n' "$top/jobs/spack" >repos.yaml
    timeout 250 spack -C "$PWD" audit packages weft >said 3>&- || { cat said; return 1; }
    expect "parts that passed" 4 "$(grep -c ': passed' said)"
}
