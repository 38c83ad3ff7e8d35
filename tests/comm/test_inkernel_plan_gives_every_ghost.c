/* Claim: the images and inboxes of a whole step's plan, carried out cell by cell, give every rank of any grid
 * the ghosts that the uncut field has: none is left out, none goes astray, and what no image gives stays as it
 * was. So does all that neighbours have in the plan of a rank without them. */
#include <stdio.h>

#include "exchange/inkernel_plan.h"
#include "support/host_inkernel.h"

enum { RANKS_MAX = 6, WORD_LIMIT_S = 30, EPOCH = 3 }; /* the epoch: of level 1 */

typedef struct one_rank {
    decomp dec;
    field_shape shape;
    void *field[2], *inbox[2]; /* of two levels */
    inkernel_step step[2];        /* [i] writes level i */
} one_rank;

static device *host;

static void *zeros(size_t bytes)
{
    void *p = NULL;
    assert_int_equal(host->alloc(host, DEVICE_MEMORY_DEVICE, bytes, &p), 0);
    memset(p, 0, bytes);
    return p;
}

static boundary sides_of(const decomp *d, boundary all)
{
    const boundary_side none = { BOUNDARY_NONE, 0 };
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        if (d->neighbour[k] < 0) continue;
        if (decomp_dy[k] == 0) *(decomp_dx[k] < 0 ? &all.x_low : &all.x_high) = none;
        if (decomp_dx[k] == 0) *(decomp_dy[k] < 0 ? &all.y_low : &all.y_high) = none;
    }
    return all;
}

/* Is a ghost a neighbour's cell, or the image of one? */
static bool is_neighbours(const one_rank *me, int64_t x, int64_t y)
{
    const int dx = x < 0 ? -1 : x >= me->shape.nx, dy = y < 0 ? -1 : y >= me->shape.ny;
    return (dx != 0 && me->dec.neighbour[decomp_direction(dx, 0)] >= 0) ||
           (dy != 0 && me->dec.neighbour[decomp_direction(0, dy)] >= 0);
}

/* alone: plans without neighbours. */
static void make_ranks(one_rank *rank, int ranks, int ranks_x, bool alone, const field_shape *whole,
                       const boundary *sides, int radius, bool corners)
{
    sentence why;
    for (int i = 0; i < ranks; i++) {
        one_rank *me = &rank[i];
        if (!decomp_make(&me->dec, whole->nx, whole->ny, sides->x_low.kind == BOUNDARY_PERIODIC,
                         sides->y_low.kind == BOUNDARY_PERIODIC, ranks, i, ranks_x, ranks / ranks_x, radius,
                         &why))
            fail_msg("%s", why.text);
        me->shape =
            field_shape_make(whole->type, box_width(me->dec.own), box_height(me->dec.own), radius, radius);
        for (int k = 0; k < 2; k++) {
            me->field[k] = zeros(me->shape.bytes);
            me->inbox[k] = zeros(inkernel_plan_inbox_bytes(&me->shape, radius));
        }
    }
    for (int i = 0; i < ranks; i++) {
        one_rank *me = &rank[i];
        const boundary mine = sides_of(&me->dec, *sides);
        inkernel_level level[2] = { 0 };
        for (int k = 0; k < 2; k++)
            level[k] = (inkernel_level){ .field = me->field[k], .inbox = me->inbox[k] };
        for (int n = 0; n < DECOMP_NEIGHBOURS; n++)
            for (int k = 0; k < 2 && me->dec.neighbour[n] >= 0; k++)
                level[k].theirs[n] = rank[me->dec.neighbour[n]].inbox[k];
        decomp seen = me->dec;
        for (int n = 0; n < DECOMP_NEIGHBOURS && alone; n++) seen.neighbour[n] = -1;
        for (int k = 0; k < 2; k++)
            assert_true(inkernel_plan_make(&me->step[k], &seen, &me->shape, &mine, radius, corners,
                                           &level[1 - k], &level[k]));
    }
}

/* Cells of the global field that lie in `part`, in the rank's coordinates. */
static void give(one_rank *me, int level, const field_shape *whole, const void *from, box part)
{
    for (int64_t y = part.y0; y < part.y1; y++)
        for (int64_t x = part.x0; x < part.x1; x++)
            host_field_set(whole->type, me->field[level], field_index(&me->shape, x, y),
                           host_field_get(whole->type, from,
                                          field_index(whole, me->dec.own.x0 + x, me->dec.own.y0 + y)));
}

/* alone: those that are neighbours' are still level 0's. */
static bool ghosts_are(const one_rank *me, bool alone, const field_shape *whole, void *const global[2],
                       int radius, bool corners, char *where, size_t where_bytes)
{
    const field_shape *f = &me->shape;
    for (int64_t y = -radius; y < f->ny + radius; y++)
        for (int64_t x = -radius; x < f->nx + radius; x++) {
            const bool off_x = x < 0 || x >= f->nx, off_y = y < 0 || y >= f->ny;
            if (off_x && off_y && !corners) continue;
            const int64_t there = field_index(whole, me->dec.own.x0 + x, me->dec.own.y0 + y),
                          here = field_index(f, x, y);
            const double seen = host_field_get(f->type, me->field[1], here);
            const double wanted =
                host_field_get(f->type, global[alone && is_neighbours(me, x, y) ? 0 : 1], there);
            if (memcmp(&seen, &wanted, sizeof seen) == 0) continue;
            snprintf(where, where_bytes, "(%lld, %lld)", (long long)x, (long long)y);
            return false;
        }
    return true;
}

static void one_case(dtype t, int64_t nx, int64_t ny, const boundary *sides, int radius, bool corners,
                     int ranks, int ranks_x, bool alone)
{
    const field_shape whole = field_shape_make(t, nx, ny, radius, radius);
    const box around[] = { { -radius, nx + radius, -radius, 0 },
                           { -radius, nx + radius, ny, ny + radius },
                           { -radius, 0, 0, ny },
                           { nx, nx + radius, 0, ny } };
    void *global[2] = { host_field_create(host, &whole, 1), host_field_create(host, &whole, 2) };
    one_rank rank[RANKS_MAX] = { 0 };
    char where[64];
    device_stream *s;
    assert_int_equal(host->stream_create(host, false, &s), 0);
    make_ranks(rank, ranks, ranks_x, alone, &whole, sides, radius, corners);
    for (int k = 0; k < 2; k++)
        assert_int_equal(host->boundary_fill(host, &whole, global[k], sides, around, 4, s), 0);
    /* own cells of level 1; ghosts of level 0, whose constant ones are level 1's too */
    for (int i = 0; i < ranks; i++) {
        one_rank *me = &rank[i];
        for (int k = 0; k < 2; k++)
            give(me, k, &whole, global[0],
                 box_make(-radius, me->shape.nx + radius, -radius, me->shape.ny + radius));
        give(me, 1, &whole, global[1], field_own(&me->shape));
    }
    for (int i = 0; i < ranks; i++)
        host_inkernel_store(&rank[i].shape, rank[i].field[1], &rank[i].step[1], rank[i].step[1].cells, EPOCH,
                            true);
    (void)alarm(WORD_LIMIT_S); /* a word that does not come is waited for */
    host_inkernel_radius = radius;
    for (int i = 0; i < ranks; i++) {
        rank[i].step[0].epoch = EPOCH;
        host_inkernel_take(&rank[i].shape, &rank[i].step[0]);
    }
    for (int i = 0; i < ranks; i++)
        if (!ghosts_are(&rank[i], alone, &whole, global, radius, corners, where, sizeof where))
            fail_msg("%s r=%d corners=%d %lldx%lld on %dx%d ranks, alone %d, sides %d%d %d%d: ghost %s of "
                     "rank %d",
                     dtype_name(t), radius, corners, (long long)nx, (long long)ny, ranks_x, ranks / ranks_x,
                     alone, (int)sides->x_low.kind, (int)sides->x_high.kind, (int)sides->y_low.kind,
                     (int)sides->y_high.kind, where, i);
    for (int i = 0; i < ranks; i++)
        for (int k = 0; k < 2; k++)
            host_field_free(host, rank[i].field[k]), host_field_free(host, rank[i].inbox[k]);
    for (int k = 0; k < 2; k++) host_field_free(host, global[k]);
    assert_int_equal(host->stream_destroy(host, &s), 0);
}

static void every_grid(void **state)
{
    /* ranks, ranks_x */
    static const int grids[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 3, 3 }, { 4, 2 }, { 6, 2 }, { 6, 3 } };
    static const boundary_kind pairs[][2] = { { BOUNDARY_PERIODIC, BOUNDARY_PERIODIC },
                                              { BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN },
                                              { BOUNDARY_NEUMANN, BOUNDARY_DIRICHLET } };
    static const int radii[] = { 1, 2, 3, 8 };
    for (size_t r = 0; r < sizeof radii / sizeof *radii; r++)
        for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
            for (int p = 0; p < 9; p++)
                for (int corners = 0; corners < 2; corners++) {
                    const boundary_side x_low = { pairs[p % 3][0], 0.25 }, x_high = { pairs[p % 3][1], -0.5 };
                    const boundary_side y_low = { pairs[p / 3][0], 1.5 }, y_high = { pairs[p / 3][1], 0.0 };
                    const boundary sides = { x_low, x_high, y_low, y_high };
                    const dtype t = (p + corners) % 2 ? DTYPE_F32 : DTYPE_F64;
                    const int ranks = grids[g][0], ranks_x = grids[g][1], least = radii[r];
                    for (int alone = 0; alone < 2; alone++)
                        one_case(t, 53, 47, &sides, least, corners, ranks, ranks_x, alone);
                    one_case(t, least * ranks_x, least * (ranks / ranks_x), &sides, least, corners, ranks,
                             ranks_x, false);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_grid) };
    host = device_host_create(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_destroy(&host);
    return failed;
}
