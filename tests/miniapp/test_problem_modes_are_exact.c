/* A mode after n steps of a plain simulation (plain_reference.h, which knows nothing of stencil.h) is what
 * problem.c says, within its bound, on every pair of sides; a fault of 1e-3 is not. */
#include "core/cell.h"
#include "problem/problem.h"
#include "support/plain_reference.h"
#include "support/problem_harness.h"

typedef struct simulation {
    plain p;
    double cur[1024], prev[1024], next[1024], between[1024];
} simulation;

static plain_side side_of(boundary_side s)
{
    return (plain_side){ "pdn"[s.kind - BOUNDARY_PERIODIC], s.value };
}

static void set_up(simulation *s, const config *c)
{
    const int r = c->problem.radius, rows = config_two_d(c) ? r : 0;
    s->p = (plain){ .kind = c->problem.kind == KIND_SWEEP ? PLAIN_SWEEP : (plain_kind)c->problem.kind,
                    .f32 = c->problem.type == DTYPE_F32,
                    .two_d = config_two_d(c),
                    .nx = (int)c->grid.nx,
                    .ny = (int)c->grid.ny,
                    .radius = r,
                    .alpha = c->problem.alpha,
                    .x_low = side_of(c->grid.sides.x_low),
                    .x_high = side_of(c->grid.sides.x_high),
                    .y_low = side_of(c->grid.sides.y_low),
                    .y_high = side_of(c->grid.sides.y_high) };
    for (int i = 0; i < c->problem.weights_count; i++)
        s->p.weight[i / (2 * r + 1) + r - rows][i % (2 * r + 1)] = c->problem.weights[i];
}

static void advance(simulation *s)
{
    plain_step(&s->p, s->next, s->cur, s->prev, s->between);
    memcpy(s->prev, s->cur, sizeof s->cur);
    memcpy(s->cur, s->next, sizeof s->cur);
}

/* ---- the comparison ---- */

typedef struct tally {
    long cases, meaningful;
    double worst; /* error / bound */
} tally;

static void fill(const plain *p, double *u, const value *v)
{
    for (int i = 0; i < p->nx * p->ny; i++) u[i] = plain_round(p, cell_value(v, i % p->nx, i / p->nx));
}

static double error_of(const simulation *s, const value *v)
{
    double worst = 0.0;
    for (int i = 0; i < s->p.nx * s->p.ny; i++) {
        const double e = fabs(s->cur[i] - cell_value(v, i % s->p.nx, i / s->p.nx));
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

/* The largest cell, made wrong by a relative 1e-3, must pass the bound. */
static void check_fault(simulation *s, const value *v, double bound)
{
    int largest = 0;
    for (int i = 0; i < s->p.nx * s->p.ny; i++)
        if (fabs(s->cur[i]) > fabs(s->cur[largest])) largest = i;
    const double keep = s->cur[largest];
    s->cur[largest] = keep * (1.0 + 1e-3);
    assert_true(error_of(s, v) > bound);
    s->cur[largest] = keep;
}

static void simulate(const config *c, int steps, tally *t)
{
    static simulation s;
    problem p;
    problem_tables tables;
    problem_make(&p, c);
    if (!p.exact) fail_msg("unchecked: %s", p.why_unchecked.text);
    assert_true(problem_tables_make(&tables, &p, c, box_make(0, c->grid.nx, 0, c->grid.ny)));
    set_up(&s, c);
    const value before = problem_value_before(&p, c, &tables.base);
    fill(&s.p, s.cur, &tables.base);
    fill(&s.p, s.prev, &before);
    for (int n = 0; n <= steps; n++) {
        if (n > 0) advance(&s);
        if (n > 20 && n % 97 != 0 && n != steps) continue;
        const value v = problem_value_at(&p, c, &tables.base, n);
        const problem_verdict b = problem_bound(&p, c, n);
        const double e = error_of(&s, &v);
        t->cases++;
        if (!(e <= b.bound)) fail_msg("level %d: error %g, bound %g\n%s", n, e, b.bound, config_to_text(c));
        if (b.bound > 0.0) t->worst = fmax(t->worst, e / b.bound);
        if (!b.meaningful) continue;
        t->meaningful++;
        check_fault(&s, &v, b.bound);
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

static void report(const char *name, const tally *t, int share)
{
    print_message("%s: %ld levels, %ld of them meaningful, worst error %.3f of the bound\n", name, t->cases,
                  t->meaningful, t->worst);
    assert_true(t->cases > 0 && t->meaningful > t->cases / share);
}

static void differences_on_all_sides(kind_id k, bool two_d)
{
    tally t = { 0 };
    for (int order = 2; order <= (k == KIND_LAPLACE ? 2 : 16); order *= 2)
        for (int px = 0; px < (k == KIND_ADVECT ? 1 : 5); px++)
            for (int py = 0; py < (k == KIND_ADVECT || !two_d ? 1 : 5); py++)
                for (int which = 0; which < 3; which++)
                    for (int single = 0; single < 2; single++) {
                        char lines[128];
                        const double share = which == 0 ? 0.99 : which == 1 ? 0.6 : 0.25;
                        snprintf(lines, sizeof lines, "kind = %s\norder = %d\nalpha = %.17g", kind_name(k),
                                 order, share * kind_alpha_limit(k, order, two_d));
                        const bool shifted = (px + py + which) % 2 == 1;
                        const int steps = order == 4 && which < 2 ? 1500 : 20;
                        run(lines, single, 17 - px, two_d ? 11 + py : 1, px, py, which, shifted ? -30.0 : 0.0,
                            two_d ? steps / 10 + 18 : steps, &t);
                    }
    report(kind_name(k), &t, 4);
}

static void differences(void **state)
{
    static const kind_id kinds[] = { KIND_HEAT, KIND_WAVE, KIND_ADVECT, KIND_LAPLACE, KIND_SWEEP };
    for (int i = 0; i < 5; i++)
        for (int two_d = kinds[i] == KIND_SWEEP; two_d < 2; two_d++)
            differences_on_all_sides(kinds[i], two_d);
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
    report("custom", &t, 8);
}

/* A smoothing whose weights sum to 1 keeps V. */
static void custom_with_value(void **state)
{
    tally t = { 0 };
    for (int px = 1; px < 5; px++)
        for (int single = 0; single < 2; single++) {
            run("kind = custom\nweights = 0.1 0.2 0.4 0.2 0.1", single, 12, 1, px, 0, 0, 3.5, 40, &t);
            run("kind = custom\nweights = .0625 .125 .0625 | .125 .25 .125 | .0625 .125 .0625", single, 12, 7,
                px, px, 0, -80.0, 40, &t);
        }
    report("custom with V", &t, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(differences), cmocka_unit_test(custom),
                                        cmocka_unit_test(custom_with_value) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
