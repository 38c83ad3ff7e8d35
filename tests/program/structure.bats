# The house rules of docs/architecture.md: rooms include only what stands below them, no files call each other in a circle, and
# nothing is kept that nobody calls.
load ../support/helper

structure() { python3 "$top/tests/support/structure.py" "$top" "$@"; }

@test "every include goes to a room that the table of rooms allows" { structure rooms; }

@test "no source files call each other in a circle" { structure circles "$BUILD"; }

@test "what is not static has a user in another file" { structure callers "$BUILD"; }
