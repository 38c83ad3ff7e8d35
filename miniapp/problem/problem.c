/* Coefficients, and where the exact discrete answer is known.
 *
 * Order 2r, k = 1..r:  second difference w_k = 2 (-1)^(k+1) r!^2 / (k^2 (r-k)! (r+k)!),
 *                                        w_0 = -2 sum of w_k = -2 sum of 1 / k^2;
 *                      first difference  c_k = k w_k / 2, antisymmetric. */
#include "problem/problem.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/fp.h"

typedef struct fraction {
    int64_t over, under;
} fraction;

static int64_t factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

static fraction second_difference(int r, int k)
{
    const int64_t f = factorial(r);
    if (k > 0) return (fraction){ (k % 2 ? 2 : -2) * f * f, k * k * factorial(r - k) * factorial(r + k) };
    fraction sum = { 0, f * f };
    for (int j = 1; j <= r; j++) sum.over -= 2 * (f / j) * (f / j);
    return sum;
}

/* base + alpha f. |over| < 2^34 and under < 2^32 where there is a base: the sum is then exact for alpha from
 * 2^-26 on. A quotient that is not the middle of two numbers of the type is further from it than 113 bits
 * err. Without a base 0 keeps the sign of alpha f. */
static quad coefficient(int base, double alpha, fraction f)
{
    const quad change = (quad)alpha * f.over;
    return (base == 0 ? change : (quad)base * f.under + change) / f.under;
}

static double rounded(dtype t, quad v) { return t == DTYPE_F32 ? (double)(float)v : (double)v; }

static void set_weight(stencil *op, int dx, int dy, quad w)
{
    const int at = stencil_weight_index(op->form, op->radius, dx, dy);
    assert(at >= 0);
    op->weight[at] = rounded(op->type, w);
}

/* The same weight on both axes (one for a LINE): `minus` at x-k and y-k, `plus` at x+k and y+k. */
static void set_ring(stencil *op, int k, quad minus, quad plus)
{
    set_weight(op, -k, 0, minus);
    set_weight(op, k, 0, plus);
    if (op->form == STENCIL_LINE) return;
    set_weight(op, 0, -k, minus);
    set_weight(op, 0, k, plus);
}

/* base u + alpha D2 u along each axis of the form. */
static void set_second_differences(stencil *op, int base, double alpha)
{
    fraction centre = second_difference(op->radius, 0);
    for (int k = 1; k <= op->radius; k++) {
        const quad w = coefficient(0, alpha, second_difference(op->radius, k));
        set_ring(op, k, w, w);
    }
    if (op->form == STENCIL_STAR) centre.over *= 2;
    set_weight(op, 0, 0, coefficient(base, alpha, centre));
}

/* -2 alpha D1 u along each axis, D1 u = sum of c_k (u(+k) - u(-k)). */
static void set_first_differences(stencil *op, double alpha)
{
    for (int k = 1; k <= op->radius; k++) {
        const fraction w = second_difference(op->radius, k), twice_c = { w.over, w.under / k };
        const quad c = coefficient(0, alpha, twice_c);
        set_ring(op, k, c, -c);
    }
    set_weight(op, 0, 0, 0.0);
}

static bool off_axis_zero(const config *c)
{
    const int r = c->problem.radius, row = 2 * r + 1;
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++)
            if (dx != 0 && dy != 0 && c->problem.weights[(dy + r) * row + dx + r] != 0.0) return false;
    return true;
}

static void set_custom(stencil *op, const config *c)
{
    /* rows before dy = 0 */
    const int r = op->radius, width = 2 * r + 1, above = op->form == STENCIL_LINE ? 0 : r;
    for (int dy = -above; dy <= above; dy++)
        for (int dx = -r; dx <= r; dx++)
            if (stencil_weight_index(op->form, r, dx, dy) >= 0)
                set_weight(op, dx, dy, c->problem.weights[(dy + above) * width + dx + r]);
}

static void set_operator(stencil *op, const config *c)
{
    const kind_row *kind = config_kind_of(c);
    *op = (stencil){ .form = config_two_d(c) ? STENCIL_STAR : STENCIL_LINE,
                     .radius = c->problem.radius,
                     .type = c->problem.type,
                     .has_prev = kind->two_levels };
    switch (c->problem.kind) {
    case KIND_HEAT:  /* u + alpha (D2x u + D2y u) */
    case KIND_SWEEP: /* u + alpha D2x u, the same along y */
    case KIND_WAVE:  /* 2u - prev + alpha (D2x u + D2y u) */
        if (kind->by_lines) op->form = STENCIL_LINE;
        set_second_differences(op, kind->two_levels ? 2 : 1, c->problem.alpha);
        op->beta = kind->two_levels ? -1.0 : 0.0;
        break;
    case KIND_ADVECT: /* prev - 2 alpha (D1x u + D1y u) */
        set_first_differences(op, c->problem.alpha);
        op->beta = 1.0;
        break;
    case KIND_LAPLACE: /* the mean of the neighbours */
        set_ring(op, 1, config_two_d(c) ? 0.25 : 0.5, config_two_d(c) ? 0.25 : 0.5);
        set_weight(op, 0, 0, 0.0);
        break;
    case KIND_CUSTOM:
        if (config_two_d(c) && !off_axis_zero(c)) op->form = STENCIL_BOX;
        set_custom(op, c);
        break;
    case KIND_TRANSPOSE: break;
    }
}

/* ---- where the answer is known ---- */

static bool periodic(boundary_side s) { return s.kind == BOUNDARY_PERIODIC; }

/* How many sides are dirichlet; v: their value as the field's type has it, 0 without any, NaN where they
 * differ. */
static int dirichlet_sides(const config *c, double *v)
{
    const boundary *b = &c->grid.sides;
    const boundary_side side[4] = { b->x_low, b->x_high, b->y_low, b->y_high };
    int count = 0;
    *v = 0.0;
    for (int i = 0; i < (config_two_d(c) ? 4 : 2); i++) {
        if (side[i].kind != BOUNDARY_DIRICHLET) continue;
        const double here = rounded(c->problem.type, side[i].value);
        *v = count == 0 || here == *v ? here : NAN;
        count++;
    }
    return count;
}

/* Whether the update, beta included, keeps a constant constant. Only weights of the deck's own can miss 1 by
 * more than rounding. */
static bool sums_to_one(const stencil *op, const config *c)
{
    if (config_kind_of(c)->stencil != KIND_STENCIL_WEIGHTS) return true;
    const double half_eps = op->type == DTYPE_F32 ? 0x1p-24 : 0x1p-53;
    const weight_sums s = weight_sums_of(op);
    return s.sum - 1 <= half_eps * s.size && 1 - s.sum <= half_eps * s.size;
}

static bool mirror_symmetric(const stencil *op, bool in_x)
{
    const int r = op->radius;
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) {
            const int at = stencil_weight_index(op->form, r, dx, dy);
            const int mirror = stencil_weight_index(op->form, r, in_x ? -dx : dx, in_x ? dy : -dy);
            if (at >= 0 && op->weight[at] != op->weight[mirror]) return false;
        }
    return true;
}

/* NULL: exact. Sets the shift, which enters the initial value of a mode too. */
static const char *why_not_exact(problem *p, const config *c)
{
    static const char *const no_formula[] = {
        [CONFIG_INITIAL_RANDOM] = "a random initial value has no closed-form solution",
        [CONFIG_INITIAL_GAUSSIAN] = "a gaussian is not an eigenvector of the stencil",
        [CONFIG_INITIAL_ZERO] = "a zero initial value has no mode to compare with",
        [CONFIG_INITIAL_FILE] = "the initial value comes from a file",
    };
    if (c->problem.initial != CONFIG_INITIAL_MODE) return no_formula[c->problem.initial];
    const kind_row *kind = config_kind_of(c);
    const bool weights = kind->stencil == KIND_STENCIL_WEIGHTS;
    if (!kind->stencil) return NULL;
    const boundary *b = &c->grid.sides;
    const bool x_periodic = periodic(b->x_low), y_periodic = !config_two_d(c) || periodic(b->y_low);
    double v;
    (void)dirichlet_sides(c, &v);
    if (isnan(v)) return "the dirichlet sides have different values";
    if (v != 0.0 && !sums_to_one(&p->op, c))
        return "the weights do not sum to 1, which a dirichlet value other than 0 needs";
    p->shift = v;
    if (kind->modes == KIND_MODES_ROTATION && !(x_periodic && y_periodic))
        return "first differences have a closed form on periodic axes only";
    if (weights && !x_periodic && !mirror_symmetric(&p->op, true))
        return "the weights are not mirror-symmetric in x, whose sides are not periodic";
    if (weights && !y_periodic && !mirror_symmetric(&p->op, false))
        return "the weights are not mirror-symmetric in y, whose sides are not periodic";
    return NULL;
}

/* ---- growth ---- */

void problem_axes(const config *c, int64_t mode_x, int64_t mode_y, mode_axis *x, mode_axis *y)
{
    const boundary *b = &c->grid.sides;
    *x = mode_axis_make(c->grid.nx, b->x_low.kind, b->x_high.kind, mode_x);
    *y = config_two_d(c) ? mode_axis_make(c->grid.ny, b->y_low.kind, b->y_high.kind, mode_y)
                         : mode_axis_absent();
}

/* The symbol of a mode; where one axis follows the other the product of theirs. */
static quad_complex symbol_of(const stencil *op, const config *c, int64_t mode_x, int64_t mode_y)
{
    const mode_axis none = mode_axis_absent();
    mode_axis x, y;
    problem_axes(c, mode_x, mode_y, &x, &y);
    if (!config_kind_of(c)->by_lines) return fourier_symbol_of(op, &x, &y);
    return (quad_complex){ fourier_symbol_of(op, &x, &none).re * fourier_symbol_of(op, &y, &none).re, 0 };
}

static void set_growth(problem *p, const config *c)
{
    const quad_complex symbol = symbol_of(&p->op, c, c->problem.mode_x, c->problem.mode_y);
    switch (config_kind_of(c)->modes) {
    case KIND_MODES_POWER: p->growth = symbol; break;
    case KIND_MODES_COSINE: { /* next = 2 cos w cur - prev */
        const quad cosine = symbol.re / 2, square = (1 - cosine) * (1 + cosine);
        p->growth = (quad_complex){ cosine, quad_sqrt(square < 0 ? -square : square) };
        break;
    }
    case KIND_MODES_ROTATION: { /* the symbol is -2 i sin p, and g - 1/g = -2 i sin p has the root e^(-i p) */
        const quad sine = -symbol.im / 2;
        p->growth = (quad_complex){ quad_sqrt((1 - sine) * (1 + sine)), -sine };
        break;
    }
    case KIND_MODES_NONE: break;
    }
}

/* The lowest mode of an axis, or the one whose theta is nearest to pi. */
static int64_t end_of(int64_t n, boundary_kind low, boundary_kind high, bool highest)
{
    const int64_t first = config_first_mode(low, high);
    if (!highest) return first;
    return low == BOUNDARY_PERIODIC ? n / 2 : first + n - 1;
}

/* Each axis' part of a symbol is monotone in theta, so that its extremes are at the ends. Wave: s, the
 * smallest sine of w; else the largest |g|. */
static double slowest_of(const stencil *op, const config *c)
{
    const bool wave = config_kind_of(c)->modes == KIND_MODES_COSINE;
    const boundary *b = &c->grid.sides;
    double found = wave ? 1.0 : 0.0;
    for (int corner = 0; corner < 4; corner++) {
        const int64_t mode_x = end_of(c->grid.nx, b->x_low.kind, b->x_high.kind, corner & 1),
                      mode_y = end_of(c->grid.ny, b->y_low.kind, b->y_high.kind, corner & 2);
        const quad g = symbol_of(op, c, mode_x, mode_y).re;
        found = wave ? fmin(found, (double)quad_sqrt((1 - g / 2) * (1 + g / 2)))
                     : fmax(found, fabs((double)g));
    }
    return found;
}

/* Sum over the chain of the prefix sums of |c|; the fma with prev, whose result is the next level itself,
 * counts 1. */
static double prefix_sum(const stencil *op)
{
    double size = 0.0, prefixes = 0.0;
    for (int i = 0; i < stencil_weights(op->form, op->radius); i++) {
        size += fabs(op->weight[i]);
        prefixes += size;
    }
    return prefixes + (op->has_prev ? 1.0 : 0.0);
}

void problem_make(problem *p, const config *c)
{
    memset(p, 0, sizeof *p);
    fp_default();
    const kind_row *kind = config_kind_of(c);
    double v;
    if (kind->stencil) set_operator(&p->op, c);
    const char *why = why_not_exact(p, c);
    p->exact = why == NULL;
    if (why) sentence_set(&p->why_unchecked, "%s", why);
    if (!kind->stencil) return;

    p->prefix_sum = prefix_sum(&p->op) * (kind->by_lines ? 2.0 : 1.0);
    if (p->exact) set_growth(p, c);
    p->slow = 1.0;
    if (kind->stencil == KIND_STENCIL_WEIGHTS && p->exact) p->slow = fourier_symbol_largest(&p->op);
    else if (kind->modes == KIND_MODES_COSINE)
        p->slow = dirichlet_sides(c, &v) > 0 ? slowest_of(&p->op, c) : 0.0;
    else if (kind->modes == KIND_MODES_POWER && p->shift != 0.0) p->slow = slowest_of(&p->op, c);
    if (kind->modes == KIND_MODES_COSINE && c->problem.type == DTYPE_F32 && p->slow == 0.0 &&
        c->time.steps > 4000)
        snprintf(p->warning, sizeof p->warning,
                 "an f32 wave without a dirichlet side grows by round-off, about as e^(2.4e-4 steps): after "
                 "%lld steps take f64 or a dirichlet side",
                 (long long)c->time.steps);
}
