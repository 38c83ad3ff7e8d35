/* Claim: the images and inboxes of a whole step's plan, carried out cell by cell, give every rank of any grid
 * the ghosts that the uncut field has: none is left out or goes astray, and what no image gives stays as it
 * was. */
#include <stdio.h>

#include "exchange/inkernel_plan.h"
#include "support/host_inkernel.h"

enum { RANKS_MAX = 6, WORD_LIMIT_S = 30, EPOCH = 3 };

typedef struct one_rank {
    decomp dec;
    field_shape shape;
    void *field, *inbox;
    inkernel_step step; /* from and to the same level: its images are stored, then its inboxes taken */
} one_rank;

typedef struct plan_case {
    field_shape whole;
    boundary sides;
    int radius, ranks, ranks_x;
    bool corners;
} plan_case;

static device *host;

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

static void make_ranks(const plan_case *c, one_rank *rank)
{
    sentence why;
    for (int i = 0; i < c->ranks; i++) {
        one_rank *me = &rank[i];
        if (!decomp_make(&me->dec, c->whole.nx, c->whole.ny, c->sides.x_low.kind == BOUNDARY_PERIODIC,
                         c->sides.y_low.kind == BOUNDARY_PERIODIC, c->ranks, i, c->ranks_x, 0, c->radius,
                         &why))
            fail_msg("%s", why.text);
        me->shape = field_shape_make(c->whole.type, box_width(me->dec.own), box_height(me->dec.own),
                                     c->radius, c->radius);
        me->field = host_field_create(host, &me->shape, 0);
        assert_int_equal(host->alloc(host, DEVICE_MEMORY_DEVICE,
                                     inkernel_plan_inbox_bytes(&me->shape, c->radius), &me->inbox),
                         0);
        memset(me->inbox, 0, inkernel_plan_inbox_bytes(&me->shape, c->radius));
    }
    for (int i = 0; i < c->ranks; i++) {
        one_rank *me = &rank[i];
        const boundary mine = sides_of(&me->dec, c->sides);
        inkernel_level level = { .field = me->field, .inbox = me->inbox };
        for (int n = 0; n < DECOMP_NEIGHBOURS; n++)
            if (me->dec.neighbour[n] >= 0) level.theirs[n] = rank[me->dec.neighbour[n]].inbox;
        assert_true(inkernel_plan_make(&me->step, &me->dec, &me->shape, &mine, c->radius, c->corners, &level,
                                       &level));
        me->step.epoch = EPOCH;
    }
}

/* Where a cell of a rank lies in the uncut field. */
static int64_t in_whole(const plan_case *c, const one_rank *me, int64_t x, int64_t y)
{
    return field_index(&c->whole, me->dec.own.x0 + x, me->dec.own.y0 + y);
}

static bool is_outside(int64_t i, int64_t n) { return i < 0 || i >= n; }

/* Own cells of the new level; ghosts of the old one, whose constant ones are the new one's too. */
static void give_cells(const plan_case *c, one_rank *me, void *const global[2])
{
    const field_shape *f = &me->shape;
    for (int64_t y = -c->radius; y < f->ny + c->radius; y++)
        for (int64_t x = -c->radius; x < f->nx + c->radius; x++) {
            const void *from = global[!is_outside(x, f->nx) && !is_outside(y, f->ny)];
            host_field_set(f->type, me->field, field_index(f, x, y),
                           host_field_get(f->type, from, in_whole(c, me, x, y)));
        }
}

static void compare_ghosts(const plan_case *c, const one_rank *me, const void *global)
{
    const field_shape *f = &me->shape;
    for (int64_t y = -c->radius; y < f->ny + c->radius; y++)
        for (int64_t x = -c->radius; x < f->nx + c->radius; x++) {
            if (is_outside(x, f->nx) && is_outside(y, f->ny) && !c->corners) continue;
            const double seen = host_field_get(f->type, me->field, field_index(f, x, y)),
                         wanted = host_field_get(f->type, global, in_whole(c, me, x, y));
            if (memcmp(&seen, &wanted, sizeof seen) != 0)
                fail_msg(
                    "%s r=%d corners=%d %lldx%lld, rank %d of %d, %d columns, sides %d%d %d%d: (%lld, %lld)",
                    dtype_name(f->type), c->radius, c->corners, (long long)c->whole.nx,
                    (long long)c->whole.ny, me->dec.rank, c->ranks, c->ranks_x, (int)c->sides.x_low.kind,
                    (int)c->sides.x_high.kind, (int)c->sides.y_low.kind, (int)c->sides.y_high.kind,
                    (long long)x, (long long)y);
        }
}

static void try_case(const plan_case *c)
{
    void *const global[2] = { host_field_create(host, &c->whole, 1), host_field_create(host, &c->whole, 2) };
    one_rank rank[RANKS_MAX];
    make_ranks(c, rank);
    for (int k = 0; k < 2; k++) host_field_fill_ghosts(host, &c->whole, global[k], &c->sides, NULL);
    for (int i = 0; i < c->ranks; i++) give_cells(c, &rank[i], global);
    for (int i = 0; i < c->ranks; i++)
        host_inkernel_store(&rank[i].shape, rank[i].field, &rank[i].step, rank[i].step.cells, EPOCH, true);
    (void)alarm(WORD_LIMIT_S); /* a word that does not come is waited for */
    host_inkernel_radius = c->radius;
    for (int i = 0; i < c->ranks; i++) host_inkernel_take(&rank[i].shape, &rank[i].step);
    for (int i = 0; i < c->ranks; i++) compare_ghosts(c, &rank[i], global[1]);
    for (int i = 0; i < c->ranks; i++) {
        host_field_free(host, rank[i].field);
        host_field_free(host, rank[i].inbox);
    }
    for (int k = 0; k < 2; k++) host_field_free(host, global[k]);
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
                for (int bits = 0; bits < 4; bits++) { /* corners; fields as small as can be */
                    plan_case c = { .radius = radii[r],
                                    .corners = bits & 1,
                                    .ranks = grids[g][0],
                                    .ranks_x = grids[g][1],
                                    .sides = { { pairs[p % 3][0], 0.25 },
                                               { pairs[p % 3][1], -0.5 },
                                               { pairs[p / 3][0], 1.5 },
                                               { pairs[p / 3][1], 0.0 } } };
                    const int least_x = c.radius * c.ranks_x, least_y = c.radius * (c.ranks / c.ranks_x);
                    c.whole =
                        field_shape_make((p + bits) % 2 ? DTYPE_F32 : DTYPE_F64, bits & 2 ? least_x : 53,
                                         bits & 2 ? least_y : 47, c.radius, c.radius);
                    try_case(&c);
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
