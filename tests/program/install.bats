# What `make install` leaves: a program, its manual and completion, the decks and scripts, and the pages.
load ../support/helper

@test "make install: program, decks, scripts, and pages whose links lead to what is there" {
    make -s -C "$top" install-built BUILD="$BUILD" DESTDIR="$PWD/root" PREFIX=/usr >/dev/null
    local share=root/usr/share script
    root/usr/bin/weft --version | grep -q '^weft '
    [ -s $share/man/man1/weft.1 ] && [ -s $share/bash-completion/completions/weft ]
    for script in weft.sbatch study plot compare records panels; do [ -x $share/weft/jobs/$script ]; done
    expect "decks" "$(cd "$top/inputs" && echo *.ini *.h5)" "$(cd $share/weft/inputs && echo *.ini *.h5)"
    timeout $hang_s root/usr/bin/weft run $share/weft/inputs/custom_star1d.ini --quiet 3>&-
    expect fingerprint "$(sed -n 's/^# fingerprint: //p' "$top/inputs/custom_star1d.ini")" "$(fingerprint)"
    expect "where a deck's file is" "initial = /usr/share/weft/inputs/board.h5:/camera/frame" \
        "$(grep ^initial $share/weft/inputs/blur.ini)"
    expect pages "$(cd "$top" && echo *.md docs/*.md */README.md)" "$(cd $share/weft && echo *.md docs/*.md */README.md)"
    run /usr/bin/python3 "$top/tests/support/pages.py" $share/weft links
    expect "dead links" "" "$([ "$status" = 0 ] || echo "$output")"
    [ "$output" -ge 60 ]
}

@test "installed decks and studies work from any folder" {
    make -s -C "$top" install-built BUILD="$BUILD" PREFIX="$PWD/there" >/dev/null
    local share=$PWD/there/share/weft
    PATH=$PWD/there/bin:$PATH
    timeout $hang_s weft run from_file --quiet output.picture=none 3>&-
    expect fingerprint "$(sed -n 's/^# fingerprint: //p' "$top/inputs/from_file.ini")" "$(fingerprint)"
    WEFT_MPIRUN_FLAGS=$LAUNCH_FLAGS timeout $hang_s "$share/jobs/study" "$share/jobs/studies/strong.ini" ranks=1 repeats=1 \
        grid.nx=64 grid.ny=64 time.steps=9 3>&-
    expect "records of the study" 1 "$("$share/jobs/records" run strong.jsonl | wc -l)"
    echo '# edited' >>"$share/jobs/site.ini" # which a newer installation leaves
    make -s -C "$top" install-built BUILD="$BUILD" PREFIX="$PWD/there" >/dev/null
    expect "the site's file" '# edited' "$(tail -n 1 "$share/jobs/site.ini")"
}

@test "the manual names every command, option and key of --help, and is sound roff" {
    "$top/jobs/manual.sh" "$weft" >weft.1
    tr -d '\\' <weft.1 >plain
    local command word
    for command in $("$weft" --help | awk '/^  [a-z]/ { print $1 }'); do
        grep -q "^.SS \"weft $command\"" plain || { echo "no $command"; return 1; }
        for word in $("$weft" $command --help | awk '/^  (--)?[a-z]/ { print $1 }'); do
            grep -qF -- "$word" plain || { echo "no $word of $command"; return 1; }
        done
    done
    command -v groff >/dev/null || skip "groff is missing, which checks the page"
    expect "groff's warnings" "" "$(LC_ALL=C groff -ww -man -Tascii weft.1 2>&1 >page)"
    grep -q 'grid.nx' page
}

# The last word is the one to be completed; an empty one follows a space. The program is asked for words.
weft() { "$weft" "$@"; }
completed() { # command line
    COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
    _weft
    printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
}

@test "completion: commands, options, keys, values, families and files" {
    . "$top/jobs/completion.bash"
    touch a.ini a.txt a.h5
    mkdir folder
    expect commands "$("$weft" --help | awk '/^  [a-z]/ { print $1 }' | { cat; echo --help; echo --version; } | sort | xargs)" \
        "$(completed 'weft ')"
    expect "a command" run "$(completed 'weft ru')"
    expect options "--dry-run" "$(completed 'weft run a.ini --d')"
    expect keys "grid.nx= grid.ny=" "$(completed 'weft run a.ini grid.n')"
    expect kinds "wave" "$(completed 'weft run a.ini problem.kind=w')"
    expect "words of a sentence" "" "$(completed 'weft run a.ini ' | tr ' ' '\n' | grep '^[^.]*=')"
    expect "values of a switch" "false true" "$(completed 'weft run a.ini checkpoint.async=')"
    expect "decks and folders" "a.ini folder" "$(completed 'weft run ' | tr ' ' '\n' | grep -v = | xargs)"
    expect "state files" "a.h5 folder" "$(completed 'weft verify ')"
    expect "what to restart from" "a.h5 folder" "$(completed 'weft run a.ini --restart ')"
    expect families "stencil" "$(completed 'weft bench stenc')"
    expect "keys of bench" "dtype=" "$(completed 'weft bench dty')"
}

# A stand-in for a library: a shared object of that soname that needs the others given.
library() { # soname, linker name, flags...
    echo 'int MPI_Init(void *a, void *b) { return 0; }' >library.c
    cc -shared -fPIC -Wl,--no-as-needed -Wl,-soname,"$1" -o "$1" library.c "${@:3}"
    ln -sf "$1" "$2"
}

@test "an HDF5 that is parallel over another MPI is refused by name; a serial one, and one over the same MPI, are not" {
    local here=$PWD deps=(env CC=cc MPICC="$PWD/mpicc" HDF5_DIR="$PWD" "$top/.ci/install-deps" --check build)
    export LD_LIBRARY_PATH=$here
    mkdir include
    touch include/hdf5.h
    printf '#define MPI_VERSION 3\n#define MPI_SUBVERSION 1\nint MPI_Init(void *, void *);\n' >include/mpi.h
    printf '#!/bin/sh\nexec cc "$@" -I%s/include -L%s -lmpich\n' "$here" "$here" >mpicc
    chmod +x mpicc
    library libmpich.so.12 libmpich.so
    library libmpi.so.40 libmpi.so
    library libhdf5.so.103 libhdf5.so -L. -lmpi
    HDF5_LIBS="-L$here -lhdf5" run "${deps[@]}"
    expect status 1 "$status"
    [[ $output == "MPICC=$here/mpicc links libmpich.so.12,"*"HDF5 "*"another MPI, libmpi.so.40"* ]] || { echo "$output"; return 1; }
    library libhdf5.so.103 libhdf5.so -L. -lmpich
    HDF5_LIBS="-L$here -lhdf5" run "${deps[@]}"
    [[ $output != *"another MPI"* ]] || { echo "$output"; return 1; }
    library libhdf5.so.103 libhdf5.so
    HDF5_LIBS="-L$here -lhdf5" run "${deps[@]}"
    [[ $output != *"another MPI"* ]] || { echo "$output"; return 1; }
}
