/* A level is put aside in the device's memory, if that has room for it once more: a copy between two steps,
 * at the device's full rate, which is all that the steps wait for. From there it goes to pinned host memory
 * on a stream of low priority beside them. Without that room it is copied to the host at once and the steps
 * wait for it: they may not overwrite what is still read, and the one step that could be let pass is nothing
 * beside the copy. On the host device, which has one memory, the same. Fields that stream through the device
 * are put aside where the next level will be (sim_has_free_level): steps wait for the file too. Fingerprints
 * are computed of what was put aside. */
#include "sim/sim.h"

#include "ranks/check.h"

/* Timed: the steps are held up between them; all is on the host; all before snapshot_mark has run. */
enum { BEGIN, END, DONE, LAST };

/* Room for the copies, and as much again is left to others as they take, up to 2 GB: messages, graphs, a
 * library's own. */
static void make_copies(sim *s, const sim_field *field, int fields)
{
    device *d = s->dev;
    size_t bytes = 0;
    host_limit by;
    const size_t spare_bytes = (size_t)2 << 30;
    for (int i = 0; i < fields; i++) bytes += field[i].grid->shape.bytes;
    if (d->kind == DEVICE_HOST) return;
    if (topology_free_bytes(&s->top, d, &by) < (double)(bytes + (bytes < spare_bytes ? bytes : spare_bytes)))
        return;
    for (int i = 0; i < fields; i++)
        DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, field[i].grid->shape.bytes, &s->aside.copy[i]);
}

void snapshot_prepare(sim *s)
{
    sim_field field[STATE_FIELDS_MAX];
    device *d = s->dev;
    sim_aside *const p = &s->aside;
    if (p->stream) return;
    DEVICE_CALL(d, stream_create, false, &p->stream);
    for (int i = 0; i < SIM_ASIDE_EVENTS; i++) DEVICE_CALL(d, event_create, i <= END, &p->event[i]);
    const size_t shares_bytes = STATE_FIELDS_MAX * sizeof *p->shares;
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, shares_bytes, (void **)&p->shares);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, shares_bytes, (void **)&p->shares_host);
    const int fields = sim_level_fields(s, field);
    make_copies(s, field, fields);
    if (sim_has_free_level(s)) return;
    state_level level;
    sim_state_describe(s, "", &level);
    for (int i = 0; i < fields; i++) /* touched here, not while the steps wait */
        DEVICE_CALL(d, fill_bytes, level.field[i].data, 0,
                    (size_t)box_cells(level.field[i].own) * dtype_bytes(level.type), p->stream);
    DEVICE_CALL(d, stream_sync, p->stream);
}

void snapshot_destroy(sim *s)
{
    device *d = s->dev;
    sim_aside *const p = &s->aside;
    if (!p->stream) return;
    DEVICE_CALL(d, stream_sync, p->stream);
    DEVICE_CALL(d, stream_destroy, &p->stream);
    for (int i = 0; i < SIM_ASIDE_EVENTS; i++) DEVICE_CALL(d, event_destroy, &p->event[i]);
    for (int i = 0; i < STATE_FIELDS_MAX; i++) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, p->copy[i]);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, p->shares);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, p->shares_host);
}

/* Own cells of one field to the host, and their fingerprint, on the low stream. */
static void bring(sim *s, const plan_grid *g, const void *from, int i, void *to)
{
    device *d = s->dev;
    sim_aside *const p = &s->aside;
    const field_shape *f = &g->shape;
    const size_t word = dtype_bytes(f->type), row_bytes = (size_t)f->nx * word;
    DEVICE_CALL(d, fingerprint, f, from, g->dec.nx, g->dec.own.x0, g->dec.own.y0, &p->shares[i], p->stream);
    DEVICE_CALL(d, copy, &p->shares_host[i], &p->shares[i], sizeof *p->shares, p->stream);
    DEVICE_CALL(d, copy_rows, to, row_bytes, field_at_const(f, from, 0, 0), (size_t)f->pitch * word,
                row_bytes, (size_t)f->ny, p->stream);
}

void snapshot_mark(sim *s) { DEVICE_CALL(s->dev, event_record, s->aside.event[LAST], s->streams.stream[0]); }

static bool is_idle(void *owner)
{
    sim *s = owner;
    bool done = false;
    DEVICE_CALL(s->dev, event_done, s->aside.event[LAST], &done);
    return done;
}

static bool is_ready(void *owner, state_level *level, double *held_s)
{
    sim *s = owner;
    device *d = s->dev;
    sim_aside *const p = &s->aside;
    bool done = false;
    DEVICE_CALL(d, event_done, p->event[DONE], &done);
    if (!done) return false;
    DEVICE_CALL(d, event_sync, p->event[END]);
    DEVICE_CALL(d, event_seconds, p->event[BEGIN], p->event[END], held_s);
    for (int i = 0; i < level->fields; i++) level->field[i].fingerprint = p->shares_host[i];
    return true;
}

state_request snapshot_take(sim *s, const char *deck_text)
{
    state_request asked = { .ready = is_ready, .idle = is_idle, .owner = s };
    sim_field field[STATE_FIELDS_MAX];
    device *d = s->dev;
    sim_aside *const p = &s->aside;
    device_stream *const steps = s->streams.stream[0];
    const int fields = sim_level_fields(s, field);
    const bool copied = p->copy[0] != NULL;
    sim_state_describe(s, deck_text, &asked.level);
    DEVICE_CALL(d, event_record, p->event[BEGIN], steps);
    for (int i = 0; i < fields && copied; i++)
        DEVICE_CALL(d, copy, p->copy[i], field[i].cells, field[i].grid->shape.bytes, steps);
    if (copied) DEVICE_CALL(d, event_record, p->event[END], steps);
    DEVICE_CALL(d, event_wait, p->event[copied ? END : BEGIN], p->stream);
    for (int i = 0; i < fields; i++)
        bring(s, field[i].grid, copied ? p->copy[i] : field[i].cells, i, asked.level.field[i].data);
    DEVICE_CALL(d, event_record, p->event[DONE], p->stream);
    if (!copied) {
        DEVICE_CALL(d, event_wait, p->event[DONE], steps);
        DEVICE_CALL(d, event_record, p->event[END], steps);
    }
    /* The level is complete, for all streams of the next step, only now. */
    step_complete(&s->streams);
    snapshot_mark(s);
    return asked;
}
