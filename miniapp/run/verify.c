#include "run/loop.h"

#include <math.h>

#include "ranks/check.h"

const char *const verify_name[] = {
    [VERIFY_EXACT] = "exact", [VERIFY_FAILED] = "failed", [VERIFY_UNCHECKED] = "unchecked"
};

/* max |field - v| over all ranks; NaN if any cell is. */
static double max_error(sim *s, sim_field field, const value *v)
{
    const field_shape *f = &field.grid->shape;
    DEVICE_CALL(s->dev, max_error, f, field.cells, v, field_own(f), s->result, s->streams.stream[0]);
    return sim_most(s, sim_result(s));
}

static verify_result judge(double max_error, double bound)
{
    /* written so that a NaN fails */
    return (verify_result){ !(max_error <= bound) ? VERIFY_FAILED : VERIFY_EXACT, max_error, bound, { "" } };
}

/* The error of a field of counts, which are put where the device reads its tables: it has no others. */
static double count_error(sim *s, sim_field field, const double table[VALUE_COUNT_TABLE])
{
    const decomp *dec = &field.grid->dec;
    value v = s->initial;
    v.nx_global = dec->nx;
    v.ny_global = dec->ny;
    v.x_first = dec->own.x0;
    v.y_first = dec->own.y0;
    v.transposed = field.grid == &s->plan.transposed_grid;
    DEVICE_CALL(s->dev, copy, s->device_tables, table, VALUE_COUNT_TABLE * sizeof *table,
                s->streams.stream[0]);
    DEVICE_CALL(s->dev, stream_sync, s->streams.stream[0]);
    return max_error(s, field, &v);
}

static verify_result verify_transpose(sim *s)
{
    double a_table[VALUE_COUNT_TABLE], b_table[VALUE_COUNT_TABLE];
    sim_field field[STATE_FIELDS_MAX];
    (void)sim_level_fields(s, field);
    problem_count_tables(s->cfg->problem.type, s->level, a_table, b_table);
    const double a_error = count_error(s, field[0], a_table), b_error = count_error(s, field[1], b_table);
    return judge(isnan(a_error) || a_error > b_error ? a_error : b_error, 0.0);
}

verify_result verify_level(sim *s)
{
    if (!s->prob.exact) return (verify_result){ VERIFY_UNCHECKED, NAN, NAN, s->prob.why_unchecked };
    if (!s->kind->stencil) return verify_transpose(s);

    const value exact = problem_value_at(&s->prob, s->cfg, &s->initial, s->level);
    const problem_verdict bound = problem_bound(&s->prob, s->cfg, s->level);
    verify_result r = judge(max_error(s, sim_main_field(s), &exact), bound.bound);
    /* a bound that is too wide proves no cell right; one that is wrong beyond it is wrong */
    if (!bound.in_range || (r.verdict == VERIFY_EXACT && !bound.meaningful)) {
        r.verdict = VERIFY_UNCHECKED;
        r.why = bound.why_unchecked;
    }
    return r;
}
