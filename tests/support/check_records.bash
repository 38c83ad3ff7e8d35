check_records() { python3 "$top/tests/support/check_records.py" "$@"; } # hosts ranks-per-host rounds
