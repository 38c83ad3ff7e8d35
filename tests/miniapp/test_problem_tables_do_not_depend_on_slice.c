/* A cell's initial value is that of its formula, with the same bits whatever slice of the grid is asked for.
 */
#include <math.h>

#include "core/cell.h"
#include "problem/problem.h"
#include "support/problem_harness.h"

static const struct {
    boundary_kind low, high;
    int first_mode;
    bool sine;
} pairs[] = {
    { BOUNDARY_PERIODIC, BOUNDARY_PERIODIC, 0, false }, { BOUNDARY_DIRICHLET, BOUNDARY_DIRICHLET, 1, true },
    { BOUNDARY_NEUMANN, BOUNDARY_NEUMANN, 0, false },   { BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN, 1, true },
    { BOUNDARY_NEUMANN, BOUNDARY_DIRICHLET, 1, false },
};

/* The angle of cell i by the table of mode_axis.c, in long double but for whole turns. */
static long double angle(int pair, int64_t n, int64_t mode, int64_t i)
{
    const __int128 half_cells = pairs[pair].low == BOUNDARY_PERIODIC ? 2 * i
                                : pairs[pair].sine                   ? 2 * i + 2
                                                                     : 2 * i + 1;
    const __int128 over = pair >= 3 ? 2 * mode - 1 : mode;
    const __int128 under[] = { 2 * (__int128)n, 4 * ((__int128)n + 1), 4 * (__int128)n,
                               4 * (2 * (__int128)n + 1), 4 * (2 * (__int128)n + 1) };
    return 2 * acosl(-1.0L) * (long double)(over * half_cells % under[pair]) / (long double)under[pair];
}

/* On axes of one level and of two, of all pairs of sides, in the lowest, a middle and the highest mode. */
static void modes(void **state)
{
    static const int64_t lengths[] = {
        1, 2, 4096, 10007, 1 << 20, (1 << 20) + 1, 123456789, (int64_t)1 << 40
    };
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
        for (int pair = 0; pair < 5; pair++)
            for (int which = 0; which < 3; which++) {
                const int64_t n = lengths[l], mode = pairs[pair].first_mode + (n - 1) * which / 2;
                const mode_axis a = mode_axis_make(n, pairs[pair].low, pairs[pair].high, mode);
                const int64_t first = n / 3, end = n - first > 9000 ? first + 9000 : n;
                const size_t doubles = mode_axis_doubles(&a, first, end);
                double *const block = malloc(doubles * sizeof *block), *at = block;
                const value_axis table = mode_axis_table(&a, first, end, &at);
                assert_true(at == block + doubles);
                for (int64_t i = first; i < end; i++) {
                    double re, im;
                    const long double turn = angle(pair, n, mode, i);
                    cell_axis(&table, i, &re, &im);
                    const long double wrong_re = re - (pairs[pair].sine ? sinl(turn) : cosl(turn)),
                                      wrong_im = im - (pair == 0 ? sinl(turn) : 0);
                    if (!(fabsl(wrong_re) <= 3 * 0x1p-52L && fabsl(wrong_im) <= 3 * 0x1p-52L))
                        fail_msg("pair %d, mode %lld of %lld cells, cell %lld: %.17g, %.17g", pair,
                                 (long long)mode, (long long)n, (long long)i, re, im);
                }
                free(block);
            }
}

/* Every cell of `whole` again from the tables of a slice that starts and ends elsewhere, as a rank would ask.
 * */
static void check_slices(const char *lines, box whole)
{
    config c;
    problem p;
    problem_tables all, part;
    harness_config(&c, "[problem]\n%s\n[time]\nsteps = 0\n", lines);
    problem_make(&p, &c);
    problem_tables_make(&all, &p, &c, whole);
    for (int cut = 0; cut < 5; cut++) {
        const int64_t w = box_width(whole), h = box_height(whole);
        const box own = box_make(whole.x0 + w * cut / 7, whole.x1 - w * (4 - cut) / 9,
                                 whole.y0 + h * (4 - cut) / 6, whole.y1 - h * cut / 11);
        problem_tables_make(&part, &p, &c, own);
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
    static const struct {
        const char *deck;
        box whole;
    } row[] = {
        { "kind = heat\nalpha = .1\nmode_x = 5\n[grid]\nnx = 101\nny = 53\nboundary = dirichlet 2",
          { 0, 101, 0, 53 } },
        { "kind = advect\nalpha = .1\nmode_x = 7\n[grid]\nnx = 3000000\nny = 2000000",
          { 1000000, 1009000, 4090, 4100 } },
        { "kind = heat\nalpha = .1\nmode_x = 77777777777\n[grid]\nnx = 1000000000000\nboundary = neumann",
          { 123456789012, 123456799012, 0, 1 } },
        /* some of the slices are longer than an axis of one level, others are not */
        { "kind = heat\nalpha = .1\n[grid]\nnx = 2097152", { 0, 2097152, 0, 1 } },
        { "kind = laplace\ninitial = gaussian\n[grid]\nnx = 90\nny = 40", { 0, 90, 0, 40 } },
        { "kind = laplace\ninitial = gaussian\n[grid]\nnx = 1000000000000",
          { 499999990000, 499999999000, 0, 1 } },
        { "kind = laplace\ninitial = random\nseed = 4\n[grid]\nnx = 90\nny = 40", { 0, 90, 0, 40 } },
        { "kind = laplace\ninitial = zero\n[grid]\nnx = 90000\nny = 4", { 0, 90000, 0, 4 } },
        { "kind = transpose\n[grid]\nnx = 90\nny = 40", { 0, 90, 0, 40 } },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) check_slices(row[i].deck, row[i].whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(modes), cmocka_unit_test(slices) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
