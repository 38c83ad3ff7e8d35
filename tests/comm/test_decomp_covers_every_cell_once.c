/* Every process grid covers every cell once, with neighbours that agree from both sides, and refuses what
 * does not fit in one sentence that names the key and the limit. A transpose of 2^33 cells between two grids
 * is cut into messages that tile it, each small enough for one MPI count, and so are the chunks of a halo
 * message of 2^33 bytes. Pure arithmetic: nothing is allocated. */
#include <limits.h>
#include <string.h>

#include "exchange/redist.h"
#include "support/unit.h"
#include "transports/message.h"

enum { RANKS_MAX = 64, SIDE_MAX = 131 };

static void count_owners(const decomp *d)
{
    static unsigned char owners[SIDE_MAX * SIDE_MAX];
    memset(owners, 0, sizeof owners);
    for (int r = 0; r < d->ranks_x * d->ranks_y; r++) {
        const box b = decomp_box(d, r);
        assert_true(b.x0 >= 0 && b.x1 <= d->nx && b.y0 >= 0 && b.y1 <= d->ny);
        for (int64_t y = b.y0; y < b.y1; y++)
            for (int64_t x = b.x0; x < b.x1; x++) owners[y * d->nx + x]++;
    }
    for (int64_t i = 0; i < d->nx * d->ny; i++) assert_int_equal(owners[i], 1);
}

/* A neighbour is there where the axes are cut and do not end; it has this rank for its own in the opposite
 * direction, and begins where this one ends. */
static void check_neighbours(const decomp *d, int depth)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int back = DECOMP_NEIGHBOURS - 1 - k, dx = decomp_dx[k], dy = decomp_dy[k];
        const int x = d->rank % d->ranks_x + dx, y = d->rank / d->ranks_x + dy;
        const bool on_x = dx == 0 || (d->ranks_x > 1 && (d->periodic_x || (x >= 0 && x < d->ranks_x))),
                   on_y = dy == 0 || (d->ranks_y > 1 && (d->periodic_y || (y >= 0 && y < d->ranks_y)));
        assert_true(decomp_dx[back] == -dx && decomp_dy[back] == -dy && d->neighbour[k] != d->rank);
        assert_int_equal(d->neighbour[k] >= 0, on_x && on_y);
        if (d->neighbour[k] < 0) continue;
        const decomp n = decomp_of_rank(d, d->neighbour[k]);
        assert_int_equal(n.neighbour[back], d->rank);
        assert_true(dx == 0 ? n.own.x0 == d->own.x0 && n.own.x1 == d->own.x1
                            : (dx < 0 || n.own.x0 == d->own.x1 % d->nx) && box_width(n.own) >= depth);
        assert_true(dy == 0 ? n.own.y0 == d->own.y0 && n.own.y1 == d->own.y1
                            : (dy < 0 || n.own.y0 == d->own.y1 % d->ny) && box_height(n.own) >= depth);
    }
}

static void every_cell_once_and_neighbours_agree(void **state)
{
    const int64_t sides[][2] = { { 1, 1 },   { 7, 1 },   { 131, 1 }, { 1, 101 },
                                 { 17, 13 }, { 64, 64 }, { 97, 5 },  { 131, 127 } };
    int made = 0;
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int ranks = 1; ranks <= RANKS_MAX; ranks++)
            for (int i = 0; i < 12; i++) {
                const int depth = (const int[]){ 0, 1, 3 }[i / 4];
                sentence why;
                decomp first = { sides[s][0], sides[s][1], .periodic_x = i & 1, .periodic_y = i & 2 };
                if (!decomp_make(&first, ranks, depth, &why)) continue;
                made++;
                count_owners(&first);
                for (int r = 0; r < ranks; r++) {
                    const decomp d = decomp_of_rank(&first, r);
                    assert_int_equal(d.rank, r);
                    check_neighbours(&d, depth);
                }
            }
    assert_true(made > 2000);
}

/* Part i starts at floor(n i / parts), whatever their product: 128-bit arithmetic is the judge. */
static void parts_start_where_they_must(void **state)
{
    static const int64_t cells[] = { 1, 5, 131, 10007, 1LL << 20, (1LL << 40) - 1, 1LL << 40 };
    static const int64_t parts[] = { 1, 7, 9, 49, 1 << 24 };
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            for (int64_t i = 0; i <= parts[p]; i += 1 + parts[p] / 50)
                assert_true(decomp_part_start(cells[c], i, parts[p]) ==
                            (int64_t)((__extension__(__int128) cells[c]) * i / parts[p]));
}

/* The columns of the grid with the cheapest halo, or the words of the refusal. */
static void cheapest_halo_or_why_none_fits(void **state)
{
    static const struct {
        int64_t nx, ny;
        int ranks, asked_x, asked_y, depth, ranks_x;
        const char *words[3];
    } cases[] = {
        { 1024, 1024, 4, 0, 0, 1, 1, { "" } },  /* 1 x 4 and 2 x 2 move the same: rows win */
        { 1024, 1024, 16, 0, 0, 1, 1, { "" } }, /* 2 columns and 8 rows cost as much: a column counts 4 */
        { 1024, 1024, 64, 0, 0, 1, 4, { "" } }, /* 64 rows; 4 columns and 16 rows cost 32 */
        { 2048, 512, 2, 0, 0, 1, 1, { "" } },   /* four times as wide as high: rows still win */
        { 65536, 64, 4, 0, 0, 1, 4, { "" } },   /* a long row: columns are the short sides */
        { 1000, 1, 6, 0, 0, 4, 6, { "" } },
        { 1024, 1024, 8, 8, 0, 1, 8, { "" } }, /* one axis asked for fixes the other */
        { 1024, 1024, 8, 0, 2, 1, 4, { "" } },
        { 64, 64, 4, 3, 2, 1, 0, { "run.ranks_x = 3", "run.ranks_y = 2", "need 6 ranks, and there are 4" } },
        { 64, 64, 4, 3, 0, 1, 0, { "run.ranks_x = 3", "4 ranks", "cannot be cut into 3 columns" } },
        { 64, 64, 4, 0, 3, 1, 0, { "run.ranks_y = 3", "4 ranks", "cannot be cut into 3 rows" } },
        { 10, 64, 4, 4, 1, 3, 0, { "grid.nx = 10", "run.ranks_x", "at most 3" } },
        { 64, 10, 4, 0, 4, 3, 0, { "grid.ny = 10", "run.ranks_y", "at most 3" } },
        { 64, 1, 4, 1, 4, 1, 0, { "grid.ny = 1", "run.ranks_y", "at most 1" } },
        { 5, 5, 7, 0, 0, 2, 0, { "grid.nx = 5", "grid.ny = 5", "at most 2" } },
        { 3, 64, 1, 0, 0, 4, 0, { "grid.nx = 3", "at least 4", "along x" } },
        { 64, 3, 1, 0, 0, 4, 0, { "grid.ny = 3", "at least 4", "along y" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sentence why = { "" };
        decomp d = { .nx = cases[i].nx,
                     .ny = cases[i].ny,
                     .ranks_x = cases[i].asked_x,
                     .ranks_y = cases[i].asked_y,
                     .periodic_x = true,
                     .periodic_y = true };
        const bool made = decomp_make(&d, cases[i].ranks, cases[i].depth, &why);
        bool right = (made ? d.ranks_x : 0) == cases[i].ranks_x && !why.text[0] == !cases[i].words[0][0];
        for (int k = 0; k < 3 && cases[i].words[k]; k++) right = right && strstr(why.text, cases[i].words[k]);
        if (!right) fail_msg("case %zu: %d columns, \"%s\"", i, d.ranks_x, why.text);
    }
}

/* ---- messages ---- */

/* The parts of a cut, in order, tile its box: rows of parts with common edges. Returns how many. */
static int64_t parts_that_tile(box whole, dtype t)
{
    const redist_plan_cut c = redist_plan_cut_of(whole, t);
    int64_t cells = 0;
    for (int64_t p = 0; p < redist_plan_parts(&c); p++) {
        const box b = redist_plan_part(&c, p);
        const int64_t bytes = box_cells(b) * (int64_t)dtype_bytes(t);
        assert_true(bytes > 0 && bytes <= MESSAGE_PIECE_BYTES_MAX && bytes <= INT_MAX);
        assert_true(b.x0 == (p % c.bands_x == 0 ? whole.x0 : redist_plan_part(&c, p - 1).x1));
        assert_true(b.y0 == (p < c.bands_x ? whole.y0 : redist_plan_part(&c, p - c.bands_x).y1));
        cells += box_cells(b);
    }
    assert_true(cells == box_cells(whole));
    return redist_plan_parts(&c);
}

static void boxes_are_cut(void **state)
{
    const int64_t all = 1LL << 33;
    const int64_t widths[] = { 1, 2, 63, 64, 65, 1000, 92681, 1 << 20, all / 64, all / 63, all / 2 + 1, all };
    decomp from = { 1 << 17, 1 << 16, .ranks_x = 1 }, to = { 1 << 16, 1 << 17, .ranks_x = 3 };
    sentence why;
    int64_t cells = 0;
    for (size_t i = 0; i < 2 * sizeof widths / sizeof *widths; i++) {
        const box whole = box_make(3, 3 + widths[i / 2], 5, 5 + all / widths[i / 2]);
        const int64_t parts = parts_that_tile(whole, i % 2 ? DTYPE_F64 : DTYPE_F32);
        assert_true(parts >= 32 && parts <= 160); /* tags stay small */
    }
    /* where a 64th of the box is more than one call may carry */
    (void)parts_that_tile(box_make(0, 1 << 18, 0, 1 << 18), DTYPE_F64);
    (void)parts_that_tile(box_make(0, 1LL << 36, 0, 1), DTYPE_F64);
    (void)parts_that_tile(box_make(0, 1, 0, (1LL << 36) + 1), DTYPE_F32);
    assert_true(parts_that_tile(box_make(4, 4, 0, 9), DTYPE_F64) == 0);
    assert_true(parts_that_tile(box_make(0, 1024, 0, 1024), DTYPE_F64) == 1);
    assert_true(parts_that_tile(box_make(0, 1024, 0, 1025), DTYPE_F64) == 2);
    assert_true(decomp_make(&from, 6, 0, &why) && decomp_make(&to, 6, 0, &why));
    for (int pair = 0; pair < 36; pair++) {
        const box b = redist_plan_box(&from, pair / 6, &to, pair % 6);
        (void)parts_that_tile(b, DTYPE_F64);
        cells += box_cells(b);
    }
    assert_true(cells == all);
}

static void chunks_of_halo_messages(void **state)
{
    const int64_t bytes = ((int64_t)1 << 33) + 12, most = MESSAGE_PIECE_BYTES_MAX;
    assert_true(message_chunk_of(bytes, INT64_MAX) == most && message_chunk_of(bytes, 1 << 20) == most);
    assert_true(message_chunk_of(1 << 20, 1 << 20) == 1 << 20);
    assert_true(message_chunk_of(100 << 20, 1 << 20) == message_align((100 << 20) / 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_once_and_neighbours_agree), cmocka_unit_test(parts_start_where_they_must),
        cmocka_unit_test(cheapest_halo_or_why_none_fits),       cmocka_unit_test(boxes_are_cut),
        cmocka_unit_test(chunks_of_halo_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
