/* Several steps in one pass give the bits of as many single steps with their ghosts filled, and the norm of
 * the last one, whatever the sides, the size and the cut; of two levels, both. So do visits of a streaming
 * device, of any chunks, and persistent passes. On a GPU where there is one, else on the host, where visits
 * also meet streams that run in an order that chance chooses.
 *
 * A pass gets a window of the domain, as a rank would own it: cut sides have data in their ghosts, steps *
 * radius deep (of the level before, radius less), periodic sides too, except in visits and persistent passes,
 * which make their own. All other ghosts are NaN and must not be used; what is not the pass's own stays as it
 * is. gpus: part
 * release: eight times as many cases */
#include "support/several_steps.h"

#include "streaming/streaming.h"
#include "support/deferred_device.h"

enum { LEVELS = 2, NAN_BYTE = 0xff /* what is read of it is seen */, UNWRITTEN = 0x5a };
typedef enum way { PASSES, VISITS, PERSISTENT } way;

static int cases;

/* ---- the answer: single steps over a whole domain, each behind the fill of its ghosts ---- */

/* The last two levels with all their ghosts before the steps, and after them; the newest first. */
typedef struct answer {
    field_shape shape;
    void *before[LEVELS], *after[LEVELS];
} answer;

static answer answer_of(const problem *p)
{
    const int depth = p->steps * p->op.radius;
    answer a = { .shape = field_shape_make(p->op.type, p->nx, p->ny, depth,
                                           p->op.form == STENCIL_LINE ? 0 : depth) };
    for (int k = 0; k < LEVELS; k++) {
        a.before[k] = field_create(&a.shape);
        host_field_fill_ghosts(dev[ANSWER], &a.shape, a.before[k], &p->sides, depth, stream[ANSWER]);
        a.after[k] = host_field_clone(dev[ANSWER], &a.shape, a.before[k]);
    }
    host_field_step(dev[ANSWER], &a.shape, a.after, p->op.has_prev, &p->sides, p->steps, stream[ANSWER]);
    return a;
}

static void answer_free(answer *a)
{
    for (int k = 0; k < LEVELS; k++)
        host_field_free(dev[ANSWER], a->before[k]), host_field_free(dev[ANSWER], a->after[k]);
}

/* Leaves cells out of the next comparison. */
static void forgive(const twin *t, const field_shape *f, box cells)
{
    void *seen = get(TESTED, t->at[TESTED], t->bytes);
    copy_cells(f, t->at[ANSWER], cells, f, seen, 0, 0);
    free(seen);
}

/* ---- a window ---- */

static boundary_side side_of(boundary_side s, bool whole, bool at_end)
{
    const boundary_side cut = { BOUNDARY_NONE, 0.0 };
    return whole || (at_end && s.kind != BOUNDARY_PERIODIC) ? s : cut;
}

/* The cells of a field with data: `depth` cells beyond a side whose ghosts the pass does not make. */
static box with_data(const field_shape *f, const boundary *b, way by, int64_t depth)
{
    const boundary_side side[] = { b->x_low, b->x_high, b->y_low, b->y_high };
    int64_t beyond[4];
    for (int i = 0; i < 4; i++)
        beyond[i] = boundary_mirrors(side[i].kind) || (by != PASSES && side[i].kind == BOUNDARY_PERIODIC) ||
                            (i >= 2 && f->depth_y == 0)
                        ? 0
                        : depth;
    return box_make(-beyond[0], f->nx + beyond[1], -beyond[2], f->ny + beyond[3]);
}

static void prepare_visits(const problem *p)
{
    device *const d = dev[TESTED];
    streaming_window w =
        streaming_window_within(1e9, p->op.type, p->nx, p->op.has_prev ? LEVELS : 1, p->op.radius, p->steps,
                                streaming_device_pass_steps, d->through);
    streaming_window_limit(&w, any(1, any(0, 1) ? 12 : 80));
    assert_int_equal(streaming_prepare(d, &w), 0);
}

/* Takes all steps of the problem in the window w. memory: of persistent passes. */
static void window_case(const problem *p, const answer *a, box w, way by, const persistent_memory *memory)
{
    device *const d = dev[TESTED];
    const int levels = p->op.has_prev ? LEVELS : 1, depth = p->steps * p->op.radius;
    const bool whole_x = box_width(w) == p->nx, whole_y = box_height(w) == p->ny;
    const boundary sides = { side_of(p->sides.x_low, whole_x, w.x0 == 0),
                             side_of(p->sides.x_high, whole_x, w.x1 == p->nx),
                             side_of(p->sides.y_low, whole_y, w.y0 == 0),
                             side_of(p->sides.y_high, whole_y, w.y1 == p->ny) };
    const field_shape own = field_shape_make(p->op.type, box_width(w), box_height(w),
                                             by == VISITS ? (int)any(0, 70) : depth, a->shape.depth_y);
    const uint64_t zero = 0;
    void *const nothing = malloc(own.bytes);
    assert_non_null(nothing);
    memset(nothing, NAN_BYTE, own.bytes);
    twin field[2][LEVELS] = { 0 }, change = twin_of(&zero, sizeof zero);
    for (int k = 0; k < levels; k++) {
        for (int i = 0; i < 2; i++) field[i][k] = twin_of(nothing, own.bytes);
        copy_cells(&own, field[0][k].at[ANSWER], with_data(&own, &sides, by, depth - k * p->op.radius),
                   &a->shape, a->before[k], w.x0, w.y0);
        put(TESTED, field[0][k].at[TESTED], field[0][k].at[ANSWER], own.bytes);
    }
    free(nothing);
    if (by == VISITS) prepare_visits(p);
    d->temporal_variants.chosen = (int)random_below(d->temporal_variants.count);
    box done = field_own(&own);
    int at = 0, steps = 0;
    bool norm = false;
    for (int left = p->steps; left > 0; at = 1 - at) {
        steps = by == PERSISTENT ? (int)any(1, left) : d->temporal_steps(d, left, false);
        assert_in_range(steps, 1, left);
        left -= steps;
        /* in two boxes, sometimes of the last pass the first alone: neither may write what is the other's */
        const box cells = with_data(&own, &sides, by, (int64_t)left * p->op.radius);
        box part[] = { cells, cells };
        if (by == VISITS) part[0].y0 = part[1].y1 = any(cells.y0, cells.y1);
        else if (by == PASSES) part[0].x0 = part[1].x1 = any(cells.x0, cells.x1);
        const int parts = by == PERSISTENT || (left == 0 && any(0, 2) == 0) ? 1 : 2;
        if (parts == 1) done = part[0];
        const twin *next = field[1 - at], *cur = field[at];
        /* what bytes the last pass finds: of a number, as ghosts that are worked out of NaN are NaN */
        for (int k = 0; k < levels && left == 0; k++)
            ON_BOTH DO(i, fill_bytes, next[k].at[i], UNWRITTEN, own.bytes, stream[i]);
        norm = left == 0 && any(0, 1) && (by == PERSISTENT || d->temporal_steps(d, steps, true) == steps);
        uint64_t *const to = norm ? change.at[TESTED] : NULL;
        if (by == PERSISTENT) {
            const persistent_call all = { .shape = own,
                                          .next = next->at[TESTED],
                                          .cur = cur->at[TESTED],
                                          .steps = steps,
                                          .own_sides = sides,
                                          .memory = *memory,
                                          .change = to };
            DO(TESTED, persistent_pass, &all, stream[TESTED]);
        }
        for (int i = 0; i < parts && by != PERSISTENT; i++) {
            const temporal_call block = { .shape = own,
                                          .next = next[0].at[TESTED],
                                          .next_prev = next[1].at[TESTED],
                                          .cur = cur[0].at[TESTED],
                                          .prev = cur[1].at[TESTED],
                                          .cells = part[i],
                                          .steps = steps,
                                          .sides = sides,
                                          .change = to };
            DO(TESTED, temporal_pass, &block, stream[TESTED]);
        }
    }
    if (norm) {
        DO(ANSWER, max_change, &a->shape, a->after[0], a->after[1], box_shift(done, w.x0, w.y0),
           change.at[ANSWER], stream[ANSWER]);
        assert_same(&change, "%s, norm", problem_text(p));
    }
    twin_free(&change);
    for (int k = 0; k < levels; k++) {
        twin *last = &field[at][k];
        copy_cells(&own, last->at[ANSWER], done, &a->shape, a->after[k], w.x0, w.y0);
        if (by == PASSES && sides.x_high.kind == BOUNDARY_PERIODIC)
            forgive(last, &own, box_make(own.nx, own.nx + TEMPORAL_OVER, 0, own.ny));
        assert_same(last, "%s, window %lld..%lld x %lld..%lld, of these %lld..%lld x %lld..%lld, level %d",
                    problem_text(p), (long long)w.x0, (long long)w.x1, (long long)w.y0, (long long)w.y1,
                    (long long)done.x0, (long long)done.x1, (long long)done.y0, (long long)done.y1, -k);
        if (steps == p->steps) assert_same(&field[1 - at][k], "%s, level %d before", problem_text(p), -k);
        for (int i = 0; i < 2; i++) twin_free(&field[i][k]);
    }
}

/* Some of n cells; beyond a cut end a neighbour owns at least as many as ghosts are deep. */
static void any_range(int64_t n, int64_t depth, int64_t least, int64_t *low, int64_t *high)
{
    if (any(0, 1) && n > depth) *low = any(depth, n - 1);
    if (any(0, 1) && n - depth > *low) *high = any(*low + 1, n - depth);
    if (*high - *low < least) *low = 0, *high = n;
}

/* ---- passes and visits ---- */

/* Kinds: stars of radius 1 to 4, boxes of 1 and 2, lines of 1 to 4; of either type, of one level and two. */
enum { SHAPES = 10, KINDS = 4 * SHAPES };
static problem any_problem(int kind, way by)
{
    /* few cells; narrower than two of CUDA's strips along a side; several chunks, strips and tiles */
    static const int64_t most[][2] = { { 40, 40 }, { 70, 30 }, { 261, 90 }, { 1103, 530 } };
    const int i = kind % SHAPES, size = any(0, 15) == 0 ? 3 : (int)any(0, 2);
    const stencil_form form = i < 4 ? STENCIL_STAR : i < 6 ? STENCIL_BOX : STENCIL_LINE;
    const int radius = i < 4 ? i + 1 : i < 6 ? i - 3 : i - 5;
    const bool prev = form != STENCIL_BOX && kind / SHAPES / 2;
    return (problem){ .op = bind_random(form, radius, (dtype)(kind / SHAPES % 2), prev ? -0.9 : 0),
                      .sides = side_pairs_of((int)random_below(SIDE_PAIRS), (int)random_below(SIDE_PAIRS)),
                      .nx = any(radius, most[size][0]),
                      .ny = form == STENCIL_LINE ? 3 : any(radius, most[size][1]),
                      .steps = (int)any(1, any(0, 1) ? 4 : by == VISITS && any(0, 1) ? 70 : 20) };
}

static void passes(void **state)
{
    device *const d = dev[TESTED];
    const way by = d->through ? VISITS : PASSES;
    for (int i = 0; i < cases; i++) {
        const problem p = any_problem(i % KINDS, by);
        const int64_t depth = (int64_t)p.steps * p.op.radius;
        if (by == VISITS && p.op.form == STENCIL_LINE) continue; /* lines do not stream */
        if (d->temporal_steps(d, 1, false) == 0) continue;
        answer a = answer_of(&p);
        for (int k = 0; k < 3; k++) {
            box w = field_own(&a.shape);
            if (k > 0 && by == PASSES) any_range(p.nx, depth, p.op.radius, &w.x0, &w.x1);
            if (k > 0 && p.op.form != STENCIL_LINE) any_range(p.ny, depth, p.op.radius, &w.y0, &w.y1);
            window_case(&p, &a, w, by, NULL);
        }
        answer_free(&a);
    }
}

/* ---- persistent passes ---- */

/* One tile that is its own neighbour, odd heights, every kind of side beside others; launches without an
 * exchange and with many; tilings of large fields, where the GPU has registers for them. */
static void persistent_passes(void **state)
{
    static const int64_t sizes[][2] = { { 8, 41 },    { 64, 64 },   { 96, 70 },     { 160, 329 },
                                        { 256, 256 }, { 520, 300 }, { 1024, 1024 }, { 2048, 2000 } };
    static const int steps[] = { 1, 2, 5, 17, 40 };
    enum { SIZES = 8, CASES = 8 * SIZES * 5 * (SIDE_PAIRS + 1) };
    device *const d = dev[TESTED];
    int some[8] = { 0 };
    if (d->kind == DEVICE_HOST) skip();
    for (int i = 0; i < CASES; i++) {
        const int kind = i % 8, size = i / 8 % SIZES, turn = i / 8 / SIZES / 5;
        problem p = { .nx = sizes[size][0], .ny = sizes[size][1], .steps = steps[i / 8 / SIZES % 5] };
        if (size >= SIZES - 2 && p.steps != 17) continue;
        p.op = bind_random(STENCIL_STAR, kind / 2 + 1, (dtype)(kind % 2), 0);
        /* the last turn: all periodic, which has kernels of its own */
        if (turn == SIDE_PAIRS) p.sides = side_pairs_of(0, 0);
        else p.sides = side_pairs_of(turn, (turn + i / 8) % SIDE_PAIRS);
        answer a = answer_of(&p);
        persistent_memory memory = { NULL, NULL, NULL };
        const size_t bytes = d->persistent_bytes(d, &a.shape, &p.sides, false);
        if (bytes > 0) {
            DO(TESTED, alloc, DEVICE_MEMORY_DEVICE, bytes, &memory.here);
            DO(TESTED, fill_bytes, memory.here, 0, bytes, stream[TESTED]);
            DO(TESTED, persistent_prepare, &a.shape, &p.sides, false);
            window_case(&p, &a, field_own(&a.shape), PERSISTENT, &memory);
            DO(TESTED, free, DEVICE_MEMORY_DEVICE, memory.here);
            some[kind]++;
        }
        answer_free(&a);
    }
    for (int kind = 0; kind < 8; kind++) assert_true(some[kind] > 0);
}

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(passes), cmocka_unit_test(persistent_passes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

static int run_with(device *d, int release_cases)
{
    cases = SANITIZED ? release_cases / 8 : release_cases;
    return twin_run(device_host_create(0), d, run);
}

static int run_visits(device *through, int release_cases)
{
    device *d = NULL;
    return streaming_create(through, 0, &d) ? 1 : run_with(d, release_cases);
}

/* Passes of these numbers of steps alone, as a GPU has them, so that a visit is made of several kinds. */
static int some_steps(device *d, int most, bool norm)
{
    if (norm) return most >= 3 ? 3 : 0;
    return most >= 7 ? 7 : most >= 4 ? 4 : most >= 3 ? 3 : most > 0 ? 1 : 0;
}
static device *with_some_steps(device *d)
{
    d->temporal_steps = some_steps;
    return d;
}

int main(void)
{
    const char *why = NULL;
    device *gpu = twin_gpu(&why);
    if (gpu) return run_with(gpu, 800) || run_visits(twin_gpu(&why), 240);
    printf("the host: %s\n", why);
    return run_with(device_host_create(0), 480) || run_visits(device_host_create(0), 80) ||
           run_visits(with_some_steps(device_host_create(1)), 80) ||
           run_visits(with_some_steps(deferred_device_create(1)), 160);
}
