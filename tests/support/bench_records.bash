# The promises of a record of weft bench: `sound` says what is wrong in one of FILE (results.jsonl).
promised='
def families: .family | IN("halo", "alltoall", "io");
[
  (. as $o | ["schema", "program", "version", "git", "command", "started", "family", "rung", "device", "ranks", "dtype", "size",
    "time_s", "rate", "unit", "ceiling", "ceiling_name", "fraction_of_ceiling", "verified", "parameters", "machine", "slowest",
    "sweep"][]
    | select(. as $k | $o | has($k) | not)),
  (select([.family, .rung, .unit, .device] | all(type == "string") | not) | "text"),
  (select([.time_s | .min, .p50, .p90, .p99, .max, .mean] | all(type == "number" and . > 0) | not) | "time_s"),
  (select(.time_s | .min <= .p50 and .p50 <= .p90 and .p90 <= .p99 and .p99 <= .max | not) | "percentiles"),
  (select(.verified | not) | "verified"),
  (select((.rate > 0) and (.size | type == "number" and . == floor) | not) | "rate, size"),
  (select(families and .unit != "B/s") | "unit"),
  (select(families and ((.rung | startswith("link_")) != (.ceiling == null))) | "ceiling"),
  (select(.ceiling != null and ((.fraction_of_ceiling * .ceiling / .rate - 1) | fabs > 1e-9)) | "fraction"),
  (select(.parameters | type != "object") | "parameters"),
  (select(.sweep | type != "array" or any(.[]; (.verified | not) or (.rate > 0 | not))) | "sweep"),
  (select(any(.sweep[].slowest, .slowest;
      . != null and ((.rank | type == "number") and (.host | type == "string") and .over_median > 0.05 | not))) | "slowest"),
  (select(.machine.hosts | length != 1) | "machine")
] | join(" ")'
sound() { expect "what is wrong" "" "$(jq -r "$promised" results.jsonl | grep . | sort -u)"; }
