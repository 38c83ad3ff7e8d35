/* The rungs of family streaming whose streams wait for each other give the bits of single sweeps in whatever
 * order a device runs what its streams are free to do. The device is a host device whose streams run in an
 * order that chance chooses, as a GPU's may; two repetitions follow each other without a wait of the host, as
 * they do while a rung is timed.
 * release: ten times as many seeds */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ladder_compute/ladder_streaming.h"
#include "support/deferred_device.h"
#include "support/sanitized.h"

enum { SEEDS = SANITIZED ? 4 : 40 };

#define OK(d, call)                                                                         \
    do {                                                                                    \
        const int code_ = (call);                                                           \
        if (code_) fail_msg("%s: %s", #call, (d)->error_text(code_));                       \
    } while (0)

/* Passes of these numbers of steps alone, so that a visit is made of several: an even or an odd number of
 * them. */
static int few_steps(device *d, int most)
{
    (void)d;
    return most >= 4 ? 4 : most >= 3 ? 3 : 1;
}

static const ladder_rung *rung_of(const char *name)
{
    for (int i = 0; i < ladder_streaming_host.rungs; i++)
        if (strcmp(ladder_streaming_host.rung[i].name, name) == 0) return &ladder_streaming_host.rung[i];
    fail_msg("no rung %s", name);
    return NULL;
}

/* What was written while the parts were measured must not pass for a repetition's result. */
static void check_poisoned(const ladder_case *c)
{
    const ladder_streaming *s = c->state;
    for (size_t i = 0; i < s->plane.bytes; i++)
        if (((const unsigned char *)c->out)[i] != 0xff)
            fail_msg("byte %zu of the result is there before a repetition", i);
}

/* values: in the order of the family's parameters. */
static void measure(const char *name, dtype type, const int64_t values[LADDER_STREAMING_PARAMETERS],
                    unsigned seed)
{
    device *d = deferred_device_create(seed);
    d->temporal_steps = few_steps;
    ladder_case c = { .rung = rung_of(name), .d = d, .type = type };
    ladder_verdict v = { .right = false };
    memcpy(c.value, values, LADDER_STREAMING_PARAMETERS * sizeof *values);
    OK(d, d->stream_create(d, false, &c.stream));
    OK(d, c.rung->prepare(&c));
    assert_string_equal(c.missing.text, "");
    assert_non_null(c.part_name);
    OK(d, d->stream_sync(d, c.stream));
    check_poisoned(&c);
    for (int turn = 0; turn < 2; turn++) OK(d, c.rung->enqueue(&c));
    OK(d, d->stream_sync(d, c.stream));
    OK(d, c.rung->verify(&c, &v));
    if (!v.right)
        fail_msg("%s, %s, seed %u, %lld x %lld, radius %lld, %lld steps, %lld rows, %lld buffers: %s", name,
                 dtype_name(type), seed, (long long)values[0], (long long)values[1], (long long)values[2],
                 (long long)values[3], (long long)values[4], (long long)values[5], v.why.text);
    ladder_close(&c);
    OK(d, d->stream_destroy(d, &c.stream));
    device_destroy(&d);
}

static void buffers_in_turn(void **unused)
{
    (void)unused;
    for (unsigned seed = 0; seed < SEEDS; seed++)
        for (int64_t buffers = 1; buffers <= LADDER_STREAMING_BUFFERS_MAX; buffers++) {
            const int64_t even[] = { 33, 97, 1, 8, 10, buffers },
                          odd[] = { 20, 60, 2, 5 + 6 * (seed % 2), 7, buffers };
            measure("buffers", DTYPE_F32, even, seed);
            measure("buffers", DTYPE_F64, odd, seed + 100);
        }
}

/* The last chunk may be small, a chunk may depend on all others, and there may be one only. */
static void chunks_of_any_size(void **unused)
{
    static const int64_t rows[] = { 1, 2, 3, 31, 58, 59, 1000 };
    (void)unused;
    for (unsigned seed = 0; seed < SEEDS / 2; seed++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const int64_t short_reach[] = { 17, 59, 1, 3, rows[i], 3 },
                          long_reach[] = { 17, 59, 4, 18, rows[i], 3 };
            measure("chunks", DTYPE_F64, short_reach, seed);
            measure("chunks", DTYPE_F32, long_reach, seed);
        }
}

static void all_at_once(void **unused)
{
    static const int64_t values[] = { 40, 30, 3, 7, 8, 3 };
    (void)unused;
    for (unsigned seed = 0; seed < SEEDS; seed++) measure("whole", DTYPE_F32, values, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(buffers_in_turn),
                                        cmocka_unit_test(chunks_of_any_size), cmocka_unit_test(all_at_once) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
