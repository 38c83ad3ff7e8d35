#include "step.h"

#include <assert.h>
#include <omp.h>
#include <string.h>

#include "check.h"

const char *const step_phase_name[STEP_PHASES] = { "interior", "exchange", "shell" };

void step_streams_create(step_streams *s, device *d, int lanes, config_feed feed)
{
    assert(lanes >= 1 && lanes <= STEP_LANES_MAX);
    memset(s, 0, sizeof *s);
    s->dev = d;
    s->lanes = lanes;
    s->feed = feed;
    for (int i = 0; i < lanes; i++) {
        DEVICE_CHECK(d, d->stream_create(d, false, &s->lane[i]));
        DEVICE_CHECK(d, d->event_create(d, false, &s->lane_done[i]));
    }
    DEVICE_CHECK(d, d->stream_create(d, true, &s->comm));
    DEVICE_CHECK(d, d->event_create(d, false, &s->halo_ready));
    DEVICE_CHECK(d, d->event_create(d, false, &s->level));
}

void step_streams_destroy(step_streams *s)
{
    device *d = s->dev;
    if (!d) return;
    for (int i = 0; i < s->lanes; i++) {
        DEVICE_CHECK(d, d->stream_destroy(d, &s->lane[i]));
        DEVICE_CHECK(d, d->event_destroy(d, &s->lane_done[i]));
    }
    DEVICE_CHECK(d, d->stream_destroy(d, &s->comm));
    DEVICE_CHECK(d, d->event_destroy(d, &s->halo_ready));
    DEVICE_CHECK(d, d->event_destroy(d, &s->level));
    memset(s, 0, sizeof *s);
}

static bool has_neighbour(const decomp *dec, int dx, int dy)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        if (decomp_dx[k] == dx && decomp_dy[k] == dy) return dec->neighbour[k] >= 0;
    return false;
}

/* Sorts the ghost blocks around the own cells: early where every side they lie beyond is the domain's (or wraps onto
 * own cells), late where they reflect cells that a neighbour sends. What lies beyond cut sides only, the halo brings. */
static void sort_ghosts(step_pass *p, bool corners)
{
    const field_shape *f = p->shape;
    const int64_t x[4] = { -f->depth_x, 0, f->nx, f->nx + f->depth_x };
    const int64_t y[4] = { -f->depth_y, 0, f->ny, f->ny + f->depth_y };
    const boundary_kind kx[3] = { p->sides.x_low.kind, BOUNDARY_NONE, p->sides.x_high.kind };
    const boundary_kind ky[3] = { p->sides.y_low.kind, BOUNDARY_NONE, p->sides.y_high.kind };
    for (int by = 0; by < 3; by++) {
        for (int bx = 0; bx < 3; bx++) {
            const bool diagonal = bx != 1 && by != 1;
            const box b = box_make(x[bx], x[bx + 1], y[by], y[by + 1]);
            if ((bx == 1 && by == 1) || (diagonal && !corners) || box_empty(b)) continue;
            const bool filled_x = kx[bx] != BOUNDARY_NONE, filled_y = ky[by] != BOUNDARY_NONE;
            if (!filled_x && !filled_y) continue;
            if (diagonal && filled_x != filled_y)
                p->late[p->late_count++] = b;
            else
                p->early[p->early_count++] = b;
        }
    }
}

void step_pass_create(step_pass *p, const decomp *dec, device *d, const field_shape *shape, const boundary *sides,
                      int radius, bool corners, halo_transport transport, MPI_Comm comm)
{
    memset(p, 0, sizeof *p);
    p->shape = shape;
    p->sides = *sides;
    const bool along_y = shape->depth_y > 0;
    if (has_neighbour(dec, -1, 0)) p->sides.x_low.kind = BOUNDARY_NONE;
    if (has_neighbour(dec, 1, 0)) p->sides.x_high.kind = BOUNDARY_NONE;
    if (!along_y || has_neighbour(dec, 0, -1)) p->sides.y_low.kind = BOUNDARY_NONE;
    if (!along_y || has_neighbour(dec, 0, 1)) p->sides.y_high.kind = BOUNDARY_NONE;

    const box own = field_own(shape);
    p->interior = own;
    if (p->sides.x_low.kind == BOUNDARY_NONE) p->interior.x0 += radius;
    if (p->sides.x_high.kind == BOUNDARY_NONE) p->interior.x1 -= radius;
    if (along_y && p->sides.y_low.kind == BOUNDARY_NONE) p->interior.y0 += radius;
    if (along_y && p->sides.y_high.kind == BOUNDARY_NONE) p->interior.y1 -= radius;
    p->shell_count = box_shell(own, p->interior, p->shell);
    sort_ghosts(p, corners);
    p->halo = halo_create(dec, d, shape, radius, corners, transport, comm);
}

void step_pass_destroy(step_pass *p) { halo_destroy(&p->halo); }

void step_complete_level(step_streams *s, const step_pass *p, void *field)
{
    device *d = s->dev;
    DEVICE_CHECK(d, d->boundary_fill(d, p->shape, field, &p->sides, p->early, p->early_count, s->lane[0]));
    DEVICE_CHECK(d, d->event_record(d, s->level, s->lane[0]));
}

/* cudaSetDevice once for each OpenMP thread that feeds a lane. */
static void bind_thread_once(device *d)
{
    static _Thread_local const device *bound;
    if (bound == d) return;
    DEVICE_CHECK(d, d->bind_thread(d));
    bound = d;
}

static void feed_lane(step_streams *s, const step_pass *p, int lane, void *next, const void *cur, const void *prev,
                      const step_probe *probe)
{
    device *d = s->dev;
    const box strip = box_strip(p->interior, lane, s->lanes);
    bind_thread_once(d);
    if (lane > 0) DEVICE_CHECK(d, d->event_wait(d, s->level, s->lane[lane])); /* lane 0 recorded it itself */
    DEVICE_CHECK(d, d->stencil_sweep(d, p->shape, next, cur, prev, &strip, 1, s->lane[lane]));
    if (lane > 0) DEVICE_CHECK(d, d->event_record(d, s->lane_done[lane], s->lane[lane]));
    if (probe && lane == s->lanes - 1) DEVICE_CHECK(d, d->event_record(d, probe->interior_end, s->lane[lane]));
}

static void end_exchange(step_streams *s, step_pass *p, void *cur, const step_probe *probe)
{
    device *d = s->dev;
    halo_end(p->halo);
    DEVICE_CHECK(d, d->boundary_fill(d, p->shape, cur, &p->sides, p->late, p->late_count, s->comm));
    DEVICE_CHECK(d, d->event_record(d, s->halo_ready, s->comm));
    if (probe) DEVICE_CHECK(d, d->event_record(d, probe->comm_end, s->comm));
}

static void feed_serial(step_streams *s, step_pass *p, void *next, void *cur, const void *prev, bool exchange,
                        const step_probe *probe)
{
    for (int lane = 0; lane < s->lanes; lane++) {
        feed_lane(s, p, lane, next, cur, prev, probe);
        if (exchange) halo_progress(p->halo);
    }
    if (exchange) end_exchange(s, p, cur, probe);
}

static void feed_openmp(step_streams *s, step_pass *p, void *next, void *cur, const void *prev, bool exchange,
                        const step_probe *probe)
{
#pragma omp parallel num_threads(s->lanes + 1)
    {
        const int feeders = omp_get_num_threads() - 1, me = omp_get_thread_num();
        if (feeders == 0) { /* OpenMP gave one thread only */
            feed_serial(s, p, next, cur, prev, exchange, probe);
        } else if (me == 0) {
            if (exchange) end_exchange(s, p, cur, probe);
        } else {
            for (int lane = me - 1; lane < s->lanes; lane += feeders) feed_lane(s, p, lane, next, cur, prev, probe);
        }
    }
}

void step_advance(step_streams *s, step_pass *p, void *next, void *cur, const void *prev, bool exchange,
                  const step_probe *probe)
{
    device *d = s->dev;
    exchange = exchange && halo_neighbours(p->halo) > 0;

    if (probe) DEVICE_CHECK(d, d->event_record(d, probe->begin, s->lane[0]));
    if (exchange) {
        /* Pack first: once the interior fills the SMs the pack queues behind it and messages leave too late to hide. */
        DEVICE_CHECK(d, d->event_wait(d, s->level, s->comm));
        if (probe) DEVICE_CHECK(d, d->event_record(d, probe->comm_begin, s->comm));
        halo_begin(p->halo, cur, s->comm);
    }
    if (s->feed == CONFIG_FEED_OPENMP)
        feed_openmp(s, p, next, cur, prev, exchange, probe);
    else
        feed_serial(s, p, next, cur, prev, exchange, probe);

    for (int lane = 1; lane < s->lanes; lane++) DEVICE_CHECK(d, d->event_wait(d, s->lane_done[lane], s->lane[0]));
    if (exchange) DEVICE_CHECK(d, d->event_wait(d, s->halo_ready, s->lane[0]));
    DEVICE_CHECK(d, d->stencil_sweep(d, p->shape, next, cur, prev, p->shell, p->shell_count, s->lane[0]));
    step_complete_level(s, p, next);
    if (probe) DEVICE_CHECK(d, d->event_record(d, probe->end, s->lane[0]));
}

void step_exchange(step_streams *s, step_pass *p, void *cur)
{
    halo_begin(p->halo, cur, s->comm);
    end_exchange(s, p, cur, NULL);
}

void step_probe_create(step_probe *p, device *d)
{
    DEVICE_CHECK(d, d->event_create(d, true, &p->begin));
    DEVICE_CHECK(d, d->event_create(d, true, &p->interior_end));
    DEVICE_CHECK(d, d->event_create(d, true, &p->comm_begin));
    DEVICE_CHECK(d, d->event_create(d, true, &p->comm_end));
    DEVICE_CHECK(d, d->event_create(d, true, &p->end));
}

void step_probe_destroy(step_probe *p, device *d)
{
    DEVICE_CHECK(d, d->event_destroy(d, &p->begin));
    DEVICE_CHECK(d, d->event_destroy(d, &p->interior_end));
    DEVICE_CHECK(d, d->event_destroy(d, &p->comm_begin));
    DEVICE_CHECK(d, d->event_destroy(d, &p->comm_end));
    DEVICE_CHECK(d, d->event_destroy(d, &p->end));
}

void step_probe_read(const step_probe *p, device *d, bool exchanged, double seconds[STEP_PHASES])
{
    double whole_s = 0, interior_s = 0, exchange_s = 0, until_halo_s = 0;
    DEVICE_CHECK(d, d->event_sync(d, p->end));
    DEVICE_CHECK(d, d->event_seconds(d, p->begin, p->end, &whole_s));
    DEVICE_CHECK(d, d->event_seconds(d, p->begin, p->interior_end, &interior_s));
    if (exchanged) {
        DEVICE_CHECK(d, d->event_seconds(d, p->comm_begin, p->comm_end, &exchange_s));
        DEVICE_CHECK(d, d->event_seconds(d, p->begin, p->comm_end, &until_halo_s));
    }
    const double ready_s = interior_s > until_halo_s ? interior_s : until_halo_s;
    seconds[STEP_INTERIOR] = interior_s;
    seconds[STEP_EXCHANGE] = exchange_s;
    seconds[STEP_SHELL] = whole_s - ready_s;
}
