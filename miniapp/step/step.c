#include "step/step.h"

#include <assert.h>
#include <omp.h>
#include <string.h>

#include "core/fp.h"
#include "ranks/check.h"

const char *const step_form_name[STEP_FORMS] = { [STEP_OVERLAPPED] = "split",
                                                 [STEP_EXCHANGE_FIRST] = "joined",
                                                 [STEP_IN_KERNEL] = "whole",
                                                 [STEP_MIXED] = "mixed" };

void step_streams_create(step_streams *s, device *d, int count, config_feed feed)
{
    assert(count >= 1 && count <= STEP_STREAMS_MAX);
    *s = (step_streams){ .dev = d, .count = count, .feed = feed };
    for (int i = 0; i < count; i++) {
        DEVICE_CALL(d, stream_create, false, &s->stream[i]);
        DEVICE_CALL(d, event_create, false, &s->stream_done[i]);
    }
    DEVICE_CALL(d, stream_create, true, &s->comm);
    DEVICE_CALL(d, event_create, false, &s->shell_done);
    DEVICE_CALL(d, event_create, false, &s->level);
}

void step_streams_destroy(step_streams *s)
{
    device *d = s->dev;
    if (!d) return;
    for (int i = 0; i < s->count; i++) {
        DEVICE_CALL(d, stream_destroy, &s->stream[i]);
        DEVICE_CALL(d, event_destroy, &s->stream_done[i]);
    }
    DEVICE_CALL(d, stream_destroy, &s->comm);
    DEVICE_CALL(d, event_destroy, &s->shell_done);
    DEVICE_CALL(d, event_destroy, &s->level);
    memset(s, 0, sizeof *s);
}

void step_complete(step_streams *s) { DEVICE_CALL(s->dev, event_record, s->level, s->stream[0]); }

void step_begin_generation(step_streams *s)
{
    step_complete(s);
    s->generation++;
}

/* cudaSetDevice once for each OpenMP thread that feeds a stream. A later device may have the address of an
 * earlier one, so its number counts. */
static void bind_thread_once(device *d)
{
    static _Thread_local int bound = -1;
    if (d->kind == DEVICE_HOST || bound == d->ordinal) return;
    DEVICE_CHECK(d, d->bind_thread(d));
    bound = d->ordinal;
}

static void compute(const step_streams *s, const step_pass *p, const step_job *j, const box *boxes, int count,
                    device_stream *stream)
{
    device *d = s->dev;
    if (step_in_kernel(p)) {
        for (int i = 0; i < count; i++)
            inkernel_pass_step(p->inkernel, boxes[i], j->epoch, j->cur.prev, j->exchange, j->rides, stream);
        return;
    }
    if (p->persistent) {
        assert(count == 0 || box_cells(boxes[0]) == box_cells(field_own(p->shape)));
        if (count > 0)
            DEVICE_CALL(d, persistent_pass, p->shape, j->next.u, j->cur.u, j->steps, &p->sides, p->persistent,
                        j->norm, stream);
        return;
    }
    if (p->block_steps == 1) {
        DEVICE_CALL(d, stencil_pass, p->shape, j->next.u, j->cur.u, j->cur.prev, boxes, count, stream);
        return;
    }
    for (int i = 0; i < count; i++)
        DEVICE_CALL(d, temporal_pass, p->shape, j->next.u, j->next.prev, j->cur.u, j->cur.prev, boxes[i],
                    j->steps, &p->sides, j->norm, stream);
}

/* Ghosts of the levels that the pass reads there. */
static void fill(const step_streams *s, const step_pass *p, const step_job *j, const box *ghosts, int count,
                 device_stream *stream)
{
    device *d = s->dev;
    DEVICE_CALL(d, boundary_fill, p->shape, j->cur.u, &p->sides, ghosts, count, stream);
    if (p->prev_halo) DEVICE_CALL(d, boundary_fill, p->shape, j->cur.prev, &p->sides, ghosts, count, stream);
}

static void begin_exchange(step_pass *p, unsigned over, step_levels cur, device_stream *stream)
{
    halo_begin(p->halo, over, cur.u, stream);
    if (p->prev_halo) halo_begin(p->prev_halo, over, cur.prev, stream);
}

static void end_exchange(step_pass *p, unsigned over, const step_probe *probe)
{
    if (p->prev_halo) (void)halo_end(p->prev_halo, over, NULL);
    if (probe && probe->detail) probe->detail->parted = halo_end(p->halo, over, probe->detail->arrived);
    else (void)halo_end(p->halo, over, NULL);
}

/* The links whose exchange runs beside the interior. */
static unsigned beside(const step_pass *p)
{
    return HALO_OVER_ALL & (p->form == STEP_MIXED ? ~p->near : ~0u);
}

static void feed_stream(step_streams *s, const step_pass *p, const step_job *j, int i)
{
    device *d = s->dev;
    device_stream *stream = s->stream[i];
    bind_thread_once(d);
    if (i > 0) DEVICE_CALL(d, event_wait, s->level, stream); /* stream 0 recorded it itself */
    step_probe_stream_begin(j->probe, d, i, stream);
    compute(s, p, j, &p->strip[i], 1, stream);
    step_probe_stream_end(j->probe, d, i, stream);
    if (i > 0) DEVICE_CALL(d, event_record, s->stream_done[i], stream);
    if (i == s->count - 1) step_probe_mark(j->probe, d, STEP_INTERIOR_END, stream);
}

/* Is anything put into ghosts between the last level and the interior? */
static bool comes_before(const step_pass *p)
{
    return p->wraps_count > 0 || (p->form == STEP_MIXED && p->block_steps > 1);
}

/* The streams, and later the shell, wait for `level` as it is then. */
static void before_interior(step_streams *s, step_pass *p, const step_job *j)
{
    device_stream *stream = s->stream[0];
    if (!comes_before(p)) return;
    if (p->form == STEP_MIXED && j->exchange) {
        begin_exchange(p, p->near, j->cur, stream);
        end_exchange(p, p->near, NULL);
    }
    if (p->form == STEP_MIXED) fill(s, p, j, p->ghosts, p->early_ghosts, stream);
    fill(s, p, j, p->wraps, p->wraps_count, stream);
    step_complete(s);
}

/* What the comm thread does while the streams compute. */
static void feed_comm(step_streams *s, step_pass *p, const step_job *j)
{
    device *d = s->dev;
    step_probe_mark(j->probe, d, STEP_RESUME, s->comm);
    if (j->exchange) {
        end_exchange(p, beside(p), j->probe);
        (void)fp_default();
    }
    step_probe_mark(j->probe, d, STEP_RECEIVED, s->comm);
    const int filled = p->form == STEP_MIXED ? p->early_ghosts : 0;
    fill(s, p, j, p->ghosts + filled, p->ghosts_count - filled, s->comm);
    step_probe_mark(j->probe, d, STEP_FILLED, s->comm);
    if (comes_before(p)) DEVICE_CALL(d, event_wait, s->level, s->comm);
    compute(s, p, j, p->shell, p->shell_count, s->comm);
    DEVICE_CALL(d, event_record, s->shell_done, s->comm);
    step_probe_mark(j->probe, d, STEP_SHELL_END, s->comm);
}

static void feed_serial(step_streams *s, step_pass *p, const step_job *j)
{
    for (int i = 0; i < s->count; i++) {
        feed_stream(s, p, j, i);
        if (j->exchange) halo_progress(p->halo, beside(p));
        if (j->exchange && p->prev_halo) halo_progress(p->prev_halo, beside(p));
    }
    feed_comm(s, p, j);
}

static void feed_openmp(step_streams *s, step_pass *p, const step_job *j)
{
#pragma omp parallel num_threads(s->count + 1)
    {
        const int feeders = omp_get_num_threads() - 1, me = omp_get_thread_num();
        (void)fp_default();
        if (feeders == 0) { /* OpenMP gave one thread only */
            feed_serial(s, p, j);
        } else if (me == 0) {
            feed_comm(s, p, j);
        } else {
            for (int i = me - 1; i < s->count; i += feeders) feed_stream(s, p, j, i);
        }
    }
}

void step_exchange(step_streams *s, step_pass *p, step_levels cur)
{
    begin_exchange(p, HALO_OVER_ALL, cur, s->comm);
    end_exchange(p, HALO_OVER_ALL, NULL);
}

/* All ghosts of cur, and in next those that stay as they are. */
static void start_inkernel(step_streams *s, step_pass *p, void *next, void *cur)
{
    device *d = s->dev;
    void *const both[] = { cur, next };
    DEVICE_CALL(d, event_wait, s->level, s->comm);
    halo_exchange(p->halo, cur, s->comm);
    for (int i = 0; i < 2; i++)
        DEVICE_CALL(d, boundary_fill, p->shape, both[i], &p->sides, p->ghosts, p->ghosts_count, s->comm);
    inkernel_pass_start(p->inkernel, next, s->comm);
    p->inkernel_generation = s->generation;
}

int step_ready(step_streams *s, step_pass *p, void *next, void *cur, bool exchange)
{
    if (!step_in_kernel(p)) return 0;
    if (!exchange) p->inkernel_generation = UINT64_MAX; /* the neighbours know nothing of these steps */
    else if (p->inkernel_generation != s->generation) start_inkernel(s, p, next, cur);
    return inkernel_pass_epoch(p->inkernel, next, exchange);
}

void step_taken(step_streams *s, step_pass *p, int64_t steps, bool exchange, int norms)
{
    if (!step_in_kernel(p)) return;
    if (exchange) inkernel_pass_advance(p->inkernel, steps);
    if (norms > 0) inkernel_pass_fetch(p->inkernel, norms, s->stream[0]);
}

static void enqueue_inkernel(step_streams *s, step_pass *p, const step_job *j)
{
    device *d = s->dev;
    device_stream *stream = s->stream[0];
    step_probe_mark(j->probe, d, STEP_ENTER, stream);
    inkernel_pass_step(p->inkernel, field_own(p->shape), j->epoch, j->cur.prev, j->exchange, j->rides,
                       stream);
    step_probe_mark_launch(j->probe, d, stream);
    step_complete(s);
    step_probe_mark(j->probe, d, STEP_LEAVE, stream);
}

static void enqueue_with_halo(step_streams *s, step_pass *p, step_job j)
{
    device *d = s->dev;
    if (j.norm && !step_in_kernel(p)) { /* complete before any stream's or the shell's pass */
        DEVICE_CALL(d, fill_bytes, j.norm, 0, sizeof *j.norm, s->stream[0]);
        step_complete(s);
    }
    assert(p->strips == s->count);
    if (halo_neighbours(p->halo) == 0 || p->persistent) j.exchange = false;
    if (j.probe && j.probe->detail) {
        j.probe->detail->streams = s->count;
        j.probe->detail->exchanged = j.exchange;
    }
    step_probe_mark(j.probe, d, STEP_ENTER, s->stream[0]);

    /* Pack first: once the interior fills the SMs the pack queues behind it and messages leave too late to
     * hide. */
    DEVICE_CALL(d, event_wait, s->level, s->comm);
    step_probe_mark(j.probe, d, STEP_PACK, s->comm);
    if (j.exchange) begin_exchange(p, beside(p), j.cur, s->comm);
    step_probe_mark(j.probe, d, STEP_POSTED, s->comm);

    before_interior(s, p, &j);
    if (s->feed == CONFIG_FEED_OPENMP) feed_openmp(s, p, &j);
    else feed_serial(s, p, &j);

    for (int i = 1; i < s->count; i++) DEVICE_CALL(d, event_wait, s->stream_done[i], s->stream[0]);
    DEVICE_CALL(d, event_wait, s->shell_done, s->stream[0]);
    step_complete(s);
    step_probe_mark(j.probe, d, STEP_LEAVE, s->stream[0]);
}

static void enqueue(step_streams *s, step_pass *p, step_job j)
{
    if (p->form == STEP_IN_KERNEL) enqueue_inkernel(s, p, &j);
    else enqueue_with_halo(s, p, j);
}

void step_enqueue(step_streams *s, step_pass *p, const step_levels fields[2], bool exchange, int epoch,
                  inkernel_pass_norm norm)
{
    const step_levels next = fields[epoch % 2], cur = fields[1 - epoch % 2];
    enqueue(s, p,
            (step_job){ .next = next,
                        .cur = cur,
                        .steps = p->block_steps,
                        .exchange = exchange,
                        .epoch = epoch,
                        .rides = norm });
}

void step_advance(step_streams *s, step_pass *p, step_job j)
{
    const int norms = j.norm != NULL;
    assert(j.steps <= p->block_steps);
    j.epoch = step_ready(s, p, j.next.u, j.cur.u, j.exchange);
    if (step_in_kernel(p)) j.rides = (inkernel_pass_norm){ inkernel_pass_slot(p->inkernel), 0, norms };
    enqueue(s, p, j);
    step_taken(s, p, 1, j.exchange, norms);
}
