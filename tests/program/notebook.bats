# The notebook of jobs/examples works as it stands: its cells, run in order, read the records of this clone and draw them.
load ../support/helper

notebook=$top/jobs/examples/first_look.ipynb

setup() {
    python_with matplotlib pandas
    cd "$BATS_TEST_TMPDIR" || exit 1
}

@test "every cell runs, in order: a frame of the runs, a table with efficiencies, a picture of scaling and a roofline" {
    jq -r '.cells[] | select(.cell_type == "code") | .source | join("")' "$notebook" | sed '/^%/d' >cells.py
    cat >>cells.py <<'END'

for settings, of_one in table.groupby(setting):
    assert list(of_one.ranks) == sorted(of_one.ranks) and of_one.efficiency.iloc[0] == 1, of_one
    assert (of_one.efficiency < 1.5).all() and (of_one.fraction > 0).all(), of_one
scaling, roof = [plt.figure(number).axes[0] for number in plt.get_fignums()]
assert len(scaling.texts) == table.groupby(setting).ngroups > 1
assert sum(len(line.get_xdata()) for line in scaling.lines if line.get_marker() == "o") == len(table)
slope, *kernels = roof.lines
for line in kernels:  # no kernel is far above what copies and fma of its own run allow
    for at, reached in zip(line.get_xdata(), line.get_ydata()):
        assert 0 < reached < 1.1 * min(copy * at, fma) / 1e12, (line.get_label(), at, reached)
assert len(kernels) >= 4
for number in plt.get_fignums():
    plt.figure(number).savefig(f"{sys.argv[1]}/{number}.png")
END
    (cd "$top/jobs/examples" && MPLBACKEND=Agg MPLCONFIGDIR=$BATS_TEST_TMPDIR $python -B "$BATS_TEST_TMPDIR/cells.py" "$BATS_TEST_TMPDIR")
    expect pictures 2 "$(for picture in *.png; do head -c 4 "$picture" | od -An -tx1; done | grep -c '89 50 4e 47')"
}

@test "the notebook stands in the tree without outputs, and Jupyter runs it" {
    expect "cells with outputs" 0 "$(jq '[.cells[] | select((.outputs // []) != [] or .execution_count != null)] | length' "$notebook")"
    expect "its format" 4 "$(jq .nbformat "$notebook")"
    command -v jupyter-nbconvert >/dev/null || skip "no jupyter-nbconvert here"
    timeout $hang_s jupyter-nbconvert --to notebook --execute --output-dir "$PWD" --output run.ipynb "$notebook" >said 2>&1 3>&- ||
        { tail -n 40 said; return 1; }
    expect "pictures" 2 "$(jq '[.cells[].outputs[]? | select(.data["image/png"])] | length' run.ipynb)"
}
