/* The coefficients of every order are the fractions of the tables, rounded once to the type and in the order of the sum. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "problem/problem.h"
#include "support/problem_harness.h"

typedef struct fraction {
    long double over, under;
} fraction;

/* Second differences, k = 0, 1 .. r (Fornberg 1988, table 1; orders 10 to 16 continue it). First ones are k/2 of these. */
static const fraction second[8][9] = {
    { { -2, 1 }, { 1, 1 } },
    { { -5, 2 }, { 4, 3 }, { -1, 12 } },
    { { -49, 18 }, { 3, 2 }, { -3, 20 }, { 1, 90 } },
    { { -205, 72 }, { 8, 5 }, { -1, 5 }, { 8, 315 }, { -1, 560 } },
    { { -5269, 1800 }, { 5, 3 }, { -5, 21 }, { 5, 126 }, { -5, 1008 }, { 1, 3150 } },
    { { -5369, 1800 }, { 12, 7 }, { -15, 56 }, { 10, 189 }, { -1, 112 }, { 2, 1925 }, { -1, 16632 } },
    { { -266681, 88200 }, { 7, 4 }, { -7, 24 }, { 7, 108 }, { -7, 528 }, { 7, 3300 }, { -7, 30888 }, { 1, 84084 } },
    { { -1077749, 352800 }, { 16, 9 }, { -14, 45 }, { 112, 1485 }, { -7, 396 }, { 112, 32175 }, { -2, 3861 },
      { 16, 315315 }, { -1, 411840 } },
};

static double in_type(dtype t, long double v) { return t == DTYPE_F32 ? (double)(float)v : (double)v; }

static const char *const kinds[] = { "heat", "wave", "advect", "sweep" };

/* stencil.h finds the weight by its cell, and the cell by its weight. */
static void assert_place(const stencil *op, int at, int dx, int dy)
{
    int x = 0, y = 0;
    stencil_weight_place(op->form, op->radius, at, &x, &y);
    assert_int_equal(stencil_weight_index(op->form, op->radius, dx, dy), at);
    assert_true(x == dx && y == dy);
}

static void check(const char *kind, int order, int ny, dtype t)
{
    const long double alpha = 0.125L;
    const int r = order / 2;
    config c;
    problem p;
    harness_config(&c, "[problem]\nkind = %s\ndtype = %s\norder = %d\nalpha = 0.125\n[grid]\nnx = 20\nny = %d\n[time]\nsteps = 1\n",
                   kind, dtype_name(t), order, ny);
    problem_make(&p, &c);
    const int axes = ny > 1 && c.problem.kind != KIND_SWEEP ? 2 : 1;
    assert_int_equal(p.op.form, axes == 2 ? STENCIL_STAR : STENCIL_LINE);
    assert_int_equal(p.op.radius, r);
    assert_int_equal(p.op.type, t);
    int at = 0;
    for (int k = r; k >= 1; k--) {
        const long double w = second[r - 1][k].over / second[r - 1][k].under;
        const long double low = c.problem.kind == KIND_ADVECT ? alpha * (k * w) : alpha * w;
        const long double high = c.problem.kind == KIND_ADVECT ? -low : low;
        for (int a = 0; a < axes; a++) { /* x-k, x+k, y-k, y+k */
            assert_place(&p.op, at, a ? 0 : -k, a ? -k : 0);
            assert_true(p.op.weight[at++] == in_type(t, low));
            assert_place(&p.op, at, a ? 0 : k, a ? k : 0);
            assert_true(p.op.weight[at++] == in_type(t, high));
        }
    }
    assert_place(&p.op, at, 0, 0);
    const long double w0 = second[r - 1][0].over / second[r - 1][0].under;
    const long double base = c.problem.kind == KIND_WAVE ? 2.0L : 1.0L;
    assert_true(p.op.weight[at++] == (c.problem.kind == KIND_ADVECT ? 0.0 : in_type(t, base + alpha * w0 * axes)));
    assert_int_equal(at, stencil_weights(p.op.form, r));
    const bool two = c.problem.kind == KIND_WAVE || c.problem.kind == KIND_ADVECT;
    assert_true(p.op.has_prev == two && p.two_levels == two);
    if (two) assert_true(p.op.beta == (c.problem.kind == KIND_WAVE ? -1.0 : 1.0));
}

static void differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int order = 2; order <= 16; order += 2)
            for (int ny = k == 3 ? 20 : 1; ny <= 20; ny += 19)
                for (int t = 0; t < 2; t++) check(kinds[k], order, ny, t ? DTYPE_F64 : DTYPE_F32);
}

static void laplace(void **state)
{
    (void)state;
    config c;
    problem p;
    harness_config(&c, "[problem]\nkind = laplace\norder = 8\n[grid]\nnx = 5\nny = 4\n[time]\nsteps = 1\n");
    problem_make(&p, &c);
    assert_int_equal(p.op.radius, 1);
    for (int i = 0; i < 5; i++) assert_true(p.op.weight[i] == (i < 4 ? 0.25 : 0.0));
    harness_config(&c, "[problem]\nkind = laplace\n[grid]\nnx = 5\n[time]\nsteps = 1\n");
    problem_make(&p, &c);
    for (int i = 0; i < 3; i++) assert_true(p.op.weight[i] == (i < 2 ? 0.5 : 0.0));
}

/* next = sum w(dy,dx) u(y+dy, x+dx), first row dy = -r */
static void custom(void **state)
{
    (void)state;
    static const double star_order[5] = { 2, 3, 1, 5, 4 }; /* x-1, x+1, y-1, y+1, centre */
    config c;
    problem p;
    harness_config(&c, "[problem]\nkind = custom\nweights = 0 1 0 | 2 4 3 | 0 5 0\n[grid]\nnx = 5\nny = 4\n[time]\nsteps = 1\n");
    problem_make(&p, &c);
    assert_int_equal(p.op.form, STENCIL_STAR);
    for (int i = 0; i < 5; i++) assert_true(p.op.weight[i] == star_order[i]);
    harness_config(&c, "[problem]\nkind = custom\nweights = 1 2 3 | 4 5 6 | 7 8 9\n[grid]\nnx = 5\nny = 4\n[time]\nsteps = 1\n");
    problem_make(&p, &c);
    assert_int_equal(p.op.form, STENCIL_BOX);
    for (int i = 0; i < 9; i++) assert_true(p.op.weight[i] == i + 1);
    harness_config(&c, "[problem]\nkind = custom\nweights = 1 2 3 4 5\n[grid]\nnx = 5\n[time]\nsteps = 1\n");
    problem_make(&p, &c);
    static const double line_order[5] = { 1, 5, 2, 4, 3 };
    assert_int_equal(p.op.form, STENCIL_LINE);
    for (int i = 0; i < 5; i++) assert_true(p.op.weight[i] == line_order[i]);
}

/* next = sum of b(dy) a(dx) u(y+dy, x+dx): the rows a, then of each dy the columns' b. */
static void separable(void **state)
{
    (void)state;
    static const double two_order[12] = { 1, 2, 3, 7, 8, 9, 4, 10, 5, 11, 6, 12 };
    config c;
    problem p;
    harness_config(&c, "[problem]\nkind = separable\nfactors = 1 2 3 4 5 | 6 7 8 9 10\n[grid]\nnx = 5\nny = 4\n[time]\nsteps = 1\n");
    problem_make(&p, &c);
    assert_true(p.op.form == STENCIL_SEPARABLE && p.op.radius == 2 && !p.op.has_prev);
    for (int i = 0; i < 10; i++) assert_true(p.op.weight[i] == i + 1);
    assert_int_equal(stencil_weights(p.op.form, p.op.radius), 10);
    assert_int_equal(stencil_weight_index(p.op.form, p.op.radius, 0, 0), -1);
    harness_config(&c, "[problem]\nkind = separable\nfactors = 1 2 3 | 4 5 6 | 7 8 9 | 10 11 12\n[grid]\nnx = 5\nny = 4\n[time]\nsteps = 1\n");
    problem_make(&p, &c);
    assert_true(p.op.form == STENCIL_SEPARABLE_SUM && p.op.radius == 1);
    for (int i = 0; i < 12; i++) assert_true(p.op.weight[i] == two_order[i]);
    assert_int_equal(stencil_weights(p.op.form, p.op.radius), 12);
    harness_config(&c, "[problem]\nkind = separable\ndtype = f32\nfactors = .1 .2 .3 | .4 .5 .6\n[grid]\nnx = 5\nny = 4\n[time]\nsteps = 1\n");
    problem_make(&p, &c);
    for (int i = 0; i < 6; i++) assert_true(p.op.weight[i] == in_type(DTYPE_F32, (i + 1) / 10.0L));
}

/* Rows from low to high y, cells of a row from low to high x; nothing beyond the form. */
static void places_of_a_box(void **state)
{
    (void)state;
    for (int r = 1; r <= STENCIL_RADIUS_MAX; r++) {
        const stencil op = { .form = STENCIL_BOX, .radius = r };
        int at = 0;
        for (int dy = -r; dy <= r; dy++)
            for (int dx = -r; dx <= r; dx++) assert_place(&op, at++, dx, dy);
        assert_int_equal(stencil_weight_index(STENCIL_BOX, r, r + 1, 0), -1);
        assert_int_equal(stencil_weight_index(STENCIL_STAR, r, 1, 1), -1);
        assert_int_equal(stencil_weight_index(STENCIL_LINE, r, 0, 1), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences),
        cmocka_unit_test(laplace),
        cmocka_unit_test(custom),
        cmocka_unit_test(separable),
        cmocka_unit_test(places_of_a_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
