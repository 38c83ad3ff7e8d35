/* In-kernel steps on a grid cut among ranks that stand beside each other in this process give, after several
 * levels, the cells that the host's steps give on the uncut grid: every image and every flag word of the plan
 * is right. On a GPU by its kernels, one launch each or all of a rank's captured in a graph; elsewhere cell
 * by cell, as core/inkernel.h has it. gpus: part */
#include "support/several_steps.h"

#include "exchange/inkernel_plan.h"
#include "support/host_inkernel.h"

enum { STEPS = 7, RANKS_MAX = 6, WORD_LIMIT_S = 600 };

typedef struct one_rank {
    decomp dec;
    field_shape shape;
    void *field[2]; /* levels in turn */
    void *inbox[2];
    inkernel_step step[2]; /* [i] writes field[i] */
    device_stream *stream;
} one_rank;

static bool gpu; /* is it tested? */

/* NaN in every cell: what nothing gives is seen. */
static void *memory_of(size_t bytes)
{
    void *p = NULL;
    DO(TESTED, alloc, DEVICE_MEMORY_DEVICE, bytes, &p);
    DO(TESTED, fill_bytes, p, 255, bytes, stream[TESTED]);
    DO(TESTED, stream_sync, stream[TESTED]);
    return p;
}

/* The part of the global field that the rank's field covers, ghosts included. */
static void give(one_rank *r, void *to, const field_shape *whole, const void *from)
{
    const field_shape *f = &r->shape;
    void *part = calloc(1, f->bytes);
    assert_non_null(part);
    const box all = { -f->depth_x, f->nx + f->depth_x, -f->depth_y, f->ny + f->depth_y };
    copy_cells(f, part, all, whole, from, r->dec.own.x0, r->dec.own.y0);
    put(TESTED, to, part, f->bytes);
    free(part);
}

static bool same_cells(const one_rank *r, const void *field, const field_shape *whole, const void *expected)
{
    const field_shape *f = &r->shape;
    bool same = true;
    void *seen = get(TESTED, field, f->bytes);
    for (int64_t y = 0; y < f->ny; y++)
        same = same && memcmp(field_at(f, seen, 0, y),
                              field_at_const(whole, expected, r->dec.own.x0, r->dec.own.y0 + y),
                              (size_t)f->nx * dtype_bytes(f->type)) == 0;
    free(seen);
    return same;
}

static boundary sides_of(const decomp *d, boundary all)
{
    boundary_side *const side[2][2] = { { &all.x_low, &all.x_high }, { &all.y_low, &all.y_high } };
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        if (d->neighbour[k] >= 0 && (decomp_dx[k] == 0 || decomp_dy[k] == 0))
            *side[decomp_dx[k] == 0][decomp_dx[k] + decomp_dy[k] > 0] = (boundary_side){ BOUNDARY_NONE, 0 };
    return all;
}

static void make_ranks(one_rank *rank, int ranks, int ranks_x, const field_shape *whole,
                       const boundary *sides, const stencil *op)
{
    sentence why;
    const int r = op->radius;
    for (int i = 0; i < ranks; i++) {
        one_rank *me = &rank[i];
        if (!decomp_make(&me->dec, whole->nx, whole->ny, sides->x_low.kind == BOUNDARY_PERIODIC,
                         sides->y_low.kind == BOUNDARY_PERIODIC, ranks, i, ranks_x, ranks / ranks_x, r, &why))
            fail_msg("%s", why.text);
        me->shape = field_shape_make(op->type, box_width(me->dec.own), box_height(me->dec.own), r, r);
        DO(TESTED, stream_create, false, &me->stream);
        for (int k = 0; k < 2; k++) {
            me->field[k] = memory_of(me->shape.bytes);
            me->inbox[k] = memory_of(inkernel_plan_inbox_bytes(&me->shape, r));
        }
    }
    for (int i = 0; i < ranks; i++) {
        one_rank *me = &rank[i];
        const boundary mine = sides_of(&me->dec, *sides);
        inkernel_level level[2] = { 0 };
        for (int k = 0; k < 2; k++) {
            level[k] = (inkernel_level){ .field = me->field[k], .inbox = me->inbox[k] };
            for (int n = 0; n < DECOMP_NEIGHBOURS; n++)
                if (me->dec.neighbour[n] >= 0) level[k].theirs[n] = rank[me->dec.neighbour[n]].inbox[k];
        }
        for (int k = 0; k < 2; k++)
            assert_true(inkernel_plan_make(&me->step[k], &me->dec, &me->shape, &mine, r,
                                           op->form == STENCIL_BOX, &level[1 - k], &level[k]));
    }
}

static void free_ranks(one_rank *rank, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        DO(TESTED, stream_destroy, &rank[i].stream);
        for (int k = 0; k < 2; k++) {
            DO(TESTED, free, DEVICE_MEMORY_DEVICE, rank[i].field[k]);
            DO(TESTED, free, DEVICE_MEMORY_DEVICE, rank[i].inbox[k]);
        }
    }
}

/* Every rank's, in turn: each waits for its neighbours' on the device. */
static void enqueue_steps(one_rank *rank, int ranks)
{
    for (int n = 0; n < STEPS; n++)
        for (int i = 0; i < ranks; i++) {
            one_rank *me = &rank[i];
            const int from = n % 2, to = 1 - from;
            inkernel_step step = me->step[to];
            step.epoch = (uint64_t)n % INKERNEL_EPOCHS;
            DO(TESTED, stencil_inkernel, &me->shape, me->field[to], me->field[from], me->field[to], &step,
               me->stream);
        }
}

static void launch_graphs(one_rank *rank, int ranks)
{
    device_graph *graph[RANKS_MAX];
    for (int i = 0; i < ranks; i++) {
        DO(TESTED, graph_begin, rank[i].stream);
        enqueue_steps(&rank[i], 1);
        DO(TESTED, graph_end, rank[i].stream, &graph[i]);
    }
    for (int i = 0; i < ranks; i++) DO(TESTED, graph_launch, graph[i], rank[i].stream);
    for (int i = 0; i < ranks; i++) {
        DO(TESTED, stream_sync, rank[i].stream);
        DO(TESTED, graph_destroy, &graph[i]);
    }
}

static void one_case(const stencil *op, int64_t nx, int64_t ny, const boundary *sides, int ranks, int ranks_x,
                     bool graphs)
{
    const int r = op->radius;
    const field_shape whole = field_shape_make(op->type, nx, ny, r, r);
    void *level[2] = { host_field_create(dev[ANSWER], &whole, 1), host_field_create(dev[ANSWER], &whole, 2) };
    one_rank rank[RANKS_MAX] = { 0 };
    make_ranks(rank, ranks, ranks_x, &whole, sides, op);
    host_inkernel_radius = r;
    for (int k = 0; k < 2; k++)
        host_field_fill_ghosts(dev[ANSWER], &whole, level[k], sides, r, stream[ANSWER]);
    for (int i = 0; i < ranks; i++) {
        for (int k = 0; k < 2; k++) give(&rank[i], rank[i].field[k], &whole, level[k]);
        DO(TESTED, inkernel_flag_words, &rank[i].shape, rank[i].field[0], &rank[i].step[0], rank[i].stream);
    }
    (gpu && graphs ? launch_graphs : enqueue_steps)(rank, ranks);
    for (int i = 0; i < ranks; i++) DO(TESTED, stream_sync, rank[i].stream);
    /* level[0] is then the newest, in field[STEPS % 2] */
    host_field_step(dev[ANSWER], &whole, level, op->has_prev, sides, STEPS, stream[ANSWER]);
    const problem p = { *op, *sides, nx, ny, STEPS };
    for (int i = 0; i < ranks; i++)
        for (int k = 0; k < 2; k++)
            if (!same_cells(&rank[i], rank[i].field[(STEPS + k) % 2], &whole, level[k]))
                fail_msg("%s, on %dx%d ranks%s: rank %d differs at level %d", problem_text(&p), ranks_x,
                         ranks / ranks_x, graphs ? " by graphs" : "", i, STEPS - k);
    free_ranks(rank, ranks);
    for (int k = 0; k < 2; k++) host_field_free(dev[ANSWER], level[k]);
}

static void every_decomposition(void **state)
{
    /* ranks, ranks_x */
    static const int grids[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 3, 1 }, { 3, 3 }, { 4, 2 }, { 6, 3 } };
    static const int pairs[] = { 0, 3, 4 }; /* periodic; dirichlet and neumann, either way round */
    int turn = 0;
    for (stencil_form form = STENCIL_STAR; form <= STENCIL_BOX; form++)
        for (int radius = 1; radius <= STENCIL_RADIUS_MAX; radius += radius < 4 ? 1 : 4)
            for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
                for (int p = 0; p < 9; p++, turn++) {
                    if (gpu && radius > 2 && p % 4 != turn % 4) continue;
                    const int ranks = grids[g][0], ranks_x = grids[g][1];
                    const boundary sides = side_pairs_of(pairs[p % 3], pairs[p / 3]);
                    const stencil op = bind_random(form, radius, turn % 2 ? DTYPE_F32 : DTYPE_F64,
                                                   form == STENCIL_STAR && turn % 3 == 0 ? -0.5 : 0);
                    one_case(&op, !gpu ? 53 : turn % 5 ? 203 : 1031, !gpu ? 47 : turn % 7 ? 97 : 300, &sides,
                             ranks, ranks_x, turn / 2 % 2);
                    /* ranks no wider than the stencil reaches */
                    if (!gpu || p == 0)
                        one_case(&op, radius * ranks_x, radius * (ranks / ranks_x), &sides, ranks, ranks_x,
                                 turn % 2);
                }
}

/* So tall that tiles keep their height. */
static void tall(void **state)
{
    const boundary wrap = side_pairs_of(0, 0);
    if (!gpu) skip();
    for (int radius = 1; radius <= STENCIL_RADIUS_MAX; radius++) {
        const stencil op = bind_random(radius % 3 ? STENCIL_STAR : STENCIL_BOX, radius,
                                       radius % 2 ? DTYPE_F32 : DTYPE_F64, 0);
        one_case(&op, 601, 30011, &wrap, 3, 1, radius % 2);
    }
}

/* The norm that comes with the step. */
static void change(void **state)
{
    const boundary wrap = side_pairs_of(0, 0);
    if (!gpu) skip(); /* the host's is max_change itself */
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
        const stencil op = bind_random(STENCIL_STAR, 1, type, 0);
        assert_true(dev[TESTED]->stencil_inkernel_can(dev[TESTED], true));
        const field_shape f = field_shape_make(type, 1237, 411, 1, 1);
        twin random = twin_random(type, f.bytes);
        one_rank rank = { 0 };
        make_ranks(&rank, 1, 1, &f, &wrap, &op);
        give(&rank, rank.field[0], &f, random.at[ANSWER]);
        enum { NORM = INKERNEL_NORM_BYTES / 8 };
        uint64_t *result = memory_of(2 * INKERNEL_NORM_BYTES + 8), norm = 0;
        DO(TESTED, fill_bytes, result, 0, INKERNEL_NORM_BYTES, rank.stream);
        inkernel_step step = rank.step[1];
        step.change = result;
        step.clear = result + NORM;
        DO(TESTED, stencil_inkernel, &f, rank.field[1], rank.field[0], NULL, &step, rank.stream);
        DO(TESTED, max_change, &f, rank.field[1], rank.field[0], field_own(&f), result + 2 * NORM,
           rank.stream);
        DO(TESTED, stream_sync, rank.stream);
        uint64_t *seen = get(TESTED, result, 2 * INKERNEL_NORM_BYTES + 8);
        for (int i = 0; i < NORM; i++) {
            const bool word = i % INKERNEL_NORM_STEP == 0;
            if (seen[i] > norm) norm = seen[i];
            assert_true(word || seen[i] == 0);
            assert_int_equal(seen[NORM + i], word ? 0 : UINT64_MAX);
        }
        assert_true(norm != 0);
        assert_int_equal(norm, seen[2 * NORM]);
        free(seen);
        DO(TESTED, free, DEVICE_MEMORY_DEVICE, result);
        free_ranks(&rank, 1);
        twin_free(&random);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_decomposition), cmocka_unit_test(tall),
                                        cmocka_unit_test(change) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    const char *why = NULL;
    device *cuda = twin_gpu(&why), *tested = cuda ? cuda : device_host_create(1);
    gpu = cuda != NULL;
    if (!gpu) {
        printf("the host: %s\n", why);
        host_inkernel_give(tested, 1);
        (void)alarm(WORD_LIMIT_S); /* a word that does not come is waited for */
    }
    return twin_run(device_host_create(0), tested, run);
}
