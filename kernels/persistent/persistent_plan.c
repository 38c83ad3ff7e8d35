#include "persistent/persistent_plan.h"

#include <assert.h>
#include <math.h>

#define TABLE(name) { name, (int)(sizeof name / sizeof *name) }
static const struct {
    const persistent_tiling *tilings;
    int count;
} tables[] = { [DTYPE_F32] = TABLE(persistent_star_f32), [DTYPE_F64] = TABLE(persistent_star_f64) };

/* ---- how long a step takes: fitted to an H100, from 256 x 256 to 2048 x 2048 cells ---- */

static const double issue_per_s = 1.755e9; /* instructions of each of an SM's four schedulers */

/* Per warp and row: a multiply-add per term and cell, in f64 at half the rate, and a shuffle for each
 * neighbour beyond a lane. Per warp: the cost of its ends. Warps share four schedulers, and all meet in each
 * step. */
static double compute_s(const persistent_tiling *t, int warps, dtype type)
{
    const int words = (int)dtype_bytes(type) / 4, in_turn = (warps + 3) / 4;
    const double row = words * (4 * t->radius + 1) * t->columns + 2 * t->radius + 1, ends = 10 * t->radius;
    return in_turn * (t->rows * row + ends) / issue_per_s + 25e-9 + 2e-9 * warps;
}

/* bytes: taken from other tiles; cut: some of them from other devices, over a link. */
static double exchange_s(const persistent_tiling *t, double bytes, bool cut)
{
    return (t->flags ? 1.2e-6 : 0.75e-6) + (cut ? 1.5e-6 : 0) + 3e-8 * t->rows + 3e-11 * bytes;
}

/* ---- tiles ---- */

static int rounded_up(int cells, int unit) { return (cells + unit - 1) / unit * unit; }
static int64_t tiles_of(int64_t cells, int own) { return (cells + own - 1) / own; }

/* Own cells of tiles that hold `held`, as even as whole units allow. 0: there are none, or the last tile has
 * fewer than a halo, which its neighbours need whole. */
static int own_of(int64_t cells, int held, int halo, int unit, bool mirrors)
{
    const int most = (held - 2 * halo) / unit * unit;
    if (most <= 0 || (mirrors && cells < held)) return 0;
    const int64_t tiles = tiles_of(cells, most), even = tiles_of(cells, (int)tiles);
    const int own = rounded_up((int)even, unit);
    return cells - (tiles_of(cells, own) - 1) * own >= halo ? own : 0;
}

/* Lays p's warps and steps between exchanges out over the field, and their exchange over the memory. */
static bool lay_out(const persistent_tiling *t, dtype type, int64_t nx, int64_t ny, const boundary *sides,
                    bool cut, int processors, persistent_plan *p)
{
    const bool along_x = boundary_mirrors(sides->x_low.kind) || boundary_mirrors(sides->x_high.kind);
    const bool along_y = boundary_mirrors(sides->y_low.kind) || boundary_mirrors(sides->y_high.kind);
    p->halo_y = p->steps_between * t->radius;
    p->halo_x = rounded_up(p->halo_y, t->columns);
    p->width = own_of(nx, 32 * t->columns, p->halo_x, t->columns, along_x);
    p->height = own_of(ny, t->rows * p->warps, p->halo_y, 1, along_y);
    if (p->width == 0 || p->height == 0) return false;
    const int64_t tiles_x = tiles_of(nx, p->width), tiles_y = tiles_of(ny, p->height);
    if (tiles_x * tiles_y > processors) return false;
    p->tiles_x = (int)tiles_x;
    p->tiles_y = (int)tiles_y;
    const double own = (double)p->width * p->height,
                 held = (double)(p->width + 2 * p->halo_x) * (p->height + 2 * p->halo_y);
    p->step_s = compute_s(t, p->warps, type) +
                exchange_s(t, (held - own) * (double)dtype_bytes(type), cut) / p->steps_between;
    p->rows_beyond = cut ? p->halo_y : 0;
    const size_t line = PERSISTENT_FLAG_WORDS * sizeof(uint64_t),
                 cells = (size_t)(nx * (ny + 2 * p->rows_beyond)),
                 given = 2 * cells * dtype_bytes(type) * (t->flags ? 1 : 2);
    p->flags_at = (given + line - 1) / line * line;
    p->numbers_at = p->flags_at + (size_t)(p->tiles_x * (p->tiles_y + 2)) * line;
    p->bytes = p->numbers_at + line;
    p->shared_bytes = persistent_shared_bytes(t, p->warps, type);
    return true;
}

enum { STEPS_BETWEEN_MAX = 16, CELLS_MAX = 1 << 24 /* more than any GPU's registers hold */ };

bool persistent_plan_of(const stencil *op, int64_t nx, int64_t ny, const boundary *sides, bool cut,
                        int processors, persistent_plan *plan)
{
    double best_s = INFINITY;
    /* sides are the domain's */
    assert(sides->x_low.kind != BOUNDARY_NONE && sides->y_low.kind != BOUNDARY_NONE);
    if (op->form != STENCIL_STAR || op->has_prev) return false;
    if (nx > CELLS_MAX || ny > CELLS_MAX || nx * ny > CELLS_MAX) return false;
    for (int i = 0; i < tables[op->type].count; i++) {
        const persistent_tiling *t = &tables[op->type].tilings[i];
        if (t->radius != op->radius || nx % t->columns != 0) continue;
        for (int warps = 2; warps <= t->warps; warps++)
            for (int steps = 1; steps <= STEPS_BETWEEN_MAX; steps++) {
                persistent_plan p = { .tiling = i, .warps = warps, .steps_between = steps };
                if (!lay_out(t, op->type, nx, ny, sides, cut, processors, &p) || p.step_s >= best_s) continue;
                *plan = p;
                best_s = p.step_s;
            }
    }
    return best_s < INFINITY;
}
