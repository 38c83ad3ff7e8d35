#include "run/loop.h"

#include <math.h>

const char *const verify_name[] = {
    [VERIFY_EXACT] = "exact", [VERIFY_FAILED] = "failed", [VERIFY_UNCHECKED] = "unchecked"
};

static verify_result judge(double max_error, double bound)
{
    /* written so that a NaN fails */
    verify_result r = { !(max_error <= bound) ? VERIFY_FAILED : VERIFY_EXACT, max_error, bound, { "" } };
    return r;
}

static verify_result verify_transpose(sim *s)
{
    double a_table[VALUE_COUNT_TABLE], b_table[VALUE_COUNT_TABLE];
    problem_count_tables(s->cfg->problem.type, s->level, a_table, b_table);
    value a = s->formula.initial, b = s->formula.initial;
    b.nx_global = s->plan.transposed_grid.dec.nx;
    b.ny_global = s->plan.transposed_grid.dec.ny;
    b.x_first = s->plan.transposed_grid.dec.own.x0;
    b.y_first = s->plan.transposed_grid.dec.own.y0;
    b.transposed = true;
    sim_set_count_table(s, &a, a_table);
    const double a_error = sim_max_error(s, (sim_field){ s->now.u, &s->plan.grid }, &a);
    sim_set_count_table(s, &b, b_table);
    const double b_error =
        sim_max_error(s, (sim_field){ s->transposed.field[0], &s->plan.transposed_grid }, &b);
    return judge(isnan(a_error) || a_error > b_error ? a_error : b_error, 0.0);
}

verify_result verify_level(sim *s)
{
    if (!s->prob.exact) return (verify_result){ VERIFY_UNCHECKED, NAN, NAN, s->prob.why_unchecked };
    if (!config_kind_of(s->cfg)->stencil) return verify_transpose(s);

    const value exact = problem_value_at(&s->prob, s->cfg, &s->formula.initial, s->level);
    const problem_verdict bound = problem_bound(&s->prob, s->cfg, s->level);
    verify_result r = judge(sim_max_error(s, sim_main_field(s), &exact), bound.bound);
    /* a bound that is too wide proves no cell right; one that is wrong beyond it is wrong */
    if (!bound.in_range || (r.verdict == VERIFY_EXACT && !bound.meaningful)) {
        r.verdict = VERIFY_UNCHECKED;
        r.why = bound.why_unchecked;
    }
    return r;
}
