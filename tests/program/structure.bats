# The house rules of docs/architecture.md: rooms include only what stands below them, no files call each other in a circle, and
# nothing is kept without a caller; of the tests: what depends on the device is said; of docs/numerics.md: arithmetic is the
# same on every machine.
load ../support/helper

structure() { python3 "$top/tests/support/structure.py" "$top" "$@"; }

@test "every include goes to a room that the table of rooms allows" { structure rooms; }

@test "no source files call each other in a circle" { structure circles "$BUILD"; }

@test "what is not static has a user in another file" { structure callers "$BUILD"; }

@test "a test that reads what a run chose names the device, or is run on GPUs too; a unit that opens a GPU is given one" {
    structure devices
    mkdir -p tree/tests/program tree/tests/made
    printf '/* Made.\n * %s */\nint main(void) { return twin_main(run); }\n' "ranks: 1" >tree/tests/made/test_hidden.c
    sed 's/ranks/gpus/' tree/tests/made/test_hidden.c >tree/tests/made/test_given.c
    printf '%s\n' 'plate=(grid.nx=9)' 'on_host=(run.device=host)' 'taken() { expect taken 4 "$(record .fuse)"; }' \
        '@test "open" {' '    weft_alone d.ini "${plate[@]}"' '    taken' '}' '@test "open too" { [ "$(record "\(.asked.fuse) \(.step_form)")" = 3 ]; }' \
        '@test "said" {' '    weft_alone d.ini "${on_host[@]}"' '    taken' '}' '# bats test_tags=gpus:1' '@test "on both" { taken; }' \
        '@test "asked" { record .asked.fuse; }' '@test "never" { needs'_'gpu; }' >tree/tests/program/made.bats
    run python3 "$top/tests/support/structure.py" tree devices
    expect status 1 "$status"
    expect "what is said of it" "made.bats: 'open' reads .fuse of a run whose device it does not name
made.bats: 'open too' reads .step_form of a run whose device it does not name
made.bats: 'never' needs a GPU, and no tag gpus: gives it one
test_hidden.c opens a GPU, and its first comment has no line gpus:" "$output"
}

@test "the tree is no larger than its ceilings" {
    git -C "$top" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "not a git checkout: what is tracked is not known"
    python3 "$top/tests/support/lines.py" "$top" "$top/tests/support/ceilings"
    sed 's/^weft *[0-9]*/weft 9/' "$top/tests/support/ceilings" >small
    run python3 "$top/tests/support/lines.py" "$top" small
    expect status 1 "$status"
    [[ $output = *"weft: "*" lines, the ceiling is 9"* ]]
}

@test "each deliberate fault applies to the code as it is, and its PART is a test" {
    python3 "$top/tests/long/faults" --check
}

@test "functions that libraries round differently serve measured times alone; no type is another one on other machines" {
    structure numbers "$BUILD"
}

@test "a compiler that is told to change the arithmetic is refused" {
    local arithmetic
    for arithmetic in -ffast-math $([ "$(uname -m)" != x86_64 ] || echo -mfpmath=387); do
        run -1 gcc -fsyntax-only $arithmetic -x c "$top/miniapp/problem/quad.h"
        [[ $output = *"rounded to its type"* ]]
    done
}

# A template whose arguments have the same names in two files is one template to the linker, which keeps one of its tables.
@test "no two CUDA files have a constant of the same name" {
    local objects=("${CUDA_BUILD:-$BUILD}"/kernels/*/*.cu.o)
    [ -e "${objects[0]}" ] || skip "no CUDA build here"
    expect "constants that the linker makes one" "" "$(nm "${objects[@]}" | awk '$2 == "u" { print $3 }' | sort | uniq -d | xargs)"
}
