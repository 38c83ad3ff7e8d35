/* Plans give every cell to one part, which has the cells it depends on: a warp's strip in a pass of several
 * steps, a persistent tile, a tile of a distributed transpose. Pure arithmetic, no GPU: random sizes, all
 * sides.
 * release: several times as many cases */
#include "persistent/persistent_plan.h"
#include "support/several_steps.h"
#include "temporal/temporal.h"
#include "temporal/temporal_plan.h"
#include "transpose/transpose_peer.h"

static char what[400]; /* the case at hand */
#define CHECK(condition)                                            \
    do {                                                            \
        if (!(condition)) fail_msg("%s: %s", #condition, what);     \
    } while (0)

/* How often each cell of a box was given. */
typedef struct cover {
    box cells;
    unsigned char *times;
} cover;

static cover cover_begin(box cells)
{
    const cover c = { cells, calloc((size_t)box_cells(cells) + 1, 1) };
    assert_non_null(c.times);
    return c;
}

static void cover_add(const cover *c, box b)
{
    for (int64_t y = b.y0; y < b.y1; y++)
        for (int64_t x = b.x0; x < b.x1; x++) CHECK(c->times[box_at(c->cells, x, y)]++ == 0);
}

static void cover_end(const cover *c, bool all)
{
    for (int64_t i = 0; all && i < box_cells(c->cells); i++) CHECK(c->times[i] == 1);
    free(c->times);
}

/* ---- passes of several steps on CUDA ---- */

typedef struct pass {
    problem of;
    temporal_strips strips;
    field_shape shape;
    box cells;
    temporal_plan plan;
} pass;

/* A range of an axis of n cells whose ghosts, `depth` deep, are data but for those beyond sides that
 * mirror. */
static void any_range(int64_t n, int64_t depth, boundary_side low, boundary_side high, int64_t *begin,
                      int64_t *end)
{
    const int64_t first = boundary_mirrors(low.kind) ? 0 : -depth,
                  last = boundary_mirrors(high.kind) ? n : n + depth;
    const bool all = any(0, 2) == 0;
    *begin = all ? first : any(first, last - 1);
    *end = all ? last : any(*begin + 1, last);
}

static pass any_pass(void)
{
    enum { PROCESSORS = 132, SIDE_MAX = 500, NARROW = 70 };
    static const boundary_kind kinds[] = { BOUNDARY_NONE, BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN };
    stencil op = { .form = any(0, 2) ? STENCIL_STAR : STENCIL_BOX, .type = (dtype)any(0, 1) };
    op.has_prev = op.form == STENCIL_STAR && any(0, 1);
    const temporal_table table = temporal_table_of(&op);
    const temporal_tiling *t = &table.tilings[random_below(table.count)];
    op.radius = t->radius;
    int count = 1;
    while (count < TEMPORAL_STEPS && t->steps[count] > 0) count++;
    const int steps = t->steps[random_below(count)], depth = steps * t->radius;
    const int deeper = (int)any(0, 19); /* the pass may itself make ghosts of later ones */
    boundary b = { { kinds[any(0, 2)], 0 }, { kinds[any(0, 2)], 0 }, { kinds[any(0, 2)], 0 },
                   { kinds[any(0, 2)], 0 } };
    if (any(0, 3) == 0) b.x_low.kind = b.x_high.kind = BOUNDARY_PERIODIC;
    pass p = { .of = { op, b, any(op.radius, any(0, 1) ? SIDE_MAX : NARROW),
                       any(op.radius, any(0, 2) ? NARROW : SIDE_MAX), steps },
               .strips = temporal_strips_of(&op, t, steps, t->warps, (int)any(1, PROCESSORS)) };
    p.shape = field_shape_make(op.type, p.of.nx, p.of.ny, depth + deeper, depth + deeper);
    any_range(p.of.nx, deeper, b.x_low, b.x_high, &p.cells.x0, &p.cells.x1);
    any_range(p.of.ny, deeper, b.y_low, b.y_high, &p.cells.y0, &p.cells.y1);
    if (any(0, 1)) p.strips.waves = (int)any(1, 3);
    p.plan = temporal_plan_of(&p.strips, &p.shape, p.cells, &b);
    snprintf(what, sizeof what, "%s, norm %d, box %d..%d x %d..%d", problem_text(&p.of), (int)t->norm,
             (int)p.cells.x0, (int)p.cells.x1, (int)p.cells.y0, (int)p.cells.y1);
    return p;
}

/* A warp's cells of a row begin at x - halo; those stored do not come from further away, or from beyond sides
 * that it knows. */
static void check_part(const pass *p, const cover *c, const temporal_parts *parts, const temporal_part *part,
                       unsigned items)
{
    const bool inner = parts == &p->plan.interior, side = !inner && part->first_item < parts->sides;
    const int64_t depth = p->strips.depth, piece = p->strips.piece, ghosts = p->strips.side_ghosts,
                  halo = side ? 0 : temporal_halo_cells((int)piece, (int)depth),
                  width = inner  ? p->strips.stored
                          : side ? p->strips.side_cells
                                 : p->strips.band_stored,
                  over = p->of.sides.x_high.kind == BOUNDARY_PERIODIC && p->cells.x1 == p->of.nx
                             ? TEMPORAL_OVER
                             : 0;
    const box in = part->cells;
    CHECK(items == part->columns * (uint64_t)((box_height(in) + part->height - 1) / part->height));
    CHECK(side || part->x_first % piece == 0);
    CHECK(!inner || (part->x_first == in.x0 && box_width(in) % p->strips.end_piece == 0));
    CHECK(p->cells.x0 <= in.x0 && in.x1 <= p->cells.x1 + over && p->cells.y0 <= in.y0 &&
          in.y1 <= p->cells.y1);
    for (unsigned i = 0; i < part->columns; i++) {
        const int64_t x = part->x_first + (int64_t)i * width;
        const box stored = box_intersect(in, box_make(x, x + width, in.y0, in.y1)),
                  read = temporal_extent(&p->shape, stored, depth, &p->of.sides);
        const bool low = read.x0 > stored.x0 - depth, high = read.x1 < stored.x1 + depth;
        CHECK(x - halo <= stored.x0 - depth || (low && x - halo <= -ghosts));
        CHECK(x + width + halo >= stored.x1 + depth || (high && x + width + halo >= p->of.nx + ghosts));
        CHECK(side || !(low || high));
        CHECK(!inner || box_height(read) == box_height(stored) + 2 * depth);
        cover_add(c, box_intersect(stored, p->cells));
    }
}

static void passes(void **unused)
{
    enum { CASES = SANITIZED ? 7000 : 30000 };
    for (int i = 0; i < CASES; i++) {
        const pass p = any_pass();
        const cover c = cover_begin(p.cells);
        const temporal_parts *const both[] = { &p.plan.interior, &p.plan.border }, *const border = both[1];
        for (int k = 0; k < 2; k++)
            for (int j = 0, n = both[k]->count; j < n; j++) {
                const temporal_part *const part = &both[k]->part[j];
                const unsigned end = j + 1 < n ? part[1].first_item : both[k]->items;
                CHECK(j > 0 || part->first_item == 0);
                check_part(&p, &c, both[k], part, end - part->first_item);
            }
        cover_end(&c, true);
        CHECK(border->sides <= border->alone && border->alone <= border->warps &&
              border->warps <= border->items);
        CHECK((border->warps > border->alone) == (border->items > border->alone));
    }
    const pass p = any_pass();
    const temporal_plan plan =
        temporal_plan_of(&p.strips, &p.shape, box_make(0, 0, 0, p.of.ny), &p.of.sides);
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
        assert_int_equal(temporal_longest(&op, 1, false).steps, has);
        for (int most = 1, before = 0; most <= 20; most++) {
            const int steps = temporal_longest(&op, most, false).steps,
                      norm = temporal_longest(&op, most, true).steps;
            assert_true(steps <= most && (steps == before || steps == most));
            assert_true(norm == 0 || (norm <= most && temporal_longest(&op, norm, false).steps == norm));
            before = steps;
        }
    }
    const stencil heat = { .form = STENCIL_STAR, .radius = 1, .type = DTYPE_F32 };
    assert_int_equal(temporal_longest(&heat, 16, false).steps, 12);
    assert_int_equal(temporal_longest(&heat, 3, true).steps, 0);
}

/* ---- persistent tiles: spans are those of one axis, and so are the checks. A cell that a tile takes is none
 * of its own along one axis at least, and to be given along that one is enough ---- */

enum { SIDE_MIN = 8, SIDE_MAX = 2200, RANKS_MAX = 3 /* at either side of the domain, and between */ };

static const persistent_tiling *const persistent_tables[] = { persistent_star_f32, persistent_star_f64 };
static const int persistent_rows[] = { sizeof persistent_star_f32 / sizeof *persistent_star_f32,
                                       sizeof persistent_star_f64 / sizeof *persistent_star_f64 };

/* One axis of a plan; cells and tiles are those of each rank. */
typedef struct axis {
    int ranks, cells, tiles, own, held, halo;
    int unit;       /* a lane's columns, or a row: whatever begins or ends does so at a multiple of it */
    int depth;      /* at the next exchange own cells depend on those so far away */
    bool low, high; /* these sides of the domain mirror */
    bool flags;     /* a tile waits for those next to it alone */
} axis;

/* Cells `depth` from those that the tile takes, or from a mirror at its end, are right until the next
 * exchange: its own are among them, and none lies beyond a mirror. */
static persistent_span span_of(const axis *a, int tile)
{
    const bool low = a->low && tile < a->tiles, high = a->high && tile >= (a->ranks - 1) * a->tiles;
    const persistent_span s =
        persistent_span_of(a->cells, low, high, tile % a->tiles, a->own, a->held, a->halo);
    const int end = s.first + a->held;
    CHECK(s.own_low < s.own_high);
    CHECK(s.first <= s.low && s.low <= s.own_low && s.own_high <= s.high && s.high <= end);
    CHECK(s.at_low == (low && s.first == 0) && (!low || s.first >= 0));
    CHECK(s.at_high == (high && end == a->cells) && (!high || end <= a->cells));
    CHECK((s.at_low && s.low == 0) || s.low + a->depth <= s.own_low);
    CHECK((s.at_high && s.high == end) || s.own_high + a->depth <= s.high);
    /* one other length at most */
    CHECK(-a->halo <= s.low && s.high <= a->cells + a->halo && a->halo <= a->cells);
    const int ends[] = { s.first, s.own_low, s.own_high, s.low, s.high, s.band_low, s.band_high };
    for (int i = 0; i < 7; i++) CHECK(ends[i] % a->unit == 0);
    return s;
}

/* Those cells that others take, and no others, are given, by a tile next to them. */
static void check_axis(const axis *a)
{
    static int owner[RANKS_MAX * SIDE_MAX];
    static bool given[RANKS_MAX * SIDE_MAX], taken[RANKS_MAX * SIDE_MAX];
    const int cells = a->ranks * a->cells, tiles = a->ranks * a->tiles;
    const cover c = cover_begin(box_make(0, cells, 0, 1));
    CHECK(a->tiles > 0 && a->depth > 0 && a->cells % a->unit == 0 && a->halo % a->unit == 0);
    memset(taken, 0, sizeof taken);
    for (int tile = 0; tile < tiles; tile++) {
        const int begin = tile / a->tiles * a->cells;
        const persistent_span s = span_of(a, tile);
        CHECK(0 <= s.own_low && s.own_high <= a->cells);
        cover_add(&c, box_make(begin + s.own_low, begin + s.own_high, 0, 1));
        for (int at = s.own_low; at < s.own_high; at++)
            owner[begin + at] = tile, given[begin + at] = persistent_is_given(&s, at);
    }
    cover_end(&c, true);
    for (int tile = 0; tile < tiles; tile++) {
        const persistent_span s = span_of(a, tile);
        for (int at = s.low; at < s.high; at++) {
            if (persistent_is_own(&s, at)) continue;
            const int from = persistent_wrapped(tile / a->tiles * a->cells + at, cells),
                      next = at < s.own_low ? tile - 1 : tile + 1;
            CHECK(0 <= from && from < cells);
            CHECK(!a->flags || owner[from] == persistent_wrapped(next, tiles));
            taken[from] = true;
        }
    }
    CHECK(memcmp(taken, given, (size_t)cells * sizeof *taken) == 0);
}

static void check_plan(const problem *q, int ranks, int processors, const persistent_plan *p)
{
    const boundary *b = &q->sides;
    const persistent_tiling *t = &persistent_tables[q->op.type][p->tiling];
    const int depth = p->steps_between * q->op.radius;
    const axis x = { 1, (int)q->nx, p->tiles_x, p->width, 32 * t->columns, p->halo_x, t->columns, depth,
                     boundary_mirrors(b->x_low.kind), boundary_mirrors(b->x_high.kind), t->flags },
               y = { ranks, (int)q->ny, p->tiles_y, p->height, t->rows * p->warps, p->halo_y, 1, depth,
                     boundary_mirrors(b->y_low.kind), boundary_mirrors(b->y_high.kind), t->flags };
    snprintf(what, sizeof what, "%s, %d ranks: %dx%d tiles of %dx%d, halo %d, %d", problem_text(q), ranks,
             x.tiles, y.tiles, x.own, y.own, x.halo, y.halo);
    CHECK(t->radius == q->op.radius && p->steps_between >= 1 && p->step_s > 0);
    CHECK(p->warps >= 1 && p->warps <= t->warps && p->tiles_x * p->tiles_y <= processors);
    check_axis(&x);
    check_axis(&y);
}

/* Small ones as often as large ones. */
static int64_t any_side(int unit)
{
    static const int most[] = { 70, 200, 700, SIDE_MAX };
    return any(SIDE_MIN, most[any(0, 3)]) / unit * unit;
}

static void persistent_tiles(void **unused)
{
    enum { ROWS_MAX = 16, CASES = 4 * 8 * SIDE_PAIRS * SIDE_PAIRS * (SANITIZED ? 20 : 150) };
    static const int units[] = { 8, 8, 2, 1 }, processors[] = { 1, 16, 108, 132 };
    const size_t shared_bytes_most = 163 * 1024; /* of a block, on sm_80 */
    int plans[2][ROWS_MAX] = { { 0 } };
    for (int i = 0; i < CASES; i++) {
        const int ranks = (int)any(1, RANKS_MAX), gpu = processors[i % 4], kind = i / 4 % 8;
        const problem q = { .op = { .form = STENCIL_STAR, .radius = 1 + kind / 2, .type = (dtype)(kind % 2) },
                            .nx = any_side(units[any(0, 3)]),
                            .ny = any_side(1),
                            .sides = side_pairs_of(i / 32 % SIDE_PAIRS, i / 32 / SIDE_PAIRS % SIDE_PAIRS) };
        stencil other = q.op; /* no kernel serves it */
        persistent_plan p;
        if (i % 5 == 0) other.radius = 5;
        else if (i % 5 == 1) other.has_prev = true;
        else other.form = i % 2 ? STENCIL_LINE : STENCIL_BOX;
        assert_false(persistent_plan_of(&other, q.nx, q.ny, &q.sides, ranks > 1, gpu, &p));
        if (!persistent_plan_of(&q.op, q.nx, q.ny, &q.sides, ranks > 1, gpu, &p)) continue;
        assert_in_range(p.tiling, 0, persistent_rows[q.op.type] - 1);
        check_plan(&q, ranks, gpu, &p);
        plans[q.op.type][p.tiling]++;
    }
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
        for (int row = 0; row < persistent_rows[type]; row++) {
            const persistent_tiling *t = &persistent_tables[type][row];
            const size_t bytes = persistent_shared_bytes(t, t->warps, type);
            if (plans[type][row] == 0 || bytes > shared_bytes_most)
                fail_msg("row %d of the %s table serves %d fields, with %zu bytes of shared memory", row,
                         dtype_name(type), plans[type][row], bytes);
        }
    }
}

/* ---- tiles of a distributed transpose: they begin on lines of source and target ---- */

static void transpose_tiles(void **unused)
{
    static const int64_t sides[] = { 1, 2, 31, 32, 33, 64, 127, 129, 300, 1027 };
    for (int i = 0; i < 10 * 10 * 2 * 4; i++) {
        const int cell_bytes = i % 2 ? 8 : 4, line = FIELD_ALIGN_BYTES / cell_bytes, shift = i / 2 % 4;
        const transpose_part p = { sides[i / 8 % 10], sides[i / 80], shift * 5 % line, shift * 11 % line };
        const box all = box_make(0, p.cols, 0, p.rows);
        const cover c = cover_begin(all);
        snprintf(what, sizeof what, "part of %d x %d, shift %d", (int)p.rows, (int)p.cols, shift);
        for (int64_t n = 0; n < transpose_chunks(&p, cell_bytes) * transpose_chunk_tiles(cell_bytes); n++) {
            const transpose_corner at = transpose_tile_corner(&p, cell_bytes, n);
            CHECK((at.row + p.above) % line == 0 && (at.col + p.left) % line == 0);
            CHECK(at.col < p.cols); /* the kernel asks for rows alone whether there is anything */
            const box tile = box_make(at.col, at.col + TRANSPOSE_TILE_BYTES_ACROSS / cell_bytes, at.row,
                                      at.row + TRANSPOSE_TILE_BYTES_DOWN / cell_bytes);
            cover_add(&c, box_intersect(all, tile));
        }
        cover_end(&c, true);
    }
    assert_int_equal(transpose_chunks(&(transpose_part){ 0, 5, 3, 3 }, 8), 0);
}

/* A rank's shared block keeps cells for the other ranks. */
static void transpose_blocks(void **unused)
{
    for (int ranks = 2; ranks <= 7; ranks++)
        for (int at = 0; at < ranks; at++) {
            const transpose_layout b = { .ranks = ranks, .me = at, .slots = ranks == 2 ? 5 : 2, .lag = 1 };
            const cover c = cover_begin(box_make(0, transpose_layout_bytes(&b), 0, 1));
            snprintf(what, sizeof what, "rank %d of %d", at, ranks);
            for (int step = 1; step < ranks; step++) {
                const transpose_places p = transpose_places_of(&b, at, (at + step) % ranks);
                const int64_t places[][2] = { { p.full, sizeof(uint64_t) },  { p.free, sizeof(uint64_t) },
                                              { p.given, sizeof(uint32_t) }, { p.taken, sizeof(uint32_t) },
                                              { p.ring, TRANSPOSE_CHUNK_BYTES } };
                CHECK(p.ring % FIELD_ALIGN_BYTES == 0);
                for (int k = 0; k < 5; k++) {
                    const int64_t from = places[k][0], end = from + b.slots * places[k][1];
                    CHECK(0 <= from && end <= c.cells.x1);
                    cover_add(&c, box_make(from, end, 0, 1));
                }
            }
            cover_end(&c, false);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes),           cmocka_unit_test(all_numbers_of_steps),
        cmocka_unit_test(persistent_tiles), cmocka_unit_test(transpose_tiles),
        cmocka_unit_test(transpose_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
