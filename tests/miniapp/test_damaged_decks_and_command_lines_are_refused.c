/* Whatever a deck or a command line holds, reading it ends: with what it means, or with one sentence. Nothing
 * crashes, hangs, or takes much memory. Inputs are those of fuzz.h, of a command line an argument per line;
 * WEFT_FUZZ_DECKS and WEFT_FUZZ_LINES say how many. ranks: 1
 * release: the memory that a deck and a line take */
#include "support/state_fixture.h"
#include "support/fuzz_decks.h"

static char folder[FIXTURE_PATH_BYTES];

static const char *line_number(uint64_t seed, fuzz_input *in)
{
    fuzz_state = seed;
    in->count = (size_t)snprintf(
        in->bytes, FUZZ_INPUT_MAX,
        "%s/d.ini\ngrid.nx=40\nproblem.alpha=.1\n--restart\na=b.h5\ntime.steps=7\n--dry-run", folder);
    for (uint64_t i = 1 + fuzz_chance(6); i > 0; i--) fuzz_change(in, deck_word, deck_word_count);
    return try_command_line(in);
}

static const char *deck_number(uint64_t seed, fuzz_input *in)
{
    fuzz_state = seed;
    const char *from = sound_decks[fuzz_chance(sizeof sound_decks / sizeof *sound_decks)];
    in->count = strlen(from);
    memcpy(in->bytes, from, in->count);
    for (uint64_t i = 1 + fuzz_chance(6); i > 0; i--) fuzz_change(in, deck_word, deck_word_count);
    return try_deck(in);
}

static void damaged_decks(void **state)
{
    assert_int_equal(fuzz_all("deck", deck_number, fuzz_asked("WEFT_FUZZ_DECKS", 9000)), 0);
}

static void damaged_command_lines(void **state)
{
    assert_int_equal(fuzz_all("line", line_number, fuzz_asked("WEFT_FUZZ_LINES", 1200)), 0);
}

int main(int argc, char **argv)
{
    char path[FIXTURE_PATH_BYTES + 16];
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fixture_folder(folder);
    snprintf(path, sizeof path, "%s/d.ini", folder);
    FILE *f = fopen(path, "w");
    fputs(sound_decks[0], f);
    fclose(f);
    gather_deck_words();
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_decks),
                                        cmocka_unit_test(damaged_command_lines) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
