# The house rules of docs/architecture.md: rooms include only what stands below them, no files call each other
# in a circle, and nothing is kept without a caller; of the tests: what depends on the device is said; of
# docs/numerics.md: arithmetic is the same on every machine.
load ../support/helper

structure() { python3 "$top/tests/support/structure.py" "$top" "$@"; }

@test "every include goes to a room that the table of rooms allows" { structure rooms; }

@test "no source files call each other in a circle" { structure circles "$BUILD"; }

@test "what is not static has a user in another file" { structure callers "$BUILD"; }

@test "a test that reads what a run chose names the device, or runs on GPUs too; a unit is given its GPU" {
    structure devices
}

@test "the tree is no larger than its ceilings" {
    git -C "$top" rev-parse -q --verify HEAD >/dev/null 2>&1 ||
        skip "not a git checkout: what is tracked is not known"
    python3 "$top/tests/support/lines.py" "$top" "$top/tests/support/ceilings"
}

@test "each deliberate fault applies to the code as it is, and its PART is a test" {
    python3 "$top/tests/long/faults" --check
}

@test "what libraries round differently serves measured times alone; no type differs between machines" {
    structure numbers "$BUILD"
}

@test "a compiler that is told to change the arithmetic is refused" {
    run -1 gcc -fsyntax-only -ffast-math -x c "$top/miniapp/problem/portable_math.h"
    [[ $output = *"rounded to its type"* ]]
}

# A template whose arguments have the same names in two files is one template to the linker, which keeps one
# of its tables.
@test "no two CUDA files have a constant of the same name" {
    local objects=("${CUDA_BUILD:-$BUILD}"/kernels/*/*.cu.o)
    [ -e "${objects[0]}" ] || skip "no CUDA build here"
    expect "constants that the linker makes one" "" \
        "$(nm "${objects[@]}" | awk '$2 == "u" { print $3 }' | sort | uniq -d | xargs)"
}
