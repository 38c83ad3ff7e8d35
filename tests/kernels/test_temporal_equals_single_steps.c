/* Several steps in one pass give the bits of as many passes of one step with their ghosts filled, whatever
 * the sides, the size and the cut: on a GPU where there is one, else on the host. Of two levels, both.
 *
 * A pass gets a window of the domain, as a rank would own it: cut sides have data in their ghosts, steps *
 * radius deep (of the level before, radius less), periodic sides too; ghosts beyond dirichlet and neumann
 * sides are NaN and must not be used. gpus: part
 * release: three times as many cases, and larger fields */
#include "support/several_steps.h"

#include "temporal/temporal.h"

/* How far data go beyond a side. */
static int64_t beyond(boundary_side s, int64_t depth) { return boundary_mirrors(s.kind) ? 0 : depth; }

/* The cells of a field with data, ghosts `depth` deep. */
static box with_data(const field_shape *f, const boundary *sides, int64_t depth)
{
    const int64_t depth_y = f->depth_y > 0 ? depth : 0;
    return box_make(-beyond(sides->x_low, depth), f->nx + beyond(sides->x_high, depth),
                    -beyond(sides->y_low, depth_y), f->ny + beyond(sides->y_high, depth_y));
}

/* One window of the domain. Every other one's last pass takes the norm too, where it can. */
static void window_case(const problem *p, const answer *a, box w)
{
    device *const d = dev[TESTED];
    const int levels = p->op.has_prev ? LEVELS : 1, depth = p->steps * p->op.radius;
    const boundary_side cut = { BOUNDARY_NONE, 0.0 };
    const boundary sides = { w.x0 == 0 ? p->sides.x_low : cut, w.x1 == p->nx ? p->sides.x_high : cut,
                             w.y0 == 0 ? p->sides.y_low : cut, w.y1 == p->ny ? p->sides.y_high : cut };
    const field_shape own = field_shape_make(p->op.type, box_width(w), box_height(w), depth,
                                             p->op.form == STENCIL_LINE ? 0 : depth);
    static int turn;
    turn++;
    twin field[2][LEVELS] = { 0 };
    const uint64_t zero = 0;
    twin change = twin_of(&zero, sizeof zero);
    for (int k = 0; k < levels; k++) {
        for (int i = 0; i < 2; i++) field[i][k] = twin_filled(&own, NAN_BYTE);
        copy_cells(&own, field[0][k].at[ANSWER], with_data(&own, &sides, depth - k * p->op.radius), &a->shape,
                   a->before[k], w.x0, w.y0);
        put(TESTED, field[0][k].at[TESTED], field[0][k].at[ANSWER], own.bytes);
    }
    /* each in turn, with a norm and without */
    d->temporal_variants.chosen = turn / 2 % d->temporal_variants.count;
    int at = 0;
    bool norm = false;
    for (int left = p->steps; left > 0; at = 1 - at) {
        const int steps = d->temporal_steps(d, left, false);
        assert_in_range(steps, 1, left);
        left -= steps;
        const box cells = with_data(&own, &sides, (int64_t)left * p->op.radius);
        /* in two boxes, the left one last: neither may write what is the other's */
        const int64_t middle = cells.x0 + 5 * box_width(cells) / 7;
        const box parts[] = { { middle, cells.x1, cells.y0, cells.y1 },
                              { cells.x0, middle, cells.y0, cells.y1 } };
        const bool parted = (left + own.nx) % 2 != 0;
        const twin *next = field[1 - at], *cur = field[at];
        /* what bytes the last pass finds: of a number, as ghosts that are worked out of NaN are NaN */
        for (int k = 0; k < levels && left == 0; k++)
            ON_BOTH DO(i, fill_bytes, next[k].at[i], UNWRITTEN, own.bytes, stream[i]);
        norm = left == 0 && turn % 2 == 0 && d->temporal_steps(d, steps, true) == steps;
        for (int i = 0; i < (parted ? 2 : 1); i++)
            DO(TESTED, temporal_pass, &own, next[0].at[TESTED], next[1].at[TESTED], cur[0].at[TESTED],
               cur[1].at[TESTED], parted ? parts[i] : cells, steps, &sides, norm ? change.at[TESTED] : NULL,
               stream[TESTED]);
    }
    if (norm) same_change(p, &a->shape, a->after, w, change.at[TESTED]);
    twin_free(&change);
    for (int k = 0; k < levels; k++) {
        twin *last = &field[at][k];
        copy_cells(&own, last->at[ANSWER], field_own(&own), &a->shape, a->after[k], w.x0, w.y0);
        if (sides.x_high.kind == BOUNDARY_PERIODIC)
            forgive(last, &own, box_make(own.nx, own.nx + TEMPORAL_OVER, 0, own.ny));
        assert_same(last, "%s, window %lld..%lld x %lld..%lld, level %d", problem_text(p), (long long)w.x0,
                    (long long)w.x1, (long long)w.y0, (long long)w.y1, -k);
        for (int i = 0; i < 2; i++) twin_free(&field[i][k]);
    }
}

static void problem_case(const problem *p)
{
    answer a = answer_of(p, p->steps * p->op.radius);
    const bool line = p->op.form == STENCIL_LINE;
    const int64_t depth = a.shape.depth_x, depth_y = a.shape.depth_y, nx = p->nx, ny = p->ny;
    /* a neighbour owns at least as many cells as the ghosts are deep */
    const int64_t x = nx / 3 > depth ? nx / 3 : depth, y = line ? 0 : ny / 2 > depth ? ny / 2 : depth;
    window_case(p, &a, field_own(&a.shape));
    if (nx - x >= depth && ny - y >= depth_y) {
        window_case(p, &a, box_make(0, x, 0, line ? ny : y));
        window_case(p, &a, box_make(x, nx, y, ny));
        if (!line) window_case(p, &a, box_make(0, nx, y, ny));
    }
    if (nx >= 2 * depth + p->op.radius && (line || ny >= 2 * depth + p->op.radius))
        window_case(p, &a, box_make(depth, nx - depth, depth_y, ny - depth_y));
    answer_free(&a);
}

/* Calls what(p, i, kind) for every form and radius, of one level and of two, f32 and f64, that has such
 * passes. i: stars of radius 1 to 4, boxes of 1 and 2, lines of 1 to 4. */
static void every_kind(void (*what)(problem *p, int i, int kind))
{
    for (int i = 0; i < 10; i++)
        for (int kind = 0; kind < (i == 4 || i == 5 ? 2 : 4); kind++) {
            const stencil_form form = i < 4 ? STENCIL_STAR : i < 6 ? STENCIL_BOX : STENCIL_LINE;
            const int radius = i < 4 ? i + 1 : i < 6 ? i - 3 : i - 5;
            problem p = { .op = bind_random(form, radius, (dtype)(kind % 2), kind >= 2 ? -0.9 : 0) };
            if (dev[TESTED]->temporal_steps(dev[TESTED], 16, false) > 0) what(&p, i, kind);
        }
}

/* All sides, small odd sizes: narrower than a strip, lower than the halo depth. */
static void small_of(problem *p, int i, int kind)
{
    static const int steps[] = { 1, 2, 3, 4, 8, 16 };
    static const int64_t sizes[][2] = { { 4, 4 }, { 9, 5 }, { 37, 23 }, { 130, 41 }, { 261, 90 } };
    enum { STEPS = sizeof steps / sizeof *steps, SIZES = sizeof sizes / sizeof *sizes };
    for (int k = 0; k < STEPS; k++)
        for (int size = 0; size < SIZES; size++)
            /* two levels: of each some */
            for (int turn = 0; turn < (p->op.has_prev ? (k + size) % 2 : 2); turn++) {
                if (SANITIZED && (k + size + turn + kind) % 3 != 0) continue;
                p->steps = steps[k];
                /* lines: each by itself */
                p->nx = sizes[size][0], p->ny = p->op.form == STENCIL_LINE ? 3 : sizes[size][1];
                p->sides = side_pairs_of((k + size + turn) % SIDE_PAIRS,
                                         (2 * k + 3 * size + 2 * turn) % SIDE_PAIRS);
                problem_case(p);
            }
}

/* The longest passes on grids narrower than two of CUDA's strips along a side, of every few widths to 70, and
 * lower than a halo. */
static void narrow_of(problem *p, int i, int kind)
{
    p->steps = dev[TESTED]->temporal_steps(dev[TESTED], 16, false);
    if (i >= 6 || (SANITIZED && (i + kind) % 3 != 0)) return;
    for (p->nx = p->op.radius; p->nx <= 70; p->nx += 3 + (p->nx + i + kind) % 4) {
        p->ny = p->op.radius + (5 * p->nx + i) % 29;
        p->sides =
            side_pairs_of((int)(p->nx + i) % (SIDE_PAIRS - 1) + 1, (int)(p->nx / 2 + kind) % SIDE_PAIRS);
        problem_case(p);
    }
}

/* So large that strips and chunks without sides are among them, and several of the host's tiles. */
static void large_of(problem *p, int i, int kind)
{
    static const int along_x[] = { 0, 3, 2 }; /* periodic, dirichlet, neumann */
    const int radius = p->op.radius;
    p->nx = 1103, p->ny = (SANITIZED ? 173 : 517) + 2 * radius;
    for (int k = p->op.has_prev ? radius % 3 : 0; k < 3; k += p->op.has_prev ? 3 : 1) {
        if (SANITIZED && (i + kind + k) % 3 != 0) continue;
        p->steps = k == 2 ? 3 : 12;
        p->sides = side_pairs_of(along_x[k], (radius + k) % SIDE_PAIRS);
        problem_case(p);
    }
}

static void small(void **state) { every_kind(small_of); }
static void narrow(void **state) { every_kind(narrow_of); }
static void large(void **state) { every_kind(large_of); }

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(small), cmocka_unit_test(narrow),
                                        cmocka_unit_test(large) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    const char *why = NULL;
    device *gpu = twin_gpu(&why);
    if (!gpu) printf("the host: %s\n", why);
    return twin_run(device_host_create(0), gpu ? gpu : device_host_create(0), run);
}
