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

@test "Spack's recipe has a release and the clone, and make does as it is told" {
    local recipe=$top/jobs/spack/packages/weft/package.py
    python3 "$top/tests/support/spack_stand_in.py" "$recipe" -cuda +cuda,+nccl,cuda_arch=80,cuda_arch=90 >recipe.json
    of_recipe() { jq -r "$@" recipe.json; }
    expect versions "main branch=main, 1.0.0 tag=v1.0.0" "$(of_recipe '[.directives[] | select(.[0] == "version")
        | "\(.[1][0]) \(.[2] | to_entries[0] | "\(.key)=\(.value)")"] | join(", ")')"
    expect "where the clone is" "file://$(realpath "$top")" "$(of_recipe .git)"
    expect "an archive of the release" "file://$(realpath "$top")/weft-1.0.0.tar.gz" "$(of_recipe .url)"
    expect HDF5 "hdf5@1.10: ~mpi" "$(of_recipe '.directives[] | select(.[1][0] | startswith("hdf5")) | .[1][0]')"
    expect "for CUDA alone" "cuda@11.8: cxx" "$(of_recipe '[.directives[] | select(.[2].when == "+cuda" and .[0] == "depends_on")
        | .[1][0]] | join(" ")')"
    expect "who maintains it" 1 "$(of_recipe '[.directives[] | select(.[0] == "maintainers")] | length')"
    expect "for CUDA" 'CUDA=1 NCCL=1 CUDA_HOME=/opt/cuda ARCH=80 90 NCCL_HOME=/opt/nccl PREFIX=/opt/weft install' \
        "$(of_recipe '.make | to_entries[1].value.install[2:] | join(" ")')"
    mapfile -t words < <(of_recipe '.make["-cuda"].install[]')
    expect "HDF5's folder" "HDF5_DIR=/opt/hdf5" "${words[1]}"
    mkdir -p hdf5/include
    touch hdf5/include/hdf5.h
    words[1]=HDF5_DIR=$PWD/hdf5
    make -n -C "$top" "${words[@]}" BUILD="$PWD/b" >made 2>&1 || { cat made; return 1; }
    grep -q -- "-I$PWD/hdf5/include " made && grep -q 'install -m 755 .*/b/weft /opt/weft/bin/weft' made
    ! grep -q 'WEFT_CUDA=1\|nvcc ' made
}

@test "Spack finds nothing wrong with its recipe" {
    command -v spack >/dev/null || skip "no spack here"
    printf 'repos:\n- %s\n' "$top/jobs/spack" >repos.yaml
    timeout 250 spack -C "$PWD" audit packages weft >said 3>&- || { cat said; return 1; }
    expect "parts that passed" 4 "$(grep -c ': passed' said)"
}
