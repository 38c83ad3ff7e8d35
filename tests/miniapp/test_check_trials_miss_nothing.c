/* Memory that keeps what is written gets a rate; a bit that flips, wherever, and memory that lies where other
 * memory does are told with pattern, byte, what was written and read, and get none. The rate is that of the
 * median sample, of a pair and on a host of the fastest one. In the rounds of pairs
 * every pair meets exactly once, no rank has two partners in a round, and partners agree: for 0 to 130 ranks;
 * of an odd number one is left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

#include "check/check.h"
#include "core/pattern.h"

enum { BYTES = 8 << 20, PIECES = 64, PIECE_WORDS = BYTES / 8 / PIECES };

static device *d;
static __typeof__(d->pattern_check) plain_check;
static __typeof__(d->alloc) plain_alloc;
static __typeof__(d->pattern_write) plain_write;
static int wrong_call, calls;
static size_t most_bytes;
static int64_t at;
static uint64_t flip, *first_piece;
static bool aliased;

/* In that call a bit has flipped since it was written. */
static int faulty_check(device *self, const uint64_t *from, int64_t words, const memory_pattern *p,
                        pattern_wrong *result, device_stream *s)
{
    uint64_t *const memory = (uint64_t *)(uintptr_t)from;
    if (calls++ == wrong_call) memory[at] ^= flip;
    return plain_check(self, from, words, p, result, s);
}

static int scarce_alloc(device *self, device_memory where, size_t bytes, void **out)
{
    return bytes > most_bytes && bytes > BYTES / 16 - 1 ? 1 : plain_alloc(self, where, bytes, out);
}

/* All pieces lie where the first one does, too. */
static int aliased_write(device *self, uint64_t *to, int64_t words, const memory_pattern *p, device_stream *s)
{
    if (!first_piece) first_piece = to;
    const int code = plain_write(self, to, words, p, s);
    return code || !aliased ? code : plain_write(self, first_piece, words, p, s);
}

/* In as many sixteenths of the memory; it finds what begins and goes on so, or, of NULL, nothing. */
static void tried(int sixteenths, const char *begin, const char *words)
{
    bench_setting setting[] = { { "bytes", BYTES }, { "rank", 3 }, { "round", 1 } };
    const bench_request ask = { .samples = 3, .setting = setting, .settings = 3 };
    const bench_item item = check_rung(CHECK_PATTERNS);
    bench b;
    bench_point p;
    sentence why;
    calls = 0, most_bytes = (size_t)sixteenths * BYTES / 16;
    bench_create(&b, &ask, d, NULL);
    assert_true(bench_measure(&b, &item, 0, &p, &why));
    bench_destroy(&b);
    if (begin ? strncmp(p.verdict.why.text, begin, strlen(begin)) != 0 || !strstr(p.verdict.why.text, words)
              : p.verdict.why.text[0])
        fail_msg("'%s', not '%s'", p.verdict.why.text, begin ? begin : "");
    assert_true(p.of.work == 2.0 * sixteenths * BYTES / 16 && isnan(p.rate) == (begin || sixteenths == 0));
}

static void right_memory_is_timed(void **state)
{
    wrong_call = -1;
    tried(16, NULL, "");
    tried(3, NULL, ""); /* less memory is enough */
    tried(0, NULL, "");
}

static void a_flipped_bit_is_told(void **state)
{
    static const char *const names[] = { "random words", "their complement", "a walking 1", "a walking 0" };
    static const int64_t places[] = { 0, 7777, PIECE_WORDS - 1 };
    for (int k = 0; k < 12; k++) {
        char begin[256];
        const int bit = k * 23 % 64, pass = k % 4, piece = k * 29 % PIECES;
        const int64_t place = piece * PIECE_WORDS + places[k % 3];
        const memory_pattern all = { (uint64_t)1 << 32, pass % 2 ? UINT64_MAX : 0, (uint64_t)3 << 40,
                                     pass >= 2 };
        const uint32_t was = (uint32_t)(pattern_word(&all, place) >> (bit & 32)),
                       xor = (uint32_t)1 << bit % 32;
        wrong_call = PIECES * pass + piece, at = places[k % 3], flip = (uint64_t)1 << bit;
        snprintf(begin, sizeof begin, "%s: byte %lld: wrote 0x%08x, read 0x%08x, xor 0x%08x", names[pass],
                 (long long)(8 * place + (bit >= 32 ? 4 : 0)), was, was ^ xor, xor);
        tried(16, begin, "; 1 of 1048576 words are wrong");
        if (pass >= 2) assert_int_equal(__builtin_popcountll(pattern_word(&all, place)), pass == 2 ? 1 : 63);
        assert_int_equal(calls, PIECES * (pass + 1)); /* nothing is tried on wrong memory */
    }
}

static void memory_that_lies_where_other_memory_does_is_told(void **state)
{
    wrong_call = -1, first_piece = NULL, aliased = true;
    tried(16, "random words: byte 0: wrote ", "; 16384 of 1048576 words are wrong");
}

static void the_fastest_sample_counts_on_a_host(void **state)
{
    static const struct {
        device_kind kind;
        check_figure is;
    } all[] = {
        { DEVICE_CUDA, { CHECK_COPY, 0, -1, .rate = 4, .noise = 0.05 } },
        { DEVICE_HOST, { CHECK_COPY, 0, -1, .rate = 6, .noise = 0.25 } },
        { DEVICE_CUDA, { CHECK_PAIR_BOTH, 0, 1, .rate = 6, .noise = 0.25 } },
        { DEVICE_HOST, { CHECK_HEAT_BLOCKS, 0, -1, .rate = 40, .noise = 0.25 } }, /* ten cells, eight steps */
    };
    const bench_point p = { .of = { .work = 12, .size = 10 }, .time_s = { 2, 3, .count = 4 }, .spread = 0.1 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_figure f = { .like = all[i].is.like, .b = all[i].is.b };
        trial_rate(&f, &p, all[i].kind);
        assert_true(f.rate == all[i].is.rate && f.noise == all[i].is.noise);
    }
}

static void every_pair_meets_once(void **state)
{
    enum { MOST = 130 };
    for (int n = 0; n <= MOST; n++) {
        int met[MOST][MOST] = { 0 };
        for (int round = 0; round < n - 1 + n % 2; round++) {
            int out = 0;
            for (int i = 0; i < n; i++) {
                const int j = trial_partner(n, round, i);
                out += j < 0;
                if (j < 0) continue;
                assert_true(j < n && j != i && trial_partner(n, round, j) == i);
                met[i][j]++;
            }
            assert_int_equal(out, n % 2);
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (met[i][j] != (i != j)) fail_msg("%d ranks: %d and %d meet %d times", n, i, j, met[i][j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_memory_is_timed),
        cmocka_unit_test(a_flipped_bit_is_told),
        cmocka_unit_test(memory_that_lies_where_other_memory_does_is_told),
        cmocka_unit_test(the_fastest_sample_counts_on_a_host),
        cmocka_unit_test(every_pair_meets_once),
    };
    d = device_host_create(1);
    plain_check = d->pattern_check, plain_alloc = d->alloc, plain_write = d->pattern_write;
    d->pattern_check = faulty_check, d->alloc = scarce_alloc, d->pattern_write = aliased_write;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_destroy(&d);
    return failed ? 1 : 0;
}
