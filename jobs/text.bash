# What the scripts of this folder print, of which parts are other people's text: names of files, values, records. They source this.

# Control characters, and all but ASCII where it is no UTF-8, become ?: a terminal obeys none of it.
printable() { # text
    local LC_ALL=C.UTF-8 text="$*"
    text=${text//[[:cntrl:]]/?}
    [[ $text =~ ^.*$ ]] || { LC_ALL=C && text=${text//[^ -~]/?}; }
    printf %s "$text"
}

fail() { printf '%s: %s\n' "${0##*/}" "$(printable "$*")" >&2; exit 2; }
