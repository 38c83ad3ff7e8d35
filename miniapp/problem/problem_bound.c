/* The error bound of docs/numerics.md, "Verdict": tol = (eps/2) (A (8 + P F(|g|)) + |V| (8 + P F(1))).
 *   eps  2^-23 or 2^-52
 *   A    the largest amplitude of the mode so far: max(1, |factor of the level|)
 *   P    one step's share: sum over the chain of the prefix sums of |c|
 *   F    how the steps' shares add up when what is rounded goes as a^j and its error decays no faster than
 *        rho^j:
 *        one level          (1 - a^n) / (1 - a), n where a >= 1; custom with rho > 1: sum over j < n of
 *                           a^j rho^(n-1-j)
 *        advect             n / sqrt(1 - (alpha / limit)^2)
 *        wave               n (n+1) / 2 where n s < 1, else n / s - 1 / (2 s^2)
 * The constant V that dirichlet sides hold up is rounded at every step however small the mode has become (a =
 * 1), but its error dies with the slowest mode, since there is a dirichlet side: there rho may be below 1.
 * Without that term, heat about V = -30, order 4, mode 8 of 16 cells, is past the bound after 97 steps
 * (6.8e-14 against 4.3e-14). The verdict means something where tol <= 2^-12 of the mode's own present
 * amplitude |factor|: then a fault of 1e-3 of the mode in one cell cannot pass. V is left out: beside a large
 * V the mode may be all round-off. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "problem/problem.h"

#define SMALL 0x1p-12

/* sum over j < n of a^j rho^(n-1-j), by doubling: U(2m) = U(m) (a^m + rho^m), U(m+1) = rho U(m) + a^m. */
static double two_rates(double a, double rho, int64_t n)
{
    double sum = 0.0, a_m = 1.0, rho_m = 1.0;
    for (int bit = 62; bit >= 0; bit--) {
        sum *= a_m + rho_m;
        a_m *= a_m;
        rho_m *= rho_m;
        if (!(n >> bit & 1)) continue;
        sum = rho * sum + a_m;
        a_m *= a;
        rho_m *= rho;
    }
    return sum;
}

/* How n steps' rounding errors of something that goes as a^j add up at level n. */
static double accumulation(const problem *p, const config *c, double a, int64_t n)
{
    const double steps = (double)n, s = p->slow;
    switch (config_kind_of(c)->modes) {
    case KIND_MODES_POWER: {
        const bool constant = a == 1.0 && p->shift != 0.0;
        const double rho = s > 1.0 || constant ? s : 1.0;
        return two_rates(rho == 1.0 ? fmin(a, 1.0) : a, rho, n);
    }
    case KIND_MODES_ROTATION: {
        const double limit = kind_alpha_limit(c->problem.kind, c->problem.order, config_two_d(c)),
                     share = c->problem.alpha / limit;
        return steps / sqrt(1.0 - share * share);
    }
    case KIND_MODES_COSINE:
        return steps * s < 1.0 ? steps * (steps + 1.0) / 2.0 : steps / s - 1.0 / (2.0 * s * s);
    case KIND_MODES_NONE: break;
    }
    return 0.0;
}

static double size_of(quad_complex z) { return portable_math_hypot((double)z.re, (double)z.im); }

static bool in_range(const problem *p, const config *c, int64_t level)
{
    const double most = c->problem.type == DTYPE_F32 ? FLT_MAX : DBL_MAX;
    const double amplitude = size_of(problem_factor(p, c, level)) + fabs(p->shift);
    return amplitude * fmax(p->prefix_sum, 1.0) <= most;
}

/* The last level before the end of the run whose cells are in the type's range. */
static int64_t last_in_range(const problem *p, const config *c)
{
    int64_t inside = 0;
    for (int64_t jump = (int64_t)1 << 33; jump > 0; jump /= 2)
        if (inside + jump < c->time.steps && in_range(p, c, inside + jump)) inside += jump;
    return inside;
}

void problem_warn_of_growth(problem *p, const config *c)
{
    if (c->problem.kind != KIND_CUSTOM || !p->exact || in_range(p, c, c->time.steps)) return;
    snprintf(p->warning, sizeof p->warning,
             "the weights amplify the initial mode %.4g times in a step: from step %lld on it is beyond the "
             "range of %s, and the verdict is unchecked",
             size_of(p->growth), (long long)last_in_range(p, c) + 1, dtype_name(c->problem.type));
}

problem_verdict problem_bound(const problem *p, const config *c, int64_t level)
{
    const double eps = c->problem.type == DTYPE_F32 ? 0x1p-23 : 0x1p-52;
    const double factor = size_of(problem_factor(p, c, level)), constant = fabs(p->shift),
                 mode = fmax(factor, 1.0);
    const double without_v =
        eps / 2.0 * mode * (8.0 + p->prefix_sum * accumulation(p, c, size_of(p->growth), level));
    problem_verdict v = { .bound = without_v };
    if (constant > 0.0)
        v.bound += eps / 2.0 * constant * (8.0 + p->prefix_sum * accumulation(p, c, 1.0, level));
    const bool hidden = without_v <= SMALL * factor && v.bound > SMALL * factor;
    v.in_range = in_range(p, c, level);
    v.meaningful = v.in_range && isfinite(v.bound) && v.bound <= SMALL * factor;
    if (!v.in_range)
        sentence_set(&v.why_unchecked, "after %lld steps the mode has grown beyond the range of %s",
                     (long long)level, dtype_name(c->problem.type));
    else if (!v.meaningful)
        sentence_set(
            &v.why_unchecked,
            "%safter %lld steps the bound on round-off, %.2g, is not small beside the mode's amplitude, %.2g",
            hidden ? "the sides' value V hides the mode: " : "", (long long)level, v.bound, factor);
    return v;
}
