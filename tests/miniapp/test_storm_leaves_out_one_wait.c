/* Of the waits of a step each race leaves out its own and no other, and none while steps are captured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "storm/storm_device.h"

/* A device that does nothing but count who waits. */
static int waits;

static int record(device *d, device_event *e, device_stream *s)
{
    return (void)d, (void)e, (void)s, waits++, 0;
}
static int wait(device *d, device_event *e, device_stream *s)
{
    return (void)d, (void)e, (void)s, waits++, 0;
}
static int sync_event(device *d, device_event *e) { return (void)d, (void)e, waits++, 0; }
static int sync_stream(device *d, device_stream *s) { return (void)d, (void)s, waits++, 0; }
static int is_done(device *d, device_stream *s, bool *done)
{
    return (void)d, (void)s, waits++, *done = false, 0;
}
static int copy_none(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    return (void)d, (void)to, (void)from, (void)bytes, (void)s, 0;
}
static int copy_no_rows(device *d, void *to, size_t to_pitch_bytes, const void *from, size_t from_pitch_bytes,
                        size_t row_bytes, size_t rows, device_stream *s)
{
    return (void)d, (void)to, (void)to_pitch_bytes, (void)from, (void)from_pitch_bytes, (void)row_bytes,
           (void)rows, (void)s, 0;
}
static int fill(device *d, const field_shape *f, void *field, const boundary *sides, const box *boxes,
                int count, device_stream *s)
{
    return (void)d, (void)f, (void)field, (void)sides, (void)boxes, (void)count, (void)s, 0;
}
static int pack(device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
                int count, device_stream *s)
{
    return (void)d, (void)f, (void)field, (void)buffer, (void)pieces, (void)count, (void)s, 0;
}
static int unpack(device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
                  int count, unpack_mode mode, device_stream *s)
{
    return (void)d, (void)f, (void)field, (void)buffer, (void)pieces, (void)count, (void)mode, (void)s, 0;
}
static int transpose(device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch,
                     int64_t rows, int64_t cols, int flags, device_stream *s)
{
    return (void)d, (void)t, (void)to, (void)to_pitch, (void)from, (void)from_pitch, (void)rows, (void)cols,
           (void)flags, (void)s, 0;
}
static int capture(device *d, device_stream *s) { return (void)d, (void)s, 0; }

static struct {
    sim s;
    double field[2][512], buffer[8];
    char stream[4], aside, event[6];
    uint64_t result;
} at;

static device_stream *stream(int i) { return (device_stream *)(void *)&at.stream[i]; }
static device_stream *exchange(void) { return stream(3); }
static device_stream *aside(void) { return (device_stream *)(void *)&at.aside; }
static device_event *event(int i) { return (device_event *)(void *)&at.event[i]; }

static void begin(storm_race race)
{
    sim *s = &at.s;
    memset(&at, 0, sizeof at);
    device *d = s->dev = device_host_create(1);
    d->event_record = record, d->event_wait = wait, d->event_sync = sync_event, d->stream_sync = sync_stream,
    d->stream_done = is_done;
    d->copy = copy_none, d->copy_rows = copy_no_rows, d->boundary_fill = fill, d->pack = pack,
    d->unpack = unpack, d->transpose = transpose;
    d->graph_begin = capture;
    s->plan.grid.shape = field_shape_make(DTYPE_F64, 8, 8, 1, 1);
    assert_true(s->plan.grid.shape.bytes <= sizeof at.field[0]);
    s->now.u = at.field[0];
    s->next.u = at.field[1];
    s->result = &at.result;
    s->streams.count = 3;
    for (int i = 0; i < 3; i++) s->streams.stream[i] = stream(i), s->streams.stream_done[i] = event(i);
    s->streams.comm = exchange();
    s->streams.shell_done = event(3);
    s->streams.level = event(4);
    storm_device_begin(s, 1, false, race);
}

static void end(void)
{
    storm_device_end();
    device_destroy(&at.s.dev);
}

/* Work that an event stands behind, and who waits for it. */
typedef enum work {
    NOTHING,
    PACKED,
    PACKED_AND_COPIED,
    COPIED_OUT,
    COPIED_IN,
    UNPACKED,
    PART,
    PART_AND_COPIED,
    IMAGES,
    RESULT,
    ROWS
} work;
typedef enum waiter { STREAM, HOST, HOST_FOR_STREAM, HOST_ASKS_STREAM } waiter;
typedef struct a_wait {
    const char *what;
    work behind;
    char on, by; /* i: a stream of the interior, e: the exchange's, a: one beside; 0 is the first one */
    int event;
    waiter who;
    storm_race race; /* that leaves it out */
} a_wait;

static const a_wait all[] = {
    { "exchange for the level", NOTHING, '0', 'e', 4, STREAM, STORM_EXCHANGE_BEFORE_LEVEL },
    { "strip for the level", NOTHING, '0', 'i', 4, STREAM, STORM_STRIP_BEFORE_LEVEL },
    { "level for a strip", NOTHING, 'i', '0', 1, STREAM, STORM_NEXT_BEFORE_STRIP },
    { "level for the shell", NOTHING, 'e', '0', 3, STREAM, STORM_NEXT_BEFORE_SHELL },
    { "message for its pack", PACKED, 'e', 0, 5, HOST, STORM_MESSAGE_BEFORE_PACK },
    { "message for the copy of its pack", PACKED_AND_COPIED, 'e', 0, 5, HOST, STORM_MESSAGE_BEFORE_PACK },
    { "message for the copy of its rows", COPIED_OUT, 'e', 0, 5, HOST, STORM_MESSAGE_BEFORE_PACK },
    { "buffer for the copy of its rows", COPIED_IN, 'e', 0, 5, HOST, STORM_NO_RACE },
    { "buffer for its unpack", UNPACKED, 'e', 0, 5, HOST, STORM_NO_RACE },
    { "message out of the field for the stream", NOTHING, 'e', 'e', 5, HOST_ASKS_STREAM,
      STORM_MESSAGE_BEFORE_FIELD },
    { "norm for its reduction", RESULT, '0', '0', 5, HOST_FOR_STREAM, STORM_NORM_BEFORE_IT_IS_THERE },
    { "norm beside the steps", RESULT, 'a', 0, 5, HOST, STORM_NORM_BEFORE_IT_IS_THERE },
    { "host for a stream", PACKED, '0', '0', 5, HOST_FOR_STREAM, STORM_NO_RACE },
    { "message for its part", PART, '0', 0, 5, HOST, STORM_PART_BEFORE_TRANSPOSE },
    { "message for the copy of its part", PART_AND_COPIED, '0', 0, 5, HOST, STORM_PART_BEFORE_TRANSPOSE },
    { "copy beside the steps for the level", NOTHING, '0', 'a', 5, STREAM, STORM_ASIDE_BEFORE_LEVEL },
    { "step for the snapshot", ROWS, 'a', '0', 5, STREAM, STORM_NEXT_UNDER_SNAPSHOT },
    { "unpack for the chunks beside", RESULT, 'a', 'e', 5, STREAM, STORM_UNPACK_BEFORE_CHUNKS },
    { "target for the parts beside", UNPACKED, 'a', '0', 5, STREAM, STORM_UNPACK_BEFORE_CHUNKS },
    { "host for the snapshot", ROWS, 'a', 0, 5, HOST, STORM_NO_RACE },
};
enum { WAITS = sizeof all / sizeof *all };

static device_stream *stream_of(char c)
{
    return c == 'a' ? aside() : c == 'e' ? exchange() : stream(c == 'i');
}

static void do_work(work w, device_stream *s)
{
    device *d = at.s.dev;
    double *const u = at.s.now.u;
    if (w == PACKED || w == PACKED_AND_COPIED)
        (void)d->pack(d, &at.s.plan.grid.shape, u, at.buffer, NULL, 0, s);
    if (w == PART || w == PART_AND_COPIED) (void)d->transpose(d, DTYPE_F64, at.buffer, 1, u, 1, 1, 1, 0, s);
    if (w == PACKED_AND_COPIED || w == PART_AND_COPIED) (void)d->copy(d, &at.buffer[4], at.buffer, 8, s);
    if (w == COPIED_OUT || w == COPIED_IN) (void)d->copy(d, at.buffer, u + 20, 8, s);
    if (w == COPIED_IN) (void)d->copy(d, u + 20, at.buffer, 8, s);
    if (w == UNPACKED) (void)d->unpack(d, &at.s.plan.grid.shape, u, at.buffer, NULL, 0, UNPACK_STORE, s);
    if (w == IMAGES) (void)d->boundary_fill(d, &at.s.plan.grid.shape, u, NULL, NULL, 0, s);
    if (w == RESULT) (void)d->copy(d, at.buffer, &at.result, 8, s);
    if (w == ROWS)
        (void)d->copy(d, at.buffer, &at.result, 8, s), (void)d->copy_rows(d, at.buffer, 8, u, 8, 8, 1, s);
}

static bool is_left_out(const a_wait *w)
{
    device *d = at.s.dev;
    device_stream *const on = stream_of(w->on);
    bool done;
    do_work(w->behind, on);
    (void)d->event_record(d, event(w->event), on);
    waits = 0;
    switch (w->who) {
    case STREAM: (void)d->event_wait(d, event(w->event), stream_of(w->by)); break;
    case HOST: (void)d->event_sync(d, event(w->event)); break;
    case HOST_FOR_STREAM: (void)d->stream_sync(d, on); break;
    case HOST_ASKS_STREAM: (void)d->stream_done(d, on, &done); break;
    }
    return waits == 0;
}

static void each_race_leaves_out_its_own(void **state)
{
    (void)state;
    for (storm_race race = STORM_NO_RACE; race < STORM_RACES; race++)
        for (int i = 0; i < WAITS; i++) {
            begin(race);
            const bool left_out = is_left_out(&all[i]),
                       expected = race != STORM_NO_RACE && race == all[i].race;
            if (left_out != expected)
                fail_msg("%s: %s is %s", storm_race_name[race], all[i].what,
                         left_out ? "left out" : "not left out");
            end();
        }
}

/* The wait stands, for a record that came before the images. */
static void the_record_behind_images(void **state)
{
    (void)state;
    for (storm_race race = STORM_NO_RACE; race < STORM_RACES; race++) {
        begin(race);
        do_work(IMAGES, stream(0));
        waits = 0;
        (void)at.s.dev->event_record(at.s.dev, event(4), stream(0));
        assert_int_equal(waits, race != STORM_STRIP_BEFORE_IMAGES);
        end();
    }
}

static void none_while_steps_are_captured(void **state)
{
    (void)state;
    for (storm_race race = STORM_NO_RACE; race < STORM_RACES; race++)
        for (int i = 0; i < WAITS; i++) {
            if (all[i].who != STREAM) continue;
            begin(race);
            (void)at.s.dev->graph_begin(at.s.dev, stream(0));
            if (is_left_out(&all[i]))
                fail_msg("%s: %s is left out of a graph", storm_race_name[race], all[i].what);
            end();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_race_leaves_out_its_own),
        cmocka_unit_test(the_record_behind_images),
        cmocka_unit_test(none_while_steps_are_captured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
