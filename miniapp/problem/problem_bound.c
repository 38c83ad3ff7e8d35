/* The error bound of docs/numerics.md, "Verdict": tol = (eps/2) (A (8 + P F(|g|)) + |V| (8 + P F(1))).
 *   eps  2^-23 or 2^-52
 *   A    the largest amplitude of the mode so far: max(1, |factor of the level|)
 *   P    one step's share: sum over the chain of the prefix sums of |c| (numerics.md has that of two chains, of separable)
 *   F    how the steps' shares add up when what is rounded goes as a^j and its error decays no faster than rho^j:
 *        one level          (1 - a^n) / (1 - a), n where a >= 1; custom, separable with rho > 1: sum over j < n of a^j rho^(n-1-j)
 *        advect             n / sqrt(1 - (alpha / limit)^2)
 *        wave               n (n+1) / 2 where n s < 1, else n / s - 1 / (2 s^2)
 * The constant V that dirichlet sides hold up is rounded at every step however small the mode has become (a = 1), but
 * its error dies with the slowest mode, since there is a dirichlet side: there rho may be below 1. Without that term,
 * heat about V = -30, order 4, mode 8 of 16 cells, is past the bound after 97 steps (6.8e-14 against 4.3e-14).
 * The verdict means something where tol <= 2^-12 of the mode's own present amplitude |factor|: then a fault of 1e-3 of the mode in
 * one cell cannot pass. V is left out: beside a large V the mode may be all round-off. */
#include <math.h>

#include "problem/problem.h"

#define SMALL 0x1p-12L

/* (1 - g^n) / (1 - g) for 0 <= g. */
static long double geometric(long double g, long double n)
{
    if (g >= 1.0L) return n;
    if (g <= 0.0L) return n > 0.0L ? 1.0L : 0.0L;
    return -expm1l(n * logl(g)) / (1.0L - g);
}

/* sum over j < n of a^j rho^(n-1-j) */
static long double two_rates(long double a, long double rho, long double n)
{
    const long double larger = fmaxl(a, rho), smaller = fminl(a, rho);
    if (n == 0.0L) return 0.0L;
    return expl((n - 1.0L) * logl(larger)) * geometric(smaller / larger, n);
}

/* How n steps' rounding errors of something that goes as a^j add up at level n. */
static long double accumulation(const problem *p, const config *c, long double a, long double n)
{
    switch (config_kind_of(c)->modes) {
    case KIND_MODES_POWER: {
        const bool constant = a == 1.0L && p->shift != 0.0;
        const long double rho = p->slow > 1.0L || constant ? p->slow : 1.0L;
        return rho == 1.0L ? geometric(a, n) : two_rates(a, rho, n);
    }
    case KIND_MODES_ROTATION: {
        const long double share = (long double)c->problem.alpha / p->limit;
        return n / sqrtl(1.0L - share * share);
    }
    case KIND_MODES_COSINE: {
        const long double s = p->slow;
        return n * s < 1.0L ? n * (n + 1.0L) / 2.0L : n / s - 1.0L / (2.0L * s * s);
    }
    case KIND_MODES_NONE: break;
    }
    return 0.0L;
}

problem_verdict problem_bound(const problem *p, const config *c, int64_t level)
{
    problem_verdict v = { .bound = NAN };
    if (!p->exact) {
        v.why_unchecked = p->why_unchecked;
        return v;
    }
    if (!config_kind_of(c)->stencil) {
        v.bound = 0.0;
        v.meaningful = true;
        return v;
    }
    const long double eps = c->problem.type == DTYPE_F32 ? 0x1p-23L : 0x1p-52L;
    const long double factor = cabsl(problem_factor(p, c, level)), constant = fabsl((long double)p->shift);
    const long double n = (long double)level, mode = factor > 1.0L ? factor : 1.0L;
    const long double without_v = eps / 2.0L * mode * (8.0L + p->prefix_sum * accumulation(p, c, cabsl(p->growth), n));
    long double tol = without_v;
    if (constant > 0.0L) tol += eps / 2.0L * constant * (8.0L + p->prefix_sum * accumulation(p, c, 1.0L, n));
    const bool hidden = without_v <= SMALL * factor && tol > SMALL * factor;
    v.bound = (double)tol;
    v.meaningful = isfinite(v.bound) && tol <= SMALL * factor;
    if (!v.meaningful)
        sentence_set(&v.why_unchecked,
                     "%safter %lld steps the bound on round-off, %.2Lg, is not small beside the mode's amplitude, %.2Lg",
                     hidden ? "the sides' value V hides the mode: " : "", (long long)level, tol, factor);
    return v;
}
