# The page of a check, without its script: the suspect stands first (browser.bats: with it).
load ../support/helper
load ../support/check_records

count() { grep -oE "$1" "$2" | wc -l; } # pattern file

@test "8 ranks with a slow link: the suspect stands first, and a cell for each pair and way" {
    check_records 1 8 2 >slow.jsonl
    check_page slow
    expect "what it would load" "" "$(grep -oE '(src|href)="[^#"][^"]*"|url\([^#)]*\)|@import' slow.html || true)"
    expect "without scripts: suspects, rows, ranks" "1 8 8" "$(count '<strong>link of ranks 2 and 3 \(n1\)</strong>' slow.html) \
$(sed -n '/id="rows"/,/id="ranks"/p' slow.html | grep -c '^<tr>') $(sed -n '/id="ranks"/,$p' slow.html | grep -c '^<tr><td>[0-7]</td>')"
}
