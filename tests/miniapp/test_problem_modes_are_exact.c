/* A mode after n steps of a plain simulation is what problem.c says, within its bound, on every pair of
 * sides; a fault of 1e-3 is not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cell.h"
#include "problem/problem.h"
#include "support/problem_harness.h"

/* The simulation here knows nothing of stencil.h: it takes the update formulas, its own coefficients (the
 * recurrence w_1 = 2 r / (r+1), w_(k+1) / w_k = -(k/(k+1))^2 (r-k)/(r+k+1)) and its own reflections, cell by
 * cell. */
enum { CELLS_MAX = 32 };
typedef struct grid {
    int nx, ny;
    bool single;
    boundary sides;
    double u[CELLS_MAX][CELLS_MAX]; /* [y][x] */
} grid;

static double in_type(const grid *g, double v) { return g->single ? (double)(float)v : v; }
static double fma_in_type(const grid *g, double a, double b, double c)
{
    return g->single ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

/* Where index i outside 0..n-1 is read: a cell, and whether as 2V - u, or as V itself (-1). */
static int mirrored(int i, int n, boundary_side low, boundary_side high, double *v, int *odd)
{
    *odd = 0;
    if (i >= 0 && i < n) return i;
    const boundary_side s = i < 0 ? low : high;
    const int deep = i < 0 ? -1 - i : i - n; /* 0: the node just outside */
    *v = s.value;
    switch (s.kind) {
    case BOUNDARY_PERIODIC: return (i + n) % n;
    case BOUNDARY_NEUMANN: return i < 0 ? deep : n - 1 - deep;
    case BOUNDARY_DIRICHLET: *odd = deep == 0 ? -1 : 1; return i < 0 ? deep - 1 : n - deep;
    case BOUNDARY_NONE: break;
    }
    return -1;
}

static double at_x(const grid *g, int x, int y)
{
    double v = 0.0;
    int odd;
    const int i = mirrored(x, g->nx, g->sides.x_low, g->sides.x_high, &v, &odd);
    v = in_type(g, v);
    if (odd < 0) return v;
    return odd ? in_type(g, in_type(g, v + v) - g->u[y][i]) : g->u[y][i];
}

static double at(const grid *g, int x, int y)
{
    if (g->ny == 1) return at_x(g, x, 0);
    double v = 0.0;
    int odd;
    const int j = mirrored(y, g->ny, g->sides.y_low, g->sides.y_high, &v, &odd);
    v = in_type(g, v);
    if (odd < 0) return v;
    return odd ? in_type(g, in_type(g, v + v) - at_x(g, x, j)) : at_x(g, x, j);
}

static void differences(int r, long double *w, long double *c)
{
    w[0] = 0.0L;
    w[1] = 2.0L * r / (r + 1);
    for (int k = 1; k < r; k++)
        w[k + 1] = -w[k] * k * k * (r - k) / ((long double)(k + 1) * (k + 1) * (r + k + 1));
    for (int k = 1; k <= r; k++) {
        w[0] -= 2.0L * w[k];
        c[k] = k * w[k] / 2.0L;
    }
}

/* One axis-aligned or full sum (docs/numerics.md, "Order of the sum"): along x if `x`, along y if `y`. */
static double cross(const grid *g, int x, int y, int r, bool along_x, bool along_y, const double *minus,
                    const double *plus, double centre)
{
    double sum = 0.0;
    for (int k = r; k >= 1; k--) {
        if (along_x) {
            sum = fma_in_type(g, minus[k], at(g, x - k, y), sum);
            sum = fma_in_type(g, plus[k], at(g, x + k, y), sum);
        }
        if (along_y) {
            sum = fma_in_type(g, minus[k], at(g, x, y - k), sum);
            sum = fma_in_type(g, plus[k], at(g, x, y + k), sum);
        }
    }
    return fma_in_type(g, centre, at(g, x, y), sum);
}

static double custom_sum(const grid *g, const config *c, int x, int y)
{
    const int r = c->problem.radius, rows = g->ny > 1 ? r : 0, width = 2 * r + 1;
    double sum = 0.0;
    for (int dy = -rows; dy <= rows; dy++)
        for (int dx = -r; dx <= r; dx++) {
            const double w = in_type(g, c->problem.weights[(dy + rows) * width + dx + r]);
            if (w != 0.0) sum = fma_in_type(g, w, at(g, x + dx, y + dy), sum);
        }
    return sum;
}

static void advance(grid *cur, grid *prev, const config *c)
{
    const int r = c->problem.radius;
    const bool two = cur->ny > 1;
    const kind_id kind = c->problem.kind;
    const long double alpha = (long double)c->problem.alpha;
    long double w[10] = { 0 }, d[10] = { 0 };
    double minus[10] = { 0 }, plus[10] = { 0 }, centre = 0.0;
    if (r > 0) differences(r, w, d);
    const int axes = two && kind != KIND_SWEEP ? 2 : 1;
    for (int k = 1; k <= r; k++) {
        const long double low = kind == KIND_ADVECT ? 2.0L * alpha * d[k] : alpha * w[k];
        const long double high = kind == KIND_ADVECT ? -low : low;
        minus[k] = cur->single ? (double)(float)low : (double)low;
        plus[k] = cur->single ? (double)(float)high : (double)high;
    }
    if (kind != KIND_ADVECT) {
        const long double v = (kind == KIND_WAVE ? 2.0L : 1.0L) + alpha * w[0] * axes;
        centre = cur->single ? (double)(float)v : (double)v;
    }
    if (kind == KIND_LAPLACE) {
        minus[1] = plus[1] = two ? 0.25 : 0.5;
        centre = 0.0;
    }
    grid next = *cur;
    for (int y = 0; y < cur->ny; y++)
        for (int x = 0; x < cur->nx; x++) {
            if (kind == KIND_CUSTOM) next.u[y][x] = custom_sum(cur, c, x, y);
            else next.u[y][x] = cross(cur, x, y, r, true, two && kind != KIND_SWEEP, minus, plus, centre);
            if (kind == KIND_WAVE) next.u[y][x] = fma_in_type(cur, -1.0, prev->u[y][x], next.u[y][x]);
            if (kind == KIND_ADVECT) next.u[y][x] = fma_in_type(cur, 1.0, prev->u[y][x], next.u[y][x]);
        }
    if (kind == KIND_SWEEP) {
        const grid half = next;
        for (int y = 0; y < cur->ny; y++)
            for (int x = 0; x < cur->nx; x++)
                next.u[y][x] = cross(&half, x, y, r, false, true, minus, plus, centre);
    }
    *prev = *cur;
    *cur = next;
}

/* ---- the comparison ---- */

typedef struct tally {
    long cases, meaningful;
    double worst; /* error / bound */
} tally;

static void fill(grid *g, const value *v)
{
    for (int y = 0; y < g->ny; y++)
        for (int x = 0; x < g->nx; x++) g->u[y][x] = in_type(g, cell_value(v, x, y));
}

static double error_of(const grid *g, const value *v)
{
    double worst = 0.0;
    for (int y = 0; y < g->ny; y++)
        for (int x = 0; x < g->nx; x++) {
            const double e = fabs(g->u[y][x] - cell_value(v, x, y));
            if (!(e <= worst)) worst = e;
        }
    return worst;
}

/* The largest cell, made wrong by a relative 1e-3, must pass the bound. */
static void check_fault(grid *g, const value *v, double bound)
{
    int bx = 0, by = 0;
    for (int y = 0; y < g->ny; y++)
        for (int x = 0; x < g->nx; x++)
            if (fabs(g->u[y][x]) > fabs(g->u[by][bx])) bx = x, by = y;
    const double keep = g->u[by][bx];
    g->u[by][bx] = keep * (1.0 + 1e-3);
    assert_true(error_of(g, v) > bound);
    g->u[by][bx] = keep;
}

static void simulate(const config *c, int steps, tally *t)
{
    problem p;
    problem_tables tables;
    problem_make(&p, c);
    if (!p.exact) fail_msg("unchecked: %s", p.why_unchecked.text);
    assert_true(problem_tables_make(&tables, &p, c, box_make(0, c->grid.nx, 0, c->grid.ny)));
    grid cur = { (int)c->grid.nx, (int)c->grid.ny, c->problem.type == DTYPE_F32, c->grid.sides, { { 0 } } },
         prev = cur;
    fill(&cur, &tables.base);
    const value before = problem_value_before(&p, c, &tables.base);
    fill(&prev, &before);
    for (int n = 0; n <= steps; n++) {
        if (n > 0) advance(&cur, &prev, c);
        if (n > 20 && n % 97 != 0 && n != steps) continue;
        const value v = problem_value_at(&p, c, &tables.base, n);
        const problem_verdict b = problem_bound(&p, c, n);
        const double e = error_of(&cur, &v);
        t->cases++;
        if (!(e <= b.bound)) {
            char *text = config_to_text(c);
            print_error("level %d: error %g, bound %g\n%s", n, e, b.bound, text);
            free(text);
            fail();
        }
        if (b.bound > 0.0 && e / b.bound > t->worst) t->worst = e / b.bound;
        if (!b.meaningful) continue;
        t->meaningful++;
        check_fault(&cur, &v, b.bound);
    }
    problem_tables_free(&tables);
}

static const char *const pairs[5][2] = {
    { "periodic", "periodic" }, { "dirichlet", "dirichlet" }, { "neumann", "neumann" },
    { "dirichlet", "neumann" }, { "neumann", "dirichlet" },
};

static const char *side(int pair_index, int high, double v)
{
    static char text[4][64];
    static int turn;
    char *to = text[turn++ % 4];
    if (strcmp(pairs[pair_index][high], "dirichlet") == 0) snprintf(to, 64, "dirichlet %.17g", v);
    else snprintf(to, 64, "%s", pairs[pair_index][high]);
    return to;
}

/* The low, a middle and the highest mode of a pair of sides. */
static int mode_of(int pair_index, int which, int n)
{
    const int first = pair_index == 1 || pair_index >= 3 ? 1 : 0, last = n - 1 + first;
    return which == 0 ? (n > 1 ? 1 : first) : which == 1 ? (first + last) / 2 : last;
}

static void run(const char *problem_lines, bool single, int nx, int ny, int px, int py, int which, double v,
                int steps, tally *t)
{
    config c;
    harness_config(&c,
                   "[problem]\n%s\ndtype = %s\nmode_x = %d\nmode_y = %d\n[grid]\nnx = %d\nny = %d\n"
                   "x_low = %s\nx_high = %s\ny_low = %s\ny_high = %s\n[time]\nsteps = %d\n",
                   problem_lines, single ? "f32" : "f64", mode_of(px, which, nx), mode_of(py, 2 - which, ny),
                   nx, ny, side(px, 0, v), side(px, 1, v), side(py, 0, v), side(py, 1, v), steps);
    simulate(&c, steps, t);
}

static void report(const char *name, const tally *t)
{
    print_message("%s: %ld levels, %ld of them meaningful, worst error %.3f of the bound\n", name, t->cases,
                  t->meaningful, t->worst);
    assert_true(t->cases > 0 && t->meaningful > t->cases / 4);
}

static void differences_on_all_sides(const char *kind, kind_id k, bool two_d)
{
    tally t = { 0 };
    for (int order = 2; order <= 16; order *= 2)
        for (int px = 0; px < 5; px++)
            for (int py = 0; py < (two_d ? 5 : 1); py++)
                for (int which = 0; which < 3; which++)
                    for (int single = 0; single < 2; single++) {
                        if (k == KIND_ADVECT && (px || py)) continue;
                        if (k == KIND_LAPLACE && order > 2) continue;
                        char lines[128];
                        const double share = which == 0 ? 0.99 : which == 1 ? 0.6 : 0.25;
                        const double alpha = share * kind_alpha_limit(k, order, two_d);
                        snprintf(lines, sizeof lines, "kind = %s\norder = %d\nalpha = %.17g", kind, order,
                                 alpha);
                        const bool shifted = (px + py + which) % 2 == 1;
                        const int steps = order == 4 && which < 2 ? 1500 : 20;
                        run(lines, single, 17 - px, two_d ? 11 + py : 1, px, py, which, shifted ? -30.0 : 0.0,
                            two_d ? steps / 10 + 18 : steps, &t);
                    }
    report(kind, &t);
}

static void heat(void **state)
{
    (void)state;
    differences_on_all_sides("heat", KIND_HEAT, false);
    differences_on_all_sides("heat", KIND_HEAT, true);
}

static void wave(void **state)
{
    (void)state;
    differences_on_all_sides("wave", KIND_WAVE, false);
    differences_on_all_sides("wave", KIND_WAVE, true);
}

static void advect(void **state)
{
    (void)state;
    differences_on_all_sides("advect", KIND_ADVECT, false);
    differences_on_all_sides("advect", KIND_ADVECT, true);
}

static void laplace(void **state)
{
    (void)state;
    differences_on_all_sides("laplace", KIND_LAPLACE, false);
    differences_on_all_sides("laplace", KIND_LAPLACE, true);
}

static void sweep(void **state)
{
    (void)state;
    differences_on_all_sides("sweep", KIND_SWEEP, true);
}

/* Random weights, mirror-symmetric where the sides need it; `size` is the sum of their absolute values. */
static void write_weights(char *to, size_t bytes, int r, bool two_d, bool star, bool mirror_x, bool mirror_y,
                          double size, uint64_t seed)
{
    const int rows = two_d ? r : 0, width = 2 * r + 1;
    double w[17][17] = { { 0 } }, sum = 0.0;
    for (int dy = -rows; dy <= rows; dy++)
        for (int dx = -r; dx <= r; dx++) {
            if (star && dx && dy) continue;
            const int kx = mirror_x ? abs(dx) : dx, ky = mirror_y ? abs(dy) : dy;
            w[dy + rows][dx + r] = cell_random(seed, (uint64_t)((ky + 8) * 17 + kx + 8));
            sum += fabs(w[dy + rows][dx + r]);
        }
    size_t used = (size_t)snprintf(to, bytes, "kind = custom\nweights =");
    for (int dy = 0; dy <= 2 * rows; dy++) {
        if (dy) used += (size_t)snprintf(to + used, bytes - used, "\n  |");
        for (int dx = 0; dx < width; dx++)
            used += (size_t)snprintf(to + used, bytes - used, "%s %.17g", dx % 6 == 0 ? "\n  " : "",
                                     w[dy][dx] * size / sum);
    }
}

static void custom(void **state)
{
    (void)state;
    static const int radius[] = { 1, 2, 5, 8 };
    static char lines[1 << 14];
    tally t = { 0 };
    uint64_t seed = 0;
    for (int two_d = 0; two_d < 2; two_d++)
        for (int star = 0; star <= two_d; star++)
            for (size_t i = 0; i < 4; i++)
                for (int px = 0; px < 5; px++)
                    for (int py = 0; py < (two_d ? 5 : 1); py++)
                        for (int single = 0; single < 2; single++) {
                            const double size = seed % 3 == 2 ? 1.3 : 1.0; /* 1.3: some modes may grow */
                            write_weights(lines, sizeof lines, radius[i], two_d, star, px != 0, py != 0, size,
                                          ++seed);
                            run(lines, single, 13, two_d ? 9 : 1, px, py, (int)(seed % 3), 0.0,
                                radius[i] > 2 ? 4 : 8, &t);
                        }
    print_message("custom: %ld levels, %ld of them meaningful, worst error %.3f of the bound\n", t.cases,
                  t.meaningful, t.worst);
    assert_true(t.meaningful > t.cases / 8);
}

/* A smoothing whose weights sum to 1 keeps V. */
static void custom_with_value(void **state)
{
    (void)state;
    tally t = { 0 };
    for (int px = 1; px < 5; px++)
        for (int single = 0; single < 2; single++) {
            run("kind = custom\nweights = 0.1 0.2 0.4 0.2 0.1", single, 12, 1, px, 0, 0, 3.5, 40, &t);
            run("kind = custom\nweights = .0625 .125 .0625 | .125 .25 .125 | .0625 .125 .0625", single, 12, 7,
                px, px, 0, -80.0, 40, &t);
        }
    report("custom with V", &t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heat),      cmocka_unit_test(wave),
        cmocka_unit_test(advect),    cmocka_unit_test(laplace),
        cmocka_unit_test(sweep),     cmocka_unit_test(custom),
        cmocka_unit_test(custom_with_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
