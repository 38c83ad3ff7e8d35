/* The largest growth over all modes and the factors of a wave that grows are those of other evaluations. A
 * run is called exact where the closed form holds and nowhere else, and the reason why not is said. */
#include <complex.h>
#include <math.h>

#include "core/cell.h"
#include "problem/problem.h"
#include "support/problem_harness.h"

static config c;
static problem p;

static void make(const char *lines, int64_t steps)
{
    harness_config(&c, "[problem]\n%s\n[time]\nsteps = %lld\n", lines, (long long)steps);
    problem_make(&p, &c);
}

/* The largest |g| of random stencils against random angles. */
static void largest_growth(void **state)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        const int r = 1 + (int)(seed % 4);
        stencil op = { .form = seed % 3 ? STENCIL_BOX : STENCIL_LINE, .radius = r, .type = DTYPE_F64 };
        const int n = stencil_weights(op.form, r);
        double sum = 0.0, sampled = 0.0;
        for (int i = 0; i < n; i++) sum += fabs(op.weight[i] = cell_random(seed, (uint64_t)i));
        for (int i = 0; i < n; i++) op.weight[i] *= 3.0 / sum;
        for (uint64_t k = 0; k < 60000; k++) {
            const double tx = 3.2 * cell_random(100 + seed, 2 * k),
                         ty = 3.2 * cell_random(100 + seed, 2 * k + 1);
            double complex g = 0.0;
            for (int i = 0, dx, dy; i < n; i++) {
                stencil_weight_place(op.form, r, i, &dx, &dy);
                g += op.weight[i] * cexp(I * (tx * dx + ty * dy));
            }
            sampled = fmax(sampled, cabs(g));
        }
        const double found = fourier_symbol_largest(&op);
        if (!(found >= sampled && found <= sampled * 1.01)) fail_msg("%.12g, sampled %.12g", found, sampled);
    }
    /* negative weights whose largest |g| is exactly 1, at theta = 0: no step may be lost to rounding up */
    const stencil op = { STENCIL_LINE, 2, DTYPE_F64, .weight = { -0.0625, -0.0625, 0.25, 0.25, 0.625 } };
    assert_true(fourier_symbol_largest(&op) == 1.0);
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(largest_growth), cmocka_unit_test(a_wave_that_grows),
                                        cmocka_unit_test(every_rule), cmocka_unit_test(warning_of_growth) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
