# The page of a check, in a browser: as many cells as pairs, the suspect marked, and other people's text as text.
load ../support/helper
load ../support/check_records

page() { "$BUILD/tests/miniapp/test_check_report_stands_alone" "$1.jsonl" "$1.html"; } # of FILE.jsonl: FILE.html

in_browser() { # FILE.html: prints the document that its script made
    local browser
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no chromium here"
    timeout $hang_s "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --dump-dom "file://$PWD/$1" 2>/dev/null 3>&-
}

count() { grep -oE "$1" "$2" | wc -l; } # pattern file

@test "8 ranks with a slow link: the suspect stands first, and a cell for each pair and way" {
    check_records 1 8 2 >slow.jsonl
    page slow
    expect "what it would load" "" "$(grep -oE '(src|href)="[^#"][^"]*"|url\([^#)]*\)|@import' slow.html || true)"
    expect "without scripts: suspects, rows, ranks" "1 8 8" "$(count '<strong>link of ranks 2 and 3 \(n1\)</strong>' slow.html) \
$(sed -n '/id="rows"/,/id="ranks"/p' slow.html | grep -c '^<tr>') $(sed -n '/id="ranks"/,$p' slow.html | grep -c '^<tr><td>[0-7]</td>')"
    in_browser slow.html >dom
    expect "cells: 56 one way, 28 both ways" 84 "$(count '<td data-a="[0-7]" data-b="[0-7]"' dom)"
    expect "cells of the suspect" 3 "$(count '<td [^>]*data-a="[23]" data-b="[23]"[^>]*class="[^"]*blamed' dom)"
    expect "dots: 5 of each rank and each pair, the suspect's again" $((5 * 8 + 84 + 3)) "$(count '<circle' dom)"
    expect "trends" 8 "$(sed 's/.*<section id="trends"//' dom | count 'viewBox="0 0 200 60"' /dev/stdin)"
}

@test "hosts, blocks of hosts, wrong bits, and names that would be markup" {
    check_records 3 2 1 >hosts.jsonl
    jq -c '(.check.ranks[].host |= sub("n2"; "</script><img src=x>"))
        | .check.faults = [{like: "pair_both", a: 4, b: 5, round: 0, where: "word 7: <b>"}]
        | .check.figures |= map(select(.like != "pair_both" or .a != 4))' hosts.jsonl >hostile.jsonl
    page hostile
    in_browser hostile.html >dom
    expect "tags of other people" 0 "$(count '<img|<b>' dom)"
    expect "the host's name as text, in the tables and the maps" true "$([ "$(count '&lt;/script&gt;&lt;img' dom)" -ge 6 ] && echo true)"
    expect "cells: 3 pairs of hosts, 6 one way, 3 both ways" 12 "$(count '<td [^>]*data-a="[0-5]" data-b="[0-5]"' dom)"
    expect "cells of wrong bits" 1 "$(count '<td [^>]*class="faulty"' dom)"
}
