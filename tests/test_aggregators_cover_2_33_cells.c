/* A state of 2^33 cells and more on thousands of ranks: every cell of the file is in one window of one writer, every window is made
 * of what ranks have of it in one run of memory, messages fit MPI's counts, and rows that are put together of pieces lie in the
 * file where the format says. Arithmetic but for a few rows, in a file of holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "aggregate.h"
#include "checkpoint_fixture.h"

/* 2^33 cells and a little, of no round shape */
enum { NX = 131101, NY = 65537 };

typedef struct layout {
    int64_t nx, ny;
    int columns, rows; /* of ranks */
} layout;

static const layout layouts[] = { { NX, NY, 64, 48 }, { NX, NY, 7, 3 }, { (int64_t)NX * NY, 1, 1000, 1 },
                                  { (int64_t)1 << 32, 3, 100, 1 } };

static box *boxes_of(const layout *l)
{
    const int ranks = l->columns * l->rows;
    box *boxes = malloc((size_t)ranks * sizeof *boxes);
    for (int r = 0; r < ranks; r++) boxes[r] = fixture_box(l->nx, l->ny, l->columns, l->rows, r);
    return boxes;
}

static void writers_are_spread(void **state)
{
    (void)state;
    const int of[] = { 1, 2, 3, 7, 64, 3072 };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int writers = 1; writers <= of[i]; writers += writers < 70 ? 1 : 501) {
            int found = 0;
            for (int r = 0; r < of[i]; r++) {
                const int number = aggregate_number(of[i], writers, r);
                if (number < 0) continue;
                assert_int_equal(number, found++);
                assert_int_equal(aggregate_rank(of[i], writers, number), r);
            }
            assert_int_equal(found, writers);
            assert_int_equal(aggregate_rank(of[i], writers, 0), 0);
        }
}

/* Asked for, or chosen: one a row of the process grid, where that has columns and a host's page cache is not enough. */
static void so_many_write(void **state)
{
    (void)state;
    const layout rows = { NX, NY, 1, 96 }, grid = { NX, NY, 64, 48 }, flat = { (int64_t)NX * NY, 1, 1000, 1 };
    const struct {
        const layout *l;
        int asked, short_bytes, on_one_host, on_more;
    } of[] = { { &rows, 0, 1 << 20, 0, 0 },  { &rows, 5, 0, 5, 5 },     { &rows, 97, 0, 96, 96 }, { &grid, 0, 64 << 10, 48, 48 },
               { &grid, 0, 16 << 10, 0, 48 }, { &grid, 7, 64 << 10, 7, 7 }, { &flat, 0, 1 << 20, 0, 0 },  { &flat, 4, 0, 4, 4 } };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const layout *l = of[i].l;
        box *boxes = boxes_of(l);
        checkpoint_state s = { .type = DTYPE_F64, .fields = 1, .aggregators = of[i].asked };
        s.field[0] = (checkpoint_field){ .name = "u", .nx = l->nx, .ny = l->ny };
        assert_int_equal(aggregate_writers(&s, boxes, l->columns * l->rows, true, of[i].short_bytes), of[i].on_one_host);
        assert_int_equal(aggregate_writers(&s, boxes, l->columns * l->rows, false, of[i].short_bytes), of[i].on_more);
        free(boxes);
    }
}

/* Its windows follow one another, and so do the pieces of ranks, row by row. */
static void check_share(const checkpoint_field *f, box share, const box *boxes, int ranks, aggregate_window *w)
{
    int64_t cells = 0;
    const int64_t windows = checkpoint_bands(share, sizeof(double), aggregate_window_bytes);
    for (int64_t n = 0; n < windows; n++) {
        w->cells = checkpoint_band(share, sizeof(double), aggregate_window_bytes, n);
        assert_true((w->cells.y0 - share.y0) * box_width(share) + w->cells.x0 - share.x0 == cells);
        assert_true(box_width(w->cells) == f->nx || box_height(w->cells) == 1);
        assert_true((size_t)box_cells(w->cells) * sizeof(double) <= aggregate_window_bytes);
        aggregate_find_pieces(w, boxes, ranks);
        int64_t found = 0;
        for (int i = 0; i < w->pieces; i++) {
            const box own = boxes[w->piece[i].rank], piece = w->piece[i].cells;
            assert_true(box_width(piece) == box_width(own) || box_height(piece) == 1); /* one run of that rank's memory */
            assert_true(box_cells(piece) * (int64_t)sizeof(double) <= INT_MAX);
            found += box_cells(piece);
        }
        assert_true(found == box_cells(w->cells));
        cells += found;
    }
    assert_true(cells == box_cells(share));
}

static void every_cell_is_in_one_window(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof layouts / sizeof *layouts; n++) {
        const layout *l = &layouts[n];
        const int ranks = l->columns * l->rows, writers[] = { 1, 5, ranks / 3, ranks };
        const checkpoint_field f = { .name = "u", .nx = l->nx, .ny = l->ny, .own = box_make(0, l->nx, 0, l->ny) };
        const int64_t lines = checkpoint_block_lines(&f, DTYPE_F64);
        box *boxes = boxes_of(l);
        aggregate_window w = { .piece = malloc((size_t)ranks * sizeof *w.piece) };
        for (size_t k = 0; k < sizeof writers / sizeof *writers; k++) {
            int64_t next = 0;
            for (int i = 0; i < writers[k]; i++) {
                const box share = aggregate_share(&f, DTYPE_F64, writers[k], i);
                if (box_empty(share)) continue;
                const int64_t first = l->ny > 1 ? share.y0 : share.x0;
                assert_true(first == next && first % lines == 0 && (l->ny == 1 || box_width(share) == l->nx));
                next = l->ny > 1 ? share.y1 : share.x1;
                if (k == 0 || i % (1 + ranks / 50) == 0) check_share(&f, share, boxes, ranks, &w);
            }
            assert_true(next == (l->ny > 1 ? l->ny : l->nx));
        }
        free(w.piece);
        free(boxes);
    }
}

/* Two rows of a window that crosses 2^32 cells, 2^35 bytes, with a value of its own in every cell. */
static void rows_are_put_together_at_their_place(void **state)
{
    (void)state;
    const layout *l = &layouts[0];
    const int ranks = l->columns * l->rows;
    const int64_t y = ((int64_t)1 << 32) / NX;
    const uint64_t field_at_bytes = 4096;
    const checkpoint_field f = { .name = "u", .nx = NX, .ny = NY };
    char path[] = "/tmp/weft_test_XXXXXX";
    box *boxes = boxes_of(l);
    aggregate_window w = { .cells = box_make(0, NX, y, y + 2), .piece = malloc((size_t)ranks * sizeof *w.piece) };
    double *room = malloc(2 * NX * sizeof *room), *found = malloc(2 * NX * sizeof *found);
    aggregate_find_pieces(&w, boxes, ranks);
    assert_int_equal(w.pieces, l->columns);
    for (int i = 0; i < w.pieces; i++) {
        const box c = w.piece[i].cells;
        double *data = malloc((size_t)box_cells(c) * sizeof *data), *to = data;
        for (int64_t r = c.y0; r < c.y1; r++)
            for (int64_t x = c.x0; x < c.x1; x++) *to++ = (double)(r * NX + x);
        w.piece[i].data = (char *)data;
    }
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    const void *rows = aggregate_rows(&w, w.cells, sizeof(double), room);
    assert_int_equal(checkpoint_rows_write(fd, field_at_bytes, &f, DTYPE_F64, w.cells, rows), 0);
    const off_t at = (off_t)(field_at_bytes + (uint64_t)y * NX * sizeof(double));
    assert_int_equal(pread(fd, found, 2 * NX * sizeof *found, at), 2 * NX * sizeof *found);
    for (int64_t k = 0; k < 2 * NX; k++) assert_true(found[k] == (double)(y * NX + k));
    /* what one rank has of one row needs no copy */
    const box one = box_make(boxes[5].x0, boxes[5].x0 + 9, y + 1, y + 2);
    assert_true(aggregate_rows(&w, one, sizeof(double), NULL) == w.piece[5].data + (size_t)box_width(boxes[5]) * sizeof(double));
    for (int i = 0; i < w.pieces; i++) free((void *)(uintptr_t)w.piece[i].data);
    close(fd);
    free(room);
    free(found);
    free(w.piece);
    free(boxes);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(writers_are_spread), cmocka_unit_test(so_many_write),
                                        cmocka_unit_test(every_cell_is_in_one_window),
                                        cmocka_unit_test(rows_are_put_together_at_their_place) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
