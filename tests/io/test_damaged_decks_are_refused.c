/* Whatever a deck holds, reading it ends: with what it means, or with one sentence. Nothing crashes, hangs,
 * or takes much memory. Inputs are those of fuzz.h; WEFT_FUZZ_DECKS says how many.
 * release: the memory that a deck takes */
#include "support/fuzz_decks.h"

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

int main(void)
{
    gather_deck_words();
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_decks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
