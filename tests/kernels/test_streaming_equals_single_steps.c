/* A visit of a streaming device gives the bits of as many single steps with their ghosts filled, whatever the
 * sides, the size, the cut between ranks, the chunks and the passes that it is made of, and the norm of the
 * last one. The device that computes is a GPU where there is one, else a host device, then one whose streams
 * run in an order that chance chooses, as a GPU's may.
 *
 * The answer: single steps over a whole domain, on the host. The visit gets some rows of it, as a rank would
 * own them: beyond cut sides with the rows of others, steps * radius deep. All other ghosts are NaN and must
 * not be used, and what is not the visit's own stays as it is. gpus: part
 * release: eight times as many cases */
#include "support/host_field.h"

#include <stdio.h>
#include <stdlib.h>

#include "streaming/streaming.h"
#include "support/deferred_device.h"
#include "support/sanitized.h"
#include "support/side_pairs.h"
#include "temporal/temporal.h"

static device *host;

#define OK(d, call)                                                                         \
    do {                                                                                    \
        const int code_ = (call);                                                           \
        if (code_) fail_msg("%s: %s: %s", (d)->name, #call, (d)->error_text(code_));        \
    } while (0)

enum { LEVELS = 2, UNWRITTEN = 0x5a };

static uint64_t state = 1;
/* From low to high, all alike. */
static int64_t any(int64_t low, int64_t high)
{
    return low + (int64_t)((host_field_number(&state) + 1) / 2 * (double)(high - low + 1)) % (high - low + 1);
}

typedef struct problem {
    stencil op;
    boundary sides;
    int64_t nx, ny;
    int steps;
    int64_t y0, y1; /* rows of the domain that the rank owns */
    box cells;      /* of these, what the visit computes */
    int64_t chunk_rows;
    int depth_x;    /* of the rank's fields */
    bool norm;
} problem;

/* The rank's rows of a level, and those of others beyond cut sides. */
static void fill_rank(const problem *p, const field_shape *f, const void *level, const boundary *sides,
                      const field_shape *own, void *to)
{
    const int64_t depth = (int64_t)p->steps * p->op.radius;
    const int64_t y0 = sides->y_low.kind == BOUNDARY_NONE ? -depth : 0,
                  y1 = own->ny + (sides->y_high.kind == BOUNDARY_NONE ? depth : 0);
    memset(to, 0xff, own->bytes);
    for (int64_t y = y0; y < y1; y++)
        memcpy(field_at(own, to, 0, y), field_at_const(f, level, 0, p->y0 + y),
               (size_t)own->nx * dtype_bytes(own->type));
}

static const char *text_of(const problem *p, const streaming_window *w)
{
    static char text[512];
    snprintf(text, sizeof text,
             "form %d, r = %d, %s, %d levels, %d steps, %lld x %lld, sides %d%d %d%d, rows %lld..%lld, of "
             "these %lld..%lld, "
             "slots of %lld rows, depth_x %d, norm %d",
             (int)p->op.form, p->op.radius, dtype_name(p->op.type), p->op.has_prev ? 2 : 1, p->steps,
             (long long)p->nx, (long long)p->ny, (int)p->sides.x_low.kind, (int)p->sides.x_high.kind,
             (int)p->sides.y_low.kind, (int)p->sides.y_high.kind, (long long)p->y0, (long long)p->y1,
             (long long)p->cells.y0, (long long)p->cells.y1, (long long)w->slot_rows, p->depth_x,
             (int)p->norm);
    return text;
}

static void compare(const problem *p, const streaming_window *w, const device *through, const field_shape *f,
                    const void *answer, const field_shape *own, const void *seen, const char *what)
{
    const size_t word = dtype_bytes(own->type);
    static unsigned char unwritten[sizeof(double)];
    memset(unwritten, UNWRITTEN, sizeof unwritten);
    for (int64_t y = -own->depth_y; y < own->ny + own->depth_y; y++)
        for (int64_t x = 0; x < own->nx; x++) {
            const bool made = p->cells.y0 <= y && y < p->cells.y1;
            const void *const expected = made ? field_at_const(f, answer, x, p->y0 + y) : unwritten;
            if (memcmp(field_at_const(own, seen, x, y), expected, word) != 0)
                fail_msg("through %s, %s, %s: cell (%lld, %lld) is %a, not %a", through->name, text_of(p, w),
                         what, (long long)x, (long long)y,
                         host_field_get(own->type, seen, field_index(own, x, y)),
                         made ? host_field_get(f->type, answer, field_index(f, x, p->y0 + y)) : 0.0);
        }
}

static void visit_case(const problem *p, device *d, const field_shape *f, void *const start[LEVELS],
                       void *const answer[LEVELS])
{
    const int levels = p->op.has_prev ? 2 : 1, depth = p->steps * p->op.radius;
    /* then another rank is beyond its ends */
    const bool whole = p->y1 - p->y0 == p->ny, wraps = p->sides.y_low.kind == BOUNDARY_PERIODIC;
    const boundary_side cut = { BOUNDARY_NONE, 0 };
    const boundary sides = { p->sides.x_low, p->sides.x_high,
                             whole || (p->y0 == 0 && !wraps) ? p->sides.y_low : cut,
                             whole || (p->y1 == p->ny && !wraps) ? p->sides.y_high : cut };
    const field_shape own = field_shape_make(p->op.type, p->nx, p->y1 - p->y0, p->depth_x, depth);
    void *cur[LEVELS] = { NULL }, *next[LEVELS] = { NULL };
    uint64_t change = 0, expected = 0;
    streaming_window w = streaming_window_within(1e9, p->op.type, p->nx, levels, p->op.radius, p->steps,
                                                 streaming_device_pass_steps, d->through);
    streaming_window_limit(&w, p->chunk_rows, streaming_device_pass_steps, d->through);
    OK(d, streaming_prepare(d, &w));
    for (int k = 0; k < levels; k++) {
        OK(d, d->alloc(d, DEVICE_MEMORY_DEVICE, own.bytes, &cur[k]));
        OK(d, d->alloc(d, DEVICE_MEMORY_DEVICE, own.bytes, &next[k]));
        fill_rank(p, f, start[k], &sides, &own, cur[k]);
        memset(next[k], UNWRITTEN, own.bytes);
    }
    OK(d, d->temporal_pass(d, &own, next[0], next[1], cur[0], cur[1], p->cells, p->steps, &sides,
                           p->norm ? &change : NULL, NULL));
    for (int k = 0; k < levels; k++)
        compare(p, &w, d->through, f, answer[k], &own, next[k], k == 0 ? "the last level" : "the one before");
    if (p->norm) {
        OK(host,
           host->max_change(host, f, answer[0], answer[1], box_shift(p->cells, 0, p->y0), &expected, NULL));
        if (change != expected)
            fail_msg("through %s, %s: norm %016llx, not %016llx", d->through->name, text_of(p, &w),
                     (unsigned long long)change, (unsigned long long)expected);
    }
    for (int k = 0; k < levels; k++) {
        OK(d, d->free(d, DEVICE_MEMORY_DEVICE, cur[k]));
        OK(d, d->free(d, DEVICE_MEMORY_DEVICE, next[k]));
    }
}

static double rounded(dtype t, double u) { return t == DTYPE_F32 ? (double)(float)u : u; }

static void problem_case(problem *p, device *d)
{
    const int depth = p->steps * p->op.radius;
    const field_shape f =
        field_shape_make(p->op.type, p->nx, p->ny, p->op.radius > 4 ? p->op.radius : 4, depth);
    void *const start[LEVELS] = { host_field_create(host, &f, 7), host_field_create(host, &f, 8) };
    void *answer[LEVELS];
    for (int i = 0; i < stencil_weights(p->op.form, p->op.radius); i++)
        p->op.weight[i] = rounded(p->op.type, host_field_number(&state) / p->op.radius / 2);
    p->op.beta = p->op.has_prev ? rounded(p->op.type, -0.9) : 0;
    OK(host, host->stencil_bind(host, &p->op));
    OK(d, d->stencil_bind(d, &p->op));
    if (d->through->temporal_steps((device *)(uintptr_t)d->through, 1) == 0) goto done;
    p->norm = p->norm && d->temporal_change_steps(d, p->steps) == p->steps;
    for (int k = 0; k < LEVELS; k++) {
        host_field_fill_ghosts(host, &f, start[k], &p->sides, NULL);
        answer[k] = host_field_clone(host, &f, start[k]);
    }
    host_field_step(host, &f, answer, p->op.has_prev, &p->sides, p->steps, NULL);
    visit_case(p, d, &f, start, answer);
    for (int k = 0; k < LEVELS; k++) host_field_free(host, answer[k]);
done:
    for (int k = 0; k < LEVELS; k++) host_field_free(host, start[k]);
}

static problem any_problem(void)
{
    problem p = { .op.form = any(0, 3) ? STENCIL_STAR : STENCIL_BOX };
    p.op.radius = (int)any(1, p.op.form == STENCIL_BOX ? 2 : 4);
    p.op.type = any(0, 1) ? DTYPE_F32 : DTYPE_F64;
    p.op.has_prev = p.op.form == STENCIL_STAR && any(0, 2) == 0;
    const int along_x = (int)any(0, SIDE_PAIRS - 1), along_y = (int)any(0, SIDE_PAIRS - 1);
    p.sides = side_pairs_of(along_x, along_y);
    p.nx = any(p.op.radius, any(0, 3) > 0 ? 40 : 300);
    p.ny = any(p.op.radius, any(0, 1) ? 60 : 200);
    p.steps = (int)any(1, any(0, 1) ? 20 : 70);
    p.chunk_rows = any(1, any(0, 1) ? 12 : 80);
    /* as a slot's, of the host's passes */
    p.depth_x = any(0, 1) ? (int)any(0, 70) : p.op.radius * (p.steps < 16 ? p.steps : 16);
    p.norm = any(0, 1);
    p.y1 = p.ny;
    const int64_t depth = (int64_t)p.steps * p.op.radius;
    /* a cut low side, whose neighbour owns as many rows as are read */
    if (any(0, 1) && p.ny > depth) p.y0 = any(depth, p.ny - 1);
    if (any(0, 1) && p.ny - depth > p.y0) p.y1 = any(p.y0 + 1, p.ny - depth); /* a high one */
    if (p.y1 - p.y0 < p.op.radius) p.y0 = 0, p.y1 = p.ny;
    p.cells = box_make(0, p.nx, 0, p.y1 - p.y0);
    if (any(0, 4) == 0) p.cells.y0 = any(0, p.y1 - p.y0 - 1), p.cells.y1 = any(p.cells.y0 + 1, p.y1 - p.y0);
    return p;
}

static void some(device *(*through_of)(unsigned seed), unsigned seed, int cases)
{
    device *d = NULL;
    if (streaming_create(through_of(seed), 0, &d)) fail_msg("no streaming device");
    state = seed + 1;
    for (int i = 0; i < cases; i++) {
        problem p = any_problem();
        problem_case(&p, d);
    }
    device_destroy(&d);
}

/* Passes of these numbers of steps alone, as a GPU has them, so that a visit is made of several kinds. */
static int some_steps(device *d, int most)
{
    return most >= 7 ? 7 : most >= 4 ? 4 : most >= 3 ? 3 : most > 0 ? 1 : 0;
}
static int few_change_steps(device *d, int most) { return most >= 3 ? 3 : 0; }

static device *host_of(unsigned seed)
{
    device *d = device_host_create(seed % 3 == 0 ? 1 : 0);
    if (seed % 2 == 1) d->temporal_steps = some_steps, d->temporal_change_steps = few_change_steps;
    return d;
}

static device *deferred_of(unsigned seed)
{
    device *d = deferred_device_create(seed);
    d->temporal_steps = some_steps, d->temporal_change_steps = few_change_steps;
    return d;
}

static device *cuda_of(unsigned seed)
{
    int code = 0;
    device *d = device_cuda_create(0, &code);
    if (!d) fail_msg("cannot use the GPU: %s", device_cuda_error_text(code));
    return d;
}

static int times(int cases)
{
    const char *const more = getenv("WEFT_STREAMING_CASES");
    return more ? atoi(more) * cases / 100 : SANITIZED ? cases / 8 : cases;
}

static void on_the_host(void **unused)
{
    (void)unused;
    for (unsigned seed = 0; seed < 3; seed++) some(host_of, seed, times(100));
}

static void in_any_order(void **unused)
{
    (void)unused;
    some(deferred_of, 1, times(300));
}

static void on_a_gpu(void **unused)
{
    (void)unused;
    some(cuda_of, 5, times(300));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(on_the_host), cmocka_unit_test(in_any_order) };
    const struct CMUnitTest with_gpu[] = { cmocka_unit_test(on_a_gpu) };
    const char *why = NULL;
    host = device_host_create(0);
    const bool gpu = device_cuda_count(&why) > 0;
    if (!gpu) printf("the host: %s\n", why);
    const int failed = gpu ? cmocka_run_group_tests(with_gpu, NULL, NULL)
                           : cmocka_run_group_tests(tests, NULL, NULL);
    device_destroy(&host);
    return failed ? 1 : 0;
}
