# Each command of README.md and docs/guide.md runs, in the pages' order, in a copy of the tree.
load ../support/helper
hang_s=900 # on a busy machine the main job alone takes minutes

# Commands that cannot run in a test: they run it, need the network, a site's modules or a cluster.
excepted='^(make (test|deps|run DEPS=no|-j HDF5_DIR=)|module load|spack |apptainer |sbatch |srun )'

# Lines of code that begin with a command, without what stands behind ` # `.
commands_of() { # page
    sed -nE 's/^ {4,}//; t code; /^```/,/^```/!d; /^```/d; :code
        s/ +# .*//
        /^(make|mpirun|build\/weft|jobs\/|sbatch|srun|spack|apptainer|module|export|weft|\.ci\/)/p' "$1"
}

# A reader's machine: two cores, no root, a home that is empty, and nvcc only where the build has CUDA, since
# to compile it takes longer than a command may.
follow() { # pages: runs their commands in the folder tree; fails with the first that fails
    local command
    unset OMPI_MCA_ess_singleton_isolated
    echo "localhost slots=2" >slots
    export OMPI_MCA_orte_default_hostfile=$PWD/slots OMPI_MCA_hwloc_base_binding_policy=none HOME=$PWD/home
    is_there "$BUILD/kernels/*/*.cu.o" || export CUDA=0
    while read -r command <&4; do
        [[ ! $command =~ $excepted ]] || continue
        echo "$command" >>ran
        (cd tree && unset BUILD && timeout -k 5 $hang_s bash -c "$command" >../said 2>&1 3>&- </dev/null) ||
            { echo "'$command' ended with $?:"; tail -n 20 said; return 1; }
    done 4< <(for page; do commands_of "$page"; done | awk '!seen[$0]++')
}

# bats test_tags=gpus:part
@test "the commands of README.md and the guide run as they stand" {
    # sources with their times, so that make finds all but the version built
    mkdir -p tree/build home
    (cd "$top" && tar --exclude=./build --exclude=./.git -cf - .) | tar -xf - -C tree
    rm -rf tree/{checkpoints,*.jsonl,*.frames}
    cp -a "$BUILD"/{kernels,comm,io,miniapp,weft,*.flags} tree/build/
    follow "$top/README.md" "$top/docs/guide.md"
    [ "$(wc -l <ran)" -ge 22 ] || { cat ran; return 1; }
    expect "the main job's fingerprint, as it stands" \
        "$(sed -n 's/^# fingerprint: //p' "$top/inputs/heat2d.ini")" \
        "$(jq -r 'select(.command | test("heat2d.ini$")).fingerprint' tree/results.jsonl | sort -u)"
    [ -s tree/waves.png ] && [ -s tree/strong.png ] && [ -x home/.local/bin/weft ]
    expect "levels of the two runs of the section Restart" "400 800" \
        "$(jq -r 'select(.command | test("dir=saved")) | .steps' tree/results.jsonl | xargs)"
}
