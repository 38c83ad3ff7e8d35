# Pages in a browser: that of a check has as many cells as pairs, the suspect marked, and other people's text
# as text; the tables of jobs/report sort.
#
# test-all: Chromium
load ../support/helper
load ../support/check_records

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
        skip "no chromium here"
}

in_browser() { # options... FILE.html
    timeout $hang_s "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" \
        "${@:1:$#-1}" "file://$PWD/${!#}" 2>/dev/null 3>&-
}

count() { grep -oE "$1" "$2" | wc -l; } # pattern file

@test "the check of 8 ranks with a slow link: a cell for each pair and way" {
    check_records 1 8 2 >slow.jsonl
    check_page slow
    in_browser --dump-dom slow.html >dom
    expect "cells: 56 one way, 28 both ways" 84 "$(count '<td data-a="[0-7]" data-b="[0-7]"' dom)"
    expect "cells of the suspect" 3 "$(count '<td [^>]*data-a="[23]" data-b="[23]"[^>]*class="[^"]*blamed' dom)"
    expect "dots: 5 of each rank and each pair" $((5 * 8 + 84)) "$(count '<circle' dom)"
    expect "courses" 8 "$(sed 's/.*<figure id="trends"//' dom | count 'viewBox="0 0 640 60"' /dev/stdin)"
}

@test "the check of hosts, blocks of hosts, wrong bits, and names that would be markup" {
    check_records 3 2 1 >hosts.jsonl
    jq -c '(.check.ranks[].host |= sub("n2"; "</script><img src=x>"))
        | .check.faults = [{like: "pair_both", a: 4, b: 5, round: 0, where: "word 7: <b>"}]
        | .check.figures |= map(select(.like != "pair_both" or .a != 4))' hosts.jsonl >hostile.jsonl
    check_page hostile
    in_browser --dump-dom hostile.html >dom
    expect "tags of other people" 0 "$(count '<img|<b>' dom)"
    expect "the host's name as text, in the tables and the maps" true "$([ "$(count '&lt;/script&gt;&lt;img' dom)" -ge 2 ] && echo true)"
    expect "cells: 3 pairs of hosts, 6 one way, 3 both ways" 12 "$(count '<td [^>]*data-a="[0-5]" data-b="[0-5]"' dom)"
    expect "cells of wrong bits" 1 "$(count '<td [^>]*class="[^"]*faulty' dom)"
}

@test "the tables of a page of records sort" {
    "$top/jobs/report" "$top"/jobs/results/h100x1/*-transposes.jsonl
    # presses the heading of the time of a step twice: the slowest transpose comes first
    local press='const step = [...document.querySelectorAll("th button")].find(b => b.textContent === "step"); step.click(); step.click();'
    sed "s|</body>|<script>$press</script></body>|" report.html >pressed.html
    in_browser --dump-dom pressed.html >dom
    expect "sorted by" "descending" "$(grep -oE 'aria-sort="[a-z]+"' dom | cut -d '"' -f 2)"
    expect "problems, slowest first" "f64 f64 f32 f32" "$(grep -oE 'transpose, order 2, f[0-9]+' dom | cut -d ' ' -f 4 | xargs)"
    in_browser --window-size=1200,900 --screenshot="$PWD/page.png" report.html >/dev/null
    expect "a picture with more than a blank page" true "$([ "$(stat -c %s page.png)" -gt 30000 ] && echo true)"
}
