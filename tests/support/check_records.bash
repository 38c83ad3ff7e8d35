check_records() { python3 "$top/tests/support/check_records.py" "$@"; } # hosts ranks-per-host rounds

check_page() { # FILE: makes FILE.html of FILE.jsonl
    local status=0
    "$top/jobs/judge" "$1.jsonl" --page "$1.html" --reference none >/dev/null || status=$?
    [ $status = 0 ] || [ $status = 1 ]
}
