/* Where the cells of a step stand: interior, shell, and who brings which ghosts. */
#include <assert.h>

#include "step/step.h"
#include "temporal/temporal.h"

static bool has_neighbour(const decomp *dec, int dx, int dy)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        if (decomp_dx[k] == dx && decomp_dy[k] == dy) return dec->neighbour[k] >= 0;
    return false;
}

/* The blocks of ghosts around the own cells, by rows and columns of a 3 x 3 grid, that lie outside the domain along some axis (or wrap
 * onto own cells). A corner that is outside along one axis only reflects received cells, so the fill comes after the unpack. Of a block
 * of steps those beyond a periodic side, unless they lie beyond a mirroring one too. */
static void find_ghosts(step_pass *p, bool corners)
{
    const field_shape *f = p->shape;
    const bool block = p->block_steps > 1;
    const int64_t depth = p->depth, depth_y = f->depth_y > 0 ? depth : 0;
    const int64_t x[4] = { -depth, 0, f->nx, f->nx + depth }, y[4] = { -depth_y, 0, f->ny, f->ny + depth_y };
    const boundary_kind kind_x[3] = { p->sides.x_low.kind, BOUNDARY_NONE, p->sides.x_high.kind };
    const boundary_kind kind_y[3] = { p->sides.y_low.kind, BOUNDARY_NONE, p->sides.y_high.kind };
    for (int by = 0; by < 3; by++) {
        for (int bx = 0; bx < 3; bx++) {
            const box b = box_make(x[bx], x[bx + 1], y[by], y[by + 1]);
            const boundary_kind kx = kind_x[bx], ky = kind_y[by];
            const bool wraps_x = kx == BOUNDARY_PERIODIC, wraps_y = ky == BOUNDARY_PERIODIC;
            const bool wraps = (wraps_x || wraps_y) && !boundary_mirrors(kx) && !boundary_mirrors(ky);
            const bool outside = block ? wraps : kx != BOUNDARY_NONE || ky != BOUNDARY_NONE;
            const bool received = (bx != 1 && !wraps_x) || (by != 1 && !wraps_y);
            if (!outside || box_empty(b) || (bx != 1 && by != 1 && !corners)) continue;
            if (block && !received) p->wraps[p->wraps_count++] = b;
            else p->ghosts[p->ghosts_count++] = b;
        }
    }
}

/* Interior, its strips, and shell. */
static void cut(step_pass *p)
{
    const box own = field_own(p->shape);
    const boundary *at = &p->sides;
    const bool along_y = p->shape->depth_y > 0, block = p->block_steps > 1;
    p->interior = box_make(own.x0 + (block && at->x_low.kind != BOUNDARY_NONE ? 0 : p->depth),
                           own.x1 - (block && at->x_high.kind != BOUNDARY_NONE ? 0 : p->depth),
                           own.y0 + (!along_y || (block && at->y_low.kind != BOUNDARY_NONE) ? 0 : p->depth),
                           own.y1 - (!along_y || (block && at->y_high.kind != BOUNDARY_NONE) ? 0 : p->depth));
    if (p->form == STEP_EXCHANGE_FIRST) p->interior = box_make(own.x0, own.x0, own.y0, own.y0);
    for (int i = 0; i < p->strips; i++) p->strip[i] = box_strip(p->interior, i, p->strips);
    p->shell_count = box_shell(own, p->interior, p->shell);
}

void step_pass_set_form(step_pass *p, step_form form)
{
    assert(p->block_steps > 1 && form != STEP_IN_KERNEL);
    p->form = form;
    cut(p);
}

void step_pass_create(step_pass *p, int streams, const decomp *dec, device *d, const field_shape *shape, const boundary *sides,
                      int radius, bool corners, bool has_prev, int block_steps, const transport_choice *choice, MPI_Comm comm)
{
    const bool along_y = shape->depth_y > 0, block = block_steps > 1;
    const int depth = radius * block_steps;
    *p = (step_pass){ .shape = shape, .sides = *sides, .strips = streams, .depth = depth, .block_steps = block_steps,
                      .inkernel_generation = UINT64_MAX /* none yet */ };
    if (has_neighbour(dec, -1, 0)) p->sides.x_low.kind = BOUNDARY_NONE;
    if (has_neighbour(dec, 1, 0)) p->sides.x_high.kind = BOUNDARY_NONE;
    if (!along_y || has_neighbour(dec, 0, -1)) p->sides.y_low.kind = BOUNDARY_NONE;
    if (!along_y || has_neighbour(dec, 0, 1)) p->sides.y_high.kind = BOUNDARY_NONE;

    cut(p);
    find_ghosts(p, corners || block);
    p->halo = halo_create(dec, d, shape, depth, corners || block, choice, comm);
    /* A cell reads the level before at its own index. Images in the outermost ghosts are then of no cell, and undefined. */
    if (block && has_prev) p->prev_halo = halo_create(dec, d, shape, depth - radius, true, choice, comm);
}

int64_t step_pass_sent_bytes(const step_pass *p)
{
    return (p->halo ? halo_sent_bytes(p->halo) : 0) + (p->prev_halo ? halo_sent_bytes(p->prev_halo) : 0);
}

step_pass_cells step_pass_cells_of(const step_pass *p, int radius, int steps)
{
    step_pass_cells all = { 0, 0 };
    for (int i = 0; i < p->strips + p->shell_count; i++) {
        const box b = i < p->strips ? p->strip[i] : p->shell[i - p->strips];
        if (box_empty(b)) continue;
        for (int left = steps - 1; left >= 0; left--)
            all.computed_cells += box_cells(temporal_extent(p->shape, b, (int64_t)left * radius, &p->sides));
        for (int level = 0; level < (p->prev_halo ? 2 : 1); level++)
            all.moved_cells += box_cells(temporal_extent(p->shape, b, (int64_t)(steps - level) * radius, &p->sides)) + box_cells(b);
    }
    return all;
}

bool step_pass_in_kernel(step_pass *p, const decomp *dec, device *d, int radius, bool corners, void *const fields[2], MPI_Comm comm,
                         sentence *why)
{
    p->inkernel = inkernel_pass_create(dec, d, p->shape, &p->sides, radius, corners, fields, comm, why);
    if (p->inkernel) p->form = STEP_IN_KERNEL;
    return p->inkernel != NULL;
}

void step_pass_destroy(step_pass *p)
{
    inkernel_pass_destroy(&p->inkernel);
    halo_destroy(&p->halo);
    halo_destroy(&p->prev_halo);
}
