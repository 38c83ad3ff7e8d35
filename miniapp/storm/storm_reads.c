#include "storm/storm_reads.h"

#include <pthread.h>
#include <string.h>

#include "ranks/check.h"

enum { COPIES_MAX = 4096 };
#define COPIES_BYTES ((size_t)32 << 20)

typedef struct read_copy {
    int64_t step, level;
    box cells;
    bool cross; /* without the corners of: */
    box around;
    size_t at;
} read_copy;

static struct storm_reads {
    sim *s;
    DEVICE_FUNCTION(pack, *pack);
    char *memory; /* pinned */
    read_copy copy[COPIES_MAX];
    int copies;
    size_t used_bytes;
    pthread_mutex_t lock;
} reads = { .lock = PTHREAD_MUTEX_INITIALIZER };

void storm_reads_begin(sim *s, DEVICE_FUNCTION(pack, *pack))
{
    reads.s = s;
    reads.pack = pack;
    reads.copies = 0;
    reads.used_bytes = 0;
    DEVICE_CALL(s->dev, alloc, DEVICE_MEMORY_PINNED, COPIES_BYTES, (void **)&reads.memory);
}

void storm_reads_end(void) { DEVICE_CALL(reads.s->dev, free, DEVICE_MEMORY_PINNED, reads.memory); }

static size_t cell_bytes(void) { return dtype_bytes(reads.s->cfg->problem.type); }

/* A place for one more; NULL where there is none. */
static read_copy *new_copy(box cells)
{
    const size_t bytes = (size_t)box_cells(cells) * cell_bytes();
    read_copy *c = NULL;
    (void)pthread_mutex_lock(&reads.lock);
    if (reads.copies < COPIES_MAX && reads.used_bytes + bytes <= COPIES_BYTES) {
        c = &reads.copy[reads.copies++];
        c->at = reads.used_bytes;
        reads.used_bytes += (bytes + FIELD_ALIGN_BYTES - 1) / FIELD_ALIGN_BYTES * FIELD_ALIGN_BYTES;
    }
    (void)pthread_mutex_unlock(&reads.lock);
    return c;
}

void storm_reads_take(const void *field, int64_t step, int64_t level, box cells, const box *around,
                      device_stream *s)
{
    read_copy *c = box_empty(cells) ? NULL : new_copy(cells);
    if (!c) return;
    *c = (read_copy){ step, level, cells, around != NULL, around ? *around : cells, c->at };
    const pack_piece piece = { cells, 0 };
    DEVICE_CHECK(reads.s->dev, reads.pack(reads.s->dev, &reads.s->plan.grid.shape, field,
                                          reads.memory + c->at, &piece, 1, s));
}

/* ---- comparing ---- */

static int64_t wrapped(int64_t i, int64_t n, bool periodic) { return periodic ? (i % n + n) % n : i; }

static int owner_of(const decomp *dec, int64_t x, int64_t y)
{
    for (int r = 0; r < dec->ranks_x * dec->ranks_y; r++) {
        const box b = decomp_box(dec, r);
        if (x >= b.x0 && x < b.x1 && y >= b.y0 && y < b.y1) return r;
    }
    return -1;
}

static const char *where_is(const field_shape *f, int64_t x, int64_t y)
{
    static const char *const names[3][3] = { { "x_low, y_low corner", "y_low side", "x_high, y_low corner" },
                                             { "x_low side", "own cells", "x_high side" },
                                             { "x_low, y_high corner", "y_high side",
                                               "x_high, y_high corner" } };
    return names[y < 0 ? 0 : y < f->ny ? 1 : 2][x < 0 ? 0 : x < f->nx ? 1 : 2];
}

static storm_stale compare_cell(const storm_truth *t, const read_copy *c, const char *cell, int64_t x,
                                int64_t y)
{
    const decomp *dec = &reads.s->plan.grid.dec;
    const boundary *sides = &reads.s->cfg->grid.sides;
    const int64_t gx = wrapped(dec->own.x0 + x, dec->nx, sides->x_low.kind == BOUNDARY_PERIODIC);
    const int64_t gy =
        wrapped(dec->own.y0 + y, dec->ny, sides->y_low.kind == BOUNDARY_PERIODIC && dec->ny > 1);
    uint64_t bits = 0;
    memcpy(&bits, cell, cell_bytes());
    if (bits == storm_truth_bits(t, c->level, gx, gy)) return (storm_stale){ .found = false };
    const bool poison = bits == UINT64_MAX >> (64 - 8 * cell_bytes());
    return (storm_stale){ .found = true,
                          .step = c->step,
                          .x = x,
                          .y = y,
                          .where = where_is(&reads.s->plan.grid.shape, x, y),
                          .owner = owner_of(dec, gx, gy),
                          .level = c->level,
                          .read = poison ? -2 : storm_truth_level_with(t, c->level, bits, gx, gy) };
}

static bool is_read(const read_copy *c, int64_t x, int64_t y)
{
    return !c->cross || (x >= c->around.x0 && x < c->around.x1) || (y >= c->around.y0 && y < c->around.y1);
}

static storm_stale compare_copy(const storm_truth *t, const read_copy *c, const char *cells)
{
    storm_stale stale = { .found = false };
    for (int64_t y = c->cells.y0; y < c->cells.y1; y++)
        for (int64_t x = c->cells.x0; x < c->cells.x1; x++, cells += cell_bytes())
            if (!stale.found && is_read(c, x, y)) stale = compare_cell(t, c, cells, x, y);
    return stale;
}

storm_stale storm_reads_compare(const storm_truth *t)
{
    storm_stale first = { .found = false };
    for (int i = 0; i < reads.copies; i++) {
        const storm_stale stale = compare_copy(t, &reads.copy[i], reads.memory + reads.copy[i].at);
        if (stale.found && (!first.found || stale.step < first.step)) first = stale;
    }
    reads.copies = 0;
    reads.used_bytes = 0;
    return first;
}

storm_stale storm_reads_compare_own(const storm_truth *t, const void *cells, int64_t level)
{
    const box own = field_own(&reads.s->plan.grid.shape);
    return compare_copy(t, &(read_copy){ level, level, own, false, own, 0 }, cells);
}
