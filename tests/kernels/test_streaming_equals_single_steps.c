/* A visit of a streaming device gives the bits of as many single steps with their ghosts filled, whatever the
 * sides, the size, the cut between ranks, the chunks and the passes that it is made of, and the norm of the
 * last one. The device that computes is a GPU where there is one, else a host device, then one whose streams
 * run in an order that chance chooses, as a GPU's may.
 *
 * The visit gets some rows of the domain, as a rank would own them: beyond cut sides with the rows of others,
 * steps * radius deep. All other ghosts are NaN and must not be used, and what is not the visit's own stays
 * as it is. gpus: part
 * release: eight times as many cases */
#include "support/several_steps.h"

#include "streaming/streaming.h"
#include "support/deferred_device.h"
#include "temporal/temporal.h"

static uint64_t state = 1;
/* From low to high, all alike. */
static int64_t any(int64_t low, int64_t high)
{
    return low + (int64_t)((host_field_number(&state) + 1) / 2 * (double)(high - low + 1)) % (high - low + 1);
}

typedef struct visit {
    problem p;
    double beta;
    int64_t y0, y1; /* rows of the domain that the rank owns */
    box cells;      /* of these, what the visit computes */
    int64_t chunk_rows;
    int depth_x;    /* of the rank's fields */
    bool norm;
} visit;

static void visit_case(const visit *v, const answer *a)
{
    device *const d = dev[TESTED];
    const problem *p = &v->p;
    const int levels = p->op.has_prev ? 2 : 1, depth = p->steps * p->op.radius;
    /* then another rank is beyond its ends */
    const bool whole = v->y1 - v->y0 == p->ny, wraps = p->sides.y_low.kind == BOUNDARY_PERIODIC;
    const boundary_side cut = { BOUNDARY_NONE, 0 };
    const boundary sides = { p->sides.x_low, p->sides.x_high,
                             whole || (v->y0 == 0 && !wraps) ? p->sides.y_low : cut,
                             whole || (v->y1 == p->ny && !wraps) ? p->sides.y_high : cut };
    const field_shape own = field_shape_make(p->op.type, p->nx, v->y1 - v->y0, v->depth_x, depth);
    const box given = box_make(0, p->nx, sides.y_low.kind == BOUNDARY_NONE ? -depth : 0,
                               own.ny + (sides.y_high.kind == BOUNDARY_NONE ? depth : 0));
    const uint64_t zero = 0;
    twin cur[LEVELS] = { 0 }, next[LEVELS] = { 0 }, change = twin_of(&zero, sizeof zero);
    streaming_window w = streaming_window_within(1e9, p->op.type, p->nx, levels, p->op.radius, p->steps,
                                                 streaming_device_pass_steps, d->through);
    streaming_window_limit(&w, v->chunk_rows);
    assert_int_equal(streaming_prepare(d, &w), 0);
    for (int k = 0; k < levels; k++) {
        cur[k] = twin_filled(&own, NAN_BYTE);
        next[k] = twin_filled(&own, UNWRITTEN);
        copy_cells(&own, cur[k].at[TESTED], given, &a->shape, a->before[k], 0, v->y0);
    }
    DO(TESTED, temporal_pass, &own, next[0].at[TESTED], next[1].at[TESTED], cur[0].at[TESTED],
       cur[1].at[TESTED], v->cells, p->steps, &sides, v->norm ? change.at[TESTED] : NULL, NULL);
    if (v->norm) same_change(p, &a->shape, a->after, box_shift(v->cells, 0, v->y0), change.at[TESTED]);
    twin_free(&change);
    for (int k = 0; k < levels; k++) {
        const box left = { -own.depth_x, 0, -own.depth_y, own.ny + own.depth_y };
        copy_cells(&own, next[k].at[ANSWER], v->cells, &a->shape, a->after[k], 0, v->y0);
        forgive(&next[k], &own, left); /* rows are copied with the gaps between them */
        forgive(&next[k], &own, box_make(own.nx, own.pitch - own.depth_x, left.y0, left.y1));
        assert_same(&next[k], "through %s, %s, rows %lld..%lld, of these %lld..%lld, slots of %lld, level %d",
                    d->through->name, problem_text(p), (long long)v->y0, (long long)v->y1,
                    (long long)v->cells.y0, (long long)v->cells.y1, (long long)w.slot_rows, -k);
        twin_free(&cur[k]);
        twin_free(&next[k]);
    }
}

static visit any_visit(void)
{
    visit v = { 0 };
    problem *p = &v.p;
    p->op.form = any(0, 3) ? STENCIL_STAR : STENCIL_BOX;
    p->op.radius = (int)any(1, p->op.form == STENCIL_BOX ? 2 : 4);
    p->op.type = any(0, 1) ? DTYPE_F32 : DTYPE_F64;
    v.beta = p->op.form == STENCIL_STAR && any(0, 2) == 0 ? -0.9 : 0;
    const int along_x = (int)any(0, SIDE_PAIRS - 1), along_y = (int)any(0, SIDE_PAIRS - 1);
    p->sides = side_pairs_of(along_x, along_y);
    p->nx = any(p->op.radius, any(0, 3) > 0 ? 40 : 300);
    p->ny = any(p->op.radius, any(0, 1) ? 60 : 200);
    p->steps = (int)any(1, any(0, 1) ? 20 : 70);
    v.chunk_rows = any(1, any(0, 1) ? 12 : 80);
    /* as a slot's, of the host's passes */
    v.depth_x = any(0, 1) ? (int)any(0, 70) : p->op.radius * (p->steps < 16 ? p->steps : 16);
    v.norm = any(0, 1);
    v.y1 = p->ny;
    const int64_t depth = (int64_t)p->steps * p->op.radius;
    /* a cut low side, whose neighbour owns as many rows as are read */
    if (any(0, 1) && p->ny > depth) v.y0 = any(depth, p->ny - 1);
    if (any(0, 1) && p->ny - depth > v.y0) v.y1 = any(v.y0 + 1, p->ny - depth); /* a high one */
    if (v.y1 - v.y0 < p->op.radius) v.y0 = 0, v.y1 = p->ny;
    v.cells = box_make(0, p->nx, 0, v.y1 - v.y0);
    if (any(0, 4) == 0) v.cells.y0 = any(0, v.y1 - v.y0 - 1), v.cells.y1 = any(v.cells.y0 + 1, v.y1 - v.y0);
    return v;
}

static int cases;

static void some(void **unused)
{
    device *const d = dev[TESTED];
    for (int i = 0; i < cases; i++) {
        visit v = any_visit();
        v.p.op = bind_random(v.p.op.form, v.p.op.radius, v.p.op.type, v.beta);
        if (d->through->temporal_steps((device *)(uintptr_t)d->through, 1, false) == 0) continue;
        v.norm = v.norm && d->temporal_steps(d, v.p.steps, true) == v.p.steps;
        answer a = answer_of(&v.p, v.p.op.radius);
        visit_case(&v, &a);
        answer_free(&a);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(some) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

static int run_through(device *through, unsigned seed, int of_hundred)
{
    const char *const more = getenv("WEFT_STREAMING_CASES");
    device *d = NULL;
    cases = more ? atoi(more) * of_hundred / 100 : SANITIZED ? of_hundred / 8 : of_hundred;
    state = seed + 1;
    if (streaming_create(through, 0, &d)) return 1;
    return twin_run(device_host_create(0), d, run);
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
    if (gpu) return run_through(gpu, 5, 300);
    printf("the host: %s\n", why);
    return run_through(device_host_create(1), 0, 100) ||
           run_through(with_some_steps(device_host_create(0)), 1, 100) ||
           run_through(device_host_create(0), 2, 100) ||
           run_through(with_some_steps(deferred_device_create(1)), 1, 300);
}
