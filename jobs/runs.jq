# What the records of `weft run` have in common, for plot; weftlab/ranksum.py knows the settings too.

def machine_name: .machine.gpus[0].name? // .machine.processor? // "host";
def commits: map(.git) | unique | if length > 3 then "\(length) commits" else join(", ") end;
def ranks_text: "\(.) rank" + (if . == 1 then "" else "s" end);

# What makes two runs runs of one setting: what was asked for, not what was chosen, nor the grid and the ranks.
def settings:
    {kind: .problem.kind, dtype: .problem.dtype, order: .problem.order, device,
     fuse: (.asked.fuse // .fuse // 1 | if . == 0 then "fuse chosen" else . end),
     norm_every: (((.deck // "") | capture("\nnorm_every = (?<n>[0-9]+)\n").n) // "0")}
    + ((.asked // {}) | {transport, feed, lanes, threads, ranks_x, ranks_y, tune});

# Of an array of runs, in groups of one setting and of one f: how many go over several numbers of ranks.
def groups_that_span(f): group_by([.settings, f]) | map(select(map(.ranks) | unique | length > 1)) | length;

# In a weak study the grid of each rank, else the grid.
def grid_text($mode):
    if $mode != "weak" then "\(.grid.nx) x \(.grid.ny)"
    elif .grid.ny > 1 then "\(.grid.nx) x \(.grid.ny / .ranks) per rank"
    else "\(.grid.nx / .ranks) per rank" end;

# What was asked for, and in brackets what all of these runs used instead.
def with_replacement($runs): . as $settings
    | reduce ("transport", "feed") as $key (.;
        ($runs | map(.[$key]) | unique) as $used
        | if ($settings[$key] | . == null or . == "auto") or $used == [$settings[$key]] or ($used | length) != 1 or $used[0] == null
          then . else .[$key] += " (\($used[0]))" end);

# "staged, lanes 2": the values of the keys in $differ, numbers with their names.
def name($differ): . as $values
    | [$differ[] | . as $key | $values[$key] | select(. != null) | tostring | if test("^[0-9]+$") then "\($key) \(.)" else . end]
    | join(", ");

# Of the runs of one series: by ranks, the fastest and how slow the slowest was, with rate and efficiency beside the fewest ranks.
def points:
    group_by(.ranks)
    | map(min_by(.step_s.p50) as $best
        | {ranks: .[0].ranks, cells: .[0].cells, best: $best.step_s.p50, worst: (map(.step_s.p50) | max), run: $best,
           rate: (.[0].cells / $best.step_s.p50)})
    | .[0] as $first | map(. + {efficiency: (.rate / $first.rate * $first.ranks / .ranks)});

# An array of runs as a study: strong, weak, a sweep, or mixed; a series for each setting and grid.
def study:
    map(. + {settings: (settings + {machine: machine_name}), cells: (.grid.nx * .grid.ny)}) as $runs
    | ($runs | groups_that_span(.grid)) as $strong | ($runs | groups_that_span(.cells / .ranks)) as $weak
    | (if ($runs | map(.ranks) | unique | length) == 1 then "sweep"
       elif $strong == 0 and $weak == 0 then "mixed"
       elif $strong >= $weak then "strong" else "weak" end) as $mode
    | ($runs | group_by([.settings, if $mode == "weak" then .cells / .ranks else .grid end])) as $series
    | ($series | map(. as $of | .[0] | .settings + {grid: grid_text($mode)} | with_replacement($of))) as $named
    | ([$named[] | keys[]] | unique | map(select(. as $key | $named | map(.[$key]) | unique | length > 1))) as $unlike
    | (["transport", "feed"] | map(select(IN($unlike[])))) as $first | ($first + ($unlike - $first)) as $differ
    | ($runs | map(.ranks) | unique) as $ranks
    | {mode: $mode, common: ($named[0] + {ranks: (if ($ranks | length) == 1 then $ranks[0] | ranks_text else null end)}),
       differ: $differ,
       last: ($runs[-1] | {version, git: ($runs | commits), started, hosts: (.machine.hosts | length)}),
       series: [range($series | length) as $i | $series[$i] | points as $points
           | {label: ($named[$i] | name($differ)), points: $points, spans: ($points | length)}]};

# The title of a picture of a study: what all series share, the machine, the date and the commit.
def title($what): . as $s | .common as $c
    | def shared(k): if ($s.differ | index(k)) then empty else $c[k] end;
    $what + ": " + ([shared("kind"), shared("dtype"), (shared("order") | "order \(.)"), shared("grid"), shared("device"),
                     (shared("ranks") | strings), (shared("transport") | strings | select(. != "auto") | "over " + .)] | join(", "))
    + "\n" + ([shared("machine"), "\(.last.hosts) host" + (if .last.hosts == 1 then "" else "s" end),
                (.last.started // "" | .[0:10]), "weft \(.last.version) (\(.last.git))"] | join(", "));

# Single steps of a run as [time over the median, share of the steps per 1 % of the time], the outline of a histogram: its bins, or
# of records from before they had any the percentiles as four wide ones.
def outline:
    .step_s as $s
    | (if (.step_histogram? | type == "array") and $s.max > $s.min
       then .step_histogram as $h | ($h | add) as $all | ($h | length) as $n
           | def edge: $s.min * pow($s.max / $s.min; . / $n);
           [range($n) | {low: edge, high: (. + 1 | edge), share: ($h[.] / $all)}]
       else [[$s.min, $s.p50, 0.5], [$s.p50, $s.p90, 0.4], [$s.p90, $s.p99, 0.09], [$s.p99, $s.max, 0.01]]
           | map(select(.[1] > .[0]) | {low: .[0], high: .[1], share: .[2]}) end)
    | map(. + {density: ([1e-6, .share / ((.high / .low) | log * 100)] | max)}) as $bins
    | [[$bins[0].low // $s.p50, 1e-6]] + [$bins[] | [.low, .density], [.high, .density]] + [[$bins[-1].high // $s.p50, 1e-6]]
    | .[] | [.[0] / $s.p50, .[1]];
