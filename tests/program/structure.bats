# The house rules of docs/architecture.md: rooms include only what stands below them, no files call each other in a circle, and
# nothing is kept that nobody calls.
load ../support/helper

structure() { python3 "$top/tests/support/structure.py" "$top" "$@"; }

@test "every include goes to a room that the table of rooms allows" { structure rooms; }

@test "no source files call each other in a circle" { structure circles "$BUILD"; }

@test "what is not static has a user in another file" { structure callers "$BUILD"; }

# A template whose arguments have the same names in two files is one template to the linker, which keeps one of its tables.
@test "no two CUDA files have a constant of the same name" {
    local objects=("${CUDA_BUILD:-$BUILD}"/kernels/*/*.cu.o)
    [ -e "${objects[0]}" ] || skip "no CUDA build here"
    expect "constants that the linker makes one" "" "$(nm "${objects[@]}" | awk '$2 == "u" { print $3 }' | sort | uniq -d | xargs)"
}
