/* In-kernel steps on a grid cut among ranks that stand beside each other in this process give, after several
 * levels, the cells that the host's steps give on the uncut grid: every image and every flag word of the plan
 * is right, and the norm that comes with the last step. On a GPU by its kernels; elsewhere cell by cell, as
 * core/inkernel.h has it. gpus: part */
#include "support/several_steps.h"

#include "exchange/inkernel_plan.h"
#include "support/host_inkernel.h"

enum { STEPS = 7, RANKS_MAX = 6, WORD_LIMIT_S = 600, NORM = INKERNEL_NORM_BYTES / sizeof(uint64_t) };

typedef struct one_rank {
    decomp dec;
    field_shape shape;
    void *field[2]; /* levels in turn */
    void *inbox[2];
    inkernel_step step[2]; /* [i] writes field[i] */
    uint64_t *norm[2];     /* of these steps; NULL: they cannot take it */
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
        me->dec = (decomp){ .nx = whole->nx,
                            .ny = whole->ny,
                            .ranks_x = ranks_x,
                            .periodic_x = sides->x_low.kind == BOUNDARY_PERIODIC,
                            .periodic_y = sides->y_low.kind == BOUNDARY_PERIODIC,
                            .rank = i };
        if (!decomp_make(&me->dec, ranks, r, &why)) fail_msg("%s", why.text);
        me->shape = field_shape_make(op->type, box_width(me->dec.own), box_height(me->dec.own), r, r);
        DO(TESTED, stream_create, false, &me->stream);
        for (int k = 0; k < 2; k++) {
            me->field[k] = memory_of(me->shape.bytes);
            me->inbox[k] = memory_of(inkernel_plan_inbox_bytes(&me->shape, r));
            if (!dev[TESTED]->stencil_inkernel_can(dev[TESTED], true)) continue;
            me->norm[k] = memory_of(INKERNEL_NORM_BYTES);
            DO(TESTED, fill_bytes, me->norm[k], 0, INKERNEL_NORM_BYTES, me->stream);
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
            inkernel_plan_make(&me->step[k], &me->dec, &me->shape, &mine, r, op->form == STENCIL_BOX,
                               &level[1 - k], &level[k]);
    }
}

static void free_ranks(one_rank *rank, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        void *const all[] = { rank[i].field[0], rank[i].field[1], rank[i].inbox[0],
                              rank[i].inbox[1], rank[i].norm[0],  rank[i].norm[1] };
        DO(TESTED, stream_destroy, &rank[i].stream);
        for (int k = 0; k < 6; k++) DO(TESTED, free, DEVICE_MEMORY_DEVICE, all[k]);
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
            /* the first half by the kernels without a norm */
            if (n >= STEPS / 2) step.change = me->norm[n % 2], step.clear = me->norm[1 - n % 2];
            const box own = field_own(&me->shape);
            const stencil_levels levels = { me->field[to], me->field[from], me->field[to] };
            DO(TESTED, stencil_pass, &me->shape, levels, &own, 1, &step, me->stream);
        }
}

/* The norm of the last step, from all words of all ranks; those of the next step's are 0. */
static void same_norm(const one_rank *rank, int ranks, const field_shape *whole, void *const level[2])
{
    uint64_t expected, largest = 0;
    for (int i = 0; i < 2 * ranks && rank[0].norm[0]; i++) {
        const bool last = i % 2 == 0;
        uint64_t *seen = get(TESTED, rank[i / 2].norm[(last ? STEPS - 1 : STEPS) % 2], INKERNEL_NORM_BYTES);
        for (size_t n = 0; n < NORM; n++) {
            assert_true(seen[n] == 0 || (last && n % INKERNEL_NORM_STEP == 0));
            if (seen[n] > largest) largest = seen[n];
        }
        free(seen);
    }
    DO(ANSWER, max_change, whole, level[0], level[1], field_own(whole), &expected, stream[ANSWER]);
    assert_true(!rank[0].norm[0] || (largest == expected && largest != 0));
}

static void one_case(const stencil *op, int64_t nx, int64_t ny, const boundary *sides, int ranks, int ranks_x)
{
    const int r = op->radius;
    const field_shape whole = field_shape_make(op->type, nx, ny, r, r);
    void *level[2] = { field_create(&whole), field_create(&whole) };
    one_rank rank[RANKS_MAX] = { 0 };
    make_ranks(rank, ranks, ranks_x, &whole, sides, op);
    host_inkernel_radius = r;
    for (int k = 0; k < 2; k++)
        host_field_fill_ghosts(dev[ANSWER], &whole, level[k], sides, r, stream[ANSWER]);
    for (int i = 0; i < ranks; i++) {
        for (int k = 0; k < 2; k++) give(&rank[i], rank[i].field[k], &whole, level[k]);
        DO(TESTED, inkernel_flag_words, &rank[i].shape, rank[i].field[0], &rank[i].step[0], rank[i].stream);
    }
    enqueue_steps(rank, ranks);
    for (int i = 0; i < ranks; i++) DO(TESTED, stream_sync, rank[i].stream);
    /* level[0] is then the newest, in field[STEPS % 2] */
    host_field_step(dev[ANSWER], &whole, level, op->has_prev, sides, STEPS, stream[ANSWER]);
    const problem p = { *op, *sides, nx, ny, STEPS };
    for (int i = 0; i < ranks; i++)
        for (int k = 0; k < 2; k++)
            if (!same_cells(&rank[i], rank[i].field[(STEPS + k) % 2], &whole, level[k]))
                fail_msg("%s, on %dx%d ranks: rank %d differs at level %d", problem_text(&p), ranks_x,
                         ranks / ranks_x, i, STEPS - k);
    same_norm(rank, ranks, &whole, level);
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
                    if (gpu ? radius > 2 && p % 4 != turn % 4 : turn / 6 % 2 != 0) continue;
                    const int ranks = grids[g][0], ranks_x = grids[g][1];
                    const boundary sides = side_pairs_of(pairs[p % 3], pairs[p / 3]);
                    const stencil op = bind_random(form, radius, turn % 2 ? DTYPE_F32 : DTYPE_F64,
                                                   form == STENCIL_STAR && turn % 3 == 0 ? -0.5 : 0);
                    one_case(&op, !gpu ? 53 : turn % 5 ? 203 : 1031, !gpu ? 47 : turn % 7 ? 97 : 300, &sides,
                             ranks, ranks_x);
                    /* ranks no wider than the stencil reaches */
                    if (!gpu || p == 0)
                        one_case(&op, radius * ranks_x, radius * (ranks / ranks_x), &sides, ranks, ranks_x);
                }
    /* so tall that tiles keep their height on GPUs */
    const boundary periodic = side_pairs_of(0, 0);
    for (int radius = 1; radius <= STENCIL_RADIUS_MAX; radius++) {
        const stencil op = bind_random(radius % 3 ? STENCIL_STAR : STENCIL_BOX, radius,
                                       radius % 2 ? DTYPE_F32 : DTYPE_F64, 0);
        one_case(&op, gpu ? 601 : 11, gpu ? 30011 : 3011, &periodic, 3, 1);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_decomposition) };
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
