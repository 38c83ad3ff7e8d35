#include "predict/predict_temporal.h"

#include <assert.h>
#include <math.h>

#include "predict/predict_strips.h"
#include "temporal/temporal_tilings.h"

/* -1: no record tells of it. */
static int index_of(const predict_machine *m, const predict_case *c)
{
    for (int i = 0; i < m->passes; i++) {
        const predict_pass *w = &m->pass[i];
        const bool same_sum = w->stencil == c->stencil && w->two_levels == predict_two_levels(c) && w->radius == c->radius;
        if (same_sum && w->type == c->type && w->steps == c->block_steps) return i;
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
    m->pass[m->passes] = (predict_pass){ c->stencil, predict_two_levels(c), c->type, c->radius, c->block_steps, NAN };
    return &m->pass[m->passes++];
}

static double terms(stencil_form form, int radius, bool two_levels) { return stencil_weights(form, radius) + two_levels; }

/* Seconds of a term of the sum: the least that a pass of this type and form shows; NaN where none does. */
static double term_s(const predict_machine *m, const predict_case *c)
{
    double least = NAN;
    for (int i = 0; i < m->passes; i++) {
        const predict_pass *w = &m->pass[i];
        if (w->type != c->type || w->stencil != c->stencil) continue;
        least = fmin(least, w->cell_s / (w->steps * terms(w->stencil, w->radius, w->two_levels)));
    }
    return least;
}

bool predict_knows_block(const predict_machine *m, const predict_case *c)
{
    return predict_pass_known(m, c) || !isnan(term_s(m, c));
}

bool predict_takes_norms(const predict_machine *m, const predict_case *c)
{
    const stencil op = predict_stencil(c);
    return !m->cuda || temporal_longest(&op, c->block_steps, TEMPORAL_NORM) > 0;
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
    const double places = predict_places(m, c);
    if (known) return places * known->cell_s;
    const double arithmetic_s = places * c->block_steps * terms(c->stencil, c->radius, predict_two_levels(c)) * term_s(m, c);
    return fmax(predict_copied_s(m, c), arithmetic_s);
}
