/* Problems drawn by chance, as plain_reference.h has them, and the sections of a deck that say the same. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "support/plain_reference.h"

/* ---- chance ---- */

static uint64_t chance_state;

static inline uint64_t chance(uint64_t n) /* 0 .. n-1 */
{
    chance_state += 0x9e3779b97f4a7c15u;
    return (plain_mix(chance_state) >> 11) % n;
}
static inline bool one_in(uint64_t n) { return chance(n) == 0; }

/* A number of millionths in [low, high], as the deck will have it. */
static inline double decimal(double low, double high)
{
    const double millionths = 1e6 * (low + (high - low) * (double)chance(1 << 30) / (1 << 30));
    return (double)(int64_t)millionths / 1e6;
}

/* ---- a problem, but for the numbers of cells ---- */

static const char *const plain_kind_name[] = { "heat",   "wave",  "advect",   "laplace",
                                               "custom", "sweep", "transpose" };

/* The documented limits of alpha in 1D by radius; in 2D half of them, but for sweep. */
static inline double plain_draw_alpha(const plain *p)
{
    static const double heat[] = { .5, .375, .330882, .307617, .292968, .282767, .275186, .269290 };
    static const double wave[] = { 1, .75, .661764, .615234, .585937, .565535, .550373, .538581 };
    static const double advect[] = { 1, .728745, .630525, .577834, .544235, .520603, .502896, .489028 };
    const double *limits = p->kind == PLAIN_WAVE ? wave : p->kind == PLAIN_ADVECT ? advect : heat;
    const double limit = limits[p->radius - 1] * (p->two_d && p->kind != PLAIN_SWEEP ? 0.5 : 1.0);
    const double alpha = decimal(0.05 * limit, 0.98 * limit);
    return p->kind == PLAIN_ADVECT && one_in(2) ? -alpha : alpha;
}

static inline plain_side plain_draw_side(void)
{
    const plain_side s = { one_in(2) ? 'n' : 'd', one_in(4) ? 0.0 : decimal(-2, 2) };
    return s;
}

static inline void plain_draw_axis(const plain *p, plain_side *low, plain_side *high)
{
    *low = *high = (plain_side){ 'p', 0.0 };
    if (p->kind == PLAIN_TRANSPOSE || one_in(3)) return;
    *low = plain_draw_side();
    *high = plain_draw_side();
    if (p->kind == PLAIN_ADVECT) high->kind = low->kind; /* the other pairs are unstable, and refused */
}

static inline void plain_draw_weights(plain *p, bool is_box)
{
    const int r = p->radius, width = 2 * r + 1;
    const double most = 1.2 / (is_box ? width * width : p->two_d ? 2 * width : width);
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) {
            const bool has = (p->two_d || dy == 0) && (is_box || dx == 0 || dy == 0) && !one_in(8);
            p->weight[r + dy][r + dx] = has ? decimal(-most, most) : 0.0;
        }
}

static inline plain plain_draw(void)
{
    plain p = { .kind = (plain_kind)(chance(PLAIN_KINDS + 1) % PLAIN_KINDS) }; /* heat twice */
    p.f32 = one_in(2);
    const bool is_box = p.kind == PLAIN_CUSTOM && one_in(2);
    p.two_d = is_box || p.kind == PLAIN_SWEEP || p.kind == PLAIN_TRANSPOSE || !one_in(3);
    p.radius = 1 + (int)chance(one_in(2) ? 3 : PLAIN_RADIUS_MAX);
    if (is_box && p.radius > 4 && !one_in(4)) p.radius = 1 + (int)chance(3);
    if (p.kind == PLAIN_LAPLACE || p.kind == PLAIN_TRANSPOSE) p.radius = 1;
    if (p.kind == PLAIN_CUSTOM) plain_draw_weights(&p, is_box);
    else if (p.kind != PLAIN_LAPLACE && p.kind != PLAIN_TRANSPOSE) p.alpha = plain_draw_alpha(&p);
    plain_draw_axis(&p, &p.x_low, &p.x_high);
    plain_draw_axis(&p, &p.y_low, &p.y_high);
    return p;
}

static inline bool plain_two_levels(const plain *p)
{
    return p->kind == PLAIN_WAVE || p->kind == PLAIN_ADVECT;
}

/* ---- the deck ---- */

static inline void plain_put_side(FILE *f, const char *key, plain_side s)
{
    if (s.kind == 'd') fprintf(f, "%s = dirichlet %.7g\n", key, s.value);
    else fprintf(f, "%s = %s\n", key, s.kind == 'p' ? "periodic" : "neumann");
}

static inline void plain_put_weights(FILE *f, const plain *p)
{
    const int r = p->radius;
    fprintf(f, "weights =");
    for (int dy = p->two_d ? -r : 0; dy <= (p->two_d ? r : 0); dy++) {
        for (int dx = -r; dx <= r; dx++)
            fprintf(f, "%s%.7g", (dx + r) % 8 == 0 && (dx > -r || dy > -r) ? "\n    " : " ",
                    p->weight[r + dy][r + dx]);
        if (p->two_d && dy < r) fprintf(f, " |");
    }
    fprintf(f, "\n");
}

/* [problem], with these lines in it, and [grid]. */
static inline void plain_put(FILE *f, const plain *p, const char *lines)
{
    fprintf(f, "[problem]\nkind = %s\ndtype = %s\n%s\n", plain_kind_name[p->kind], p->f32 ? "f32" : "f64",
            lines);
    if (p->kind == PLAIN_CUSTOM) plain_put_weights(f, p);
    else if (p->alpha != 0.0) fprintf(f, "order = %d\nalpha = %.7g\n", 2 * p->radius, p->alpha);
    fprintf(f, "[grid]\nnx = %d\nny = %d\n", p->nx, p->ny);
    if (p->kind == PLAIN_TRANSPOSE) return;
    plain_put_side(f, "x_low", p->x_low);
    plain_put_side(f, "x_high", p->x_high);
    if (!p->two_d) return;
    plain_put_side(f, "y_low", p->y_low);
    plain_put_side(f, "y_high", p->y_high);
}
