# Record lines of a check that never ran: `ranks` per host on `hosts` hosts, `rounds` lines, whose link of ranks 2 and 3 is at 40 %.
# Rates scatter by up to 1 %, the same each time.
check_records() { # hosts ranks-per-host rounds
    jq -nc --argjson hosts "$1" --argjson each "$2" --argjson rounds "$3" '
        ($hosts * $each) as $n
        | def host($r): ($r / $each | floor);
        def scatter($k): 1 + ((($k * 7919 + 13) % 101) - 50) / 5000;
        def figure($like; $alone; $a; $b; $rate; $round):
            {like: $like, a: $a, b: $b, alone: $alone, round: $round, rate: ($rate * scatter($a * 31 + $b * 17 + $round * 5 + ($like | length))), noise: 0.01};
        def slowed($a; $b; $rate): if [$a, $b] == [2, 3] or [$a, $b] == [3, 2] then 0.4 * $rate else $rate end;
        def row($like; $alone; $count; $rate; $reference): {like: $like, alone: $alone, count: $count, median: $rate, least: (0.99 * $rate),
            least_a: 1, least_b: -1, noise: 0.03, reference: $reference, verdict: "delivers"};
        [["copy", 4.02e12, 4.2e12], ["read", 4.31e12, 4.4e12], ["fma_f32", 6.1e13, null], ["to_host", 5.5e10, 5.6e10], ["heat_blocks", 4.2e12, null]] as $alike
        | range($rounds) as $round
        | {schema: 1, program: "weft", version: "1.0.0", git: "v1.0.0", command: "weft check level=soak", started: "2026-11-23T20:0\($round):00Z",
           machine: {hosts: [range($hosts) | "n\(. + 1)"], processor: "a processor"},
           check: {level: "soak", round: $round, verdict: "slow", why: null,
             rows: ([$alike[] | row(.[0]; false; $n; .[1]; .[2])] + [row("ring_peer"; false; 1; 3.1e11; null)]
               + [row("pair_oneway"; true; $n * ($each - 1); 3.9e11; null) * {least: 1.56e11, least_a: 2, least_b: 3, verdict: "slow"},
                  row("pair_both"; true; $n * ($each - 1) / 2; 3.6e11; null) * {least: 1.44e11, least_a: 2, least_b: 3, verdict: "slow"},
                  (select($hosts > 1) | row("host_pair"; false; $hosts * ($hosts - 1) / 2; 4.5e10; null))]),
             suspects: [{part: "link", a: 2, b: 3, name: "link of ranks 2 and 3 (n1)", factor: 0.4, confidence: 0.97,
               evidence: "pair, one way: 156 GB/s from 2 to 3 and 155 back beside a median of 390 GB/s; both ranks reach it with all others"}],
             figures: ([$alike[] as $l | range($n) as $a | figure($l[0]; false; $a; -1; $l[1]; $round)]
               + [figure("ring_peer"; false; -1; -1; 3.1e11; $round)]
               + [range($n) as $a | range($n) as $b | select($a != $b and host($a) == host($b))
                  | figure("pair_oneway"; true; $a; $b; slowed($a; $b; 3.9e11); $round), (select($a < $b) | figure("pair_both"; true; $a; $b; slowed($a; $b; 3.6e11); $round))]
               + [range($hosts) as $a | range($a + 1; $hosts) as $b | figure("host_pair"; false; $a * $each; $b * $each; 4.5e10; $round)]),
             faults: [],
             ranks: [range($n) as $r | {host: "n\(host($r) + 1)", gpu: "NVIDIA H200", uuid: "GPU-0b5b4cd\($r)", pci: "0000:0\($r % $each):00.0",
               clock_mhz: 1830, power_w: 612, temperature_c: 58, held_by_power: false, held_by_heat: ($r == 5), ended: true}]}}'
}

check_page() { # FILE: makes FILE.html of FILE.jsonl
    local status=0
    "$top/jobs/judge" "$1.jsonl" --page "$1.html" --reference none >/dev/null || status=$?
    [ $status = 0 ] || [ $status = 1 ]
}
