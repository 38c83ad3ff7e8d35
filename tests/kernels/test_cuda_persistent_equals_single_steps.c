/* A persistent pass gives the bits of as many single steps on the host, whatever the sides and however often
 * its blocks exchange, and so does the next one, from what the first gave; neither changes cur, nor reads or
 * writes a ghost. gpus: part */
#include "support/cuda_twin.h"
#include "support/host_field.h"
#include "support/side_pairs.h"

enum { PASSES = 2, UNWRITTEN = 0x5a, NAN_BYTE = 0xff /* what is read of it is seen */ };

typedef struct problem {
    stencil op;
    boundary sides;
    int64_t nx, ny;
    int steps;
} problem;

/* Magnitudes add up to 1, so that fields neither grow without bound nor die away in a hundred steps. */
static stencil bind_random(int radius, dtype type)
{
    stencil op = { .form = STENCIL_STAR, .radius = radius, .type = type };
    const int n = stencil_weights(op.form, radius);
    double sum = 0;
    for (int k = 0; k < n; k++) {
        op.weight[k] = random_number();
        sum += op.weight[k] < 0 ? -op.weight[k] : op.weight[k];
    }
    for (int k = 0; k < n; k++)
        op.weight[k] = type == DTYPE_F32 ? (double)(float)(op.weight[k] / sum) : op.weight[k] / sum;
    ON_BOTH OK(i, dev[i]->stencil_bind(dev[i], &op));
    return op;
}

/* What a field on the GPU must be: the own cells of the host's, and all else as it was. */
static void expect_own(const field_shape *f, void *expected, const void *level)
{
    for (int64_t y = 0; y < f->ny; y++)
        memcpy(field_at(f, expected, 0, y), field_at_const(f, level, 0, y),
               (size_t)f->nx * dtype_bytes(f->type));
}

static const char *text_of(const problem *p)
{
    static char text[200];
    snprintf(text, sizeof text, "r = %d, %s, %lldx%lld, sides %d%d %d%d, %d steps", p->op.radius,
             dtype_name(p->op.type), (long long)p->nx, (long long)p->ny, (int)p->sides.x_low.kind,
             (int)p->sides.x_high.kind, (int)p->sides.y_low.kind, (int)p->sides.y_high.kind, p->steps);
    return text;
}

static void compare(const problem *p, const field_shape *f, const void *expected, const void *there,
                    const char *what)
{
    void *const seen = malloc(f->bytes);
    assert_non_null(seen);
    OK(CUDA, dev[CUDA]->copy(dev[CUDA], seen, there, f->bytes, stream[CUDA]));
    OK(CUDA, dev[CUDA]->stream_sync(dev[CUDA], stream[CUDA]));
    const bool same = memcmp(seen, expected, f->bytes) == 0;
    for (int64_t y = -f->depth_y; !same && y < f->ny + f->depth_y; y++)
        for (int64_t x = -f->depth_x; x < f->nx + f->depth_x; x++)
            if (memcmp(field_at_const(f, seen, x, y), field_at_const(f, expected, x, y),
                       dtype_bytes(f->type)))
                fail_msg("%s, %s: cell (%lld, %lld) is %a, not %a", text_of(p), what, (long long)x,
                         (long long)y, host_field_get(f->type, seen, field_index(f, x, y)),
                         host_field_get(f->type, expected, field_index(f, x, y)));
    if (!same) fail_msg("%s, %s: bytes beyond the ghosts differ", text_of(p), what);
    free(seen);
}

static void compare_change(const problem *p, const uint64_t *change, uint64_t expected)
{
    uint64_t seen;
    OK(CUDA, dev[CUDA]->copy(dev[CUDA], &seen, change, sizeof seen, stream[CUDA]));
    OK(CUDA, dev[CUDA]->stream_sync(dev[CUDA], stream[CUDA]));
    assert_true(expected != 0);
    if (seen != expected)
        fail_msg("%s: change is %llx, not %llx", text_of(p), (unsigned long long)seen,
                 (unsigned long long)expected);
}

/* False where the GPU cannot. Every other case takes norms: the second pass raises what the first one left.
 * */
static bool problem_case(const problem *p)
{
    device *const cuda = dev[CUDA], *const host = dev[HOST];
    const field_shape f = field_shape_make(p->op.type, p->nx, p->ny, p->op.radius, p->op.radius);
    const size_t bytes = cuda->persistent_bytes(cuda, &f, &p->sides, false);
    if (bytes == 0) return false;
    static unsigned turn;
    const bool norm = ++turn % 2 == 0;
    void *level[] = { host_field_create(host, &f, turn), host_field_create(host, &f, turn) };
    void *there[2], *expected[2], *change = NULL;
    persistent_memory memory = { NULL, NULL, NULL };
    uint64_t largest = 0;
    for (int k = 0; k < 2; k++) {
        expected[k] = malloc(f.bytes);
        assert_non_null(expected[k]);
        memset(expected[k], k == 0 ? NAN_BYTE : UNWRITTEN, f.bytes);
        if (k == 0) expect_own(&f, expected[k], level[0]);
        OK(CUDA, cuda->alloc(cuda, DEVICE_MEMORY_DEVICE, f.bytes, &there[k]));
        OK(CUDA, cuda->copy(cuda, there[k], expected[k], f.bytes, stream[CUDA]));
        OK(CUDA, cuda->stream_sync(cuda, stream[CUDA]));
    }
    OK(CUDA, cuda->alloc(cuda, DEVICE_MEMORY_DEVICE, sizeof largest, &change));
    OK(CUDA, cuda->fill_bytes(cuda, change, 0, sizeof largest, stream[CUDA]));
    OK(CUDA, cuda->alloc(cuda, DEVICE_MEMORY_DEVICE, bytes, &memory.here));
    OK(CUDA, cuda->fill_bytes(cuda, memory.here, 0, bytes, stream[CUDA]));
    OK(CUDA, cuda->persistent_prepare(cuda, &f, &p->sides, false));
    for (int pass = 0; pass < PASSES; pass++) {
        const int cur = pass % 2, next = 1 - cur;
        OK(CUDA, cuda->persistent_pass(cuda, &f, there[next], there[cur], p->steps, &p->sides, &memory,
                                       norm ? change : NULL, stream[CUDA]));
        host_field_step(host, &f, level, false, &p->sides, p->steps, stream[HOST]);
        expect_own(&f, expected[next], level[0]);
        compare(p, &f, expected[next], there[next], pass == 0 ? "next" : "next of the second pass");
        compare(p, &f, expected[cur], there[cur], pass == 0 ? "cur" : "cur of the second pass");
        if (!norm) continue;
        uint64_t last;
        OK(HOST, host->max_change(host, &f, level[0], level[1], field_own(&f), &last, stream[HOST]));
        if (last > largest) largest = last;
        compare_change(p, change, largest);
    }
    OK(CUDA, cuda->free(cuda, DEVICE_MEMORY_DEVICE, memory.here));
    OK(CUDA, cuda->free(cuda, DEVICE_MEMORY_DEVICE, change));
    for (int k = 0; k < 2; k++) {
        OK(CUDA, cuda->free(cuda, DEVICE_MEMORY_DEVICE, there[k]));
        free(expected[k]);
        host_field_free(host, level[k]);
    }
    return true;
}

/* One tile that is its own neighbour, odd heights, every kind of side beside every other; launches without an
 * exchange and with many. */
static void small(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 8, 41 },    { 64, 64 },   { 96, 70 },
                                        { 160, 329 }, { 256, 256 }, { 520, 300 } };
    static const int steps[] = { 1, 2, 5, 17, 40 };
    int cases = 0;
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++)
        for (int radius = 1; radius <= 4; radius++) {
            problem p = { .op = bind_random(radius, type) };
            int some = 0;
            for (int size = 0; size < (int)(sizeof sizes / sizeof *sizes); size++)
                for (int k = 0; k < (int)(sizeof steps / sizeof *steps); k++)
                    /* the last: all periodic, which has kernels of its own */
                    for (int turn = 0; turn <= SIDE_PAIRS; turn++) {
                        p.nx = sizes[size][0], p.ny = sizes[size][1];
                        p.steps = steps[k];
                        p.sides = side_pairs_of(turn % SIDE_PAIRS,
                                                turn < SIDE_PAIRS ? (turn + k + size) % SIDE_PAIRS : 0);
                        some += problem_case(&p);
                    }
            if (some == 0) fail_msg("r = %d, %s: no size can", radius, dtype_name(type));
            cases += some;
        }
    printf("%d cases\n", cases);
}

/* Tilings of large fields, where the GPU has registers for them. */
static void large(void **state)
{
    (void)state;
    static const struct large_field {
        int64_t nx, ny;
        int radius;
        dtype type;
    } fields[] = { { 1024, 1024, 1, DTYPE_F32 }, { 1024, 1024, 2, DTYPE_F32 }, { 2048, 2000, 1, DTYPE_F32 },
                   { 1024, 1024, 1, DTYPE_F64 }, { 1024, 1024, 2, DTYPE_F64 } };
    int cases = 0;
    for (int i = 0; i < (int)(sizeof fields / sizeof *fields); i++) {
        problem p = { .op = bind_random(fields[i].radius, fields[i].type),
                      .nx = fields[i].nx,
                      .ny = fields[i].ny };
        for (int along_x = 0; along_x < SIDE_PAIRS; along_x++) {
            p.steps = 17 + along_x;
            p.sides = side_pairs_of(along_x, 2 * along_x % SIDE_PAIRS);
            cases += problem_case(&p);
        }
    }
    printf("%d large cases\n", cases);
}

static void cannot(void **state)
{
    (void)state;
    const boundary wraps = side_pairs_of(0, 0);
    const field_shape f = field_shape_make(DTYPE_F32, 256, 256, 1, 1),
                      odd = field_shape_make(DTYPE_F32, 255, 256, 1, 1);
    stencil op = bind_random(1, DTYPE_F32);
    assert_true(dev[CUDA]->persistent_bytes(dev[CUDA], &f, &wraps, false) > 0);
    assert_true(dev[CUDA]->persistent_bytes(dev[CUDA], &odd, &wraps, false) == 0);
    assert_true(dev[HOST]->persistent_bytes(dev[HOST], &f, &wraps, false) == 0);
    op.has_prev = true;
    OK(CUDA, dev[CUDA]->stencil_bind(dev[CUDA], &op));
    assert_true(dev[CUDA]->persistent_bytes(dev[CUDA], &f, &wraps, false) == 0);
}

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(small), cmocka_unit_test(large),
                                        cmocka_unit_test(cannot) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return twin_main(run); }
