/* The error bound of the verdict: tol = (eps/2) A (8 + P F).
 *   eps  2^-23 or 2^-52
 *   A    the largest amplitude that rounding met: |V| + max(1, |factor of the level|)
 *   P    one step's share: sum over the chain of the prefix sums of |c|
 *   F    how the steps add up:
 *        one level          (1 - |g|^n) / (1 - |g|), n where |g| >= 1
 *        custom, rho > 1    sum over j < n of |g|^j rho^(n-1-j)
 *        advect             n / sqrt(1 - (alpha / limit)^2)
 *        wave               n (n+1) / 2 where n s < 1, else n / s - 1 / (2 s^2)
 * The verdict means something where tol <= 2^-12 of the present amplitude |V| + |factor|: then a relative fault of 1e-3
 * in one cell cannot pass. */
#include <math.h>
#include <stdio.h>

#include "problem.h"

/* (1 - g^n) / (1 - g) for 0 <= g. */
static long double geometric(long double g, long double n)
{
    if (g >= 1.0L) return n;
    if (g <= 0.0L) return n > 0.0L ? 1.0L : 0.0L;
    return -expm1l(n * logl(g)) / (1.0L - g);
}

/* How n steps' rounding errors add up at level n. */
static long double accumulation(const problem *p, const config *c, long double n)
{
    const long double g = cabsl(p->growth);
    switch (c->problem.kind) {
    case CONFIG_HEAT:
    case CONFIG_LAPLACE:
    case CONFIG_SWEEP: return geometric(g, n);
    case CONFIG_CUSTOM: /* rho^(n-1) sum (|g| / rho)^j; |g| is one of the modes, so at most rho but for rounding */
        if (!(p->slow > 1.0L) || n == 0.0L) return geometric(g, n);
        return expl((n - 1.0L) * logl(p->slow)) * geometric(g / p->slow, n);
    case CONFIG_ADVECT: {
        const long double share = (long double)c->problem.alpha / p->limit;
        return n / sqrtl(1.0L - share * share);
    }
    case CONFIG_WAVE: {
        const long double s = p->slow;
        return n * s < 1.0L ? n * (n + 1.0L) / 2.0L : n / s - 1.0L / (2.0L * s * s);
    }
    case CONFIG_TRANSPOSE: break;
    }
    return 0.0L;
}

problem_verdict problem_bound(const problem *p, const config *c, int64_t level)
{
    problem_verdict v = { .bound = NAN };
    if (!p->exact) {
        snprintf(v.why_unchecked, sizeof v.why_unchecked, "%s", p->why_unchecked);
        return v;
    }
    if (c->problem.kind == CONFIG_TRANSPOSE) {
        v.bound = 0.0;
        v.meaningful = true;
        return v;
    }
    const long double eps = c->problem.type == DTYPE_F32 ? 0x1p-23L : 0x1p-52L;
    const long double factor = cabsl(problem_factor(p, c, level)), constant = fabsl((long double)p->shift);
    const long double largest = constant + (factor > 1.0L ? factor : 1.0L);
    const long double tol = eps / 2.0L * largest * (8.0L + p->prefix_sum * accumulation(p, c, (long double)level));
    const long double present = constant + factor;
    v.bound = (double)tol;
    v.meaningful = isfinite(v.bound) && tol <= 0x1p-12L * present;
    if (!v.meaningful)
        snprintf(v.why_unchecked, sizeof v.why_unchecked,
                 "after %lld steps the bound on round-off, %.2Lg, is not small beside the mode's amplitude, %.2Lg",
                 (long long)level, tol, present);
    return v;
}
