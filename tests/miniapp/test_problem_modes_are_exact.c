/* A mode after n steps of a plain simulation (plain_reference.h, which knows nothing of stencil.h) is what
 * problem.c says, within its bound, for problems of any kind, order and pair of sides; a fault of 1e-3 is
 * not. The coefficients are the plain ones, bit by bit. */
#include "core/cell.h"
#include "problem/problem.h"
#include "support/plain_deck.h"
#include "support/problem_harness.h"

enum { PROBLEMS = 600, CELLS_MAX = 20 * 20 };

/* ---- a problem whose answer is known ---- */

/* Mirrored where sides need it, of sum 1 where they have a value. */
static void fit_weights(plain *p, double v)
{
    const int r = p->radius;
    int64_t millionths = 0;
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) {
            const int x = p->x_low.kind == 'p' ? dx : abs(dx), y = p->y_low.kind == 'p' ? dy : abs(dy);
            p->weight[r + dy][r + dx] = p->weight[r + y][r + x];
            if (dx != 0 || dy != 0) millionths += llround(1e6 * p->weight[r + dy][r + dx]);
        }
    if (v != 0.0) p->weight[r][r] = (double)(1000000 - millionths) / 1e6;
}

static plain draw(double *v)
{
    plain p;
    do p = plain_draw();
    while (p.kind == PLAIN_TRANSPOSE);
    plain_side *const side[] = { &p.x_low, &p.x_high, &p.y_low, &p.y_high };
    *v = 0.0;
    for (int i = 0; i < (p.two_d ? 4 : 2); i++) {
        if (p.kind == PLAIN_ADVECT) *side[i] = (plain_side){ 'p', 0.0 };
        if (side[i]->kind == 'd') *v = one_in(2) ? 0.0 : round(15 * side[i]->value);
    }
    for (int i = 0; i < 4; i++) side[i]->value = *v;
    if (p.kind == PLAIN_CUSTOM) fit_weights(&p, *v);
    p.nx = p.radius + 1 + (int)chance(11);
    p.ny = p.two_d ? p.radius + 1 + (int)chance(11) : 1;
    return p;
}

/* The lowest, a middle or the highest mode of an axis. */
static int draw_mode(plain_side low, plain_side high, int n)
{
    const int first = low.kind == 'd' || high.kind == 'd', middle = (int)chance((uint64_t)n);
    return first + (one_in(3) ? 0 : one_in(2) ? n - 1 : middle);
}

static plain draw_deck(config *c)
{
    char text[1 << 14] = "", lines[64];
    double v;
    const plain p = draw(&v);
    const int steps = !one_in(8) || p.radius > 4 ? 20 : p.two_d ? 170 : 1500;
    snprintf(lines, sizeof lines, "mode_x = %d\nmode_y = %d", draw_mode(p.x_low, p.x_high, p.nx),
             p.two_d ? draw_mode(p.y_low, p.y_high, p.ny) : 0);
    FILE *f = fmemopen(text, sizeof text, "w");
    plain_put(f, &p, lines);
    fprintf(f, "[time]\nsteps = %d\n", steps);
    fclose(f);
    harness_config(c, "%s", text);
    return p;
}

/* ---- the comparison ---- */

static struct simulation {
    plain p;
    double cur[CELLS_MAX], prev[CELLS_MAX], next[CELLS_MAX], between[CELLS_MAX];
} s;

static void assert_plain_weights(const stencil *op)
{
    const plain with_weights = plain_with_weights(&s.p);
    const bool two_levels = plain_two_levels(&s.p);
    for (int at = 0; at < stencil_weights(op->form, op->radius); at++) {
        int dx = 0, dy = 0;
        stencil_weight_place(op->form, op->radius, at, &dx, &dy);
        assert_int_equal(stencil_weight_index(op->form, op->radius, dx, dy), at);
        const double expected = with_weights.weight[s.p.radius + dy][s.p.radius + dx];
        if (op->weight[at] != expected)
            fail_msg("%s radius %d alpha %.17g: weight (%d, %d) is %a, not %a", plain_kind_name[s.p.kind],
                     s.p.radius, s.p.alpha, dx, dy, op->weight[at], expected);
    }
    assert_int_equal(op->has_prev, two_levels);
    if (two_levels) assert_true(op->beta == (s.p.kind == PLAIN_WAVE ? -1.0 : 1.0));
}

static void fill(double *u, const value *v)
{
    for (int i = 0; i < s.p.nx * s.p.ny; i++) u[i] = plain_round(&s.p, cell_value(v, i % s.p.nx, i / s.p.nx));
}

static double error_of(const value *v)
{
    double worst = 0.0;
    for (int i = 0; i < s.p.nx * s.p.ny; i++) {
        const double e = fabs(s.cur[i] - cell_value(v, i % s.p.nx, i / s.p.nx));
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

/* The largest cell, made wrong by a relative 1e-3, must pass the bound. */
static void check_fault(const value *v, double bound)
{
    int largest = 0;
    for (int i = 0; i < s.p.nx * s.p.ny; i++)
        if (fabs(s.cur[i]) > fabs(s.cur[largest])) largest = i;
    const double keep = s.cur[largest];
    s.cur[largest] = keep * (1.0 + 1e-3);
    assert_true(error_of(v) > bound);
    s.cur[largest] = keep;
}

/* How the levels of a kind compared. */
typedef struct tally {
    int levels, meaningful; /* all; those whose bound means something */
    double closest;         /* error / bound at most */
} tally;

static void simulate(const config *c, tally *t)
{
    problem p;
    problem_tables tables;
    problem_make(&p, c);
    if (!p.exact) fail_msg("unchecked: %s\n%s", p.why_unchecked.text, config_to_text(c));
    assert_plain_weights(&p.op);
    problem_tables_make(&tables, &p, c, box_make(0, c->grid.nx, 0, c->grid.ny));
    const value before = problem_value_before(&p, c, &tables.base);
    fill(s.cur, &tables.base);
    fill(s.prev, &before);
    for (int n = 0; n <= c->time.steps; n++) {
        if (n > 0) {
            plain_step(&s.p, s.next, s.cur, s.prev, s.between);
            memcpy(s.prev, s.cur, sizeof s.cur);
            memcpy(s.cur, s.next, sizeof s.cur);
        }
        if (n > 20 && n % 97 != 0 && n != c->time.steps) continue;
        const value v = problem_value_at(&p, c, &tables.base, n);
        const problem_verdict b = problem_bound(&p, c, n);
        const double e = error_of(&v);
        if (!(e <= b.bound)) fail_msg("level %d: error %g, bound %g\n%s", n, e, b.bound, config_to_text(c));
        t->levels++;
        t->closest = fmax(t->closest, e / b.bound);
        if (!b.meaningful) continue;
        t->meaningful++;
        check_fault(&v, b.bound);
    }
    problem_tables_free(&tables);
}

static void modes(void **state)
{
    tally of[PLAIN_KINDS] = { 0 };
    for (int i = 0; i < PROBLEMS; i++) {
        config c;
        s.p = draw_deck(&c);
        simulate(&c, &of[s.p.kind]);
    }
    for (int k = 0; k < PLAIN_TRANSPOSE; k++) {
        print_message("%s: %d levels, %d of them meaningful, error / bound at most %.3f\n",
                      plain_kind_name[k], of[k].levels, of[k].meaningful, of[k].closest);
        assert_true(of[k].levels > 20 * PROBLEMS / 12 && of[k].meaningful > of[k].levels / 8);
        assert_true(of[k].closest > 0.05); /* no bound is far too wide */
    }
}

/* The plain fractions, second differences, are exact for polynomials of degree 2r + 1: only theirs are. */
static void polynomials(void **state)
{
    for (int r = 1; r <= PLAIN_RADIUS_MAX; r++)
        for (int degree = 0; degree <= 2 * r; degree += 2) {
            __int128 sum = degree == 0 ? plain_over(r, 0) : 0;
            for (int k = 1; k <= r; k++) {
                __int128 term = 2 * plain_over(r, k);
                for (int i = 0; i < degree; i++) term *= k;
                sum += term;
            }
            assert_true(sum == (degree == 2 ? 2 * plain_factorial(2 * r) : 0));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(polynomials), cmocka_unit_test(modes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
