# Completion of weft for bash: `. jobs/completion.bash`; `make install` puts it where bash finds it.
#
# It asks the program itself. An option or a key begins a line of its help, two columns in, and a key's values
# stand behind it, single words with commas between them. readline parts words at '=', weft does not.

_weft_files() { compgen -f -X "!*.$1" -- "$2"; compgen -d -- "$2"; }

_weft() {
    local line=${COMP_LINE:0:COMP_POINT} current before help words=
    local -a typed
    read -ra typed <<<"$line"
    [[ $line == *' ' ]] && typed+=('')
    current=${typed[-1]} before=${typed[-2]} COMPREPLY=()
    ((${#typed[@]} > 2)) || typed[1]=
    help=$("${typed[0]}" help ${typed[1]} 2>/dev/null) || return
    if [[ $before == --restart* ]]; then
        COMPREPLY=($(_weft_files h5 "$current"))
    elif [[ $current == -* ]]; then
        words="--help --version $(sed -n 's/^  \(--[a-z-]*\).*/\1/p' <<<"$help")"
    elif [[ $current == *=* ]]; then
        words=$(sed -n "s/^  ${current%%=*}  *\([a-z][^ ,]*\(,\| or\) .*\) (.*/\1/p" <<<"$help" |
            grep -oE '[a-z0-9]+( V|,| or|$)' | cut -d , -f 1 | cut -d ' ' -f 1)
        current=${current#*=}
    else
        words=$(sed -n 's/^  \([a-z][a-z_.]*\) .*/\1=/p' <<<"$help")
        case ${typed[1]} in
            '') words="${words//=/} --help --version" ;;
            bench) words+=" $("${typed[0]}" bench --list | sed -n 's/^\([a-z_]*\): .*/\1/p')" ;;
            run) COMPREPLY=($(_weft_files ini "$current")) ;;
            verify | diff) COMPREPLY=($(_weft_files h5 "$current")) ;;
        esac
    fi
    COMPREPLY+=($(compgen -W "$words" -- "$current" | sort -u)) # families of two devices
    if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; else compopt -o filenames; fi 2>/dev/null
}
complete -F _weft weft
