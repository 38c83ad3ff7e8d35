/* The coefficients of every order are the fractions of the tables, rounded once to the type and in the order
 * of the sum. */
#include <math.h>

#include "core/cell.h"
#include "problem/problem.h"
#include "support/problem_harness.h"

/* Second differences, k = 0, 1 .. r (Fornberg 1988, table 1; orders 10 to 16 continue it). First ones are k/2
 * of these. */
static const struct {
    int64_t over, under;
} second[8][9] = {
    { { -2, 1 }, { 1, 1 } },
    { { -5, 2 }, { 4, 3 }, { -1, 12 } },
    { { -49, 18 }, { 3, 2 }, { -3, 20 }, { 1, 90 } },
    { { -205, 72 }, { 8, 5 }, { -1, 5 }, { 8, 315 }, { -1, 560 } },
    { { -5269, 1800 }, { 5, 3 }, { -5, 21 }, { 5, 126 }, { -5, 1008 }, { 1, 3150 } },
    { { -5369, 1800 }, { 12, 7 }, { -15, 56 }, { 10, 189 }, { -1, 112 }, { 2, 1925 }, { -1, 16632 } },
    { { -266681, 88200 },
      { 7, 4 },
      { -7, 24 },
      { 7, 108 },
      { -7, 528 },
      { 7, 3300 },
      { -7, 30888 },
      { 1, 84084 } },
    { { -1077749, 352800 },
      { 16, 9 },
      { -14, 45 },
      { 112, 1485 },
      { -7, 396 },
      { 112, 32175 },
      { -2, 3861 },
      { 16, 315315 },
      { -1, 411840 } },
};

/* 113 bits hold every product and sum here exactly, and tell every quotient from the middle of two doubles.
 */
static void assert_rounded(dtype t, double got, int base, double alpha, int64_t over, int64_t under)
{
    const _Float128 exact = ((_Float128)base * under + (_Float128)alpha * over) / under;
    if (got != (t == DTYPE_F32 ? (double)(float)exact : (double)exact))
        fail_msg("%s: %d + %a * %lld / %lld rounds to %a", dtype_name(t), base, alpha, (long long)over,
                 (long long)under, got);
}

static const char *const kinds[] = { "heat", "wave", "advect", "sweep" };

/* stencil.h finds the weight by its cell, and the cell by its weight. */
static void assert_place(const stencil *op, int at, int dx, int dy)
{
    int x = 0, y = 0;
    stencil_weight_place(op->form, op->radius, at, &x, &y);
    assert_int_equal(stencil_weight_index(op->form, op->radius, dx, dy), at);
    assert_true(x == dx && y == dy);
}

static void check(const char *kind, int order, int ny, dtype t, double alpha)
{
    const int r = order / 2;
    config c;
    problem p;
    harness_config(&c,
                   "[problem]\nkind = %s\ndtype = %s\norder = %d\nalpha = %.17g\n[grid]\nnx = 20\nny = "
                   "%d\n[time]\nsteps = 1\n",
                   kind, dtype_name(t), order, alpha, ny);
    problem_make(&p, &c);
    const int axes = ny > 1 && c.problem.kind != KIND_SWEEP ? 2 : 1;
    assert_int_equal(p.op.form, axes == 2 ? STENCIL_STAR : STENCIL_LINE);
    assert_int_equal(p.op.radius, r);
    assert_int_equal(p.op.type, t);
    int at = 0;
    for (int k = r; k >= 1; k--) {
        const int64_t over = second[r - 1][k].over, under = second[r - 1][k].under;
        const int low = c.problem.kind == KIND_ADVECT ? k : 1, high = c.problem.kind == KIND_ADVECT ? -k : 1;
        for (int a = 0; a < axes; a++) { /* x-k, x+k, y-k, y+k */
            assert_place(&p.op, at, a ? 0 : -k, a ? -k : 0);
            assert_rounded(t, p.op.weight[at++], 0, alpha, low * over, under);
            assert_place(&p.op, at, a ? 0 : k, a ? k : 0);
            assert_rounded(t, p.op.weight[at++], 0, alpha, high * over, under);
        }
    }
    assert_place(&p.op, at, 0, 0);
    if (c.problem.kind == KIND_ADVECT) assert_true(p.op.weight[at++] == 0.0);
    else
        assert_rounded(t, p.op.weight[at++], c.problem.kind == KIND_WAVE ? 2 : 1, alpha,
                       axes * second[r - 1][0].over, second[r - 1][0].under);
    assert_int_equal(at, stencil_weights(p.op.form, r));
    const bool two = c.problem.kind == KIND_WAVE || c.problem.kind == KIND_ADVECT;
    assert_true(p.op.has_prev == two && p.two_levels == two);
    if (two) assert_true(p.op.beta == (c.problem.kind == KIND_WAVE ? -1.0 : 1.0));
}

/* alpha = .007 and order 12 have a coefficient that 64 bits of mantissa, rounded to 53 at the end, miss. */
static void differences(void **state)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int order = 2; order <= 16; order += 2)
            for (int ny = k == 3 ? 20 : 1; ny <= 20; ny += 19)
                for (int t = 0; t < 2; t++) {
                    check(kinds[k], order, ny, t ? DTYPE_F64 : DTYPE_F32, 0.125);
                    check(kinds[k], order, ny, t ? DTYPE_F64 : DTYPE_F32, 0.007);
                    for (uint64_t i = 0; i < 40; i++)
                        check(kinds[k], order, ny, t ? DTYPE_F64 : DTYPE_F32,
                              0.07 + 0.06 * cell_random((uint64_t)order, i));
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(differences) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
