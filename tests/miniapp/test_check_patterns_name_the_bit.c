/* Claim: memory that keeps what is written gets a rate; a bit that flips, in whichever chunk, a bit that is
 * stuck, and a chunk that lies where another does are told with pattern, chunk, byte, what was written and
 * read, and get none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/check_patterns.h"
#include "core/pattern.h"

enum { BYTES = 8 << 20, CHUNK_WORDS = BYTES / 64 };

static device *d;
static __typeof__(d->pattern_check) plain_check;
static __typeof__(d->alloc) plain_alloc;
static __typeof__(d->free) plain_free;
static int wrong_pass, wrong_chunk, calls, chunks_left;
static int64_t at;
static uint64_t flip, stuck, wrote;

/* In that pass and chunk a bit has flipped since it was written; `stuck` reads as 1 in all. */
static int faulty_check(device *self, const uint64_t *from, int64_t words, const memory_pattern *p,
                        pattern_wrong *result, device_stream *s)
{
    uint64_t *const memory = (uint64_t *)(uintptr_t)from;
    for (int64_t i = 0; stuck && i < words; i++) memory[i] |= stuck;
    if (calls++ == 8 * wrong_pass + wrong_chunk) {
        wrote = memory[at];
        memory[at] ^= flip;
    }
    return plain_check(self, from, words, p, result, s);
}

/* There are chunks_left chunks; with `aliases` the last of them lies where the first one does. */
static void *first_chunk;
static bool aliases;

static int scarce_alloc(device *self, device_memory where, size_t bytes, void **out)
{
    if (bytes != BYTES / 8) return plain_alloc(self, where, bytes, out);
    if (chunks_left-- <= 0) return 1;
    if (aliases && chunks_left == 0) {
        *out = first_chunk;
        return 0;
    }
    const int code = plain_alloc(self, where, bytes, out);
    if (!first_chunk) first_chunk = *out;
    return code;
}

static int free_once(device *self, device_memory where, void *p)
{
    const bool again = aliases && p == first_chunk && chunks_left == 0;
    if (again) chunks_left = -1;
    return again ? 0 : plain_free(self, where, p);
}

static check_patterns tried(void)
{
    check_patterns out;
    calls = 0;
    check_patterns_try(d, NULL, BYTES, 3, 1, &out);
    return out;
}

static void assert_wrong(const check_patterns *p, const char *begin)
{
    if (strncmp(p->wrong.text, begin, strlen(begin)) != 0)
        fail_msg("'%s' does not begin with '%s'", p->wrong.text, begin);
    assert_true(isnan(p->rate) && isnan(p->time_s.p50));
}

static void whole_memory_is_timed(void **state)
{
    wrong_pass = -1;
    const check_patterns p = tried();
    assert_string_equal(p.wrong.text, "");
    assert_int_equal(p.bytes, BYTES);
    assert_int_equal(calls, 4 * 8);
    assert_true(p.rate > 0 && p.time_s.count == 3 && fabs(p.rate * p.time_s.p50 / (2.0 * BYTES) - 1) < 1e-9);
}

static void a_flipped_bit_is_told(void **state)
{
    static const char *const names[] = { "random words", "their complement", "a walking 1", "a walking 0" };
    static const int64_t places[] = { 0, 77777, CHUNK_WORDS - 1 };
    for (int k = 0; k < 12; k++) {
        char begin[256];
        const int bit = k * 23 % 64;
        wrong_pass = k % 4, wrong_chunk = k * 5 % 8, at = places[k % 3], flip = (uint64_t)1 << bit;
        const check_patterns p = tried();
        const uint32_t was = (uint32_t)(wrote >> (bit & 32)), xor = (uint32_t)1 << bit % 32;
        snprintf(
            begin, sizeof begin,
            "%s: chunk %d of 8, byte %lld: wrote 0x%08x, read 0x%08x, xor 0x%08x; 1 of %d words are wrong",
            names[wrong_pass], wrong_chunk, (long long)(8 * at + (bit >= 32 ? 4 : 0)), was, was ^ xor, xor,
            BYTES / 8);
        assert_wrong(&p, begin);
        if (wrong_pass >= 2) assert_int_equal(__builtin_popcountll(wrote), wrong_pass == 2 ? 1 : 63);
        assert_int_equal(calls, 8 * (wrong_pass + 1)); /* nothing is tried on memory that is known to be
                                                        * wrong */
    }
    flip = 0;
}

static void a_stuck_bit_is_told(void **state)
{
    wrong_pass = -1, stuck = 0x100;
    const check_patterns p = tried();
    assert_wrong(&p, "random words: chunk 0 of 8, byte ");
    assert_non_null(strstr(p.wrong.text, "xor 0x00000100"));
    stuck = 0;
}

static void less_memory_is_enough(void **state)
{
    wrong_pass = -1, chunks_left = 3;
    d->alloc = scarce_alloc;
    const check_patterns p = tried();
    assert_true(p.bytes == 3 * BYTES / 8 && p.rate > 0);
    chunks_left = 0;
    const check_patterns none = tried();
    assert_true(none.bytes == 0 && isnan(none.rate) && !none.wrong.text[0]);
    d->alloc = plain_alloc;
}

static void a_chunk_that_lies_where_another_does_is_told(void **state)
{
    char words[64];
    first_chunk = NULL, wrong_pass = -1, chunks_left = 8, aliases = true;
    d->alloc = scarce_alloc, d->free = free_once;
    const check_patterns p = tried();
    assert_wrong(&p, "random words: chunk 0 of 8, byte 0: wrote ");
    snprintf(words, sizeof words, "; %d of %d words are wrong", BYTES / 64, BYTES / 8);
    assert_non_null(strstr(p.wrong.text, words));
    d->alloc = plain_alloc, d->free = plain_free;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_memory_is_timed),
        cmocka_unit_test(a_flipped_bit_is_told),
        cmocka_unit_test(a_stuck_bit_is_told),
        cmocka_unit_test(less_memory_is_enough),
        cmocka_unit_test(a_chunk_that_lies_where_another_does_is_told),
    };
    d = device_host_create(1);
    plain_check = d->pattern_check, plain_alloc = d->alloc, plain_free = d->free;
    d->pattern_check = faulty_check;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_destroy(&d);
    return failed ? 1 : 0;
}
