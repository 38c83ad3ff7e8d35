# `make install` leaves a program, its manual and completion, the decks and scripts, and the pages.
load ../support/helper

@test "make install: program, decks, scripts and pages, whose links lead to what is there, in any folder" {
    local share=$PWD/there/share/weft script
    installed() { make -s -C "$top" install-built BUILD="$BUILD" PREFIX="$PWD/there" "$@" >/dev/null; }
    installed DESTDIR="$PWD/packed" PREFIX=/usr
    expect "where a packed deck's file is" "initial = /usr/share/weft/inputs/board.h5:/camera/frame" \
        "$(grep ^initial packed/usr/share/weft/inputs/blur.ini)"
    installed
    PATH=$PWD/there/bin:$PATH
    [ -s there/share/man/man1/weft.1 ] && [ -s there/share/bash-completion/completions/weft ]
    for script in weft.sbatch study plot compare records panels; do [ -x $share/jobs/$script ]; done
    expect "decks" "$(cd "$top/inputs" && echo *.ini *.h5)" "$(cd $share/inputs && echo *.ini *.h5)"
    timeout $hang_s weft run from_file --quiet output.picture=none 3>&-
    expect fingerprint "$(sed -n 's/^# fingerprint: //p' "$top/inputs/from_file.ini")" "$(fingerprint)"
    WEFT_MPIRUN_FLAGS=$LAUNCH_FLAGS timeout $hang_s "$share/jobs/study" "$share/jobs/studies/strong.ini" \
        ranks=1 repeats=1 grid.nx=64 grid.ny=64 time.steps=9 3>&-
    expect "records of the study" 1 "$("$share/jobs/records" run strong.jsonl | wc -l)"
    run /usr/bin/python3 "$top/tests/support/pages.py" $share links
    expect "dead links" "0 60" "$status $((output < 60 ? output : 60))" || { echo "$output"; return 1; }
    echo '# edited' >>"$share/jobs/site.ini" # which a newer installation leaves
    installed
    expect "the site's file" '# edited' "$(tail -n 1 "$share/jobs/site.ini")"
}

@test "the manual names every command, option and key of --help, and is sound roff" {
    "$top/jobs/manual.sh" "$weft" >weft.1
    tr -d '\\' <weft.1 >plain
    local command
    for command in $("$weft" --help | awk '/^  [a-z]/ { print $1 }'); do
        { echo ".SS \"weft $command\""; "$weft" $command --help | awk '/^  (--)?[a-z]/ { print $1 }'; } >words
        expect "words of $command that it lacks" "" \
            "$(while read -r word; do grep -qF -- "$word" plain || echo "$word"; done <words)"
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
    local line wanted
    . "$top/jobs/completion.bash"
    touch a.ini a.txt a.h5
    mkdir folder
    { "$weft" --help | awk '/^  [a-z]/ { print $1 }'; echo --help; echo --version; } | sort >words
    expect commands "$(xargs <words)" "$(completed 'weft ')"
    while IFS='|' read -r line wanted <&4; do
        expect "after $line" "$wanted" "$(completed "$line")"
    done 4<<END
weft ru|run
weft run a.ini --d|--dry-run
weft run a.ini grid.n|grid.nx= grid.ny=
weft run a.ini problem.kind=w|wave
weft run a.ini checkpoint.async=|false true
weft check level=|full quick soak
weft verify |a.h5 folder
weft run a.ini --restart |a.h5 folder
weft bench stenc|stencil
weft bench dty|dtype=
END
    expect "decks and folders" "a.ini folder" "$(completed 'weft run ' | tr ' ' '\n' | grep -v = | xargs)"
}

# A stand-in for a library: a shared object of that soname that needs the others given.
library() { # soname, linker name, flags...
    echo 'int MPI_Init(void *a, void *b) { return 0; }' >library.c
    cc -shared -fPIC -Wl,--no-as-needed -Wl,-soname,"$1" -o "$1" library.c "${@:3}"
    ln -sf "$1" "$2"
}

@test "an HDF5 that is parallel over another MPI is refused; a serial one, one over the same MPI, are not" {
    local here=$PWD flags
    export LD_LIBRARY_PATH=$here
    export HDF5_LIBS="-L$here -lhdf5" CC=cc MPICC=$here/mpicc HDF5_DIR=$here
    checked() { "$top/.ci/install-deps" --check build; }
    mkdir include
    touch include/hdf5.h
    printf '#define MPI_VERSION 3\n#define MPI_SUBVERSION 1\nint MPI_Init(void *, void *);\n' >include/mpi.h
    stand_in mpicc "exec cc \"\$@\" -I$here/include -L$here -lmpich"
    library libmpich.so.12 libmpich.so
    library libmpi.so.40 libmpi.so
    library libhdf5.so.103 libhdf5.so -L. -lmpi
    run -1 checked
    [[ $output == "MPICC=$here/mpicc links libmpich.so.12,"*"HDF5 "*"another MPI, libmpi.so.40"* ]] ||
        { echo "$output"; return 1; }
    for flags in "-L. -lmpich" ""; do
        library libhdf5.so.103 libhdf5.so $flags
        run checked
        [[ $output != *"another MPI"* ]] || { echo "$output"; return 1; }
    done
}
