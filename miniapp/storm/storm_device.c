#include "storm/storm_device.h"

#include <omp.h>
#include <string.h>
#include <time.h>

#include "core/late.h"
#include "ranks/check.h"
#include "storm/storm_reads.h"
#include "temporal/temporal.h"

enum { LATE_STEPS = 64 };

static struct storm_device {
    sim *s;
    device inner; /* the functions that were there */
    unsigned seed;
    bool copies, captures;
    int64_t level;
    void *poison; /* NaN for the largest of the ghost boxes */
    struct {
        int64_t step, ns;
    } late[LATE_STEPS];
} storm;

static _Thread_local uint64_t calls;

/* ---- chance ---- */

static uint64_t mixed(uint64_t k)
{
    k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdull;
    k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return k ^ (k >> 33);
}

/* One time in `every` a number of nanoseconds up to `most`, else 0. */
static int64_t chance_ns(unsigned every, int64_t most)
{
    const uint64_t thread = (uint64_t)omp_get_thread_num();
    const uint64_t h = mixed(((uint64_t)storm.seed << 32 | (uint64_t)storm.s->top.rank << 8 | thread) + 0x9E3779B97F4A7C15ull * ++calls);
    return h % every == 0 ? (int64_t)(h >> 32) % most : 0;
}

/* The thread that calls. */
static void delay_thread(unsigned every)
{
    const int64_t ns = chance_ns(every, 300000);
    if (ns == 0) return;
    const int at = (int)(storm.level % LATE_STEPS);
    if (storm.late[at].step != storm.level || storm.late[at].ns < ns) {
        storm.late[at].step = storm.level;
        storm.late[at].ns = ns;
    }
    const struct timespec nap = { 0, ns };
    (void)nanosleep(&nap, NULL);
}

static int delay_stream(device *d, device_stream *s)
{
    const int64_t ns = d->kind == DEVICE_CUDA ? chance_ns(8, 100000) : 0;
    return ns > 0 ? d->stream_delay(d, ns, s) : 0;
}

int64_t storm_device_late_ns(int64_t step)
{
    int64_t most = 0;
    for (int64_t n = step > 0 ? step - 1 : 0; n <= step; n++)
        if (storm.late[n % LATE_STEPS].step == n && storm.late[n % LATE_STEPS].ns > most) most = storm.late[n % LATE_STEPS].ns;
    return most;
}

/* ---- what stands in the struct ---- */

static int event_record(device *d, device_event *e, device_stream *s)
{
    storm_race_recorded(e, s);
    if (storm_race_skips_record(e)) return 0;
    const int code = delay_stream(d, s);
    return code ? code : storm.inner.event_record(d, e, s);
}

static int event_wait(device *d, device_event *e, device_stream *s)
{
    delay_thread(256);
    if (storm_race_skips_wait(e, s)) return 0;
    const int code = storm.inner.event_wait(d, e, s);
    return code ? code : delay_stream(d, s);
}

static int event_sync(device *d, device_event *e)
{
    delay_thread(64);
    return storm_race_skips_sync(e) ? 0 : storm.inner.event_sync(d, e);
}

static int event_done(device *d, device_event *e, bool *done)
{
    *done = true;
    delay_thread(256);
    return storm_race_skips_sync(e) ? 0 : storm.inner.event_done(d, e, done);
}

static int stream_done(device *d, device_stream *s, bool *done)
{
    *done = true;
    delay_thread(64);
    return storm_race_skips_stream_done() ? 0 : storm.inner.stream_done(d, s, done);
}

static int stream_sync(device *d, device_stream *s)
{
    return storm_race_skips_stream_sync(s) ? 0 : storm.inner.stream_sync(d, s);
}

/* In every other run the device is full, so that a level is put aside without a copy of it on the device: the next step waits. */
static int memory_info(device *d, size_t *free_bytes, size_t *total_bytes)
{
    const int code = storm.inner.memory_info(d, free_bytes, total_bytes);
    if (storm.seed % 2 != 0) *free_bytes = 0;
    return code;
}

static int graph_begin(device *d, device_stream *s)
{
    storm.captures = true;
    return storm.inner.graph_begin(d, s);
}

static int graph_end(device *d, device_stream *s, device_graph **out)
{
    storm.captures = false;
    return storm.inner.graph_end(d, s, out);
}

static int copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    if (from == storm.s->result) storm_race_worked(s, STORM_WORK_NORM);
    return storm.inner.copy(d, to, from, bytes, s);
}

static int copy_rows(device *d, void *to, size_t to_pitch_bytes, const void *from, size_t from_pitch_bytes, size_t row_bytes, size_t rows,
                     device_stream *s)
{
    storm_race_worked(s, STORM_WORK_OTHER);
    return storm.inner.copy_rows(d, to, to_pitch_bytes, from, from_pitch_bytes, row_bytes, rows, s);
}

static int boundary_fill(device *d, const field_shape *f, void *field, const boundary *sides, const box *boxes, int count,
                         device_stream *s)
{
    storm_race_worked(s, STORM_WORK_FILL);
    return storm.inner.boundary_fill(d, f, field, sides, boxes, count, s);
}

static int pack(device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces, int count, device_stream *s)
{
    storm_race_worked(s, STORM_WORK_PACK);
    return storm.inner.pack(d, f, field, buffer, pieces, count, s);
}

static int transpose(device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch, int64_t rows, int64_t cols, int flags,
                     device_stream *s)
{
    storm_race_worked(s, STORM_WORK_TRANSPOSE);
    return storm.inner.transpose(d, t, to, to_pitch, from, from_pitch, rows, cols, flags, s);
}

/* The message is not read again: its buffer takes the next one once this stream has come past here. */
static int unpack(device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces, int count, unpack_mode mode,
                  device_stream *s)
{
    storm_race_worked(s, STORM_WORK_OTHER);
    delay_thread(64);
    int code = delay_stream(d, s);
    if (code == 0) code = storm.inner.unpack(d, f, field, buffer, pieces, count, mode, s);
    for (int i = 0; i < count && code == 0; i++) {
        const size_t word = dtype_bytes(f->type);
        char *const message = (char *)(uintptr_t)buffer + (size_t)pieces[i].offset * word;
        if (!box_empty(pieces[i].cells)) code = storm.inner.fill_bytes(d, message, 0xff, (size_t)box_cells(pieces[i].cells) * word, s);
    }
    return code;
}

static unsigned late_of(storm_race race) { return LATE_WARPS | (storm_race_is(race) ? LATE_GOES_ON : 0); }

static int peer_exchange(device *d, const field_shape *f, void *field, const device_link *links, int count, device_stream *s)
{
    const int code = delay_stream(d, s);
    device_link late[PACK_PIECES_MAX];
    for (int i = 0; i < count; i++) late[i] = links[i], late[i].late = late_of(STORM_PART_BEFORE_FLAG);
    return code ? code : storm.inner.peer_exchange(d, f, field, late, count, s);
}

static bool takes_copies(const field_shape *f) { return storm.copies && !storm.captures && f == &storm.s->plan.grid.shape; }

static int stencil_pass(device *d, const field_shape *f, void *next, const void *cur, const void *prev, const box *boxes, int count,
                        device_stream *s)
{
    const int64_t r = storm.s->cfg->problem.radius, ry = f->depth_y > 0 ? r : 0;
    const bool corners = storm.s->prob.op.form == STENCIL_BOX;
    storm_race_worked(s, STORM_WORK_OTHER);
    for (int i = 0; i < count && takes_copies(f); i++) {
        const box b = boxes[i], cells = box_make(b.x0 - r, b.x1 + r, b.y0 - ry, b.y1 + ry);
        if (!box_empty(b)) storm_reads_take(cur, storm.level, storm.level, cells, corners ? NULL : &b, s);
    }
    return storm.inner.stencil_pass(d, f, next, cur, prev, boxes, count, s);
}

static int temporal_pass(device *d, const field_shape *f, void *next, void *next_prev, const void *cur, const void *prev, box cells,
                         int steps, const boundary *sides, uint64_t *change, device_stream *s)
{
    const int64_t r = storm.s->cfg->problem.radius;
    storm_race_worked(s, STORM_WORK_OTHER);
    if (takes_copies(f)) {
        storm_reads_take(cur, storm.level, storm.level, temporal_extent(f, cells, r * steps, sides), NULL, s);
        if (prev && storm.level > 0)
            storm_reads_take(prev, storm.level, storm.level - 1, temporal_extent(f, cells, r * (steps - 1), sides), NULL, s);
    }
    return storm.inner.temporal_pass(d, f, next, next_prev, cur, prev, cells, steps, sides, change, s);
}

/* Its reads are inside the kernel: what it has written is looked at instead. */
static int stencil_inkernel(device *d, const field_shape *f, void *next, const void *cur, const void *prev, const inkernel_step *step,
                            device_stream *s)
{
    storm_race_worked(s, STORM_WORK_OTHER);
    inkernel_step late = *step;
    late.late = late_of(STORM_BLOCK_BEFORE_FLAG_WORDS);
    const int code = storm.inner.stencil_inkernel(d, f, next, cur, prev, &late, s);
    if (takes_copies(f)) storm_reads_take(next, storm.level, storm.level + 1, step->cells, NULL, s);
    return code;
}

#define STORM_FUNCTIONS(X) \
    X(memory_info) X(event_record) X(event_wait) X(event_sync) X(event_done) X(stream_done) X(stream_sync) X(graph_begin) X(graph_end) \
    X(copy) X(copy_rows) X(boundary_fill) X(pack) X(transpose) X(unpack) X(peer_exchange) X(stencil_pass) X(temporal_pass) \
    X(stencil_inkernel)
#define STORM_PUT(member) d->member = member;
#define STORM_TAKE_OUT(member) d->member = storm.inner.member;

/* ---- ghosts ---- */

static int ghost_boxes(const field_shape *f, pack_piece pieces[4])
{
    const int64_t dx = f->depth_x, dy = f->depth_y;
    const box boxes[4] = { box_make(-dx, f->nx + dx, -dy, 0), box_make(-dx, f->nx + dx, f->ny, f->ny + dy), box_make(-dx, 0, 0, f->ny),
                           box_make(f->nx, f->nx + dx, 0, f->ny) };
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
    DEVICE_CHECK(d, storm.inner.unpack(d, f, field, storm.poison, pieces, ghost_boxes(f, pieces), UNPACK_STORE,
                                       storm.s->streams.stream[0]));
}

/* Steps with in-kernel exchange have put the next level's there, and count on the sides' constants. */
void storm_device_poison_ghosts(void)
{
    const sim *s = storm.s;
    if (!s->pass.halo || s->pass.inkernel) return;
    poison_ghosts_of(s->next.u);
    if (s->pass.prev_halo) poison_ghosts_of(s->next.prev);
}

void storm_device_begin(sim *s, unsigned seed, storm_race race)
{
    device *d = s->dev;
    const field_shape *f = &s->plan.grid.shape;
    const size_t bytes = (size_t)(f->pitch + f->ny) * (size_t)(f->depth_x + f->depth_y + 1) * dtype_bytes(f->type);
    storm.s = s;
    storm.inner = *d;
    storm.seed = seed;
    storm_race_begin(s, race);
    storm.level = 0;
    memset(storm.late, 0, sizeof storm.late);
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
    storm_reads_end();
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, storm.poison);
}

void storm_device_step(bool copies)
{
    storm.level = storm.s->level;
    storm.copies = copies;
    delay_thread(16);
}
