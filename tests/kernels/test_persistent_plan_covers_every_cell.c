/* The plan of a persistent pass gives every cell of the field to one tile, and every tile the cells around it
 * that its own depend on until the next exchange: tiles next to it give them, here or at the next rank, or it
 * ends at a side. Pure arithmetic, no GPU: random sizes, all sides.
 *
 * Spans are those of one axis, and so are the checks: a cell that a tile takes is none of its own along one
 * axis at least, and to be given along that one is enough.
 * release: ten times as many sizes */
#include "persistent/persistent_plan.h"
#include "support/several_steps.h"

enum {
    RADIUS_MAX = 4,
    SIDE_MIN = 8,
    SIDE_MAX = 2200,
    RANKS_MAX = 3 /* one at each side of the domain, and one between */
};
enum { SIZES = SANITIZED ? 60 : 600 /* of each stencil, number of processors and kinds of sides */ };
enum { SHARED_BYTES_MAX = 163 * 1024 /* of a block, on sm_80 */ };

/* One axis of a plan; cells and tiles are those of each rank. */
typedef struct axis {
    const problem *of;
    char name;
    int ranks, cells, tiles, own, held, halo;
    int unit;       /* a lane's columns, or a row: whatever begins or ends does so at a multiple of it */
    int depth;      /* at the next exchange own cells depend on those so far away */
    bool low, high; /* these sides of the domain mirror */
    bool flags;     /* a tile waits for those next to it alone */
} axis;

#define CHECK(a, condition)                                                                              \
    do {                                                                                                 \
        if (!(condition))                                                                                \
            fail_msg("%s: %s; along %c, %d ranks: %d tiles of %d, halo %d, held %d, depth %d", #condition, \
                     problem_text((a)->of), (a)->name, (a)->ranks, (a)->tiles, (a)->own, (a)->halo,      \
                     (a)->held, (a)->depth);                                                             \
    } while (0)

/* A tile, in its rank's coordinates. */
static persistent_span span_of(const axis *a, int rank, int tile)
{
    return persistent_span_of(a->cells, a->low && rank == 0, a->high && rank == a->ranks - 1, tile, a->own,
                              a->held, a->halo);
}

/* Cells `depth` from those that the tile takes, or from a mirror at its end, are right until the next
 * exchange: its own are among them, and none lies beyond a mirror. */
static void has_what_it_needs(const axis *a, const persistent_span *s, bool low, bool high)
{
    const int end = s->first + s->held;
    CHECK(a, s->held == a->held && s->own_low < s->own_high);
    CHECK(a, s->first <= s->low && s->low <= s->own_low && s->own_high <= s->high && s->high <= end);
    CHECK(a, s->at_low == (low && s->first == 0) && (!low || s->first >= 0));
    CHECK(a, s->at_high == (high && end == a->cells) && (!high || end <= a->cells));
    CHECK(a, (s->at_low && s->low == 0) || s->low + a->depth <= s->own_low);
    CHECK(a, (s->at_high && s->high == end) || s->own_high + a->depth <= s->high);
    /* one other length at most */
    CHECK(a, -a->halo <= s->low && s->high <= a->cells + a->halo && a->halo <= a->cells);
    const int ends[] = { s->first, s->own_low, s->own_high, s->low, s->high, s->band_low, s->band_high };
    for (int i = 0; i < 7; i++) CHECK(a, ends[i] % a->unit == 0);
}

/* Every cell of the domain is one tile's own; those that others take, and no others, are given, by a tile
 * next to them. */
static void check_axis(const axis *a)
{
    static int owner[RANKS_MAX * SIDE_MAX];
    static bool given[RANKS_MAX * SIDE_MAX], taken[RANKS_MAX * SIDE_MAX];
    const int cells = a->ranks * a->cells, tiles = a->ranks * a->tiles;
    CHECK(a, a->tiles > 0 && a->depth > 0 && a->cells % a->unit == 0 && a->halo % a->unit == 0);
    for (int at = 0; at < cells; at++) owner[at] = -1, given[at] = taken[at] = false;
    for (int tile = 0; tile < tiles; tile++) {
        const int rank = tile / a->tiles, begin = rank * a->cells;
        const persistent_span s = span_of(a, rank, tile % a->tiles);
        has_what_it_needs(a, &s, a->low && rank == 0, a->high && rank == a->ranks - 1);
        for (int at = s.first; at < s.first + s.held; at++) {
            if (!persistent_is_own(&s, at)) continue;
            CHECK(a, 0 <= at && at < a->cells && owner[begin + at] == -1 && persistent_is_wanted(&s, at));
            owner[begin + at] = tile;
            given[begin + at] = persistent_is_given(&s, at);
        }
    }
    for (int at = 0; at < cells; at++) CHECK(a, owner[at] != -1);
    for (int tile = 0; tile < tiles; tile++) {
        const int rank = tile / a->tiles, begin = rank * a->cells;
        const persistent_span s = span_of(a, rank, tile % a->tiles);
        for (int at = s.first; at < s.first + s.held; at++) {
            if (persistent_is_own(&s, at) || !persistent_is_wanted(&s, at)) continue;
            const int from = persistent_wrapped(begin + at, cells),
                      next = at < s.own_low ? tile - 1 : tile + 1;
            CHECK(a, 0 <= from && from < cells && given[from]);
            CHECK(a, !a->flags || owner[from] == persistent_wrapped(next, tiles));
            taken[from] = true;
        }
    }
    for (int at = 0; at < cells; at++) CHECK(a, taken[at] || !given[at]);
}

static void check_plan(const problem *q, int ranks, int processors, const persistent_plan *p)
{
    const boundary *b = &q->sides;
    const persistent_table table = persistent_table_of(&q->op);
    assert_in_range(p->tiling, 0, table.count - 1);
    const persistent_tiling *t = &table.tilings[p->tiling];
    const int depth = p->steps_between * q->op.radius;
    const axis x = { q, 'x', 1, (int)q->nx, p->tiles_x, p->width, 32 * t->columns, p->halo_x, t->columns,
                     depth, boundary_mirrors(b->x_low.kind), boundary_mirrors(b->x_high.kind), t->flags };
    const axis y = { q, 'y', ranks, (int)q->ny, p->tiles_y, p->height, t->rows * p->warps, p->halo_y, 1,
                     depth, boundary_mirrors(b->y_low.kind), boundary_mirrors(b->y_high.kind), t->flags };
    CHECK(&x, t->radius == q->op.radius && p->steps_between >= 1 && p->step_s > 0);
    CHECK(&x, p->warps >= 1 && p->warps <= t->warps && p->tiles_x * p->tiles_y <= processors);
    check_axis(&x);
    check_axis(&y);
}

/* Small ones as often as large ones. */
static int64_t random_side(int unit)
{
    static const int most[] = { 70, 200, 700, SIDE_MAX };
    return (SIDE_MIN + random_below(most[random_below(4)] - SIDE_MIN + 1)) / unit * unit;
}

static void every_cell_once(void **unused)
{
    enum { ROWS_MAX = 16, PAIRS = SIDE_PAIRS * SIDE_PAIRS, GPUS = 4, STENCILS = 2 * RADIUS_MAX };
    static const int units[] = { 8, 8, 2, 1 }, processors[GPUS] = { 1, 16, 108, 132 };
    int plans[2][ROWS_MAX] = { { 0 } };
    for (int i = 0; i < PAIRS * GPUS * STENCILS * SIZES; i++) {
        const int pair = i % PAIRS, gpu = processors[i / PAIRS % GPUS], kind = i / PAIRS / GPUS % STENCILS,
                  ranks = i / PAIRS / GPUS / STENCILS % RANKS_MAX + 1;
        const problem q = { .op = { .form = STENCIL_STAR, .radius = 1 + kind / 2, .type = (dtype)(kind % 2) },
                            .nx = random_side(units[random_below(4)]),
                            .ny = random_side(1),
                            .sides = side_pairs_of(pair % SIDE_PAIRS, pair / SIDE_PAIRS) };
        persistent_plan p;
        if (!persistent_plan_of(&q.op, q.nx, q.ny, &q.sides, ranks > 1, gpu, &p)) continue;
        check_plan(&q, ranks, gpu, &p);
        plans[q.op.type][p.tiling]++;
    }
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
        const stencil op = { .form = STENCIL_STAR, .radius = 1, .type = type };
        const persistent_table table = persistent_table_of(&op);
        assert_in_range(table.count, 1, ROWS_MAX);
        for (int row = 0; row < table.count; row++) {
            const persistent_tiling *t = &table.tilings[row];
            const size_t bytes = persistent_shared_bytes(t, t->warps, type);
            if (plans[type][row] == 0 || bytes > SHARED_BYTES_MAX)
                fail_msg("row %d of the %s table serves %d fields, with %zu bytes of shared memory", row,
                         dtype_name(type), plans[type][row], bytes);
        }
    }
}

/* A field that has a plan, but for one thing. */
static void no_plan(void **unused)
{
    static const struct {
        stencil_form form;
        int radius;
        bool has_prev;
        int64_t nx, ny;
        int processors;
    } cases[] = { { STENCIL_LINE, 1, false, 256, 255, 132 },     { STENCIL_BOX, 1, false, 256, 255, 132 },
                  { STENCIL_STAR, 1, true, 256, 255, 132 },      { STENCIL_STAR, 5, false, 256, 255, 132 },
                  { STENCIL_STAR, 1, false, 255, 255, 132 },     { STENCIL_STAR, 1, false, 8192, 8192, 132 },
                  { STENCIL_STAR, 1, false, 256, 255, 1 },       { STENCIL_STAR, 1, false, 256, 255, 132 } };
    enum { ALL = sizeof cases / sizeof *cases };
    const boundary wrap = side_pairs_of(0, 0);
    for (int i = 0; i < 2 * ALL; i++) {
        const stencil op = { .form = cases[i / 2].form, .radius = cases[i / 2].radius,
                             .type = (dtype)(i % 2), .has_prev = cases[i / 2].has_prev };
        persistent_plan p;
        const bool has = persistent_plan_of(&op, cases[i / 2].nx, cases[i / 2].ny, &wrap, false,
                                            cases[i / 2].processors, &p);
        if (has != (i / 2 == ALL - 1)) fail_msg("number %d, %s", i / 2, dtype_name(op.type));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_cell_once),
                                        cmocka_unit_test(no_plan) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
