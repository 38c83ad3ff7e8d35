# What the READMEs say can be followed: every link leads to a file or folder that is there, and to a heading in it. And they stay
# short: the front page three screens, a folder's one.
load helper

pages() { git -c safe.directory='*' -C "$top" ls-files --cached --others --exclude-standard '*.md'; }

links() { # page: one a line, those to other sites left out
    grep -o '](\([^)]*\))' "$top/$1" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:' || true
}

has_heading() { # page anchor, as the heading is written in a link
    sed -n 's/^#\{1,\} //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-' | grep -qx "$2"
}

@test "every link of every page leads somewhere" {
    [ -e "$top/.git" ] || skip "not a git checkout"
    local page link target count=0
    while read -r page; do
        for link in $(links "$page"); do
            target=$top/$(dirname "$page")/${link%%#*}
            case $link in '#'*) target=$top/$page ;; esac
            [ -e "$target" ] || { echo "$page: no $link"; return 1; }
            [[ $link != *'#'* ]] || has_heading "$target" "${link#*#}" || { echo "$page: no heading for $link"; return 1; }
            count=$((count + 1))
        done
    done < <(pages)
    [ $count -ge 20 ] || { echo "only $count links found"; return 1; }
}

@test "pages are short, and every folder has one" {
    local folder lines
    for folder in . kernels comm io miniapp inputs jobs jobs/results tests; do
        lines=$(wc -l <"$top/$folder/README.md")
        [ "$lines" -le 80 ] || { echo "$folder/README.md has $lines lines"; return 1; }
    done
}

@test "what is printed has \"per cell\", and no page or comment a word that needs a second reading" {
    local words="foret(old|ell)|so many|sa(y|ys|id) otherwise|nobody's"
    local unit='(words|GB/s|W|nJ|MB|GB|%s|[a-z]+s) an? (cell|rank|step|sweep|GPU|launch|device|message|thread|host|file|run|record|lane|line)\b'
    run grep -nE '"[^"]*('"$words|nobody|$unit"')[^"]*"' "$top"/{miniapp,comm,io}/*.c
    expect "sentences to be rewritten" "" "$(grep -vE '(needs|sees|holds|makes|is|has|was|as) an? [a-z]+' <<<"$output" || true)"
    cd "$top" # where they may go on in the next line of a comment
    local found=$BATS_TEST_TMPDIR/found status=0
    grep -rIPzoi "${words// /[\\s*/#]+}" --exclude={docs.bats,'*.jsonl'} README.md Makefile .ci kernels comm io miniapp inputs jobs tests \
        >"$found" || status=$?
    expect "places to be rewritten" "" "$(tr '\0' '\n' <"$found")"
    expect "the status of a grep that finds nothing" 1 $status
}
