# Pictures by gnuplot, for the scripts that source this. gnuplot runs commands: in backquotes and by system() and @macros in a
# string of double quotes, by a | in front of a file's name. So text of records, tables and file names goes to it through `quoted`
# alone, numbers are looked at by jobs/records, and files have names of ours in $scratch, where gnuplot works; the shell gives the
# pictures their names. No text is enhanced (where _ and ^ would mean something).
export LC_ALL=C.UTF-8 # without a locale of UTF-8 gnuplot complains of a degree sign, once per picture
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
palette=('#0072b2' '#d55e00' '#009e73' '#cc79a7' '#e69f00' '#56b4e9' '#000000' '#999999') # Okabe and Ito's
drawn=()

# A string of gnuplot, in single quotes, where nothing is run; lines of the text stay lines.
quoted() { # text
    local line all=''
    while IFS= read -r line; do
        line=$(printable "$line")
        all+="${all:+.\"\\n\".}'${line//\'/\'\'}'"
    done <<<"$1"
    printf %s "$all"
}

draw() { # name width height, gnuplot commands on stdin
    local kind
    cat >"$scratch/commands"
    for kind in png svg; do
        { if [ $kind = png ]; then echo "set terminal pngcairo size $2,$3 font 'sans,11' noenhanced"
          else echo "set terminal svg size $2,$3 font 'sans,11' background rgb 'white' noenhanced"; fi
          printf 'set output "picture"\nset encoding utf8\n'
          cat "$scratch/commands"; } | (cd "$scratch" && gnuplot)
        cp -- "$scratch/picture" "$1.$kind"
    done
    drawn+=("$1")
}
