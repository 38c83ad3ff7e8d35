#include "storm/storm_device.h"

#include "core/late.h"
#include "ranks/check.h"
#include "sim/sim_state.h"
#include "storm/storm_delay.h"
#include "storm/storm_reads.h"
#include "temporal/temporal.h"
#include "transpose/transpose_peer.h"

static struct {
    sim *s;
    device inner; /* the functions that were there */
    bool full, copies, captures;
    int64_t level;
    void *poison; /* NaN for the largest of the ghost boxes */
} storm;

/* ---- what stands in the struct ---- */

static int event_record(device *d, device_event *e, device_stream *s)
{
    storm_race_recorded(e, s);
    return !storm.captures && storm_race_skips_record(e) ? 0 : storm.inner.event_record(d, e, s);
}

/* While steps are captured streams join by waits: none may be left out. */
static int event_wait(device *d, device_event *e, device_stream *s)
{
    storm_delay_thread(256);
    const bool goes_on = !storm.captures && storm_race_skips_wait(e, s);
    const int code = goes_on ? 0 : storm.inner.event_wait(d, e, s);
    return code == 0 && storm_race_is_aside(s) ? storm_delay_aside(s) : code;
}

static int event_sync(device *d, device_event *e)
{
    storm_delay_thread(64);
    return storm_race_skips_sync(e) ? 0 : storm.inner.event_sync(d, e);
}

static int event_done(device *d, device_event *e, bool *done)
{
    *done = true;
    storm_delay_thread(256);
    return storm_race_skips_sync(e) ? 0 : storm.inner.event_done(d, e, done);
}

static int stream_done(device *d, device_stream *s, bool *done)
{
    *done = true;
    storm_delay_thread(64);
    return storm_race_skips_stream_done() ? 0 : storm.inner.stream_done(d, s, done);
}

static int stream_sync(device *d, device_stream *s)
{
    return storm_race_skips_stream_sync(s) ? 0 : storm.inner.stream_sync(d, s);
}

/* On a full device a level is put aside without a copy of it there: the next step waits. */
static int memory_info(device *d, size_t *free_bytes, size_t *total_bytes)
{
    const int code = storm.inner.memory_info(d, free_bytes, total_bytes);
    if (storm.full) *free_bytes = 0;
    return code;
}

static int graph_begin(device *d, device_stream *s)
{
    storm.captures = true;
    storm_delay_level(-1);
    return storm.inner.graph_begin(d, s);
}

static int graph_end(device *d, device_stream *s, device_graph **out)
{
    storm.captures = false;
    storm_delay_level(storm.level);
    return storm.inner.graph_end(d, s, out);
}

static unsigned late_of(storm_race race) { return LATE_WARPS | (storm_race_is(race) ? LATE_GOES_ON : 0); }

/* A piece of work begins on the stream, now and then late. */
static int begin(device_stream *s, storm_work work)
{
    storm_race_worked(s, work);
    return storm_delay_work(s);
}

static bool is_in_a_field(const char *p)
{
    sim_field field[SIM_FIELDS_MAX];
    const int fields = sim_fields(storm.s, field);
    for (int i = 0; i < fields; i++) {
        const char *first = field[i].cells;
        if (p >= first && p < first + field[i].grid->shape.bytes) return true;
    }
    return false;
}

/* Rows that are sent as they stand are not packed: a copy out of the field is theirs. Beside the steps norms
 * are copied. Any other copy goes on with what the work before it made: a message, from the device to where
 * MPI takes it. */
static int copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    if (from == storm.s->result || storm_race_is_aside(s)) storm_race_worked(s, STORM_WORK_NORM);
    else if (is_in_a_field(from)) storm_race_worked(s, STORM_WORK_PACK);
    else if (is_in_a_field(to)) storm_race_worked(s, STORM_WORK_OTHER);
    const int code = storm_delay_work(s);
    return code ? code : storm.inner.copy(d, to, from, bytes, s);
}

/* Dense rows go beside the steps alone, to a snapshot. */
static int copy_rows(device *d, void *to, size_t to_pitch_bytes, const void *from, size_t from_pitch_bytes,
                     size_t row_bytes, size_t rows, device_stream *s)
{
    const int code = begin(s, storm_race_is_aside(s) ? STORM_WORK_SNAPSHOT : STORM_WORK_OTHER);
    return code ? code
                : storm.inner.copy_rows(d, to, to_pitch_bytes, from, from_pitch_bytes, row_bytes, rows, s);
}

static int boundary_fill(device *d, const field_shape *f, void *field, const boundary *sides,
                         const box *boxes, int count, device_stream *s)
{
    const int code = begin(s, STORM_WORK_FILL);
    return code ? code : storm.inner.boundary_fill(d, f, field, sides, boxes, count, s);
}

static int pack(device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
                int count, device_stream *s)
{
    const int code = begin(s, STORM_WORK_PACK);
    return code ? code : storm.inner.pack(d, f, field, buffer, pieces, count, s);
}

static int transpose(device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch,
                     int64_t rows, int64_t cols, int flags, device_stream *s)
{
    const int code = begin(s, STORM_WORK_TRANSPOSE);
    return code ? code : storm.inner.transpose(d, t, to, to_pitch, from, from_pitch, rows, cols, flags, s);
}

static int transpose_parts(device *d, dtype t, const transpose_call *call, int flags, device_stream *s)
{
    const int code = begin(s, STORM_WORK_OTHER);
    transpose_call late = *call;
    late.late = late_of(STORM_CHUNK_BEFORE_FLAG);
    return code ? code : storm.inner.transpose_parts(d, t, &late, flags, s);
}

static int ranks_meet(device *d, const device_meeting *m, device_stream *s)
{
    const int code = begin(s, STORM_WORK_OTHER);
    device_meeting late = *m;
    late.late = late_of(STORM_COPY_BEFORE_MEETING);
    return code ? code : storm.inner.ranks_meet(d, &late, s);
}

/* The message is not read again: its buffer takes the next one once this stream has come past here. */
static int unpack(device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
                  int count, unpack_mode mode, device_stream *s)
{
    storm_delay_thread(64);
    int code = begin(s, STORM_WORK_OTHER);
    if (code == 0) code = storm.inner.unpack(d, f, field, buffer, pieces, count, mode, s);
    for (int i = 0; i < count && code == 0; i++) {
        const size_t word = dtype_bytes(f->type);
        char *const message = (char *)(uintptr_t)buffer + (size_t)pieces[i].offset * word;
        if (!box_empty(pieces[i].cells))
            code = storm.inner.fill_bytes(d, message, 0xff, (size_t)box_cells(pieces[i].cells) * word, s);
    }
    return code;
}

static int peer_exchange(device *d, const field_shape *f, void *field, const device_link *links, int count,
                         device_stream *s)
{
    const int code = begin(s, STORM_WORK_OTHER);
    device_link late[PACK_PIECES_MAX];
    for (int i = 0; i < count; i++) late[i] = links[i], late[i].late = late_of(STORM_PART_BEFORE_FLAG);
    return code ? code : storm.inner.peer_exchange(d, f, field, late, count, s);
}

static bool takes_copies(const field_shape *f)
{
    return storm.copies && !storm.captures && f == &storm.s->plan.grid.shape;
}

static int stencil_pass(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                        const box *boxes, int count, device_stream *s)
{
    const int64_t r = storm.s->cfg->problem.radius, ry = f->depth_y > 0 ? r : 0;
    const bool corners = stencil_reads_corners(storm.s->prob.op.form);
    const int code = begin(s, STORM_WORK_OTHER);
    for (int i = 0; i < count && takes_copies(f); i++) {
        const box b = boxes[i], cells = box_make(b.x0 - r, b.x1 + r, b.y0 - ry, b.y1 + ry);
        if (!box_empty(b)) storm_reads_take(cur, storm.level, storm.level, cells, corners ? NULL : &b, s);
    }
    return code ? code : storm.inner.stencil_pass(d, f, next, cur, prev, boxes, count, s);
}

static int temporal_pass(device *d, const field_shape *f, void *next, void *next_prev, const void *cur,
                         const void *prev, box cells, int steps, const boundary *sides, uint64_t *change,
                         device_stream *s)
{
    const int64_t r = storm.s->cfg->problem.radius;
    const int code = begin(s, STORM_WORK_OTHER);
    if (takes_copies(f)) {
        storm_reads_take(cur, storm.level, storm.level, temporal_extent(f, cells, r * steps, sides), NULL, s);
        if (prev && storm.level > 0)
            storm_reads_take(prev, storm.level, storm.level - 1,
                             temporal_extent(f, cells, r * (steps - 1), sides), NULL, s);
    }
    return code ? code
                : storm.inner.temporal_pass(d, f, next, next_prev, cur, prev, cells, steps, sides, change, s);
}

/* Its reads are inside the kernel: what it has written is looked at instead. */
static int stencil_inkernel(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                            const inkernel_step *step, device_stream *s)
{
    inkernel_step late = *step;
    late.late = late_of(STORM_BLOCK_BEFORE_FLAG_WORDS);
    int code = begin(s, STORM_WORK_OTHER);
    if (code == 0) code = storm.inner.stencil_inkernel(d, f, next, cur, prev, &late, s);
    if (takes_copies(f)) storm_reads_take(next, storm.level, storm.level + 1, step->cells, NULL, s);
    return code;
}

#define STORM_FUNCTIONS(X)                                                                                 \
    X(memory_info)                                                                                         \
    X(event_record) X(event_wait) X(event_sync) X(event_done) X(stream_done) X(stream_sync) X(graph_begin) \
        X(graph_end) X(copy) X(copy_rows) X(boundary_fill) X(pack) X(transpose) X(transpose_parts)         \
            X(ranks_meet) X(unpack) X(peer_exchange) X(stencil_pass) X(temporal_pass) X(stencil_inkernel)
#define STORM_PUT(member) d->member = member;
#define STORM_TAKE_OUT(member) d->member = storm.inner.member;

/* ---- ghosts ---- */

static int ghost_boxes(const field_shape *f, pack_piece pieces[4])
{
    const int64_t dx = f->depth_x, dy = f->depth_y;
    const box boxes[4] = { box_make(-dx, f->nx + dx, -dy, 0), box_make(-dx, f->nx + dx, f->ny, f->ny + dy),
                           box_make(-dx, 0, 0, f->ny), box_make(f->nx, f->nx + dx, 0, f->ny) };
    int count = 0;
    for (int i = 0; i < 4; i++)
        if (!box_empty(boxes[i])) pieces[count++] = (pack_piece){ boxes[i], 0 };
    return count;
}

static void poison_ghosts_of(void *field)
{
    pack_piece pieces[4];
    const field_shape *f = &storm.s->plan.grid.shape;
    device *d = storm.s->dev;
    DEVICE_CHECK(d, storm.inner.unpack(d, f, field, storm.poison, pieces, ghost_boxes(f, pieces),
                                       UNPACK_STORE, storm.s->streams.stream[0]));
}

/* Steps with in-kernel exchange have put the next level's there, and count on the sides' constants. */
void storm_device_poison_ghosts(void)
{
    const sim *s = storm.s;
    if (!s->pass.halo || step_in_kernel(&s->pass)) return;
    poison_ghosts_of(s->next.u);
    if (s->pass.prev_halo) poison_ghosts_of(s->next.prev);
}

void storm_device_begin(sim *s, unsigned seed, bool full, storm_race race)
{
    device *d = s->dev;
    const field_shape *f = &s->plan.grid.shape;
    const size_t bytes =
        (size_t)(f->pitch + f->ny) * (size_t)(f->depth_x + f->depth_y + 1) * dtype_bytes(f->type);
    storm.s = s;
    storm.inner = *d;
    storm.full = full;
    storm.copies = storm.captures = false;
    storm.level = 0;
    storm_delay_begin(s, d->stream_delay, seed);
    storm_race_begin(s, race);
    d->late = LATE_WARPS;
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, bytes, &storm.poison);
    DEVICE_CALL(d, fill_bytes, storm.poison, 0xff, bytes, s->streams.stream[0]);
    storm_reads_begin(s, d->pack);
    STORM_FUNCTIONS(STORM_PUT)
}

void storm_device_end(void)
{
    device *d = storm.s->dev;
    DEVICE_CHECK(d, d->synchronize(d));
    STORM_FUNCTIONS(STORM_TAKE_OUT)
    d->late = 0;
    storm_reads_end();
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, storm.poison);
}

void storm_device_step(bool copies)
{
    storm.level = storm.s->level;
    storm.copies = copies;
    storm_delay_level(storm.level);
    storm_delay_thread(16);
}
