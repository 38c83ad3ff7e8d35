/* A persistent pass gives the bits of as many single steps on the host, whatever the sides and however often
 * its blocks exchange, and so does the next one, from what the first gave; neither changes cur, nor reads or
 * writes a ghost. gpus: part */
#include "support/several_steps.h"

enum { PASSES = 2 };

/* False where the GPU cannot. Every other case takes norms: the second pass raises what the first left. */
static bool problem_case(const problem *p)
{
    device *const gpu = dev[TESTED], *const host = dev[ANSWER];
    const field_shape f = field_shape_make(p->op.type, p->nx, p->ny, p->op.radius, p->op.radius);
    const box own = field_own(&f);
    const size_t bytes = gpu->persistent_bytes(gpu, &f, &p->sides, false);
    if (bytes == 0) return false;
    static unsigned turn;
    const bool norm = ++turn % 2 == 0;
    void *level[] = { host_field_create(host, &f, turn), host_field_create(host, &f, turn) }, *change = NULL;
    twin field[2] = { twin_filled(&f, NAN_BYTE), twin_filled(&f, UNWRITTEN) };
    persistent_memory memory = { NULL, NULL, NULL };
    uint64_t largest = 0;
    copy_cells(&f, field[0].at[ANSWER], own, &f, level[0], 0, 0);
    put(TESTED, field[0].at[TESTED], field[0].at[ANSWER], f.bytes);
    DO(TESTED, alloc, DEVICE_MEMORY_DEVICE, sizeof largest, &change);
    DO(TESTED, fill_bytes, change, 0, sizeof largest, stream[TESTED]);
    DO(TESTED, alloc, DEVICE_MEMORY_DEVICE, bytes, &memory.here);
    DO(TESTED, fill_bytes, memory.here, 0, bytes, stream[TESTED]);
    DO(TESTED, persistent_prepare, &f, &p->sides, false);
    for (int pass = 0; pass < PASSES; pass++) {
        const int cur = pass % 2, next = 1 - cur;
        DO(TESTED, persistent_pass, &f, field[next].at[TESTED], field[cur].at[TESTED], p->steps, &p->sides,
           &memory, norm ? change : NULL, stream[TESTED]);
        host_field_step(host, &f, level, false, &p->sides, p->steps, stream[ANSWER]);
        copy_cells(&f, field[next].at[ANSWER], own, &f, level[0], 0, 0);
        assert_same(&field[next], "%s, next of pass %d", problem_text(p), pass);
        assert_same(&field[cur], "%s, cur of pass %d", problem_text(p), pass);
        if (!norm) continue;
        uint64_t last, *seen = get(TESTED, change, sizeof *seen);
        DO(ANSWER, max_change, &f, level[0], level[1], own, &last, stream[ANSWER]);
        if (last > largest) largest = last;
        assert_true(largest != 0);
        if (*seen != largest) fail_msg("%s: change %llx", problem_text(p), (unsigned long long)*seen);
        free(seen);
    }
    DO(TESTED, free, DEVICE_MEMORY_DEVICE, memory.here);
    DO(TESTED, free, DEVICE_MEMORY_DEVICE, change);
    for (int k = 0; k < 2; k++) {
        twin_free(&field[k]);
        host_field_free(host, level[k]);
    }
    return true;
}

/* One tile that is its own neighbour, odd heights, every kind of side beside every other; launches without an
 * exchange and with many. */
static void small(void **state)
{
    static const int64_t sizes[][2] = { { 8, 41 },    { 64, 64 },   { 96, 70 },
                                        { 160, 329 }, { 256, 256 }, { 520, 300 } };
    static const int steps[] = { 1, 2, 5, 17, 40 };
    enum { SIZES = sizeof sizes / sizeof *sizes, STEPS = sizeof steps / sizeof *steps };
    int cases = 0;
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++)
        for (int radius = 1; radius <= 4; radius++) {
            problem p = { .op = bind_random(STENCIL_STAR, radius, type, 0) };
            int some = 0;
            for (int k = 0; k < SIZES * STEPS; k++)
                /* the last: all periodic, which has kernels of its own */
                for (int turn = 0; turn <= SIDE_PAIRS; turn++) {
                    p.nx = sizes[k % SIZES][0], p.ny = sizes[k % SIZES][1];
                    p.steps = steps[k / SIZES];
                    p.sides =
                        side_pairs_of(turn % SIDE_PAIRS,
                                      turn < SIDE_PAIRS ? (turn + k % SIZES + k / SIZES) % SIDE_PAIRS : 0);
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
    static const struct {
        int64_t nx, ny;
        int radius;
        dtype type;
    } fields[] = { { 1024, 1024, 1, DTYPE_F32 }, { 1024, 1024, 2, DTYPE_F32 }, { 2048, 2000, 1, DTYPE_F32 },
                   { 1024, 1024, 1, DTYPE_F64 }, { 1024, 1024, 2, DTYPE_F64 } };
    int cases = 0;
    for (int i = 0; i < (int)(sizeof fields / sizeof *fields); i++) {
        problem p = { .op = bind_random(STENCIL_STAR, fields[i].radius, fields[i].type, 0),
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

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(small), cmocka_unit_test(large) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return twin_main(run); }
