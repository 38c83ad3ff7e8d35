/* A state of 2^33 cells and more on thousands of ranks: every cell of the file is in one window of one
 * writer, every window is made of what ranks have of it in one run of memory, messages fit MPI's counts, and
 * rows that are put together of pieces lie in the file where the format says. Arithmetic but for a few rows,
 * in a file of holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "state/checkpoint_rows.h"
#include "support/checkpoint_fixture.h"
#include "writer/aggregate.h"

/* 2^33 cells and a little, of no round shape */
enum { NX = 131101, NY = 65537 };

typedef struct layout {
    int64_t nx, ny;
    int columns, rows; /* of ranks */
} layout;

static const layout layouts[] = { { NX, NY, 64, 48 }, { NX, NY, 7, 3 }, { (int64_t)NX * NY, 1, 1000, 1 },
                                  { (int64_t)1 << 32, 3, 100, 1 } };

enum { FIELD_AT_BYTES = 20480 };
static const checkpoint_layout file_layout = { .field_at_bytes = { FIELD_AT_BYTES } };

/* `ranks` ranks on hosts_wanted hosts, in order; in turns: rank r is on host r % hosts_wanted. */
static hosts *hosts_for(int ranks, int hosts_wanted, bool in_turns)
{
    int *of = malloc((size_t)ranks * sizeof *of);
    for (int r = 0; r < ranks; r++)
        of[r] = in_turns ? r % hosts_wanted : (int)((int64_t)r * hosts_wanted / ranks);
    hosts *h = hosts_make(of, ranks);
    free(of);
    assert_non_null(h);
    assert_int_equal(h->count, hosts_wanted);
    return h;
}

static checkpoint_state state_for(const layout *l, int asked)
{
    checkpoint_state s = { .type = DTYPE_F64, .fields = 1, .aggregators = asked };
    s.field[0] = (checkpoint_field){
        .name = "u", .nx = l->nx, .ny = l->ny, .own = box_make(0, l->nx, 0, l->ny), .columns = l->columns
    };
    return s;
}

enum { NFS = 0x6969, LUSTRE = 0x0BD00BD0, BEEGFS = 0x19830326, NO_ONES = 0x12345678 };

static void writers_are_spread(void **state)
{
    (void)state;
    const int of[] = { 1, 2, 3, 7, 64, 3072 };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int rule = WRITERS_COLLECT; rule <= WRITERS_ONE_HOST; rule++)
            for (int count = 1; count <= of[i]; count += count < 70 ? 1 : 501) {
                /* hosts, of which every other rank is on the first */
                const int here = rule == WRITERS_ONE_HOST && of[i] > 1 ? 2 : 1;
                hosts *h = hosts_for(of[i], here, true);
                const writers w = { .hosts = h, .rule = (writers_rule)rule, .count = count };
                int found = 0;
                for (int r = 0; r < of[i] && count <= h->begin[1]; r++) {
                    const int number = writers_number(&w, r);
                    if (number < 0) continue;
                    assert_int_equal(number, found++);
                    assert_int_equal(writers_rank(&w, number), r);
                    assert_true(rule != WRITERS_ONE_HOST || h->of[r] == 0);
                }
                assert_true(count > h->begin[1] || found == count);
                assert_int_equal(writers_rank(&w, 0), 0);
                hosts_destroy(&h);
            }
}

/* What one host may do, what a coherent file system lets several do, and that of all others one host writes
 * unless more are asked. */
static void the_file_system_decides(void **state)
{
    (void)state;
    const layout rows = { NX, NY, 1, 96 }, grid = { NX, NY, 64, 48 }, flat = { (int64_t)NX * NY, 1, 1000, 1 };
    const struct {
        const layout *l;
        int hosts;
        uint32_t file_system;
        int asked, short_bytes, count;
        writers_rule rule;
    } of[] = {
        { &rows, 1, NFS, 0, 1 << 20, 0, WRITERS_OWN_CELLS },
        { &rows, 1, NFS, 5, 0, 5, WRITERS_COLLECT },
        { &rows, 1, LUSTRE, 97, 0, 96, WRITERS_COLLECT },
        { &grid, 1, 0, 0, 64 << 10, 48, WRITERS_COLLECT },
        { &grid, 1, NFS, 0, 16 << 10, 0, WRITERS_OWN_CELLS },
        { &flat, 1, NFS, 0, 1 << 20, 0, WRITERS_OWN_CELLS },
        { &rows, 3, LUSTRE, 0, 0, 96, WRITERS_ALIGNED },
        { &grid, 48, LUSTRE, 7, 0, 7, WRITERS_ALIGNED },
        { &rows, 3, NFS, 0, 0, 32, WRITERS_ONE_HOST },
        { &rows, 3, NFS, 32, 0, 32, WRITERS_ONE_HOST },
        { &rows, 3, NFS, 4, 0, 4, WRITERS_ONE_HOST },
        { &rows, 3, NFS, 33, 0, 33, WRITERS_LOCKED },
        { &rows, 96, BEEGFS, 0, 0, 1, WRITERS_ONE_HOST },
        { &rows, 96, NO_ONES, 2, 0, 2, WRITERS_LOCKED },
        { &flat, 4, 0, 0, 0, 250, WRITERS_ONE_HOST },
        { &flat, 4, 0, 2000, 0, 1000, WRITERS_LOCKED },
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const layout *l = of[i].l;
        hosts *h = hosts_for(l->columns * l->rows, of[i].hosts, false);
        const checkpoint_state s = state_for(l, of[i].asked);
        writers w;
        writers_plan(&w, &s, &(writers_facts){ .hosts = h, .file_system = of[i].file_system,
                                               .short_bytes = of[i].short_bytes });
        if (w.rule != of[i].rule || w.count != of[i].count)
            fail_msg("%zu: %s by %d", i, writers_rule_name(w.rule), w.count);
        assert_int_equal(w.piece_bytes, of[i].rule >= WRITERS_ALIGNED ? WRITERS_PIECE_BYTES : 0);
        assert_true(w.why.text[0] != '\0');
        hosts_destroy(&h);
    }
}

static void a_stripe_is_a_piece(void **state)
{
    (void)state;
    const struct {
        uint64_t asked, wanted;
    } of[] = { { 0, 1 << 20 }, { 4096, 1 << 20 }, { 8 << 20, 8 << 20 }, { (1 << 20) + 512, 1 << 20 } };
    const layout l = { 1000, 1000, 1, 4 };
    const checkpoint_state s = state_for(&l, 0);
    hosts *h = hosts_for(4, 2, false);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        writers w;
        writers_plan(&w, &s,
                     &(writers_facts){ .hosts = h, .file_system = LUSTRE, .piece_bytes = of[i].asked });
        assert_int_equal(w.piece_bytes, of[i].wanted);
    }
    hosts_destroy(&h);
}

/* A part's windows follow one another, and so do the pieces of ranks, row by row. */
static void check_window(const checkpoint_field *f, int ranks, aggregate_window *w)
{
    int64_t found = 0;
    assert_true(box_width(w->cells) == f->nx || box_height(w->cells) == 1);
    assert_true((size_t)box_cells(w->cells) * sizeof(double) <= aggregate_window_bytes);
    aggregate_find_pieces(w, f, ranks);
    for (int i = 0; i < w->pieces; i++) {
        const box own = writers_box(f, ranks, w->piece[i].rank), piece = w->piece[i].cells;
        /* one run of that rank's memory */
        assert_true(box_width(piece) == box_width(own) || box_height(piece) == 1);
        assert_true(box_cells(piece) * (int64_t)sizeof(double) <= INT_MAX);
        found += box_cells(piece);
    }
    assert_true(found == box_cells(w->cells));
}

static void check_share(const writers *w, const checkpoint_state *s, int number, int ranks,
                        aggregate_window *window)
{
    const checkpoint_field *f = &s->field[0];
    writers_range range[WRITERS_RANGES];
    const int ranges = writers_ranges(w, s, &file_layout, 0, number, range);
    uint64_t at = range[0].from;
    int in = 0;
    for (int64_t n = 0; n < aggregate_windows(w, s, &file_layout, 0, number); n++) {
        window->cells = aggregate_window_cells(w, s, &file_layout, 0, number, n);
        if (at == range[in].to && in + 1 < ranges) at = range[++in].from;
        assert_true(
            FIELD_AT_BYTES + (uint64_t)(window->cells.y0 * f->nx + window->cells.x0) * sizeof(double) == at);
        check_window(f, ranks, window);
        at += (uint64_t)box_cells(window->cells) * sizeof(double);
    }
    assert_true(ranges == 0 || (at == range[in].to && in == ranges - 1));
}

static int by_begin(const void *a, const void *b)
{
    const writers_range *const x = a, *const y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* All bytes of the field in one range of one writer; borders where they may be; the pieces with structure are
 * rank 0's. */
static void check_ranges(const writers *w, const checkpoint_state *s)
{
    const uint64_t end = FIELD_AT_BYTES + checkpoint_field_bytes(s, 0);
    writers_range *all = malloc((size_t)w->count * WRITERS_RANGES * sizeof *all);
    int count = 0;
    for (int n = 0; n < w->count; n++) {
        const int ranges = writers_ranges(w, s, &file_layout, 0, n, all + count);
        for (int r = 0; r < ranges && w->piece_bytes; r++) {
            const writers_range *range = &all[count + r];
            assert_true(range->from % w->piece_bytes == 0 || (n == 0 && range->from == FIELD_AT_BYTES));
            assert_true(range->to % w->piece_bytes == 0 || (n == 0 && range->to == end));
            if (n > 0)
                assert_true(range->from / w->piece_bytes > 0 &&
                            range->to <= end / w->piece_bytes * w->piece_bytes);
        }
        count += ranges;
    }
    qsort(all, (size_t)count, sizeof *all, by_begin);
    uint64_t at = FIELD_AT_BYTES;
    for (int i = 0; i < count; i++) {
        assert_true(all[i].from == at && all[i].to > at);
        at = all[i].to;
    }
    assert_true(at == end);
    free(all);
}

static void every_cell_is_in_one_window(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof layouts / sizeof *layouts; n++) {
        const layout *l = &layouts[n];
        const int ranks = l->columns * l->rows, count[] = { 1, 5, ranks / 3, ranks };
        const checkpoint_state s = state_for(l, 0);
        hosts *h = hosts_for(ranks, 3, false);
        aggregate_window window = { .piece = malloc((size_t)ranks * sizeof *window.piece) };
        for (size_t k = 0; k < sizeof count / sizeof *count; k++)
            for (int aligned = 0; aligned < 2; aligned++) {
                const writers w = { .hosts = h,
                                    .rule = aligned ? WRITERS_ALIGNED : WRITERS_COLLECT,
                                    .count = count[k],
                                    .piece_bytes = aligned ? (uint64_t)WRITERS_PIECE_BYTES << (k % 3) : 0 };
                check_ranges(&w, &s);
                for (int i = 0; i < count[k]; i += k == 0 ? 1 : 1 + ranks / 50)
                    check_share(&w, &s, i, ranks, &window);
            }
        hosts_destroy(&h);
        free(window.piece);
    }
}

/* Small fields and shares without a piece of their own. */
static void any_size_is_covered(void **state)
{
    (void)state;
    hosts *h = hosts_for(7, 3, true);
    for (int64_t nx = 1; nx < 900000; nx = nx * 3 + 1)
        for (int count = 1; count <= 7; count++) {
            const layout l = { nx, 7, 1, 7 };
            const checkpoint_state s = state_for(&l, 0);
            const writers w = {
                .hosts = h, .rule = WRITERS_ALIGNED, .count = count, .piece_bytes = WRITERS_PIECE_BYTES
            };
            check_ranges(&w, &s);
        }
    hosts_destroy(&h);
}

/* Which writer has the byte at that place: by looking through all ranges. */
static int writer_of(const writers *w, const checkpoint_state *s, uint64_t at)
{
    for (int n = 0; n < w->count; n++) {
        writers_range range[WRITERS_RANGES];
        const int ranges = writers_ranges(w, s, &file_layout, 0, n, range);
        for (int r = 0; r < ranges; r++)
            if (at >= range[r].from && at < range[r].to) return n;
    }
    return -1;
}

/* Every block is read back, and every byte of it by a host that did not write it. */
static void another_host_reads(void **state)
{
    (void)state;
    const struct {
        int64_t nx, ny;
        int ranks, hosts, count;
        bool in_turns;
        writers_rule rule;
    } of[] = {
        { 1003, 3000, 6, 2, 6, false, WRITERS_ALIGNED },  { 1003, 3000, 6, 3, 4, true, WRITERS_LOCKED },
        { 1003, 3000, 5, 2, 2, false, WRITERS_ONE_HOST }, { 300001, 9, 4, 4, 4, false, WRITERS_ALIGNED },
        { 3000001, 1, 7, 3, 7, true, WRITERS_ALIGNED },   { 40, 30, 4, 2, 4, false, WRITERS_ALIGNED }
    };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        const layout l = { of[k].nx, of[k].ny, 1, 1 };
        const checkpoint_state s = state_for(&l, 0);
        hosts *h = hosts_for(of[k].ranks, of[k].hosts, of[k].in_turns);
        const writers w = { .hosts = h, .rule = of[k].rule, .count = of[k].count,
                            .piece_bytes = of[k].rule == WRITERS_ONE_HOST ? 0 : WRITERS_PIECE_BYTES };
        const int64_t lines = checkpoint_block_lines(&s.field[0], DTYPE_F64),
                      blocks = checkpoint_blocks(&s.field[0], DTYPE_F64);
        for (int64_t b = 0; b < blocks; b++) {
            const box cells = checkpoint_block(&s.field[0], lines, b);
            const uint64_t from = FIELD_AT_BYTES + (uint64_t)(cells.y0 * l.nx + cells.x0) * 8,
                           to = from + (uint64_t)box_cells(cells) * 8;
            int readers = 0;
            /* others[h]: a rank that is not on h reads it */
            bool border = false, any_border = false, others[8] = { false };
            for (int r = 0; r < of[k].ranks; r++) {
                if (!writers_read_back(&w, &s, &file_layout, 0, b, r, &border)) continue;
                readers++;
                any_border = any_border || border;
                for (int host = 0; host < of[k].hosts; host++)
                    others[host] = others[host] || h->of[r] != host;
            }
            const int first = writer_of(&w, &s, from);
            for (uint64_t at = from; at < to; at += 4096) {
                const int writer = writer_of(&w, &s, at);
                assert_true(others[h->of[writers_rank(&w, writer)]]);
                assert_true(writer == first || any_border);
            }
            assert_int_equal(readers, any_border ? 2 : 1);
        }
        hosts_destroy(&h);
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
    const checkpoint_field f = { .name = "u", .nx = NX, .ny = NY, .columns = l->columns };
    char path[] = "/tmp/weft_test_XXXXXX";
    aggregate_window w = { .cells = box_make(0, NX, y, y + 2),
                           .piece = malloc((size_t)ranks * sizeof *w.piece) };
    double *room = malloc(2 * NX * sizeof *room), *found = malloc(2 * NX * sizeof *found);
    aggregate_find_pieces(&w, &f, ranks);
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
    const box fifth = writers_box(&f, ranks, 5), one = box_make(fifth.x0, fifth.x0 + 9, y + 1, y + 2);
    assert_true(aggregate_rows(&w, one, sizeof(double), NULL) ==
                w.piece[5].data + (size_t)box_width(fifth) * sizeof(double));
    for (int i = 0; i < w.pieces; i++) free((void *)(uintptr_t)w.piece[i].data);
    close(fd);
    free(room);
    free(found);
    free(w.piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(writers_are_spread),
                                        cmocka_unit_test(the_file_system_decides),
                                        cmocka_unit_test(a_stripe_is_a_piece),
                                        cmocka_unit_test(every_cell_is_in_one_window),
                                        cmocka_unit_test(any_size_is_covered),
                                        cmocka_unit_test(another_host_reads),
                                        cmocka_unit_test(rows_are_put_together_at_their_place) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
