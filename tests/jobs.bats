# The scripts of jobs/ work on what runs leave: a strong and a weak study become records, and records become pictures.
load helper

study() { # arguments of scaling
    WEFT=$weft WEFT_MPIRUN_FLAGS=$LAUNCH_FLAGS PATH=$(dirname "$(command -v "$MPIRUN")"):$PATH timeout 120 "$top/jobs/scaling" "$@" 3>&-
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=400 grid.ny=300 time.steps=20 checkpoint.every=5 output.picture=p.png
}

@test "a strong study: one record a run, the grid stays, nothing else is written" {
    study --mode strong --ranks "1 2" --repeats 2 --deck d.ini --out s.jsonl --launcher mpirun run.lanes=2
    expect "ranks of the records" "1 1 2 2" "$(jq .ranks s.jsonl | xargs)"
    expect "grids" "400 300" "$(jq -r '"\(.grid.nx) \(.grid.ny)"' s.jsonl | sort -u)"
    expect "settings" 2 "$(jq .asked.lanes s.jsonl | sort -u)"
    expect files "d.ini s.jsonl" "$(echo *)"
    "$top/jobs/plot" s.jsonl | grep strong
    expect "PNG" 89504e47 "$(od -An -tx1 -N 4 s.png | tr -d ' ')"
    grep -q '<svg' s.svg
}

@test "a weak study: the grid grows with the ranks" {
    study --mode weak --ranks "1 3" --repeats 1 --deck d.ini --out w.jsonl
    expect "grids" "400 300 400 900" "$(jq -r '"\(.grid.nx) \(.grid.ny)"' w.jsonl | xargs)"
    deck line.ini problem.kind=heat problem.alpha=0.2 grid.nx=400 time.steps=20
    study --mode weak --ranks "1 3" --repeats 1 --deck line.ini --out line.jsonl
    expect "grids in 1D" "400 1 1200 1" "$(jq -r '"\(.grid.nx) \(.grid.ny)"' line.jsonl | xargs)"
    "$top/jobs/plot" w.jsonl other | grep weak
    [ -s other.png ]
    [ -s other.svg ]
}

@test "a study is drawn beside what others reach" {
    study --mode strong --ranks "1 2" --repeats 1 --deck d.ini --out s.jsonl
    printf '# from a paper\n1\t0.5\tanother program\n4\t1.5\tanother program\n' >others.tsv
    expect "what it said" "b.png and b.svg" "$("$top/jobs/plot_beside" s.jsonl others.tsv b)"
    expect "PNG" 89504e47 "$(od -An -tx1 -N 4 b.png | tr -d ' ')"
    for word in 'another program' weft ideal ranks "$(jq -rs '.[0].git' s.jsonl)"; do grep -q ">.*$word" b.svg || { echo "no $word"; return 1; }; done
    echo "# nothing" >others.tsv
    run "$top/jobs/plot_beside" s.jsonl others.tsv b
    expect status 2 "$status"
    study --mode strong --ranks 1 --repeats 1 --deck d.ini --out s.jsonl grid.nx=401
    run "$top/jobs/plot_beside" s.jsonl others.tsv b
    expect "status of two problems" 2 "$status"
}

@test "what does not belong together is not drawn, and bad arguments are refused" {
    study --mode strong --ranks "1" --repeats 1 --deck d.ini --out m.jsonl
    study --mode strong --ranks "2" --repeats 1 --deck d.ini --out m.jsonl grid.nx=401
    run "$top/jobs/plot" m.jsonl
    expect status 2 "$status"
    run "$top/jobs/plot" nowhere.jsonl
    expect status 2 "$status"
    run study --mode sideways
    expect status 2 "$status"
    run study --deck nowhere.ini
    expect status 2 "$status"
    run study --ranks "1 x" --deck d.ini
    expect status 2 "$status"
}

@test "the Slurm script is sound shell and says how it is used" {
    bash -n "$top/jobs/weft.sbatch"
    run bash "$top/jobs/weft.sbatch"
    expect status 2 "$status"
    [[ $output == usage:* ]]
}
