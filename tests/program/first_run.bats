# The first contact: `make run` tells what it installs, builds and leaves, and each of a beginner's obstacles
# is one clear sentence.
load ../support/helper

# make, without what it adds to a failure, and without what the caller's environment tells it.
asked() {
    run bash -c '"$@" 2>&1 | grep -v "^make" ; exit ${PIPESTATUS[0]}' - \
        env -u MAKEFLAGS -u OMPI_CC -u MPICH_CC -u I_MPI_CC -u CUDA -u CUDA_HOME -u ARCH -u MPI_HOME \
        -u MPICC -u MPIRUN make -s -C "$top" BUILD="$PWD/b" "$@"
}
said() { # status, pattern of the one line, arguments of make...
    asked "${@:3}"
    [[ $status = "$1" && $output == $2 && $(wc -l <<<"$output") = 1 ]] ||
        { echo "$status: $output"; return 1; }
}
# Whether a build can begin, and what is said.
checked() { rm -rf b && asked "$PWD/b/c.flags" "$@"; }

@test "a compiler or launcher that is not on PATH, or may not be installed, is one sentence" {
    said 2 \
        "MPICC=/opt/nowhere/mpicc-of-mine is not on PATH: load its module, or leave MPICC= out for Open MPI's." \
        run MPICC=/opt/nowhere/mpicc-of-mine
    said 2 "MPIRUN=srun-of-mine is not on PATH: load its module, or leave MPIRUN= out for Open MPI's." \
        run MPIRUN=srun-of-mine
    said 2 "Missing here: openmpi-bin. 'make deps' *" run DEPS=no MPIRUN=mpirun.nowhere
}

@test "what is going to be installed is told, with how to refuse; without root it is named" {
    stand_in apt-get 'echo apt-get "$@"'
    stand_in id 'echo $ID'
    stand_in sudo 'exit 1'
    export MPIRUN=mpirun.nowhere PATH=$PWD:$PATH
    ID=1000 run -1 "$top/.ci/install-deps" run
    [[ $output == *"Without root and without passwordless sudo, run: sudo apt-get install openmpi-bin" ]]
    ID=0 run "$top/.ci/install-deps" run
    [[ $output == "Installing what is missing here, by apt-get (DEPS=no installs nothing): openmpi-bin"* ]]
    mkdir no_apt
    ln -s /usr/bin/* no_apt/
    rm no_apt/apt-get
    PATH=$PWD/no_apt run -1 "$top/.ci/install-deps" run
    [[ $output == "Missing here: openmpi-bin (names of Debian"*"dnf install gcc make pkgconf openmpi-"* ]]
}

@test "root, more ranks than CPUs, another MPI's launcher: one sentence each, and the right launch" {
    ln -s "$top/inputs" .
    stand_in jobs/panels 'exit 1' # there are no frames
    # a launcher that runs one rank, and tells how it was called
    stand_in launcher '[ "$1" != --version ] || { echo "$BRAND"; exit; }
        echo "called $*" >>calls; shift $(($# - 4))'
    stand_in id 'echo "$UID_HERE"'
    first() { BUILD=$BUILD MPIRUN=./launcher RANKS=$1 PATH=$PWD:$PATH "$top/.ci/first-run"; }
    UID_HERE=1000 BRAND="mpirun (Open MPI) 4" first 1 >said
    expect "sentences before the first launch, calls" " 2" "$(sed '/^.\/launcher/,$d' said) $(
        grep -c '^called --oversubscribe --bind-to none -n 1 ' calls)"
    UID_HERE=0 BRAND="mpirun (Open MPI) 4" first 1 >said
    [[ $(head -n 1 said) == "Open MPI refuses to run as root unless OMPI_ALLOW_RUN_AS_ROOT=1 "* ]] ||
        { cat said; return 1; }
    grep -qx '  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1' said
    rm calls
    UID_HERE=0 BRAND="slurm 22" first 1000 >said
    [[ $(head -n 1 said) == "RANKS=1000 on "*" CPUs: ranks share them"* ]] || { cat said; return 1; }
    expect "calls by srun" 2 "$(grep -c '^called -n 1000 ' calls)"
    expect "what to try" 3 "$(sed '1,/^Try next/d' said | wc -l)"
}

@test "a build tells its files; with nvcc and no GPU it is for the host, unless CUDA is asked for or there" {
    stand_in cuda/bin/nvcc 'echo "Cuda compilation tools, release 12.8, V12.8.88"'
    stand_in nvidia-smi 'exit 9'
    tried() {
        PATH=$PWD:$PATH env -u CUDA -u ARCH -u MAKEFLAGS make -n -C "$top" -j2 BUILD="$PWD/b" \
            CUDA_HOME="$PWD/cuda" "$@" 2>&1
    }
    local host="There is an nvcc, but no GPU is visible: this builds and runs the host program. 'make -j ARCH=90' builds"
    tried run >said
    grep -q "$host" said
    grep -q "Building $PWD/b/weft for the host: [0-9]* files, a line for each" said
    expect "CUDA files of the host program" 0 "$(grep -c 'nvcc.*\.cu$' said || true)"
    tried run ARCH=80 >said
    grep -q 'for CUDA (80) and the host:' said
    [ "$(grep 'nvcc.*\.cu$' said | grep -c compute_80,code=sm_80)" -gt 20 ]
    make -s -C "$top" -j2 CUDA=0 BUILD="$PWD/b" announce | tail -n 1 |
        grep -qE '^with .+, (Open MPI|MPICH|Intel MPI) [0-9.]+, HDF5 [0-9.]+, (no|without the) CUDA'
    mkdir -p b/kernels/device
    touch b/kernels/device/graph_cuda.cu.o
    tried run >said
    ! grep -q 'There is an nvcc' said
}

toolkit() { # folder of nvcc, of headers, of libraries
    stand_in "$1/bin/nvcc" '[ "$*" != --version ] || exec echo "release ${RELEASE:-12.4}, V12"
        echo "$REFUSED" >&2; [ -z "$REFUSED" ]'
    mkdir -p "$2" "$3"
    touch "$2/cuda_runtime_api.h" "$3/libcudart_static.a"
}

@test "CUDA as conda, Debian and NVHPC lay it out is found: nvcc, headers and libraries" {
    local on_path home headers libraries text
    toolkit "$PWD/conda" conda/targets/x86_64-linux/include conda/targets/x86_64-linux/lib
    toolkit "$PWD/plain" plain/include plain/lib
    toolkit "$PWD/hpc/cuda" hpc/cuda/include hpc/cuda/lib64
    stand_in hpc/compilers/bin/nvcc 'exit 1'
    mkdir linked
    ln -s "$PWD/plain/bin/nvcc" linked/nvcc
    while read -r on_path home headers libraries; do
        PATH=$PWD/$on_path:$PATH asked -n V=1 "$PWD/b/weft"
        for text in "-I$PWD/$home/$headers " "-L$PWD/$home/$libraries " "$PWD/$home/bin/nvcc -std"; do
            [[ " ${output//$'\n'/ }" == *" $text"* ]] || { echo "$on_path: no $text"; return 1; }
        done
    done <<<'conda/bin conda targets/x86_64-linux/include targets/x86_64-linux/lib
plain/bin plain include lib
linked plain include lib
hpc/compilers/bin hpc/cuda include lib64'
    PATH=$PWD/hpc/compilers/bin:$PATH checked
    expect "status of the build" 0 "$status"
}

@test "CUDA that is not whole, too old or refuses the host's compiler is one sentence, and nothing is built" {
    local home=$PWD/cuda
    local why='error: #error -- unsupported GNU version! gcc versions later than 13 are not supported!'
    refuses_cuda() { # folder, begin of the sentence
        rm -rf b
        said 2 "$2*CUDA=0 builds for the host alone." "$PWD/b/c.flags" CUDA_HOME="$1"
    }
    toolkit "$home" cuda/include cuda/lib64
    refuses_cuda "$PWD" "CUDA_HOME=$PWD has no bin/nvcc: CUDA_HOME= selects another toolkit"
    RELEASE=11.8 refuses_cuda "$home" "CUDA 11.8 ($home) is too old, weft needs 12.0 or newer: "
    REFUSED=$why refuses_cuda "$home" \
        "nvcc 12.4 does not take its host compiler ($why): NVCC_CCBIN= names another"
    rm cuda/lib64/*
    refuses_cuda "$home" \
        "$home/bin/nvcc is there, but no libcudart_static.a in lib64, lib or targets/*/lib of $home: "
    rm cuda/include/*
    refuses_cuda "$home" "$home/bin/nvcc is there, but no cuda_runtime_api.h in include or targets/*/"
    checked CUDA_HOME="$home" CUDA=0
    expect "status for the host alone" 0 "$status"
}

@test "an MPI compiler of any name and a compiler of several words are taken; no mpi.h is one sentence" {
    stand_in mpiicx "echo \$OMPI_CC >>$PWD/calls; exec mpicc \"\$@\""
    stand_in some_cache 'exec "$@"'
    export PATH=$PWD:$PATH
    asked -n run-built CUDA=0 MPICC=mpiicx
    [[ $output == *"MPIRUN='mpirun'"* ]] || { echo "$output" | tail -n 3; return 1; }
    checked CUDA=0 MPICC=mpiicx CC='some_cache cc'
    expect "status" "0 " "$status $output"
    expect "the compiler beneath MPICC" "some_cache cc" "$(tail -n 1 calls)"
    checked CUDA=0 CC='some_cache gcc.nowhere'
    expect sentence "CC=gcc.nowhere is not on PATH: load its module, or leave CC= out for cc." "$output"
    CPATH='' checked CUDA=0 MPICC=cc # on a cluster's login it names mpi.h
    expect status 2 "$status"
    expect begin "MPICC=cc does not build a program with mpi.h (" "${output%%(*}("
    expect end ": name the compiler of an MPI (mpicc, mpiicx, Cray's cc), or load its module." "${output#*)}"
    [[ $output == *"error: mpi.h: No such file"* ]]
}
