/* The plan of a pass of several steps on CUDA stores each cell of its box once, by a warp that has all the
 * cells it depends on. Pure arithmetic, no GPU: random boxes, sides, kernels and ways to cut. */
#include "support/several_steps.h"
#include "temporal/temporal.h"
#include "temporal/temporal_plan.h"

enum { CASES = 60000, PROCESSORS = 132, SIDE_MAX = 500, NARROW = 70 };

static int64_t random_within(int64_t low, int64_t high) { return low + random_below(high - low + 1); }

typedef struct pass {
    problem of;
    const temporal_tiling *tiling;
    temporal_strips strips;
    temporal_pace pace;
    field_shape shape;
    box cells;
    boundary sides;
    temporal_plan plan;
} pass;

#define CHECK(p, condition)                                                                              \
    do {                                                                                                 \
        if (!(condition))                                                                                \
            fail_msg("%s: %s, use %d, box %lld..%lld x %lld..%lld", #condition, problem_text(&(p)->of),   \
                     (int)(p)->tiling->use, (long long)(p)->cells.x0, (long long)(p)->cells.x1,          \
                     (long long)(p)->cells.y0, (long long)(p)->cells.y1);                                \
    } while (0)

/* Of an axis of n cells whose ghosts, `depth` deep, are data but for those beyond sides that mirror. */
static void random_range(int64_t n, int64_t depth, boundary_side low, boundary_side high, int64_t *begin,
                         int64_t *end)
{
    const int64_t first = boundary_mirrors(low.kind) ? 0 : -depth,
                  last = boundary_mirrors(high.kind) ? n : n + depth;
    const bool all = random_below(3) == 0;
    *begin = all ? first : random_within(first, last - 1);
    *end = all ? last : random_within(*begin + 1, last);
}

static pass random_pass(void)
{
    static const boundary_kind kinds[] = { BOUNDARY_NONE, BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN };
    stencil op = { .form = random_below(3) ? STENCIL_STAR : STENCIL_BOX, .type = (dtype)random_below(2) };
    op.has_prev = op.form == STENCIL_STAR && random_below(2);
    const temporal_table table = temporal_table_of(&op);
    const temporal_tiling *t = &table.tilings[random_below(table.count)];
    op.radius = t->radius;
    int count = 1;
    while (count < TEMPORAL_STEPS && t->steps[count] > 0) count++;
    const int steps = t->steps[random_below(count)], depth = steps * t->radius;
    const int deeper = (int)(depth + random_below(20)); /* the pass may itself make ghosts of later ones */
    const int64_t nx = random_within(op.radius, random_below(2) ? SIDE_MAX : NARROW),
                  ny = random_within(op.radius, random_below(3) ? NARROW : SIDE_MAX);
    boundary b = { { kinds[random_below(3)], 0 }, { kinds[random_below(3)], 0 },
                   { kinds[random_below(3)], 0 }, { kinds[random_below(3)], 0 } };
    if (random_below(4) == 0) b.x_low.kind = b.x_high.kind = BOUNDARY_PERIODIC;
    pass p = { .of = { op, b, nx, ny, steps },
               .tiling = t,
               .strips = temporal_strips_of(&op, t, steps, t->warps, (int)random_within(1, PROCESSORS)),
               .pace = temporal_pace_of(&op, t, steps),
               .shape = field_shape_make(op.type, nx, ny, deeper, deeper),
               .sides = b };
    random_range(nx, deeper - depth, b.x_low, b.x_high, &p.cells.x0, &p.cells.x1);
    random_range(ny, deeper - depth, b.y_low, b.y_high, &p.cells.y0, &p.cells.y1);
    if (random_below(2)) p.pace.waves = (int)random_within(1, 3);
    if (random_below(2)) p.pace.warps = 1;
    p.plan = temporal_plan_of(&p.strips, &p.pace, &p.shape, p.cells, &p.sides);
    return p;
}

static bool near_low(const pass *p, int64_t x)
{
    return boundary_mirrors(p->sides.x_low.kind) && x < p->strips.depth;
}
static bool near_high(const pass *p, int64_t x)
{
    return boundary_mirrors(p->sides.x_high.kind) && x + p->strips.depth >= p->shape.nx;
}
static bool near_y(const pass *p, int64_t y)
{
    return (boundary_mirrors(p->sides.y_low.kind) && y < p->strips.depth) ||
           (boundary_mirrors(p->sides.y_high.kind) && y + p->strips.depth >= p->shape.ny);
}

/* A warp's cells of a row begin at x_low; those stored do not come from further away, but from beyond sides
 * that it knows. */
static void has_what_it_needs(const pass *p, int64_t x_low, int64_t cells, box stored)
{
    const int64_t depth = p->strips.depth, ghosts = p->strips.side_ghosts;
    CHECK(p, stored.x0 - depth >= x_low || (near_low(p, stored.x0) && x_low <= -ghosts));
    CHECK(p, stored.x1 + depth <= x_low + cells ||
                 (near_high(p, stored.x1 - 1) && x_low + cells >= p->shape.nx + ghosts));
}

static void mark(const pass *p, unsigned char *seen, box stored)
{
    CHECK(p, stored.y0 >= p->cells.y0 && stored.y1 <= p->cells.y1 && stored.x0 >= p->cells.x0);
    const int64_t over =
        p->sides.x_high.kind == BOUNDARY_PERIODIC && p->cells.x1 == p->shape.nx ? TEMPORAL_OVER : 0;
    CHECK(p, stored.x1 <= p->cells.x1 + over);
    for (int64_t y = stored.y0; y < stored.y1; y++)
        for (int64_t x = stored.x0; x < stored.x1 && x < p->cells.x1; x++)
            CHECK(p, seen[(y - p->cells.y0) * box_width(p->cells) + x - p->cells.x0]++ == 0);
}

static void part(const pass *p, unsigned char *seen, const temporal_parts *parts, const temporal_part *of,
                 unsigned items)
{
    const bool inner = parts == &p->plan.interior, side = !inner && of->first_item < parts->sides;
    const int piece = p->strips.piece, stored_cells = inner  ? p->strips.stored
                                                      : side ? p->strips.side_cells
                                                             : p->strips.band_stored;
    const int64_t halo = side ? 0 : temporal_halo_cells(piece, p->strips.depth);
    const int64_t chunks = (box_height(of->cells) + of->height - 1) / of->height;
    CHECK(p, items == of->columns * (uint64_t)chunks);
    CHECK(p, !inner || !(near_y(p, of->cells.y0) || near_y(p, of->cells.y1 - 1)));
    CHECK(p, side || of->x_first % piece == 0);
    CHECK(p, !inner || (of->x_first == of->cells.x0 && box_width(of->cells) % p->strips.end_piece == 0));
    for (unsigned i = 0; i < of->columns; i++) {
        const int64_t x_low = of->x_first + (int64_t)i * stored_cells - halo, cells = stored_cells + 2 * halo;
        box stored = box_intersect(of->cells,
                                   box_make(x_low + halo, x_low + cells - halo, of->cells.y0, of->cells.y1));
        has_what_it_needs(p, x_low, cells, stored);
        const int64_t last = (stored.x1 < p->shape.nx ? stored.x1 : p->shape.nx) - 1;
        CHECK(p, side || !(near_low(p, stored.x0) || near_high(p, last)));
        mark(p, seen, stored);
    }
}

static void every_cell_once(void **unused)
{
    for (int i = 0; i < CASES; i++) {
        const pass p = random_pass();
        unsigned char *seen = calloc((size_t)box_cells(p.cells), 1);
        assert_non_null(seen);
        const temporal_parts *const both[] = { &p.plan.interior, &p.plan.border };
        for (int k = 0; k < 2; k++)
            for (int j = 0; j <= both[k]->count; j++) {
                const temporal_part *const of = &both[k]->part[j];
                const unsigned items = j < both[k]->count ? of->first_item : both[k]->items;
                CHECK(&p, j > 0 || items == 0);
                if (j > 0) part(&p, seen, both[k], of - 1, items - of[-1].first_item);
            }
        const temporal_parts *border = &p.plan.border;
        CHECK(&p, border->sides <= border->alone && border->alone <= border->warps &&
                      border->warps <= border->items);
        CHECK(&p, (border->warps > border->alone) == (border->items > border->alone));
        for (int64_t j = 0; j < box_cells(p.cells); j++) CHECK(&p, seen[j] == 1);
        free(seen);
    }
    const pass p = random_pass();
    const box none = box_make(0, 0, 0, p.shape.ny);
    const temporal_plan plan = temporal_plan_of(&p.strips, &p.pace, &p.shape, none, &p.sides);
    assert_true(plan.interior.items == 0 && plan.border.items == 0);
}

static void all_numbers_of_steps(void **unused)
{
    for (int i = 0; i < 2 * 2 * STENCIL_FORMS * 4; i++) {
        const stencil op = { .form = (stencil_form)(i / 16),
                             .radius = 1 + i % 4,
                             .type = (dtype)(i / 4 % 2),
                             .has_prev = i / 8 % 2 };
        const bool has = op.form != STENCIL_BOX || (!op.has_prev && op.radius <= 2);
        assert_int_equal(temporal_longest(&op, 1, TEMPORAL_PLAIN), has);
        for (int most = 1, before = 0; most <= 20; most++) {
            const int steps = temporal_longest(&op, most, TEMPORAL_PLAIN),
                      norm = temporal_longest(&op, most, TEMPORAL_NORM);
            assert_true(steps <= most && (steps == before || steps == most));
            assert_true(norm == 0 || (norm <= most && temporal_longest(&op, norm, TEMPORAL_PLAIN) == norm));
            before = steps;
        }
    }
    const stencil heat = { .form = STENCIL_STAR, .radius = 1, .type = DTYPE_F32 };
    assert_int_equal(temporal_longest(&heat, 16, TEMPORAL_PLAIN), 12);
    assert_int_equal(temporal_longest(&heat, 3, TEMPORAL_NORM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_cell_once),
                                        cmocka_unit_test(all_numbers_of_steps) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
