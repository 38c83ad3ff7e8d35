/* The ground that a step stands on: its streams; where its cells are, interior and shell; who brings which
 * ghosts; and what is measured at its points. */
#include <assert.h>
#include <string.h>

#include "device/nvtx.h"
#include "exchange/inkernel_plan.h"
#include "ranks/check.h"
#include "ranks/timer.h"
#include "step/step.h"
#include "temporal/temporal.h"

const char *const step_form_name[STEP_FORMS] = {
    [STEP_OVERLAPPED] = "overlapped", [STEP_EXCHANGE_FIRST] = "exchange_first", [STEP_IN_KERNEL] = "in_kernel"
};

/* ---- streams ---- */

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

/* ---- boxes ---- */

static bool has_neighbour(const decomp *dec, int dx, int dy)
{
    return dec->neighbour[decomp_direction(dx, dy)] >= 0;
}

/* The ghosts in each direction that lie outside the domain along some axis. A corner beyond a cut side too
 * reads received cells, so it comes after the messages; the others are first in the list. A pass of several
 * steps makes those beyond a mirroring side itself, and where rows stream those beyond a periodic one. */
static void find_ghosts(step_pass *p, bool corners)
{
    const boundary *sides = &p->sides;
    for (int part = 0; part < 2 * DECOMP_NEIGHBOURS; part++) {
        const int k = part % DECOMP_NEIGHBOURS, dx = decomp_dx[k], dy = decomp_dy[k];
        const boundary_kind kx = boundary_towards(dx, sides->x_low, sides->x_high).kind;
        const boundary_kind ky = boundary_towards(dy, sides->y_low, sides->y_high).kind;
        const bool outside = kx != BOUNDARY_NONE || ky != BOUNDARY_NONE;
        const bool mirrors = boundary_mirrors(kx) || boundary_mirrors(ky);
        const bool made = p->of.block_steps > 1 && (mirrors || p->of.dev->through);
        const bool received = (dx != 0 && kx == BOUNDARY_NONE) || (dy != 0 && ky == BOUNDARY_NONE);
        const bool none = dy != 0 && p->of.shape->depth_y == 0;
        const bool left_out = decomp_is_corner(k) && !corners;
        if (!outside || made || none || left_out || received != (part >= DECOMP_NEIGHBOURS)) continue;
        p->ghosts[p->ghosts_count++] = halo_ghosts(p->of.shape, p->depth, k);
        if (!received) p->own_ghosts_count++;
    }
}

/* Cells from a side that the interior leaves to the shell. */
static int64_t left_to_shell(const step_pass *p, boundary_kind beyond)
{
    return beyond == BOUNDARY_NONE ? p->depth : 0;
}

/* Interior, its strips, and shell. */
static void cut(step_pass *p)
{
    const box own = field_own(p->of.shape);
    const boundary *beyond = &p->sides;
    const bool along_y = p->of.shape->depth_y > 0;
    p->interior = box_make(own.x0 + left_to_shell(p, beyond->x_low.kind),
                           own.x1 - left_to_shell(p, beyond->x_high.kind),
                           own.y0 + (along_y ? left_to_shell(p, beyond->y_low.kind) : 0),
                           own.y1 - (along_y ? left_to_shell(p, beyond->y_high.kind) : 0));
    if (p->form == STEP_EXCHANGE_FIRST) p->interior = box_make(own.x0, own.x0, own.y0, own.y0);
    for (int i = 0; i < p->of.streams; i++) p->strip[i] = box_strip(p->interior, i, p->of.streams);
    p->shell_count = box_shell(own, p->interior, p->shell);
}

void step_pass_set_form(step_pass *p, step_form form)
{
    assert(form != (p->of.block_steps > 1 ? STEP_IN_KERNEL : STEP_EXCHANGE_FIRST));
    p->form = form;
    assert(p->inkernel || !step_in_kernel(p));
    p->images_generation = UINT64_MAX; /* steps of other forms leave no flag words */
    p->stores_images = (form == STEP_IN_KERNEL || halo_needs_host(p->halo)) && p->of.block_steps == 1 &&
                       p->of.dev->stencil_inkernel_can(p->of.dev, false);
    for (int i = 0; i < 2 && p->stores_images; i++)
        inkernel_plan_make(&p->images[i], p->of.dec, p->of.shape, &p->sides, p->of.op->radius,
                           p->of.op->form == STENCIL_BOX, &(inkernel_level){ .field = p->of.field[1 - i].u },
                           &(inkernel_level){ .field = p->of.field[i].u });
    cut(p);
}

void step_pass_create(step_pass *p, const step_setup *of)
{
    const bool along_y = of->shape->depth_y > 0, block = of->block_steps > 1;
    const bool corners = block || of->op->form == STENCIL_BOX;
    const int radius = of->op->radius, depth = of->persistent ? radius : radius * of->block_steps;
    *p = (step_pass){ .of = *of, .sides = *of->sides, .depth = depth };
    if (has_neighbour(of->dec, -1, 0)) p->sides.x_low.kind = BOUNDARY_NONE;
    if (has_neighbour(of->dec, 1, 0)) p->sides.x_high.kind = BOUNDARY_NONE;
    if (!along_y || has_neighbour(of->dec, 0, -1)) p->sides.y_low.kind = BOUNDARY_NONE;
    if (!along_y || has_neighbour(of->dec, 0, 1)) p->sides.y_high.kind = BOUNDARY_NONE;

    find_ghosts(p, corners);
    p->halo = halo_create(of->dec, of->dev, of->shape, depth, corners, of->choice, of->comm);
    step_pass_set_form(p, STEP_OVERLAPPED);
    /* A cell reads the level before at its own index. Images in the outermost ghosts are then of no cell, and
     * undefined. */
    if (block && of->op->has_prev)
        p->prev_halo = halo_create(of->dec, of->dev, of->shape, depth - radius, true, of->choice, of->comm);
}

int64_t step_pass_sent_bytes(const step_pass *p)
{
    return (p->halo ? halo_sent_bytes(p->halo) : 0) + (p->prev_halo ? halo_sent_bytes(p->prev_halo) : 0);
}

int64_t step_pass_moved_cells(const step_pass *p, int steps)
{
    int64_t cells = 0;
    if (p->of.persistent) return 2 * box_cells(field_own(p->of.shape));
    for (int i = 0; i < p->of.streams + p->shell_count; i++) {
        const box b = i < p->of.streams ? p->strip[i] : p->shell[i - p->of.streams];
        for (int level = 0; level < (p->prev_halo ? 2 : 1) && !box_empty(b); level++) {
            const int64_t depth = (int64_t)(steps - level) * p->of.op->radius;
            box read = temporal_extent(p->of.shape, b, depth, &p->sides);
            if (p->of.dev->through) read = box_make(b.x0, b.x1, read.y0, read.y1);
            cells += box_cells(read) + box_cells(b);
        }
    }
    return cells;
}

void step_pass_destroy(step_pass *p)
{
    for (int epoch = 0; epoch < INKERNEL_EPOCHS; epoch++)
        for (int size = 0; size < GRAPH_BATCH_SIZES; size++)
            for (int kind = 0; kind < GRAPH_BATCH_KINDS; kind++)
                if (p->graph[epoch][size][kind])
                    DEVICE_CALL(p->of.dev, graph_destroy, &p->graph[epoch][size][kind]);
    inkernel_pass_destroy(&p->inkernel);
    halo_destroy(&p->halo);
    halo_destroy(&p->prev_halo);
}

/* ---- points ---- */

/* Ranges begin and end in the main thread; those of the interior in whichever thread feeds a stream. */
static const struct {
    bool ends;          /* the range that began last */
    const char *begins; /* NULL: none */
} points[] = {
    [STEP_ENTER] = { false, "step" },        [STEP_PACK] = { false, "exchange" },
    [STEP_POSTED] = { true, NULL },          [STEP_RESUME] = { false, "exchange" },
    [STEP_RECEIVED] = { true, "shell" },     [STEP_FILLED] = { false, NULL },
    [STEP_SHELL_END] = { true, NULL },       [STEP_LEAVE] = { true, NULL },
    [STEP_INTERIOR] = { false, "interior" }, [STEP_INTERIOR + 1] = { true, NULL },
};

void step_probe_create(step_probe *p, device *d, int streams)
{
    *p = (step_probe){ .streams = 0 };
    for (int i = 0; i < STEP_INTERIOR + 2 * streams; i++) DEVICE_CALL(d, event_create, true, &p->event[i]);
}

void step_probe_destroy(step_probe *p, device *d)
{
    for (int i = 0; i < STEP_POINTS_MAX && p->event[i]; i++) DEVICE_CALL(d, event_destroy, &p->event[i]);
}

void step_probe_mark(step_probe *p, device *d, int point, device_stream *s)
{
    const int row = point < STEP_INTERIOR ? point : STEP_INTERIOR + (point - STEP_INTERIOR) % 2;
    if (points[row].ends) nvtx_end();
    if (p) {
        p->host_s[point] = timer_now_s();
        DEVICE_CALL(d, event_record, p->event[point], s);
    }
    if (points[row].begins) nvtx_begin(points[row].begins);
}
