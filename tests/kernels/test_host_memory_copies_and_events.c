/* Claim: the host device's memory is aligned, poisoned in debug builds and refused with a reason when there
 * is not enough; its copies move every byte and none beside; its streams and events do what device.h says. */
#include "support/host_field.h"

#include <stdlib.h>
#include <time.h>

static void memory_is_aligned(void **state)
{
    (void)state;
    device *d = device_host_create(0);
    const size_t sizes_bytes[] = { 0, 1, 127, 4096, (size_t)3 << 20 };
    for (int where = DEVICE_MEMORY_DEVICE; where <= DEVICE_MEMORY_PINNED; where++)
        for (size_t i = 0; i < sizeof sizes_bytes / sizeof *sizes_bytes; i++) {
            unsigned char *p = NULL;
            assert_int_equal(d->alloc(d, (device_memory)where, sizes_bytes[i], (void **)&p), 0);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % FIELD_ALIGN_BYTES, 0);
#ifdef WEFT_DEBUG
            for (size_t k = 0; k < sizes_bytes[i]; k++) assert_int_equal(p[k], 0xff);
#endif
            d->free(d, (device_memory)where, p);
        }
    void *none = &none;
    const int code = d->alloc(d, DEVICE_MEMORY_DEVICE, SIZE_MAX - 4096, &none);
    assert_int_not_equal(code, 0);
    assert_null(none);
    assert_true(strlen(d->error_text(code)) > 0);
    size_t free_bytes = 0, total_bytes = 0;
    assert_int_equal(d->memory_info(d, &free_bytes, &total_bytes), 0);
    assert_true(free_bytes > 0 && free_bytes <= total_bytes);
    assert_true(d->kind == DEVICE_HOST && d->threads > 0 && strlen(d->name) > 0);
    device_destroy(&d);
    assert_null(d);
    device_destroy(&d);
}

/* Ends of every alignment, from below a cache line to a team's share, with plain and with streamed stores. */
static void copies_move_every_byte(void **state)
{
    (void)state;
    const size_t lengths_bytes[] = { 0, 1, 63, 64, 65, 1000, 300001 };
    const size_t room_bytes = 400000;
    unsigned char *from = malloc(room_bytes), *to = malloc(room_bytes), *want = malloc(room_bytes);
    assert_true(from && to && want);
    for (size_t i = 0; i < room_bytes; i++) from[i] = (unsigned char)(i * 2654435761u >> 13);
    for (int threads = 1; threads <= 3; threads++)
        for (int streams = 0; streams < 2; streams++) {
            device *d = device_host_create(threads);
            if (streams) ((device_host *)d)->far_cache_bytes = 0;
            for (size_t k = 0; k < sizeof lengths_bytes / sizeof *lengths_bytes; k++)
                for (size_t shift = 0; shift < 70; shift += 23) {
                    memset(to, 0xa5, room_bytes);
                    memset(want, 0xa5, room_bytes);
                    memcpy(want + 100 + shift, from + 2 * shift, lengths_bytes[k]);
                    assert_int_equal(d->copy(d, to + 100 + shift, from + 2 * shift, lengths_bytes[k], NULL),
                                     0);
                    assert_memory_equal(to, want, room_bytes);
                }
            memset(to, 0xa5, room_bytes);
            memset(want, 0xa5, room_bytes);
            for (size_t y = 0; y < 301; y++) memcpy(want + 3 + y * 1001, from + y * 1100, 997);
            assert_int_equal(d->copy_rows(d, to + 3, 1001, from, 1100, 997, 301, NULL), 0);
            assert_memory_equal(to, want, room_bytes);
            device_destroy(&d);
        }
    free(from);
    free(to);
    free(want);
}

static void events_measure_time(void **state)
{
    (void)state;
    device *d = device_host_create(1);
    device_stream *s = NULL;
    device_event *from = NULL, *to = NULL, *plain = NULL;
    assert_int_equal(d->stream_create(d, true, &s), 0);
    assert_int_equal(d->event_create(d, true, &from), 0);
    assert_int_equal(d->event_create(d, true, &to), 0);
    assert_int_equal(d->event_create(d, false, &plain), 0);
    assert_int_equal(d->event_record(d, from, s), 0);
    const struct timespec pause = { 0, 3000000 };
    nanosleep(&pause, NULL);
    assert_int_equal(d->event_record(d, plain, s), 0);
    assert_int_equal(d->event_record(d, to, s), 0);
    assert_int_equal(d->event_wait(d, plain, s), 0);
    assert_int_equal(d->event_sync(d, to), 0);
    bool done = false;
    assert_int_equal(d->event_done(d, to, &done), 0);
    assert_true(done);
    double elapsed_s = 0;
    assert_int_equal(d->event_seconds(d, from, to, &elapsed_s), 0);
    assert_true(elapsed_s >= 0.003 && elapsed_s < 60);
    assert_int_equal(d->stream_sync(d, s), 0);
    d->event_destroy(d, &from);
    d->event_destroy(d, &to);
    d->event_destroy(d, &plain);
    d->stream_destroy(d, &s);
    assert_true(!from && !to && !plain && !s);
    device_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned),
        cmocka_unit_test(copies_move_every_byte),
        cmocka_unit_test(events_measure_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
