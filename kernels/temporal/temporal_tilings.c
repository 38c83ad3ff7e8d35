/* The passes that a stencil has, and how long items of their border last beside those of the interior. */
#include "temporal/temporal_plan.h"

#define TABLE(name) { name, (int)(sizeof name / sizeof *name) }
#define BOTH_TYPES(name) { TABLE(name##_f32), TABLE(name##_f64) }

/* [form][has_prev][type]. */
static const temporal_table tables[STENCIL_FORMS][2][2] = {
    [STENCIL_LINE] = { BOTH_TYPES(temporal_line), BOTH_TYPES(temporal_line) },
    [STENCIL_STAR] = { BOTH_TYPES(temporal_star), BOTH_TYPES(temporal_star_prev) },
    [STENCIL_BOX] = { BOTH_TYPES(temporal_box) },
};

temporal_table temporal_table_of(const stencil *op) { return tables[op->form][op->has_prev][op->type]; }

static const temporal_tiling *longest(const stencil *op, int most, temporal_use use, int *steps)
{
    const temporal_table t = temporal_table_of(op);
    for (int i = 0; i < TEMPORAL_STEPS * t.count; i++) {
        const temporal_tiling *row = &t.tilings[i / TEMPORAL_STEPS];
        *steps = row->steps[i % TEMPORAL_STEPS];
        if (row->radius == op->radius && row->use == use && 0 < *steps && *steps <= most) return row;
    }
    *steps = 0;
    return NULL;
}

int temporal_longest(const stencil *op, int most, temporal_use use)
{
    int steps;
    (void)longest(op, most, use, &steps);
    return steps;
}

const temporal_tiling *temporal_tiling_of(const stencil *op, int steps, temporal_use use)
{
    int found;
    const temporal_tiling *const row = longest(op, steps, use, &found);
    return found == steps ? row : NULL;
}

/* ---- paces, by what was fastest on an H200 at 10007 x 9973 and 16384 x 16384 together
 * (docs/temporal-blocking.md). Beside passes of fewer steps rows arrive later, as these keep memory busier
 * ---- */

/* How long an item's row lasts, in rows of an interior one, and the most waves of interior items. There are
 * columns for the longest passes, whose halo depth is TEMPORAL_DEPTH_LONGEST or more, and for shorter ones;
 * waves_prev: with two levels. */
typedef struct pace_row {
    double side_longest, side_shorter, band_longest, band_shorter;
    int waves_longest, waves_shorter, waves_prev;
} pace_row;

static const pace_row star_paces[2][4] = {
    /* [type][radius - 1] */
    /* side_longest, side_shorter, band_longest, band_shorter, waves_longest, waves_shorter, waves_prev */
    { { 1.4, 2.1, 1.5, 3.3, 1, 1, 3 }, /* f32, radius 1 */
      { 1.2, 1.2, 1.5, 1.5, 1, 1, 3 },
      { 1.8, 1.8, 2.2, 2.2, 1, 1, 3 },
      { 1.8, 1.8, 2.2, 2.2, 1, 1, 3 } },
    { { 1.2, 2.4, 1.4, 2.6, 2, 2, 2 }, /* f64, radius 1 */
      { 1.2, 2.4, 1.4, 2.6, 2, 2, 3 },
      { 1.2, 2.4, 1.4, 2.6, 2, 2, 3 },
      { 1.6, 2.4, 1.4, 2.6, 1, 2, 3 } },
};
static const pace_row box_paces[2] = {
    /* side_longest, side_shorter, band_longest, band_shorter, waves_longest, waves_shorter, waves_prev */
    { 1.2,           1.2,          1.8,          1.8,          1,             1,             0 }, /* f32 */
    { 1.2,           1.2,          1.8,          1.8,          2,             2,             0 }, /* f64 */
};

/* Factors of the duration of rows: of stars of two levels, and of passes that take a norm. */
typedef struct pace_factors {
    double side_longest, side_shorter, band;
} pace_factors;
static const pace_factors no_factors = { 1, 1, 1 };
static const pace_factors prev_factors[2] = {
    /* side_longest, side_shorter, band */
    { 1.5,           1.5,          1.5 }, /* f32 */
    { 1.5,           1,            1 },   /* f64 */
};
static const pace_factors norm_factors[2] = {
    /* side_longest, side_shorter, band */
    { 1,             1,            1.5 }, /* f32 */
    { 1,             1,            .7 },  /* f64 */
};
enum { NORM_WAVES = 2 };
/* Factor for a side's rows of two cells per lane, each with its ghosts' images: derived, not measured. */
static const double wide_side_lasts = 1.75;

temporal_pace temporal_pace_of(const stencil *op, const temporal_tiling *t, int steps)
{
    const int f64 = op->type == DTYPE_F64, depth = steps * t->radius;
    const bool norm = t->use == TEMPORAL_NORM, longest = depth >= TEMPORAL_DEPTH_LONGEST;
    const pace_row *p = op->form == STENCIL_BOX ? &box_paces[f64] : &star_paces[f64][t->radius - 1];
    const pace_factors *f = op->has_prev ? &prev_factors[f64] : norm ? &norm_factors[f64] : &no_factors;
    const int waves = longest ? p->waves_longest : p->waves_shorter;
    const double side = longest ? f->side_longest * p->side_longest : f->side_shorter * p->side_shorter;
    return (temporal_pace){ .warps = temporal_border_block((int)dtype_bytes(op->type), op->has_prev, norm),
                            .waves = norm           ? NORM_WAVES
                                     : op->has_prev ? p->waves_prev
                                                    : waves,
                            .side_lasts = temporal_side_columns(op->form, t->radius, depth) > 1
                                              ? wide_side_lasts * side
                                              : side,
                            .band_lasts = f->band * (longest ? p->band_longest : p->band_shorter) };
}
