/* The first step with in-kernel exchange reads ghosts that another stream fills: it comes after them, also
 * where there are no neighbours to meet. A host device stands in for the GPU, and in which order it is asked
 * for what is looked at. ranks: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ranks/check.h"
#include "step/step.h"

static device real;            /* its functions before this file took some over */
static device_stream *filling; /* a fill of ghosts is under way there */
static device_stream *behind;  /* and this one waits for it */
static device_event *filled;
static int fills, steps;

static int boundary_fill(device *d, const field_shape *f, void *field, const boundary *sides,
                         const box *boxes, int count, device_stream *s)
{
    fills++;
    filling = s;
    behind = NULL;
    filled = NULL;
    return real.boundary_fill(d, f, field, sides, boxes, count, s);
}

static int stream_sync(device *d, device_stream *s)
{
    if (s == filling) filling = NULL;
    return real.stream_sync(d, s);
}

static int event_record(device *d, device_event *e, device_stream *s)
{
    if (s == filling) filled = e;
    else if (e == filled) filled = NULL;
    return real.event_record(d, e, s);
}

static int event_wait(device *d, device_event *e, device_stream *s)
{
    if (e == filled) behind = s;
    return real.event_wait(d, e, s);
}

static bool whole_can(device *d, bool change)
{
    return !change;
}

static int whole(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                 const inkernel_step *step, device_stream *s)
{
    if (filling && behind != s) fail_msg("step %d reads ghosts that are still being filled", steps);
    steps++;
    return 0;
}

static void alone(void **state)
{
    sentence why = { "" };
    device *d = device_host_create(1);
    real = *d;
    d->boundary_fill = boundary_fill;
    d->stream_sync = stream_sync;
    d->event_record = event_record;
    d->event_wait = event_wait;
    d->stencil_inkernel_can = whole_can;
    d->stencil_inkernel = whole;
    decomp dec;
    assert_true(decomp_make(&dec, 40, 30, true, true, 1, 0, 0, 0, 2, &why));
    const field_shape f = field_shape_make(DTYPE_F64, 40, 30, 2, 2);
    const boundary_side periodic = { BOUNDARY_PERIODIC, 0 };
    const boundary sides = { periodic, periodic, periodic, periodic };
    const transport_choice choice = transport_choice_of_all(TRANSPORT_STAGED);
    step_streams s;
    step_pass p;
    void *field[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(d->alloc(d, DEVICE_MEMORY_DEVICE, f.bytes, &field[i]), 0);
        assert_int_equal(d->fill_bytes(d, field[i], 0, f.bytes, NULL), 0);
    }
    step_streams_create(&s, d, 1, CONFIG_FEED_SERIAL);
    const step_setup of = { d, &dec, &f, &sides, 2, false, false, 1, 1, NULL, &choice, MPI_COMM_WORLD };
    step_pass_create(&p, &of);
    assert_true(step_pass_make_inkernel(&p, field, &why));
    step_pass_set_form(&p, STEP_IN_KERNEL);
    for (int start = 0; start < 2; start++) { /* of something put there by others, twice */
        fills = steps = 0;
        step_begin_generation(&s);
        for (int i = 0; i < 3; i++) {
            const step_levels next = { field[1 - i % 2], NULL }, cur = { field[i % 2], NULL };
            step_take(&s, &p, (step_job){ .next = next, .cur = cur, .steps = 1, .exchange = true });
        }
        assert_int_equal(steps, 3);
        assert_int_equal(fills, 2); /* of both fields, before the first step alone */
        assert_int_equal(d->synchronize(d), 0);
        void *const other = field[0];
        field[0] = field[1];
        field[1] = other;
    }
    step_pass_destroy(&p);
    step_streams_destroy(&s);
    for (int i = 0; i < 2; i++) assert_int_equal(d->free(d, DEVICE_MEMORY_DEVICE, field[i]), 0);
    device_destroy(&d);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(alone) };
    MPI_CHECK(MPI_Init(&argc, &argv));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}
