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

@test "ReFrame's tests know every family of weft bench, and those that need several ranks" {
    families() { # name of a list
        python3 - "$1" "$top/jobs/reframe/weft.py" <<'END'
import ast, sys
tree = ast.parse(open(sys.argv[2]).read())
lists = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
value = lists[sys.argv[1]]
print(*ast.literal_eval(value.right if isinstance(value, ast.BinOp) else value))
END
    }
    expect "families of the host" "$("$weft" bench --list device=host | sed -n 's/^\([a-z]*\): .*/\1/p' | xargs)" "$(families host_families)"
    expect "of several ranks" "$("$weft" bench --help | sed -n 's/^Families \([a-z, ]*\) use all ranks.*/\1/p' | sed 's/, / /g; s/ and / /')" \
        "$(families several_ranks)"
    local name known
    known=" $(families host_families) $(families cuda_families) "
    for name in $(jq -r 'select(.family != null and .device == "cuda") | .family' "$top"/jobs/results/*/*.jsonl | sort -u); do
        [[ $known == *" $name "* ]] || { echo "no family $name"; return 1; }
    done
}

# In an environment of CI's own, or on PATH.
reframe_is() { reframe=$(command -v reframe || command -v "$(dirname "${WEFT_PYTHON:-none}")/reframe"); }

reframe_ran() { # settings, then arguments
    timeout $hang_s "$reframe" --prefix "$PWD/r" -C "$1" -c "$top/jobs/reframe/weft.py" --nocolor "${@:2}" 3>&-
}

@test "ReFrame builds, runs a deck to its fingerprint on 1, 2 and 4 ranks, and fails where bits or rates are others" {
    reframe_is || skip "no reframe here (pip install reframe-hpc)"
    local settings=$top/jobs/reframe/local.py
    mkdir bin # make builds what is there
    printf '#!/bin/sh\necho "$@" >>%s/made\nfor word; do case $word in BUILD=*) mkdir -p "${word#*=}" && ln -s %s "${word#*=}/weft" ;; esac; done\n' \
        "$PWD" "$weft" >bin/make
    chmod +x bin/make
    PATH=$PWD/bin:$PATH reframe_ran "$settings" -n 'weft_deck.*heat1d|weft_bench.*stencil' -S weft_bench.keys=samples=1,nx=256,ny=256,n=64k -r >said ||
        { cat said; return 1; }
    grep -q 'PASSED.* Ran 5/5 test case(s)' said
    expect "how it was built" "-j -C $top BUILD=$PWD/r/stage/local/default/builtin/weft_build_ CUDA=0" \
        "$(sed 's/^-j [0-9]*/-j/; s/_build_[0-9a-f]*.build/_build_/' made)"
    expect rates 3 "$(grep -c '^P: rate: [0-9.e-]* GCells/s' said)"
    expect "fractions of the rungs" 5 "$(grep -c '^P: [A-Za-z]*_f32: [0-9.e-]* of the ceiling' said)"
    cat r/output/local/default/builtin/weft_deck_*/record.jsonl | jq -c '.fraction_of_ceiling = 5 | .step_s.mean = .step_s.p50' >records.jsonl
    sed "s|'environs'|'extras': {'weft_records': '$PWD/records.jsonl'}, &|" "$settings" >faster.py
    run reframe_ran faster.py -n 'weft_deck.*heat1d.*ranks=2' -S weft_build.weft="$weft" -r
    expect "status beside faster records" 1 "$status"
    [[ $output == *"fraction="*"of the ceiling, expected 5.0 (l=4.5"* ]] || { echo "$output"; return 1; }
    run reframe_ran "$settings" -n 'weft_deck.*heat1d.*ranks=2' -S weft_build.weft="$weft" -S weft_deck.keys=problem.alpha=0.1 -r
    expect "status of other bits" 1 "$status"
    [[ $output == *"Failing phase: sanity"* ]] || { echo "$output"; return 1; }
}

@test "ReFrame asks for a GPU per rank where a partition has them, and for none elsewhere" {
    reframe_is || skip "no reframe here (pip install reframe-hpc)"
    cat >site.py <<'END'
slurm = {'scheduler': 'slurm', 'launcher': 'srun', 'environs': ['builtin']}
gpus = {'devices': [{'type': 'gpu', 'num_devices': 2}],
        'resources': [{'name': '_rfm_gpu', 'options': ['--gres=gpu:{num_gpus_per_node}']}]}
partitions = [dict(slurm, name='cpu'), dict(slurm, name='gpu', features=['gpu'], **gpus), dict(slurm, name='undeclared', **gpus)]
site_configuration = {'systems': [{'name': 'site', 'hostnames': ['.*'], 'partitions': partitions}]}
END
    reframe_ran site.py --dry-run -n 'weft_deck.*heat1d.*ranks=4' >said || { cat said; return 1; }
    local jobs=r/stage/site
    grep -q 'weft run run.device=host heat1d.ini' $jobs/cpu/builtin/weft_deck_*/rfm_job.sh
    ! grep -q 'gpu:' $jobs/cpu/builtin/weft_deck_*/rfm_job.sh
    expect "words of Slurm" "--ntasks=4 --ntasks-per-node=2 --gres=gpu:2" \
        "$(sed -n 's/^#SBATCH \(--[ng][rt][a-z-]*=.*\)/\1/p' $jobs/gpu/builtin/weft_deck_*/rfm_job.sh | xargs)"
    grep -q 'weft run run.device=cuda heat1d.ini' $jobs/gpu/builtin/weft_deck_*/rfm_job.sh
    grep -q 'make .* CUDA=1' $jobs/gpu/builtin/weft_build_*/rfm_build.sh
    grep -q "site:undeclared has GPUs, but not the feature 'gpu'" said
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
    expect "for CUDA alone" "cuda@12.0: cxx" "$(of_recipe '[.directives[] | select(.[2].when == "+cuda" and .[0] == "depends_on")
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

section() { # of the container's recipe, with its arguments as they are unless told otherwise
    awk -v wanted="%$1" '/^%/ { on = ($1 == wanted); next } on' "$top/jobs/apptainer.def" |
        sed "s/{{ commit }}/unknown/; s|/usr/local|$PWD/there|g"
}

@test "the container's recipe installs Debian's packages, and makes it as the pages say" {
    local line name
    head -n 2 "$top/jobs/apptainer.def" | xargs | grep -qx 'Bootstrap: docker From: {{ from }}'
    section arguments | grep -qx ' *from=debian:12'
    section post | bash -n
    while read -r line; do
        line=${line/ \"\$(nproc)\"/}
        cat "$top/README.md" "$top"/docs/*.md | grep -qF "${line/ GIT=unknown/}" || { echo "no page has '$line'"; return 1; }
    done < <(section post | grep -o '^ *make .*')
    apt-cache show libc6 >/dev/null 2>&1 || skip "no list of Debian's packages here"
    for name in $(section post | sed -n 's/.*--no-install-recommends //p'); do
        apt-cache show "$name" >/dev/null || { echo "no package $name"; return 1; }
    done
}

@test "the container's own test passes with what make install leaves of the files copied, and fails where a deck ends with other bits" {
    local from to
    mkdir copied
    while read -r from to; do
        [ -z "$from" ] || cp -r "$top/$from" "copied/${to#/opt/weft/}" || return 1
    done < <(section files)
    make -s -C copied install-built BUILD="$BUILD" PREFIX="$PWD/there" >/dev/null
    PATH=$PWD/there/bin:$(dirname "$(command -v "$MPIRUN")"):$PATH
    section test >its_test
    timeout $hang_s sh its_test 3>&-
    section runscript >its_run
    expect "what it runs" "$(weft --version)" "$(sh its_run --version)"
    sed -i 's/^# fingerprint: ./# fingerprint: x/' there/share/weft/inputs/heat1d.ini
    run timeout $hang_s sh its_test 3>&-
    expect status 1 "$status"
    [[ $output == *"0 of 2 runs ended with fingerprint x"* ]] || { echo "$output"; return 1; }
}
