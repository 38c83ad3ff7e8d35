/* Claim: memory that was filled with a pattern has no wrong word, and any flipped bit, any word written to
 * another place and any bit that is stuck is counted, the first of them with its place and what was read
 * there. */
#include "support/host_field.h"

#include "core/pattern.h"

enum { WORDS = 70000 }; /* more than a team's least, no multiple of a stretch */

static device *d;
static uint64_t *memory;

static const memory_pattern patterns[] = {
    { .seed = 7, .first = 1 << 20 },
    { .seed = 7, .first = 1 << 20, .flip = UINT64_MAX },
    { .seed = 7, .first = 1 << 20, .walking = true },
};

static pattern_wrong check(const memory_pattern *p)
{
    pattern_wrong wrong = { 9, 9 };
    assert_int_equal(d->pattern_check(d, memory, WORDS, p, &wrong, NULL), 0);
    return wrong;
}

static void assert_whole(const memory_pattern *p)
{
    const pattern_wrong wrong = check(p);
    assert_true(wrong.words == 0 && wrong.first_half == UINT64_MAX);
}

static void every_bit_is_seen(void **state)
{
    for (int k = 0; k < 3; k++) {
        assert_int_equal(d->pattern_write(d, memory, WORDS, &patterns[k], NULL), 0);
        assert_whole(&patterns[k]);
        for (uint64_t i = 0; i < WORDS; i += i % 4096 < 2 ? 1 : 1021) {
            const int bit = (int)(i % 64);
            memory[i] ^= (uint64_t)1 << bit;
            const pattern_wrong wrong = check(&patterns[k]);
            assert_int_equal(wrong.words, 1);
            assert_int_equal(wrong.first_half >> 32, 2 * i + (uint64_t)(bit >= 32));
            assert_int_equal((uint32_t)wrong.first_half, (uint32_t)(memory[i] >> (bit >= 32 ? 32 : 0)));
            memory[i] ^= (uint64_t)1 << bit;
        }
        assert_whole(&patterns[k]);
    }
}

static void the_first_of_many_is_told(void **state)
{
    assert_int_equal(d->pattern_write(d, memory, WORDS, &patterns[0], NULL), 0);
    /* a stuck bit: right where the pattern has it */
    for (int i = 123; i < WORDS; i += 5) memory[i] |= 0x8000;
    uint64_t stuck = 0;
    for (int i = 123; i < WORDS; i += 5) stuck += !(pattern_word(&patterns[0], i) & 0x8000);
    const pattern_wrong wrong = check(&patterns[0]);
    assert_int_equal(wrong.words, stuck);
    const int64_t first = (int64_t)(wrong.first_half >> 33);
    assert_true(first >= 123 && memory[first] != pattern_word(&patterns[0], first));
    for (int64_t i = 0; i < first; i++) assert_true(memory[i] == pattern_word(&patterns[0], i));
}

/* An address line that does not reach the memory: what was meant for one place lies in another. */
static void words_of_other_places_are_wrong(void **state)
{
    assert_int_equal(d->pattern_write(d, memory, WORDS, &patterns[0], NULL), 0);
    memcpy(memory + 1024, memory, 4096);
    assert_int_equal(check(&patterns[0]).words, 512);
    memory_pattern other = patterns[0];
    other.first += 2;
    assert_int_equal(check(&other).words, WORDS);
    assert_int_equal(check(&patterns[1]).words, WORDS); /* and each bit is held at 0 and at 1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_is_seen),
        cmocka_unit_test(the_first_of_many_is_told),
        cmocka_unit_test(words_of_other_places_are_wrong),
    };
    d = device_host_create(2);
    if (d->alloc(d, DEVICE_MEMORY_DEVICE, WORDS * sizeof *memory, (void **)&memory)) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)d->free(d, DEVICE_MEMORY_DEVICE, memory);
    device_destroy(&d);
    return failed ? 1 : 0;
}
