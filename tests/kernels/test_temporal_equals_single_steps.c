/* Several steps in one pass give the bits of as many single steps with their ghosts filled, and the norm of
 * the last one, whatever the sides, the size and the cut; of two levels, both. So do visits of a streaming
 * device, of any chunks, and persistent passes. On a GPU where there is one, else on the host, where visits
 * also meet streams that run in an order that chance chooses.
 *
 * A pass gets a window of the domain, as a rank would own it: cut sides have data in their ghosts, steps *
 * radius deep (of the level before, radius less), periodic sides too, except in visits, which make their own.
 * All other ghosts are NaN and must not be used; what is not the pass's own stays as it is. gpus: part
 * release: eight times as many cases */
#include "support/several_steps.h"

#include "streaming/streaming.h"
#include "support/deferred_device.h"
#include "temporal/temporal.h"

enum { LEVELS = 2, NAN_BYTE = 0xff /* what is read of it is seen */, UNWRITTEN = 0x5a };

static int64_t any(int64_t low, int64_t high) { return low + random_below(high - low + 1); }

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
        a.before[k] = host_field_create(dev[ANSWER], &a.shape, random_bits());
        host_field_fill_ghosts(dev[ANSWER], &a.shape, a.before[k], &p->sides, depth, stream[ANSWER]);
        a.after[k] = host_field_clone(dev[ANSWER], &a.shape, a.before[k]);
    }
    host_field_step(dev[ANSWER], &a.shape, a.after, p->op.has_prev, &p->sides, p->steps, stream[ANSWER]);
    return a;
}

/* A field of such bytes on both devices. */
static twin twin_filled(const field_shape *f, int byte)
{
    void *content = malloc(f->bytes);
    assert_non_null(content);
    memset(content, byte, f->bytes);
    const twin t = twin_of(content, f->bytes);
    free(content);
    return t;
}

/* Leaves cells out of the next comparison. */
static void forgive(const twin *t, const field_shape *f, box cells)
{
    void *seen = get(TESTED, t->at[TESTED], t->bytes);
    copy_cells(f, t->at[ANSWER], cells, f, seen, 0, 0);
    free(seen);
}

static void same_change(const problem *p, const field_shape *f, void *const level[LEVELS], box cells,
                        const uint64_t *change)
{
    uint64_t expected, *seen = get(TESTED, change, sizeof *change);
    DO(ANSWER, max_change, f, level[0], level[1], cells, &expected, stream[ANSWER]);
    if (*seen != expected)
        fail_msg("%s: change %llx, not %llx", problem_text(p), (unsigned long long)*seen,
                 (unsigned long long)expected);
    free(seen);
}

/* ---- passes and visits ---- */

static boundary_side side_of(boundary_side s, bool whole, bool at_end)
{
    const boundary_side cut = { BOUNDARY_NONE, 0.0 };
    return whole || (at_end && s.kind != BOUNDARY_PERIODIC) ? s : cut;
}

static boundary sides_of(const problem *p, box w)
{
    const bool x = box_width(w) == p->nx, y = box_height(w) == p->ny;
    const boundary b = { side_of(p->sides.x_low, x, w.x0 == 0), side_of(p->sides.x_high, x, w.x1 == p->nx),
                         side_of(p->sides.y_low, y, w.y0 == 0), side_of(p->sides.y_high, y, w.y1 == p->ny) };
    return b;
}

/* How far data go beyond a side, and the cells of a field with data. */
static int64_t beyond(boundary_side s, int64_t depth)
{
    const bool makes = s.kind == BOUNDARY_PERIODIC && dev[TESTED]->through;
    return makes || boundary_mirrors(s.kind) ? 0 : depth;
}
static box with_data(const field_shape *f, const boundary *sides, int64_t depth)
{
    const int64_t depth_y = f->depth_y > 0 ? depth : 0;
    return box_make(-beyond(sides->x_low, depth), f->nx + beyond(sides->x_high, depth),
                    -beyond(sides->y_low, depth_y), f->ny + beyond(sides->y_high, depth_y));
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

static void window_case(const problem *p, const answer *a, box w)
{
    device *const d = dev[TESTED];
    const int levels = p->op.has_prev ? LEVELS : 1, depth = p->steps * p->op.radius;
    const boundary sides = sides_of(p, w);
    const field_shape own = field_shape_make(p->op.type, box_width(w), box_height(w),
                                             d->through ? (int)any(0, 70) : depth, a->shape.depth_y);
    const uint64_t zero = 0;
    twin field[2][LEVELS] = { 0 }, change = twin_of(&zero, sizeof zero);
    for (int k = 0; k < levels; k++) {
        for (int i = 0; i < 2; i++) field[i][k] = twin_filled(&own, NAN_BYTE);
        copy_cells(&own, field[0][k].at[ANSWER], with_data(&own, &sides, depth - k * p->op.radius), &a->shape,
                   a->before[k], w.x0, w.y0);
        put(TESTED, field[0][k].at[TESTED], field[0][k].at[ANSWER], own.bytes);
    }
    if (d->through) prepare_visits(p);
    d->temporal_variants.chosen = (int)random_below(d->temporal_variants.count);
    box done = field_own(&own);
    int at = 0;
    bool norm = false;
    for (int left = p->steps; left > 0; at = 1 - at) {
        const int steps = d->temporal_steps(d, left, false);
        assert_in_range(steps, 1, left);
        left -= steps;
        /* in two boxes, sometimes of the last pass the first alone: neither may write what is the other's */
        const box cells = with_data(&own, &sides, (int64_t)left * p->op.radius);
        box part[] = { cells, cells };
        if (d->through) part[0].y0 = part[1].y1 = any(cells.y0, cells.y1);
        else part[0].x0 = part[1].x1 = any(cells.x0, cells.x1);
        const int parts = left == 0 && any(0, 2) == 0 ? 1 : 2;
        if (parts == 1) done = part[0];
        const twin *next = field[1 - at], *cur = field[at];
        /* what bytes the last pass finds: of a number, as ghosts that are worked out of NaN are NaN */
        for (int k = 0; k < levels && left == 0; k++)
            ON_BOTH DO(i, fill_bytes, next[k].at[i], UNWRITTEN, own.bytes, stream[i]);
        norm = left == 0 && any(0, 1) && d->temporal_steps(d, steps, true) == steps;
        for (int i = 0; i < parts; i++)
            DO(TESTED, temporal_pass, &own, next[0].at[TESTED], next[1].at[TESTED], cur[0].at[TESTED],
               cur[1].at[TESTED], part[i], steps, &sides, norm ? change.at[TESTED] : NULL, stream[TESTED]);
    }
    if (norm) same_change(p, &a->shape, a->after, box_shift(done, w.x0, w.y0), change.at[TESTED]);
    twin_free(&change);
    for (int k = 0; k < levels; k++) {
        twin *last = &field[at][k];
        copy_cells(&own, last->at[ANSWER], done, &a->shape, a->after[k], w.x0, w.y0);
        const int64_t low = -own.depth_y, high = own.ny + own.depth_y;
        if (d->through) { /* rows are copied with the gaps between them */
            forgive(last, &own, box_make(-own.depth_x, 0, low, high));
            forgive(last, &own, box_make(own.nx, own.pitch - own.depth_x, low, high));
        } else if (sides.x_high.kind == BOUNDARY_PERIODIC) {
            forgive(last, &own, box_make(own.nx, own.nx + TEMPORAL_OVER, 0, own.ny));
        }
        assert_same(last, "%s, window %lld..%lld x %lld..%lld, of these %lld..%lld x %lld..%lld, level %d",
                    problem_text(p), (long long)w.x0, (long long)w.x1, (long long)w.y0, (long long)w.y1,
                    (long long)done.x0, (long long)done.x1, (long long)done.y0, (long long)done.y1, -k);
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

/* Kinds: stars of radius 1 to 4, boxes of 1 and 2, lines of 1 to 4; of either type, of one level and two. */
enum { SHAPES = 10, KINDS = 4 * SHAPES };
static problem any_problem(int kind)
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
                      .steps = (int)any(1, any(0, 1) ? 4 : dev[TESTED]->through && any(0, 1) ? 70 : 20) };
}

static int cases;

static void passes(void **state)
{
    device *const d = dev[TESTED];
    for (int i = 0; i < cases; i++) {
        const problem p = any_problem(i % KINDS);
        const device *const computes = device_computing(d);
        if (d->through && p.op.form == STENCIL_LINE) continue; /* lines do not stream */
        if (computes->temporal_steps((device *)(uintptr_t)computes, 1, false) == 0) continue;
        answer a = answer_of(&p);
        window_case(&p, &a, field_own(&a.shape));
        for (int k = 0; k < 2; k++) {
            box w = field_own(&a.shape);
            const int64_t depth = (int64_t)p.steps * p.op.radius;
            if (!d->through) any_range(p.nx, depth, p.op.radius, &w.x0, &w.x1);
            if (p.op.form != STENCIL_LINE) any_range(p.ny, depth, p.op.radius, &w.y0, &w.y1);
            window_case(&p, &a, w);
        }
        for (int k = 0; k < LEVELS; k++) {
            host_field_free(dev[ANSWER], a.before[k]);
            host_field_free(dev[ANSWER], a.after[k]);
        }
    }
}

/* ---- persistent passes ---- */

/* False where the GPU cannot. The second pass continues from the first, and its norm raises the first's. */
static bool persistent_case(const problem *p, bool norm)
{
    device *const gpu = dev[TESTED], *const host = dev[ANSWER];
    const field_shape f = field_shape_make(p->op.type, p->nx, p->ny, p->op.radius, p->op.radius);
    const box own = field_own(&f);
    const size_t bytes = gpu->persistent_bytes(gpu, &f, &p->sides, false);
    if (bytes == 0) return false;
    void *level[] = { host_field_create(host, &f, 1), host_field_create(host, &f, 2) };
    twin field[2] = { twin_filled(&f, NAN_BYTE), twin_filled(&f, UNWRITTEN) };
    persistent_memory memory = { NULL, NULL, NULL };
    uint64_t largest = 0;
    twin change = twin_of(&largest, sizeof largest);
    copy_cells(&f, field[0].at[ANSWER], own, &f, level[0], 0, 0);
    put(TESTED, field[0].at[TESTED], field[0].at[ANSWER], f.bytes);
    DO(TESTED, alloc, DEVICE_MEMORY_DEVICE, bytes, &memory.here);
    DO(TESTED, fill_bytes, memory.here, 0, bytes, stream[TESTED]);
    DO(TESTED, persistent_prepare, &f, &p->sides, false);
    for (int pass = 0; pass < 2; pass++) {
        const int cur = pass % 2, next = 1 - cur;
        DO(TESTED, persistent_pass, &f, field[next].at[TESTED], field[cur].at[TESTED], p->steps, &p->sides,
           &memory, norm ? change.at[TESTED] : NULL, stream[TESTED]);
        host_field_step(host, &f, level, false, &p->sides, p->steps, stream[ANSWER]);
        copy_cells(&f, field[next].at[ANSWER], own, &f, level[0], 0, 0);
        assert_same(&field[next], "%s, next of pass %d", problem_text(p), pass);
        assert_same(&field[cur], "%s, cur of pass %d", problem_text(p), pass); /* also its ghosts */
        uint64_t last;
        DO(ANSWER, max_change, &f, level[0], level[1], own, &last, stream[ANSWER]);
        if (norm && last > largest) largest = last;
        memcpy(change.at[ANSWER], &largest, sizeof largest);
        assert_same(&change, "%s, norm of pass %d", problem_text(p), pass);
    }
    DO(TESTED, free, DEVICE_MEMORY_DEVICE, memory.here);
    twin_free(&change);
    for (int k = 0; k < 2; k++) {
        twin_free(&field[k]);
        host_field_free(host, level[k]);
    }
    return true;
}

/* One tile that is its own neighbour, odd heights, every kind of side beside others; launches without an
 * exchange and with many; tilings of large fields, where the GPU has registers for them. */
static void persistent_passes(void **state)
{
    static const int64_t sizes[][2] = { { 8, 41 },    { 64, 64 },   { 96, 70 },     { 160, 329 },
                                        { 256, 256 }, { 520, 300 }, { 1024, 1024 }, { 2048, 2000 } };
    static const int steps[] = { 1, 2, 5, 17, 40 };
    enum { SIZES = sizeof sizes / sizeof *sizes, STEPS = sizeof steps / sizeof *steps, LARGE = 1 << 20 };
    if (dev[TESTED]->kind == DEVICE_HOST) skip();
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++)
        for (int radius = 1; radius <= 4; radius++) {
            problem p = { .op = bind_random(STENCIL_STAR, radius, type, 0) };
            int some = 0;
            for (int k = 0; k < SIZES * STEPS; k++)
                /* the last: all periodic, which has kernels of its own */
                for (int turn = 0; turn <= SIDE_PAIRS; turn++) {
                    p.nx = sizes[k % SIZES][0], p.ny = sizes[k % SIZES][1], p.steps = steps[k / SIZES];
                    if (p.nx * p.ny >= LARGE && p.steps != 17) continue;
                    const int other = turn < SIDE_PAIRS ? (turn + k % SIZES + k / SIZES) % SIDE_PAIRS : 0;
                    p.sides = side_pairs_of(turn % SIDE_PAIRS, other);
                    some += persistent_case(&p, turn % 2);
                }
            if (some == 0) fail_msg("r = %d, %s: no size can", radius, dtype_name(type));
        }
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
