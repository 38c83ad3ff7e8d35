/* The bound, the largest growth over all modes, the factor of a late level and a transpose's values are those
 * of their formulas, evaluated another way. A run is called exact where the closed form holds and nowhere
 * else, and the reason why not is said. */
#include <complex.h>
#include <math.h>

#include "core/cell.h"
#include "problem/fourier_symbol.h"
#include "problem/problem.h"
#include "support/problem_harness.h"

static void near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.17g, expected %.17g", got, expected);
}

static config c;
static problem p;

static void make(const char *lines, int64_t steps)
{
    harness_config(&c, "[problem]\n%s\n[time]\nsteps = %lld\n", lines, (long long)steps);
    problem_make(&p, &c);
}

static double bound(int level, const char *lines)
{
    make(lines, level);
    return problem_bound(&p, &c, level).bound;
}

static void by_hand(void **state)
{
    const double half64 = 0x1p-53, half32 = 0x1p-24, theta = 2 * acos(-1.0) / 8;
    /* heat 1D order 2, alpha 1/4: weights 1/4 1/4 1/2, prefixes 1/4 1/2 1; g = 1 - (1 - cos) / 2 */
    const double g = 1 - 0.5 * (1 - cos(theta)), P = 1.75;
    near(bound(7, "kind = heat\nalpha = .25\n[grid]\nnx = 8"), half64 * (8 + P * (1 - pow(g, 7)) / (1 - g)));
    near(bound(7, "kind = heat\nalpha = .25\nmode_x = 0\n[grid]\nnx = 8"), half64 * (8 + P * 7));
    /* sweep: twice the 1D P */
    near(bound(3, "kind = sweep\nalpha = .25\nmode_x = 0\nmode_y = 0\n[grid]\nnx = 8\nny = 8"),
         half64 * (8 + 2 * P * 3));
    /* laplace 2D: 1/4 1/2 3/4 1 and the centre's 1 */
    near(bound(2, "kind = laplace\ndtype = f32\nmode_x = 0\nmode_y = 0\n[grid]\nnx = 8\nny = 8"),
         half32 * (8 + 3.5 * 2));
    /* wave 1D alpha 1/4: weights 1/4 1/4 3/2; prefixes 1/4 1/2 2, prev 1; no dirichlet side */
    near(bound(5, "kind = wave\nalpha = .25\n[grid]\nnx = 8"), half64 * (8 + 3.75 * 15));
    /* the same between dirichlet sides: cos w = 1 - (1 - cos theta) / 4, theta = pi m / 9, lowest 1 and
     * highest 8 */
    const double low = 1 - 0.25 * (1 - cos(acos(-1.0) / 9)), high = 1 - 0.25 * (1 - cos(acos(-1.0) * 8 / 9));
    const double s = fmin(sqrt(1 - low * low), sqrt(1 - high * high));
    near(bound(5, "kind = wave\nalpha = .25\n[grid]\nnx = 8\nboundary = dirichlet 0"),
         half64 * (8 + 3.75 * 15));
    near(bound(500, "kind = wave\nalpha = .25\n[grid]\nnx = 8\nboundary = dirichlet 0"),
         half64 * (8 + 3.75 * (500 / s - 1 / (2 * s * s))));
    /* advect 1D alpha 1/2: weights 1/2 -1/2 0; prefixes 1/2 1 1, prev 1; limit 1 */
    near(bound(9, "kind = advect\nalpha = .5\n[grid]\nnx = 8"), half64 * (8 + 3.5 * 9 / sqrt(0.75)));
    /* custom 1 2 1, mode 2 of 8: g = 2, rho = 4: prefixes of x-1, x+1, centre: 1 2 4; F = sum 2^j 4^(4-j), j
     * < 5 */
    near(bound(5, "kind = custom\nweights = 1 2 1\nmode_x = 2\n[grid]\nnx = 8"),
         half64 * 32 * (8 + 7 * (256 + 128 + 64 + 32 + 16)));
    /* V = 3: its own share with a = 1, dying with the slowest mode */
    const double pi = acos(-1.0), g1 = 1 - 0.5 * (1 - cos(pi / 9)), g5 = 1 - 0.5 * (1 - cos(5 * pi / 9));
    near(bound(6, "kind = heat\nalpha = .25\nmode_x = 5\n[grid]\nnx = 8\nboundary = dirichlet 3"),
         half64 * ((8 + P * (1 - pow(g5, 6)) / (1 - g5)) + 3 * (8 + P * (1 - pow(g1, 6)) / (1 - g1))));
}

/* Random stencils against random angles. */
static void largest_growth(void **state)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        const int r = 1 + (int)(seed % 4);
        const bool two_d = seed % 3 != 0;
        stencil op = { .form = two_d ? STENCIL_BOX : STENCIL_LINE, .radius = r, .type = DTYPE_F64 };
        double sum = 0.0;
        for (int i = 0; i < stencil_weights(op.form, r); i++)
            sum += fabs(op.weight[i] = cell_random(seed, (uint64_t)i));
        for (int i = 0; i < stencil_weights(op.form, r); i++) op.weight[i] *= 3.0 / sum;
        const double found = fourier_symbol_largest(&op);
        double sampled = 0.0;
        for (uint64_t k = 0; k < 60000; k++) {
            const double tx = 3.2 * cell_random(100 + seed, 2 * k),
                         ty = two_d ? 3.2 * cell_random(100 + seed, 2 * k + 1) : 0.0;
            double complex g = 0.0;
            for (int dy = two_d ? -r : 0; dy <= (two_d ? r : 0); dy++)
                for (int dx = -r; dx <= r; dx++)
                    g += op.weight[stencil_weight_index(op.form, r, dx, dy)] * cexp(I * (tx * dx + ty * dy));
            sampled = fmax(sampled, cabs(g));
        }
        if (!(found >= sampled && found <= sampled * 1.01))
            fail_msg("seed %llu: %.12g, sampled %.12g", (unsigned long long)seed, found, sampled);
    }
    /* a filter with negative weights whose largest |g| is exactly 1, at theta = 0: no step may be lost to
     * rounding up */
    const stencil op = { .form = STENCIL_LINE,
                         .radius = 2,
                         .type = DTYPE_F64,
                         .weight = { -0.0625, -0.0625, 0.25, 0.25, 0.625 } };
    assert_true(fourier_symbol_largest(&op) == 1.0);
}

/* f(2 n) = f(n)^2 at levels up to 10^9, far below what the bound allows there. */
static void late_factors(void **state)
{
    static const char *const decks[] = { "kind = advect\nalpha = .3\nmode_x = 12345\n",
                                         "kind = custom\nweights = 0 .25 .75\n", "kind = heat\nalpha = .3\n" };
    for (int i = 0; i < 30; i++) {
        char lines[100];
        const int64_t n = (int64_t)pow(10, i % 10);
        snprintf(lines, sizeof lines, "%s[grid]\nnx = 1000003", decks[i / 10]);
        make(lines, 1);
        const quad_complex once = problem_factor(&p, &c, n), twice = problem_factor(&p, &c, 2 * n),
                           square = quad_complex_mul(once, once);
        assert_true(fabs((double)(twice.re - square.re)) <= 0x1p-100 * (double)(n + 10));
        assert_true(fabs((double)(twice.im - square.im)) <= 0x1p-100 * (double)(n + 10));
    }
}

/* Weights that f32 rounds up let a mode of the wave grow: its factors are those of next = 2 c cur - prev. */
static void a_wave_that_grows(void **state)
{
    make("kind = wave\ndtype = f32\norder = 4\nalpha = .27\nmode_x = 0\n[grid]\nnx = 4096", 1);
    double prev = (double)problem_factor(&p, &c, 0).re, cur = (double)problem_factor(&p, &c, 1).re;
    assert_true(prev == 1.0 && cur > 1.0);
    for (int64_t n = 2; n <= 20000; n++) {
        const double next = 2 * (double)p.growth.re * cur - prev,
                     factor = (double)problem_factor(&p, &c, n).re;
        prev = cur, cur = next;
        if (!(fabs(factor - cur) <= 1e-6 * cur))
            fail_msg("level %d: %.9g, expected %.9g", (int)n, factor, cur);
    }
    assert_true(cur > 2);
}

/* The transpose's 1024 values are n f + n(n-1)/2 while that is exact, and those of floats beyond. */
static void transposes(void **state)
{
    static double a[VALUE_COUNT_TABLE], b[VALUE_COUNT_TABLE];
    static float sa[VALUE_COUNT_TABLE], sb[VALUE_COUNT_TABLE];
    for (int64_t n = 0; n <= 20000; n++)
        for (int f = 0; f < VALUE_COUNT_TABLE; f++) {
            sb[f] = n == 0 ? 0 : sb[f] + sa[f];
            sa[f] = n == 0 ? (float)f : sa[f] + 1;
        }
    problem_count_tables(DTYPE_F32, 20000, a, b);
    for (int f = 0; f < VALUE_COUNT_TABLE; f++) assert_true(a[f] == (double)sa[f] && b[f] == (double)sb[f]);
    for (int64_t n = 0; n <= 100000; n = 7 * n + 1) {
        problem_count_tables(DTYPE_F64, n, a, b);
        for (int f = 0; f < VALUE_COUNT_TABLE; f++)
            assert_true(a[f] == (double)(f + n) && b[f] == (double)(n * f + n * (n - 1) / 2));
    }
}

/* ---- what is exact ---- */

#define HEAT "kind = heat\nalpha = .1\n"
#define WAVE "kind = wave\nalpha = .1\n"
#define ADVECT "kind = advect\nalpha = .1\n"
#define SWEEP "kind = sweep\nalpha = .1\n"
#define SKEW_X "kind = custom\nweights = 0 .1 0 | .3 .2 .3001 | 0 .1 0\n"
#define SKEW_BOX "kind = custom\nweights = .1 0 .1 | 0 .2 0 | .1 0 .2\n"
#define EVEN "kind = custom\nweights = 0 .1 0 | .1 .6 .1 | 0 .1 0\n"
#define SHORT "kind = custom\nweights = 0 .1 0 | .1 .5 .1 | 0 .1 0\n"
#define GRID "[grid]\nnx = 8\nny = 8\n"
#define LINE "[grid]\nnx = 8\n"

static const struct {
    const char *deck;
    const char *why; /* the verdict is unchecked; NULL: exact */
    double shift;
    int level;
} rules[] = {
    { HEAT GRID "boundary = dirichlet 0", NULL, 0, 3 },
    { HEAT GRID "boundary = dirichlet 3", NULL, 3, 3 },
    { "dtype = f32\n" HEAT GRID "boundary = dirichlet 0.1", NULL, (double)0.1f, 3 },
    { HEAT GRID "boundary = dirichlet 3\nx_low = neumann", NULL, 3, 3 },
    { HEAT GRID "boundary = dirichlet 3\nx_low = dirichlet 2", "different values", 0, 3 },
    { HEAT GRID "boundary = dirichlet 3\nx_low = dirichlet 0", "different values", 0, 3 },
    { HEAT LINE "boundary = dirichlet 3\ny_low = dirichlet 2", NULL, 3, 3 },
    { WAVE GRID "boundary = dirichlet 3", NULL, 3, 3 },
    { "kind = laplace\n" GRID "boundary = dirichlet -1", NULL, -1, 3 },
    { SWEEP GRID "x_low = neumann\nx_high = dirichlet 2", NULL, 2, 3 },
    { SWEEP GRID "boundary = dirichlet 1\ny_high = dirichlet 2", "different values", 0, 3 },
    { ADVECT GRID, NULL, 0, 3 },
    { ADVECT GRID "x_low = neumann\nx_high = neumann", "periodic axes only", 0, 3 },
    { ADVECT GRID "y_low = dirichlet 0\ny_high = dirichlet 0", "periodic axes only", 0, 3 },
    { ADVECT LINE "y_low = dirichlet 0\ny_high = dirichlet 0", NULL, 0, 3 },
    { SKEW_X GRID "y_low = neumann\ny_high = neumann", NULL, 0, 3 },
    { SKEW_X GRID "x_low = neumann\nx_high = neumann", "mirror-symmetric in x", 0, 3 },
    { SKEW_BOX GRID, NULL, 0, 3 },
    { SKEW_BOX GRID "y_low = neumann\ny_high = dirichlet 0", "mirror-symmetric in y", 0, 3 },
    { EVEN GRID "boundary = dirichlet 2", NULL, 2, 3 },
    { "dtype = f32\n" EVEN GRID "boundary = dirichlet 2", NULL, 2, 3 },
    { SHORT GRID "boundary = dirichlet 2", "sum to 1", 0, 3 },
    { SHORT GRID "boundary = dirichlet 0", NULL, 0, 3 },
    { "initial = random\n" HEAT GRID, "random", 0, 3 },
    { "initial = gaussian\n" HEAT GRID, "gaussian", 0, 3 },
    { "initial = zero\n" HEAT GRID, "zero", 0, 3 },
    { "initial = a.h5\n" HEAT GRID, "file", 0, 3 },
    { "initial = random\nkind = transpose\n" GRID, "random", 0, 3 },
    /* a mode that has died away, that grew beyond the type, or that is all round-off beside a large V */
    { HEAT "mode_x = 4\n" LINE, NULL, 0, 10 },
    { HEAT "mode_x = 4\n" LINE, "amplitude", 0, 100000 },
    { "kind = custom\nweights = 1 2 1\n" LINE, NULL, 0, 10 },
    { "kind = custom\nweights = 1 2 1\n" LINE, "beyond the range of f64", 0, 100000 },
    { "dtype = f32\n" HEAT GRID "boundary = dirichlet 1", NULL, 1, 20 },
    { "dtype = f32\n" HEAT GRID "boundary = dirichlet -100", "the sides' value V hides the mode", -100, 20 },
    { "dtype = f32\n" HEAT GRID "boundary = dirichlet 1e30", "the sides' value V hides", (double)1e30f, 20 },
};

static void every_rule(void **state)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        make(rules[i].deck, 100000);
        const problem_verdict v = p.exact ? problem_bound(&p, &c, rules[i].level)
                                          : (problem_verdict){ .why_unchecked = p.why_unchecked };
        if (v.meaningful != !rules[i].why || p.shift != rules[i].shift ||
            (rules[i].why && !strstr(v.why_unchecked.text, rules[i].why)))
            fail_msg("%s\nbound %g, shift %g, %s", rules[i].deck, v.bound, p.shift, v.why_unchecked.text);
    }
}

/* f32 waves without a dirichlet side, beyond 4000 steps. */
static void warning_of_growth(void **state)
{
    static const char *const decks[] = { "dtype = f32\n" WAVE LINE "boundary = neumann",
                                         "dtype = f64\n" WAVE LINE,
                                         "dtype = f32\n" WAVE LINE "boundary = dirichlet 0" };
    for (int i = 0; i < 6; i++) {
        make(decks[i / 2], i % 2 ? 4001 : 4000);
        assert_int_equal(p.warning[0] != '\0', i == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),           cmocka_unit_test(largest_growth),
        cmocka_unit_test(late_factors),      cmocka_unit_test(transposes),
        cmocka_unit_test(a_wave_that_grows), cmocka_unit_test(every_rule),
        cmocka_unit_test(warning_of_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
