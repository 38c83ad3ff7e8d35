#include "predict/predict_temporal.h"

#include <assert.h>
#include <math.h>

#include "predict/predict_strips.h"

/* Weights that a deck gives make a sum of their own, and what transposes has no blocks of steps. */
static bool same_sum(const kind_row *a, const kind_row *b)
{
    const bool own = a->stencil == KIND_STENCIL_WEIGHTS || b->stencil == KIND_STENCIL_WEIGHTS || a->transposes || b->transposes;
    return a == b || (!own && a->two_levels == b->two_levels);
}

static bool line_of(const predict_case *c) { return c->ny == 1; }

/* -1: no record tells of it. */
static int index_of(const predict_machine *m, const predict_case *c)
{
    for (int i = 0; i < m->passes; i++) {
        const predict_pass *w = &m->pass[i];
        const bool same_stencil = same_sum(kind_of(w->kind), kind_of(c->kind)) && w->radius == c->radius && w->line == line_of(c);
        if (same_stencil && w->type == c->type && w->steps == c->block_steps) return i;
    }
    return -1;
}

const predict_pass *predict_pass_known(const predict_machine *m, const predict_case *c)
{
    const int i = index_of(m, c);
    return i < 0 ? NULL : &m->pass[i];
}

predict_pass *predict_pass_of(predict_machine *m, const predict_case *c)
{
    const int i = index_of(m, c);
    if (i >= 0) return &m->pass[i];
    if (m->passes == PREDICT_PASSES_MAX) return NULL;
    m->pass[m->passes] = (predict_pass){ c->kind, c->type, c->radius, c->block_steps, line_of(c), NAN, NAN, false };
    return &m->pass[m->passes++];
}

/* Of a star or a line, and the level before; what a box takes beside them is not guessed at. */
static double points(kind_id kind, int radius, bool line) { return (line ? 2 : 4) * radius + 1 + kind_of(kind)->two_levels; }

/* Seconds of a point of the stencil: the least that a pass of this type shows; NaN where none does. */
static double point_s(const predict_machine *m, dtype type)
{
    double least = NAN;
    for (int i = 0; i < m->passes; i++) {
        const predict_pass *w = &m->pass[i];
        if (w->type == type) least = fmin(least, w->cell_s / (w->steps * points(w->kind, w->radius, w->line)));
    }
    return least;
}

bool predict_knows_block(const predict_machine *m, const predict_case *c)
{
    return predict_pass_known(m, c) || !isnan(point_s(m, c->type));
}

bool predict_takes_norms(const predict_machine *m, const predict_case *c)
{
    return !m->cuda || (c->radius == 1 && !kind_of(c->kind)->two_levels);
}

void predict_passes_by_memory(predict_machine *m)
{
    const double about = 1.06;
    double least_s = INFINITY;
    for (int i = 0; i < m->passes; i++) least_s = fmin(least_s, m->pass[i].byte_s);
    for (int i = 0; i < m->passes; i++) m->pass[i].by_memory = m->pass[i].byte_s < about * least_s;
}

double predict_copied_s(const predict_machine *m, const predict_case *c)
{
    const double bytes = predict_moved_bytes(c);
    return bytes / predict_copy_rate(m, bytes);
}

double predict_pass_s(const predict_machine *m, const predict_case *c)
{
    assert(c->block_steps > 1);
    const predict_pass *known = predict_pass_known(m, c);
    const double places = predict_places(m, c, known && known->by_memory);
    if (known) return places * known->cell_s;
    const double arithmetic_s = places * c->block_steps * points(c->kind, c->radius, line_of(c)) * point_s(m, c->type);
    return fmax(predict_copied_s(m, c), arithmetic_s);
}
