/* Memory that keeps what is written gets a rate; a bit that flips, in whichever chunk, and a chunk that lies
 * where another does are told with pattern, chunk, byte, what was written and read, and get none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

#include "check/trial.h"
#include "core/pattern.h"

enum { BYTES = 8 << 20, CHUNK_WORDS = BYTES / 64 };

static device *d;
static __typeof__(d->pattern_check) plain_check;
static __typeof__(d->alloc) plain_alloc;
static __typeof__(d->pattern_write) plain_write;
static int wrong_call, calls, chunks_left;
static int64_t at;
static uint64_t flip, wrote, *first_chunk;
static bool aliased;

/* In that call a bit has flipped since it was written. */
static int faulty_check(device *self, const uint64_t *from, int64_t words, const memory_pattern *p,
                        pattern_wrong *result, device_stream *s)
{
    uint64_t *const memory = (uint64_t *)(uintptr_t)from;
    if (calls++ == wrong_call) {
        wrote = memory[at];
        memory[at] ^= flip;
    }
    return plain_check(self, from, words, p, result, s);
}

/* There are chunks_left chunks. */
static int scarce_alloc(device *self, device_memory where, size_t bytes, void **out)
{
    return bytes == BYTES / 8 && chunks_left-- <= 0 ? 1 : plain_alloc(self, where, bytes, out);
}

/* All chunks lie where the first one does, too. */
static int aliased_write(device *self, uint64_t *to, int64_t words, const memory_pattern *p, device_stream *s)
{
    if (!first_chunk) first_chunk = to;
    const int code = plain_write(self, to, words, p, s);
    return code || !aliased ? code : plain_write(self, first_chunk, words, p, s);
}

/* With as many chunks; it finds what begins and goes on so, or, of NULL, nothing. */
static check_patterns tried(int chunks, const char *begin, const char *words)
{
    calls = 0, chunks_left = chunks;
    const check_patterns p = check_patterns_try(d, NULL, BYTES, 3, 1);
    if (begin ? strncmp(p.wrong.text, begin, strlen(begin)) != 0 || !strstr(p.wrong.text, words)
              : p.wrong.text[0])
        fail_msg("'%s', not '%s'", p.wrong.text, begin ? begin : "");
    assert_true(p.bytes == chunks * BYTES / 8 && isnan(p.time_s.p50) == (begin || chunks == 0));
    return p;
}

static void right_memory_is_timed(void **state)
{
    wrong_call = -1;
    const check_patterns p = tried(8, NULL, "");
    assert_true(calls == 4 * 8 && p.time_s.count == 3);
    (void)tried(3, NULL, ""); /* less memory is enough */
    (void)tried(0, NULL, "");
}

static void a_flipped_bit_is_told(void **state)
{
    static const char *const names[] = { "random words", "their complement", "a walking 1", "a walking 0" };
    static const int64_t places[] = { 0, 77777, CHUNK_WORDS - 1 };
    for (int k = 0; k < 12; k++) {
        char begin[256];
        const int bit = k * 23 % 64, pass = k % 4, chunk = k * 5 % 8;
        const uint64_t word =
            pattern_word(&(memory_pattern){ (uint64_t)1 << 32, pass % 2 ? UINT64_MAX : 0,
                                            ((uint64_t)3 << 40) + (uint64_t)chunk * CHUNK_WORDS, pass >= 2 },
                         places[k % 3]);
        const uint32_t was = (uint32_t)(word >> (bit & 32)), xor = (uint32_t)1 << bit % 32;
        wrong_call = 8 * pass + chunk, at = places[k % 3], flip = (uint64_t)1 << bit;
        snprintf(begin, sizeof begin, "%s: chunk %d of 8, byte %lld: wrote 0x%08x, read 0x%08x, xor 0x%08x",
                 names[pass], chunk, (long long)(8 * at + (bit >= 32 ? 4 : 0)), was, was ^ xor, xor);
        (void)tried(8, begin, "; 1 of 1048576 words are wrong");
        assert_int_equal(wrote, word);
        if (pass >= 2) assert_int_equal(__builtin_popcountll(wrote), pass == 2 ? 1 : 63);
        assert_int_equal(calls, 8 * (pass + 1)); /* nothing is tried on memory that is known to be wrong */
    }
}

static void a_chunk_that_lies_where_another_does_is_told(void **state)
{
    wrong_call = -1, first_chunk = NULL, aliased = true;
    (void)tried(8, "random words: chunk 0 of 8, byte 0: wrote ", "; 131072 of 1048576 words are wrong");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_memory_is_timed),
        cmocka_unit_test(a_flipped_bit_is_told),
        cmocka_unit_test(a_chunk_that_lies_where_another_does_is_told),
    };
    d = device_host_create(1);
    plain_check = d->pattern_check, plain_alloc = d->alloc, plain_write = d->pattern_write;
    d->pattern_check = faulty_check, d->alloc = scarce_alloc, d->pattern_write = aliased_write;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_destroy(&d);
    return failed ? 1 : 0;
}
