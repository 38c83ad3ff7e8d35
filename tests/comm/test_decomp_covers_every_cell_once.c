/* Every process grid covers every cell once, with neighbours that agree from both sides, and refuses what
 * does not fit in one sentence that names the key and the limit. */
#include <string.h>

#include "ranks/decomp.h"
#include "support/unit.h"

enum { RANKS_MAX = 64, SIDE_MAX = 131 };

static unsigned char owners[SIDE_MAX * SIDE_MAX];

static decomp make(int64_t nx, int64_t ny, bool px, bool py, int ranks, int rank, int rx, int ry, int depth)
{
    decomp d;
    sentence why = { "" };
    if (!decomp_make(&d, nx, ny, px, py, ranks, rank, rx, ry, depth, &why)) fail_msg("refused: %s", why.text);
    return d;
}

static void count_owners(const decomp *d)
{
    memset(owners, 0, sizeof owners);
    for (int r = 0; r < d->ranks_x * d->ranks_y; r++) {
        const box b = decomp_box(d, r);
        assert_true(b.x0 >= 0 && b.x1 <= d->nx && b.y0 >= 0 && b.y1 <= d->ny);
        for (int64_t y = b.y0; y < b.y1; y++)
            for (int64_t x = b.x0; x < b.x1; x++) owners[y * d->nx + x]++;
    }
    for (int64_t i = 0; i < d->nx * d->ny; i++) assert_int_equal(owners[i], 1);
}

static void check_neighbours(const decomp *d, int depth)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int back = DECOMP_NEIGHBOURS - 1 - k;
        assert_int_equal(decomp_dx[back], -decomp_dx[k]);
        assert_int_equal(decomp_dy[back], -decomp_dy[k]);
        const bool off_x = decomp_dx[k] != 0 && d->ranks_x == 1, off_y = decomp_dy[k] != 0 && d->ranks_y == 1;
        const int x = d->rank_x + decomp_dx[k], y = d->rank_y + decomp_dy[k];
        const bool outside =
            (!d->periodic_x && (x < 0 || x >= d->ranks_x)) || (!d->periodic_y && (y < 0 || y >= d->ranks_y));
        assert_int_equal(d->neighbour[k] >= 0, !off_x && !off_y && !outside);
        assert_true(d->neighbour[k] >= -1 && d->neighbour[k] != d->rank);
        if (d->neighbour[k] < 0) continue;
        const decomp n = decomp_of_rank(d, d->neighbour[k]);
        assert_int_equal(n.neighbour[back], d->rank);
        if (decomp_dx[k] == 0) assert_true(n.own.x0 == d->own.x0 && n.own.x1 == d->own.x1);
        if (decomp_dy[k] == 0) assert_true(n.own.y0 == d->own.y0 && n.own.y1 == d->own.y1);
        if (decomp_dx[k] == 1) assert_true(n.own.x0 == d->own.x1 % d->nx);
        if (decomp_dy[k] == 1) assert_true(n.own.y0 == d->own.y1 % d->ny);
        assert_true(decomp_dx[k] == 0 || box_width(n.own) >= depth);
        assert_true(decomp_dy[k] == 0 || box_height(n.own) >= depth);
    }
}

static void every_cell_once_and_neighbours_agree(void **state)
{
    const int64_t sides[][2] = { { 1, 1 },   { 7, 1 },   { 131, 1 }, { 1, 101 },
                                 { 17, 13 }, { 64, 64 }, { 97, 5 },  { 131, 127 } };
    int made = 0;
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int ranks = 1; ranks <= RANKS_MAX; ranks++)
            for (int depth = 0; depth <= 3; depth += depth ? 2 : 1) {
                const int64_t nx = sides[s][0], ny = sides[s][1];
                sentence why;
                decomp first;
                if (!decomp_make(&first, nx, ny, true, true, ranks, 0, 0, 0, depth, &why)) continue;
                made++;
                assert_int_equal(first.ranks_x * first.ranks_y, ranks);
                count_owners(&first);
                for (int periodic = 0; periodic < 4; periodic++) {
                    const bool px = periodic & 1, py = periodic & 2;
                    for (int r = 0; r < ranks; r++) {
                        const decomp d = make(nx, ny, px, py, ranks, r, first.ranks_x, first.ranks_y, depth);
                        assert_int_equal(d.rank, r);
                        assert_int_equal(d.rank_y * d.ranks_x + d.rank_x, r);
                        check_neighbours(&d, depth);
                    }
                }
            }
    assert_true(made > 500);
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

/* Rows, in 1D cells; also with more ranks than there are of them. */
static void shares_follow_one_another(void **state)
{
    static const int64_t fields[][2] = { { 5, 1 }, { 130, 1 }, { 3, 4 }, { 1, 7 }, { 1LL << 40, 1LL << 20 } };
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        for (int ranks = 1; ranks <= 9; ranks++)
            for (int r = 0; r < ranks; r++) {
                const int64_t nx = fields[k][0], ny = fields[k][1], along = ny == 1 ? nx : ny;
                const box b = decomp_share(nx, ny, ranks, r);
                const int64_t first = decomp_part_start(along, r, ranks),
                              end = decomp_part_start(along, r + 1, ranks);
                assert_true(ny == 1 ? b.x0 == first && b.x1 == end && b.y0 == 0 && b.y1 == 1
                                    : b.y0 == first && b.y1 == end && b.x0 == 0 && b.x1 == nx);
            }
}

static void cheapest_halo_and_rows_first(void **state)
{
    static const struct {
        int64_t nx, ny;
        int ranks, asked_x, asked_y, depth, ranks_x;
    } cases[] = {
        { 1024, 1024, 4, 0, 0, 1, 1 },  /* 1 x 4 and 2 x 2 move the same: rows win */
        { 1024, 1024, 16, 0, 0, 1, 1 }, /* 2 columns and 8 rows cost as much, a column's cells counting 4 */
        { 1024, 1024, 64, 0, 0, 1, 4 }, /* 64 rows; 4 columns and 16 rows cost 32 */
        { 2048, 512, 2, 0, 0, 1, 1 },   /* four times as wide as high: rows still win */
        { 65536, 64, 4, 0, 0, 1, 4 },   /* a long row: columns are the short sides */
        { 1000, 1, 6, 0, 0, 4, 6 },
        { 1024, 1024, 8, 8, 0, 1, 8 }, /* one axis asked for fixes the other */
        { 1024, 1024, 8, 0, 2, 1, 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const decomp d = make(cases[i].nx, cases[i].ny, true, true, cases[i].ranks, 0, cases[i].asked_x,
                              cases[i].asked_y, cases[i].depth);
        assert_int_equal(d.ranks_x, cases[i].ranks_x);
    }
}

static void refusals_name_key_and_limit(void **state)
{
    static const struct {
        int64_t nx, ny;
        int ranks, ranks_x, ranks_y, depth;
        const char *words[3]; /* all of them stand in the sentence */
    } cases[] = {
        { 64, 64, 4, 3, 2, 1, { "run.ranks_x = 3", "run.ranks_y = 2", "need 6 ranks, and there are 4" } },
        { 64, 64, 4, 3, 0, 1, { "run.ranks_x = 3", "4 ranks", "cannot be cut into 3 columns" } },
        { 64, 64, 4, 0, 3, 1, { "run.ranks_y = 3", "4 ranks", "cannot be cut into 3 rows" } },
        { 10, 64, 4, 4, 1, 3, { "grid.nx = 10", "run.ranks_x", "at most 3" } },
        { 64, 10, 4, 0, 4, 3, { "grid.ny = 10", "run.ranks_y", "at most 3" } },
        { 64, 10, 4, 1, 0, 3, { "grid.ny = 10", "run.ranks_y", "at most 3" } },
        { 64, 1, 4, 1, 4, 1, { "grid.ny = 1", "run.ranks_y", "at most 1" } },
        { 5, 5, 7, 0, 0, 2, { "grid.nx = 5", "grid.ny = 5", "at most 2" } },
        { 3, 64, 1, 0, 0, 4, { "grid.nx = 3", "at least 4", "x" } },
        { 64, 3, 1, 0, 0, 4, { "grid.ny = 3", "at least 4", "y" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sentence why = { "" };
        decomp d;
        assert_false(decomp_make(&d, cases[i].nx, cases[i].ny, true, true, cases[i].ranks, 0,
                                 cases[i].ranks_x, cases[i].ranks_y, cases[i].depth, &why));
        for (int w = 0; w < 3; w++)
            if (!strstr(why.text, cases[i].words[w]))
                fail_msg("case %zu: \"%s\" does not say \"%s\"", i, why.text, cases[i].words[w]);
        assert_null(strchr(why.text, '\n'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_once_and_neighbours_agree),
        cmocka_unit_test(parts_start_where_they_must),
        cmocka_unit_test(shares_follow_one_another),
        cmocka_unit_test(cheapest_halo_and_rows_first),
        cmocka_unit_test(refusals_name_key_and_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
