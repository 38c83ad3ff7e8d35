/* One step, or a block of them, of all ranks; step_take is all of it:
 *
 *     comm stream     pack, send ............ receive, unpack | images of received cells | shell
 *     streams 0 ..    images of own cells | interior ------------------------------------------------> join
 *
 * Where kernels of single steps store images of the cells that they compute, no fill precedes the interior.
 * That is so where the host carries messages (16384 x 16384 f32 on two H200s, aware: 260 us -> 257): over
 * nccl the fill costs the host nothing, and gives the exchange a start.
 *
 * The interior reads no received ghost; the shell, along sides with a neighbour, is the rest. The order of
 * the parts hides the exchange. Pack comes first: once the interior fills the SMs a pack queues behind it,
 * and messages leave too late to hide. The shell runs beside the interior: at high priority its few blocks go
 * in between, and the launch, the wait for the halo and the half-empty last wave of a thin kernel cost the
 * step nothing (16384 x 8192 f32 on each of two H200s: 270 us; with the shell after the interior 281).
 *
 * The other forms are the same lines with parts left out:
 *
 *     exchange first   blocks alone: no interior, the shell is all cells. It costs less than the passes of a
 *                      shell where the exchange is short
 *     in-kernel        one launch that exchanges within (kernels/core/inkernel.h), where every neighbour's
 *                      memory can be reached; the first one is taken behind a halo exchange (step_ready)
 *     persistent       one launch takes all steps of a block, and exchanges within
 *
 * No step allocates, synchronises the device or touches the default stream. On the host work is done by the
 * thread that enqueues it: streams run beside each other where each has a thread. */
#include "step/step.h"

#include <assert.h>
#include <omp.h>

#include "core/fp.h"
#include "ranks/check.h"

/* ---- the parts ---- */

void step_compute(const step_pass *p, const step_job *j, const box *boxes, int count, device_stream *stream)
{
    device *d = p->of.dev;
    const field_shape *f = p->of.shape;
    const stencil_levels levels = { j->next.u, j->cur.u, j->cur.prev };
    const inkernel_step *images = p->stores_images ? &p->images[j->next.u == p->of.field[1].u] : NULL;
    if (p->of.persistent) {
        const persistent_call all = { .shape = *f,
                                      .next = j->next.u,
                                      .cur = j->cur.u,
                                      .steps = j->steps,
                                      .own_sides = p->sides,
                                      .memory = *p->of.persistent,
                                      .change = j->norm };
        DEVICE_CALL(d, persistent_pass, &all, stream);
        return;
    }
    if (p->of.block_steps == 1)
        DEVICE_CALL(d, stencil_pass, f, levels, boxes, count, images, stream);
    for (int i = 0; p->of.block_steps > 1 && i < count; i++) {
        const temporal_call block = { .shape = *f,
                                      .next = j->next.u,
                                      .next_prev = j->next.prev,
                                      .cur = j->cur.u,
                                      .prev = j->cur.prev,
                                      .cells = boxes[i],
                                      .steps = j->steps,
                                      .sides = p->sides,
                                      .change = j->norm };
        DEVICE_CALL(d, temporal_pass, &block, stream);
    }
}

/* Ghosts of the levels that the pass reads there. */
static void fill(const step_streams *s, const step_pass *p, const step_job *j, const box *ghosts, int count,
                 device_stream *stream)
{
    device *d = s->dev;
    DEVICE_CALL(d, boundary_fill, p->of.shape, j->cur.u, &p->sides, ghosts, count, stream);
    if (p->prev_halo)
        DEVICE_CALL(d, boundary_fill, p->of.shape, j->cur.prev, &p->sides, ghosts, count, stream);
}

static void begin_exchange(step_pass *p, step_levels cur, device_stream *stream)
{
    halo_begin(p->halo, cur.u, stream);
    if (p->prev_halo) halo_begin(p->prev_halo, cur.prev, stream);
}

static void end_exchange(step_pass *p)
{
    if (p->prev_halo) halo_end(p->prev_halo);
    halo_end(p->halo);
}

void step_exchange(step_streams *s, step_pass *p, step_levels cur)
{
    begin_exchange(p, cur, s->comm);
    end_exchange(p);
}

/* The streams, and later the shell, wait for `level` as it is then. Ghosts of next that no cell gives
 * (inkernel.h) are filled with the first images. */
static void fill_images(step_streams *s, step_pass *p, const step_job *j)
{
    if (p->own_ghosts_count == 0 || (p->stores_images && p->images_generation == s->generation)) return;
    fill(s, p, j, p->ghosts, p->own_ghosts_count, s->stream[0]);
    if (p->stores_images)
        DEVICE_CALL(s->dev, boundary_fill, p->of.shape, j->next.u, &p->sides, p->ghosts, p->own_ghosts_count,
                    s->stream[0]);
    p->images_generation = s->generation;
    step_complete(s);
}

/* cudaSetDevice once for each OpenMP thread that feeds a stream. A later device may have the address of an
 * earlier one, so its number counts. */
static void bind_thread(device *d)
{
    static _Thread_local int bound = -1;
    if (d->kind == DEVICE_HOST || bound == d->ordinal) return;
    DEVICE_CHECK(d, d->bind_thread(d));
    bound = d->ordinal;
}

/* A strip of the interior, on its stream. */
static void interior(step_streams *s, step_pass *p, const step_job *j, int i)
{
    device *d = s->dev;
    device_stream *stream = s->stream[i];
    bind_thread(d);
    if (i > 0) DEVICE_CALL(d, event_wait, s->level, stream); /* stream 0 recorded it itself */
    step_probe_mark(j->probe, d, STEP_INTERIOR + 2 * i, stream);
    step_compute(p, j, &p->strip[i], 1, stream);
    step_probe_mark(j->probe, d, STEP_INTERIOR + 2 * i + 1, stream);
    if (i > 0) DEVICE_CALL(d, event_record, s->stream_done[i], stream);
}

/* The messages' end, and all that reads what they bring. */
static void shell(step_streams *s, step_pass *p, const step_job *j)
{
    device *d = s->dev;
    step_probe_mark(j->probe, d, STEP_RESUME, s->comm);
    if (j->exchange) {
        end_exchange(p);
        fp_default();
    }
    step_probe_mark(j->probe, d, STEP_RECEIVED, s->comm);
    fill(s, p, j, p->ghosts + p->own_ghosts_count, p->ghosts_count - p->own_ghosts_count, s->comm);
    step_probe_mark(j->probe, d, STEP_FILLED, s->comm);
    if (p->own_ghosts_count > 0) DEVICE_CALL(d, event_wait, s->level, s->comm);
    step_compute(p, j, p->shell, p->shell_count, s->comm);
    step_probe_mark(j->probe, d, STEP_SHELL_END, s->comm); /* LEAVE comes behind shell_done */
    DEVICE_CALL(d, event_record, s->shell_done, s->comm);
}

static void feed_in_turn(step_streams *s, step_pass *p, const step_job *j)
{
    for (int i = 0; i < s->count; i++) {
        interior(s, p, j, i);
        if (j->exchange) halo_progress(p->halo);
        if (j->exchange && p->prev_halo) halo_progress(p->prev_halo);
    }
    shell(s, p, j);
}

/* Each stream has a thread. The main one alone calls MPI: MPI_THREAD_FUNNELED is enough. */
static void feed_at_once(step_streams *s, step_pass *p, const step_job *j)
{
#pragma omp parallel num_threads(s->count + 1)
    {
        const int feeders = omp_get_num_threads() - 1, me = omp_get_thread_num();
        fp_default();
        if (feeders == 0) feed_in_turn(s, p, j); /* OpenMP gave one thread only */
        else if (me == 0) shell(s, p, j);
        for (int i = me - 1; i >= 0 && i < s->count; i += feeders) interior(s, p, j, i);
    }
}

static void overlap(step_streams *s, step_pass *p, const step_job *j)
{
    device *d = s->dev;
    DEVICE_CALL(d, event_wait, s->level, s->comm);
    step_probe_mark(j->probe, d, STEP_PACK, s->comm);
    if (j->exchange) begin_exchange(p, j->cur, s->comm);
    step_probe_mark(j->probe, d, STEP_POSTED, s->comm);

    fill_images(s, p, j);
    if (s->feed == CONFIG_FEED_OPENMP) feed_at_once(s, p, j);
    else feed_in_turn(s, p, j);

    for (int i = 1; i < s->count; i++) DEVICE_CALL(d, event_wait, s->stream_done[i], s->stream[0]);
    DEVICE_CALL(d, event_wait, s->shell_done, s->stream[0]);
}

/* ---- the step ---- */

void step_take(step_streams *s, step_pass *p, step_job j)
{
    device *d = s->dev;
    const bool one_launch = step_in_kernel(p) || p->of.persistent;
    assert(j.steps <= p->of.block_steps);
    if (j.norm && !step_in_kernel(p)) { /* complete before any stream's or the shell's pass */
        DEVICE_CALL(d, fill_bytes, j.norm, 0, sizeof *j.norm, s->stream[0]);
        step_complete(s);
    }
    if (!one_launch) j.exchange = j.exchange && halo_neighbours(p->halo) > 0;
    if (j.probe) j.probe->streams = one_launch ? 0 : s->count, j.probe->exchanged = j.exchange;
    step_probe_mark(j.probe, d, STEP_ENTER, s->stream[0]);
    if (step_in_kernel(p)) inkernel_pass_step(p, &j, s->stream[0]);
    else if (p->of.persistent) step_compute(p, &j, NULL, 0, s->stream[0]);
    else overlap(s, p, &j);
    step_complete(s);
    step_probe_mark(j.probe, d, STEP_LEAVE, s->stream[0]);
}
