/* A cell's initial value has the same bits whatever slice of the grid is asked for, and two levels agree with
 * one to 2 ulp of 1. */
#include <math.h>

#include "core/cell.h"
#include "problem/mode_axis.h"
#include "problem/problem.h"
#include "support/problem_harness.h"

static const boundary_kind pairs[5][2] = {
    { BOUNDARY_PERIODIC, BOUNDARY_PERIODIC },   { BOUNDARY_DIRICHLET, BOUNDARY_DIRICHLET },
    { BOUNDARY_NEUMANN, BOUNDARY_NEUMANN },     { BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN },
    { BOUNDARY_NEUMANN, BOUNDARY_DIRICHLET },
};

static void free_tables(mode_axis_tables *t)
{
    free(t->hi);
    free(t->lo);
}

static void two_levels_agree_with_one(void **state)
{
    static const int64_t lengths[] = { 1,     2,       4095,          4096,      4097,
                                       10007, 1 << 20, (1 << 20) + 1, 123456789, (int64_t)1 << 40 };
    double worst = 0.0;
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
        for (int s = 0; s < 5; s++)
            for (int which = 0; which < 3; which++) {
                const int64_t n = lengths[l], first_mode = mode_axis_first(pairs[s][0], pairs[s][1]);
                const int64_t last_mode = mode_axis_last(n, pairs[s][0], pairs[s][1]);
                const int64_t mode = which == 0   ? first_mode
                                     : which == 1 ? (first_mode + last_mode) / 2
                                                  : last_mode;
                const mode_axis a = mode_axis_make(n, pairs[s][0], pairs[s][1], mode);
                const int64_t first = n / 3, end = n - first > 20000 ? first + 20000 : n;
                mode_axis_tables one, two;
                mode_axis_tables_mode_with_bits(&one, &a, first, end, 0);
                mode_axis_tables_mode_with_bits(&two, &a, first, end, MODE_AXIS_FINE_BITS);
                for (int64_t i = first; i < end; i++) {
                    double r1, i1, r2, i2;
                    cell_axis(&one.view, i, &r1, &i1);
                    cell_axis(&two.view, i, &r2, &i2);
                    worst = fmax(worst, fmax(fabs(r1 - r2), fabs(i1 - i2)));
                }
                free_tables(&one);
                free_tables(&two);
            }
    print_message("one and two levels differ by at most %.2f ulp of 1\n", worst / 0x1p-52);
    assert_true(worst <= 2 * 0x1p-52);
}

static void levels_follow_from_the_whole_axis(void **state)
{
    for (int64_t n = MODE_AXIS_ONE_LEVEL_CELLS; n <= MODE_AXIS_ONE_LEVEL_CELLS + 1; n++) {
        const mode_axis a = mode_axis_make(n, BOUNDARY_PERIODIC, BOUNDARY_PERIODIC, 1);
        mode_axis_tables t;
        mode_axis_tables_mode(&t, &a, 100, 110);
        assert_int_equal(t.view.bits, n > MODE_AXIS_ONE_LEVEL_CELLS ? MODE_AXIS_FINE_BITS : 0);
        assert_int_equal(t.hi_bytes, (n > MODE_AXIS_ONE_LEVEL_CELLS ? 1u : 10u) * 2 * sizeof(double));
        free_tables(&t);
    }
}

/* Every cell of `whole` again from the tables of a slice that starts and ends elsewhere, as a rank would ask.
 * */
static void check_slices(const char *lines, box whole)
{
    config c;
    problem p;
    problem_tables all, part;
    harness_config(&c, "%s\n[time]\nsteps = 0\n", lines);
    problem_make(&p, &c);
    assert_true(problem_tables_make(&all, &p, &c, whole));
    for (int cut = 0; cut < 5; cut++) {
        const int64_t w = box_width(whole), h = box_height(whole);
        const box own = box_make(whole.x0 + w * cut / 7, whole.x1 - w * (4 - cut) / 9,
                                 whole.y0 + h * (4 - cut) / 6, whole.y1 - h * cut / 11);
        assert_true(problem_tables_make(&part, &p, &c, own));
        for (int64_t y = own.y0; y < own.y1; y++)
            for (int64_t x = own.x0; x < own.x1; x++) {
                const double a = cell_value(&all.base, x - whole.x0, y - whole.y0);
                const double b = cell_value(&part.base, x - own.x0, y - own.y0);
                assert_memory_equal(&a, &b, sizeof a);
            }
        problem_tables_free(&part);
    }
    problem_tables_free(&all);
}

static void slices(void **state)
{
    check_slices(
        "[problem]\nkind = heat\nalpha = .1\nmode_x = 5\n[grid]\nnx = 101\nny = 53\nboundary = dirichlet 2",
        box_make(0, 101, 0, 53));
    check_slices("[problem]\nkind = advect\nalpha = .1\nmode_x = 7\n[grid]\nnx = 3000000\nny = 2000000",
                 box_make(1000000, 1009000, 4090, 4100));
    check_slices("[problem]\nkind = heat\nalpha = .1\nmode_x = 77777777777\n[grid]\nnx = "
                 "1000000000000\nboundary = neumann",
                 box_make(123456789012, 123456799012, 0, 1));
    check_slices("[problem]\nkind = laplace\ninitial = gaussian\n[grid]\nnx = 90\nny = 40",
                 box_make(0, 90, 0, 40));
    check_slices("[problem]\nkind = laplace\ninitial = gaussian\n[grid]\nnx = 1000000000000",
                 box_make(499999990000, 499999999000, 0, 1));
    check_slices("[problem]\nkind = laplace\ninitial = random\nseed = 4\n[grid]\nnx = 90\nny = 40",
                 box_make(0, 90, 0, 40));
    check_slices("[problem]\nkind = laplace\ninitial = zero\n[grid]\nnx = 90000\nny = 4",
                 box_make(0, 90000, 0, 4));
    check_slices("[problem]\nkind = transpose\n[grid]\nnx = 90\nny = 40", box_make(0, 90, 0, 40));
}

/* By the formulas of the table of modes, in long double by the C library. */
static void values(void **state)
{
    config c;
    problem p;
    problem_tables t;
    harness_config(&c, "[problem]\nkind = heat\nalpha = .1\nmode_x = 3\nmode_y = 2\n[grid]\nnx = 20\nny = 9\n"
                       "x_low = dirichlet 1.5\nx_high = neumann\n[time]\nsteps = 0\n");
    problem_make(&p, &c);
    assert_true(problem_tables_make(&t, &p, &c, box_make(0, 20, 0, 9)));
    const long double pi = acosl(-1.0L), theta_x = pi * 5 / 41, theta_y = 2 * pi * 2 / 9;
    for (int y = 0; y < 9; y++)
        for (int x = 0; x < 20; x++) {
            const long double exact = 1.5L + sinl(theta_x * (x + 1)) * cosl(theta_y * y);
            assert_true(fabsl((long double)cell_value(&t.base, x, y) - exact) <= 3 * 0x1p-52L);
        }
    problem_tables_free(&t);
    harness_config(&c, "[problem]\nkind = heat\nalpha = .1\ninitial = gaussian\n[grid]\nnx = 20\nny = "
                       "9\n[time]\nsteps = 0\n");
    problem_make(&p, &c);
    assert_true(problem_tables_make(&t, &p, &c, box_make(0, 20, 0, 9)));
    for (int y = 0; y < 9; y++)
        for (int x = 0; x < 20; x++) {
            const long double dx = (x + .5L - 10) / 2, dy = (y + .5L - 4.5L) / .9L;
            const long double exact = expl(-(dx * dx + dy * dy) / 2);
            assert_true(fabsl((long double)cell_value(&t.base, x, y) - exact) <= 20 * 0x1p-52L * exact);
        }
    problem_tables_free(&t);
    harness_config(
        &c, "[problem]\nkind = heat\nalpha = .1\ninitial = /tmp/a.h5\n[grid]\nnx = 20\n[time]\nsteps = 0\n");
    problem_make(&p, &c);
    assert_false(problem_tables_make(&t, &p, &c, box_make(0, 20, 0, 1)));
    assert_false(p.exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_levels_agree_with_one),
        cmocka_unit_test(levels_follow_from_the_whole_axis),
        cmocka_unit_test(slices),
        cmocka_unit_test(values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
