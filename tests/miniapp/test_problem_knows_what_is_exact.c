/* A run is called exact where the closed form holds and nowhere else, and the reason why not is said. */
#include "problem/problem.h"
#include "support/problem_harness.h"

#define HEAT "kind = heat\nalpha = .1\n"
#define WAVE "kind = wave\nalpha = .1\n"
#define ADVECT "kind = advect\nalpha = .1\n"
#define LAPLACE "kind = laplace\n"
#define SWEEP "kind = sweep\nalpha = .1\n"
#define SKEW_X "kind = custom\nweights = 0 .1 0 | .3 .2 .3001 | 0 .1 0\n"
#define SKEW_BOX "kind = custom\nweights = .1 0 .1 | 0 .2 0 | .1 0 .2\n"
#define EVEN "kind = custom\nweights = 0 .1 0 | .1 .6 .1 | 0 .1 0\n"
#define SHORT "kind = custom\nweights = 0 .1 0 | .1 .5 .1 | 0 .1 0\n"
#define GRID "[grid]\nnx = 8\nny = 8\n"
#define LINE "[grid]\nnx = 8\n"

typedef struct rule {
    const char *deck;
    const char *why; /* NULL: exact */
    double shift;
} rule;

static const rule rules[] = {
    { HEAT GRID, NULL, 0 },
    { HEAT GRID "boundary = dirichlet 0", NULL, 0 },
    { HEAT GRID "boundary = dirichlet 3", NULL, 3 },
    { "dtype = f32\n" HEAT GRID "boundary = dirichlet 0.1", NULL, (double)0.1f },
    { HEAT GRID "boundary = dirichlet 3\nx_low = neumann", NULL, 3 },
    { HEAT GRID "boundary = dirichlet 3\nx_low = dirichlet 2", "different values", 0 },
    { HEAT GRID "boundary = dirichlet 3\nx_low = dirichlet 0", "different values", 0 },
    { HEAT LINE "boundary = dirichlet 3\ny_low = dirichlet 2", NULL, 3 },
    { WAVE GRID "boundary = dirichlet 3", NULL, 3 },
    { WAVE GRID "x_low = neumann\nx_high = neumann", NULL, 0 },
    { LAPLACE GRID "boundary = dirichlet -1", NULL, -1 },
    { SWEEP GRID "x_low = neumann\nx_high = dirichlet 2", NULL, 2 },
    { SWEEP GRID "boundary = dirichlet 1\ny_high = dirichlet 2", "different values", 0 },
    { ADVECT GRID, NULL, 0 },
    { ADVECT GRID "x_low = neumann\nx_high = neumann", "periodic axes only", 0 },
    { ADVECT GRID "y_low = dirichlet 0\ny_high = dirichlet 0", "periodic axes only", 0 },
    { ADVECT LINE "y_low = dirichlet 0\ny_high = dirichlet 0", NULL, 0 },
    { SKEW_X GRID, NULL, 0 },
    { SKEW_X GRID "y_low = neumann\ny_high = neumann", NULL, 0 },
    { SKEW_X GRID "x_low = neumann\nx_high = neumann", "mirror-symmetric in x", 0 },
    { SKEW_BOX GRID, NULL, 0 },
    { SKEW_BOX GRID "y_low = neumann\ny_high = dirichlet 0", "mirror-symmetric in y", 0 },
    { EVEN GRID "boundary = dirichlet 2", NULL, 2 },
    { "dtype = f32\n" EVEN GRID "boundary = dirichlet 2", NULL, 2 },
    { SHORT GRID "boundary = dirichlet 2", "sum to 1", 0 },
    { SHORT GRID "boundary = dirichlet 0", NULL, 0 },
    { "initial = random\n" HEAT GRID, "random", 0 },
    { "initial = gaussian\n" HEAT GRID, "gaussian", 0 },
    { "initial = zero\n" HEAT GRID, "zero", 0 },
    { "initial = a.h5\n" HEAT GRID, "file", 0 },
    { "kind = transpose\n" GRID, NULL, 0 },
    { "initial = random\nkind = transpose\n" GRID, "random", 0 },
};

static void every_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        config c;
        problem p;
        harness_config(&c, "[problem]\n%s\n[time]\nsteps = 3\n", rules[i].deck);
        problem_make(&p, &c);
        const problem_verdict v = problem_bound(&p, &c, 3);
        if (p.exact != (rules[i].why == NULL))
            fail_msg("%s\nexact %d, %s", rules[i].deck, p.exact, p.why_unchecked.text);
        if (p.shift != rules[i].shift) fail_msg("%s\nshift %g", rules[i].deck, p.shift);
        if (!rules[i].why) {
            assert_true(v.meaningful);
            continue;
        }
        assert_false(v.meaningful);
        if (!strstr(p.why_unchecked.text, rules[i].why) || !strstr(v.why_unchecked.text, rules[i].why))
            fail_msg("%s\n%s", rules[i].deck, p.why_unchecked.text);
    }
}

/* A mode that has died away or that grew beyond the type is not called exact; nor is one beside a large V,
 * where it is all round-off: V's own cells are no evidence. */
static void bounds_that_mean_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *deck;
        int level;
        const char *why; /* NULL: the bound means something */
    } row[] = {
        { HEAT "mode_x = 4\n" LINE, 10, NULL },
        { HEAT "mode_x = 4\n" LINE, 100000, "amplitude" },
        { "kind = custom\nweights = 1 2 1\n" LINE, 10, NULL },
        { "kind = custom\nweights = 1 2 1\n" LINE, 100000, "beyond the range of f64" },
        { "dtype = f32\n" HEAT GRID "boundary = dirichlet 0", 20, NULL },
        { "dtype = f32\n" HEAT GRID "boundary = dirichlet 1", 20, NULL },
        { "dtype = f32\n" HEAT GRID "boundary = dirichlet -100", 20, "the sides' value V hides the mode" },
        { "dtype = f32\n" HEAT GRID "boundary = dirichlet 1e30", 20, "the sides' value V hides the mode" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        config c;
        problem p;
        harness_config(&c, "[problem]\n%s\n[time]\nsteps = 100000\n", row[i].deck);
        problem_make(&p, &c);
        const problem_verdict v = problem_bound(&p, &c, row[i].level);
        if (v.meaningful != !row[i].why || (row[i].why && !strstr(v.why_unchecked.text, row[i].why)))
            fail_msg("%s\nlevel %d: bound %g, %s", row[i].deck, row[i].level, v.bound, v.why_unchecked.text);
    }
}

/* f32 waves without a dirichlet side, beyond 4000 steps. */
static void warning_of_growth(void **state)
{
    (void)state;
    static const struct {
        const char *type, *sides;
        int steps;
        bool warned;
    } cases[] = { { "f32", "periodic", 4001, true },
                  { "f32", "periodic", 4000, false },
                  { "f64", "periodic", 9999, false },
                  { "f32", "neumann", 4001, true },
                  { "f32", "dirichlet 0", 9999, false } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        config c;
        problem p;
        harness_config(&c, "[problem]\ndtype = %s\n" WAVE LINE "boundary = %s\n[time]\nsteps = %d\n",
                       cases[i].type, cases[i].sides, cases[i].steps);
        problem_make(&p, &c);
        assert_int_equal(p.warning[0] != '\0', cases[i].warned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule),
        cmocka_unit_test(bounds_that_mean_nothing),
        cmocka_unit_test(warning_of_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
