/* Shared by the rungs of the ladder: what a point holds while it is measured, random data, exact comparison.
 *
 * Rungs allocate here and free nothing: ladder_close gives back whatever there is, also after a prepare that
 * failed half-way. The device's cells come back through a pinned buffer, a piece at a time, and each piece is
 * compared by a team of threads: an answer of a gigabyte never stands in memory as a whole. */
#include "ladder/ladder.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a point holds ---- */

void *ladder_state(ladder_case *c, size_t bytes)
{
    c->state = calloc(1, bytes);
    if (!c->state) abort();
    return c->state;
}

int ladder_alloc(ladder_case *c, device_memory where, size_t bytes, void **out)
{
    const int code = c->d->alloc(c->d, where, bytes, out);
    if (code) return code;
    if (c->owned_count == LADDER_OWNED_MAX) abort();
    c->owned[c->owned_count++] = (ladder_owned){ where, *out };
    return 0;
}

int ladder_alloc_random(ladder_case *c, int64_t cells, void **out)
{
    const int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, ladder_bytes(c, cells), out);
    return code ? code : ladder_fill_random(c, *out, 0, cells);
}

int ladder_alloc_poisoned(ladder_case *c, size_t bytes, void **out)
{
    const int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, bytes, out);
    return code ? code : ladder_poison(c, *out, bytes);
}

int ladder_alloc_zeroed(ladder_case *c, size_t bytes, void **out)
{
    const int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, bytes, out);
    return code ? code : c->d->fill_bytes(c->d, *out, 0, bytes, c->stream);
}

void ladder_close(ladder_case *c)
{
    device *d = c->d;
    (void)d->synchronize(d);
    if (c->rung->destroy) c->rung->destroy(c);
    for (int i = 0; i < c->owned_count; i++) (void)d->free(d, c->owned[i].where, c->owned[i].memory);
    free(c->state);
    c->state = NULL;
    c->owned_count = 0;
}

/* ---- the usual problem ---- */

int ladder_open(ladder_case *c, int64_t in_cells, int64_t out_cells)
{
    c->out_cells = out_cells;
    const int code = ladder_alloc_random(c, in_cells, &c->in);
    return code ? code : ladder_alloc_poisoned(c, ladder_bytes(c, out_cells), &c->out);
}

void ladder_moves(ladder_case *c, int64_t cells, double words)
{
    c->size = cells;
    c->work = words * (double)ladder_bytes(c, cells);
}

int ladder_copy(ladder_case *c)
{
    return c->d->copy(c->d, c->out, c->in, ladder_bytes(c, c->out_cells), c->stream);
}

/* ---- random data ---- */

int ladder_fill_random(ladder_case *c, void *device_data, int64_t first, int64_t cells)
{
    const field_shape row = { c->type, cells, 1, 0, 0, cells, 0, ladder_bytes(c, cells) };
    return ladder_fill_field(c, &row, device_data, field_own(&row), cells, first, 0);
}

int ladder_fill_field(const ladder_case *c, const field_shape *f, void *field, box cells, int64_t nx,
                      int64_t x_first, int64_t y_first)
{
    const value v = { VALUE_RANDOM, nx, .x_first = x_first, .y_first = y_first, .seed = LADDER_SEED };
    return c->d->value_fill(c->d, f, field, &v, cells, c->stream);
}

void ladder_random(dtype t, void *host_data, int64_t first, int64_t cells)
{
    for (int64_t i = 0; i < cells; i++) cell_set(t, host_data, i, ladder_cell(first + i));
}

/* The sum of the bit patterns of the first cells, or the xor of their 32-bit words. */
static uint64_t fold(dtype t, int64_t cells, bool summed)
{
    uint64_t all = 0, sum = 0;
#pragma omp parallel for schedule(static) reduction(^ : all) reduction(+ : sum)
    for (int64_t i = 0; i < cells; i++) {
        const double u = ladder_cell(i);
        const uint64_t bits = t == DTYPE_F32 ? cell_bits_f32((float)u) : cell_bits_f64(u);
        all ^= bits;
        sum += bits;
    }
    return summed ? sum : all ^ all >> 32;
}

int ladder_verify_xor(ladder_case *c, ladder_verdict *v)
{
    return ladder_compare_number(c, "xor of all words", c->out, sizeof(uint32_t),
                                 fold(c->type, c->out_cells, false), v);
}

int ladder_verify_sum(ladder_case *c, size_t bytes, ladder_verdict *v)
{
    return ladder_compare_number(c, "sum", c->out, bytes, fold(c->type, c->size, true), v);
}

int ladder_poison(ladder_case *c, void *device_data, size_t bytes)
{
    return c->d->fill_bytes(c->d, device_data, 0xff, bytes, c->stream);
}

/* ---- comparison ---- */

enum { LINE_CELLS = 1024, PIECE_CELLS = 1 << 22 };

typedef union cells_any {
    float f32[LINE_CELLS];
    double f64[LINE_CELLS];
} cells_any;

/* Writes the right cells first..first+count-1 to out; called by several threads at once. */
typedef void answer_of(const void *context, dtype t, int64_t first, int64_t count, void *out);

/* The first cell of a piece that differs, or cells. */
static int64_t first_difference(dtype t, const void *found, int64_t first, int64_t cells, answer_of *answer,
                                const void *context)
{
    const size_t word_bytes = dtype_bytes(t);
    int64_t worst = cells;
#pragma omp parallel for schedule(static) reduction(min : worst)
    for (int64_t at = 0; at < cells; at += LINE_CELLS) {
        cells_any wanted;
        const int64_t count = cells - at < LINE_CELLS ? cells - at : LINE_CELLS;
        const char *mine = (const char *)found + (size_t)at * word_bytes;
        answer(context, t, first + at, count, &wanted);
        if (memcmp(mine, &wanted, (size_t)count * word_bytes) == 0) continue;
        size_t i = 0;
        while (memcmp(mine + i * word_bytes, (char *)&wanted + i * word_bytes, word_bytes) == 0) i++;
        if (at + (int64_t)i < worst) worst = at + (int64_t)i;
    }
    return worst;
}

static int compare(ladder_case *c, const void *device_data, int64_t cells, answer_of *answer,
                   const void *context, ladder_verdict *v)
{
    device *d = c->d;
    const size_t word_bytes = dtype_bytes(c->type);
    void *piece = NULL;
    int code = d->alloc(d, DEVICE_MEMORY_PINNED,
                        (cells < PIECE_CELLS ? (size_t)cells : PIECE_CELLS) * word_bytes, &piece);
    for (int64_t first = 0; !code && v->right && first < cells; first += PIECE_CELLS) {
        const int64_t count = cells - first < PIECE_CELLS ? cells - first : PIECE_CELLS;
        code = ladder_fetch(c, piece, (const char *)device_data + (size_t)first * word_bytes,
                            (size_t)count * word_bytes);
        if (code) break;
        const int64_t i = first_difference(c->type, piece, first, count, answer, context);
        if (i == count) continue;
        cells_any wanted;
        answer(context, c->type, first + i, 1, &wanted);
        ladder_wrong(v, "cell %lld is %.9g, not %.9g", (long long)(first + i), cell_get(c->type, piece, i),
                     cell_get(c->type, &wanted, 0));
    }
    const int freed = d->free(d, DEVICE_MEMORY_PINNED, piece);
    return code ? code : freed;
}

static void random_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    ladder_random(t, out, *(const int64_t *)context + first, count);
}

int ladder_compare_random(ladder_case *c, const void *device_data, int64_t first, int64_t cells,
                          ladder_verdict *v)
{
    return compare(c, device_data, cells, random_answer, &first, v);
}

static void rung_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = context;
    memset(out, 0xff, (size_t)count * dtype_bytes(t));
    for (int64_t i = 0; i < count; i++) {
        const double u = c->rung->answer(c, first + i);
        if (!isnan(u)) cell_set(t, out, i, u);
    }
}

int ladder_verify_cells(ladder_case *c, ladder_verdict *v)
{
    if (!c->rung->answer) return ladder_compare_random(c, c->out, 0, c->out_cells, v);
    return compare(c, c->out, c->out_cells, rung_answer, c, v);
}

typedef struct blocks {
    const void *block;
    int64_t cells;
} blocks;

static void blocks_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const blocks *b = context;
    const size_t word_bytes = dtype_bytes(t);
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)out + (size_t)i * word_bytes,
               (const char *)b->block + (size_t)((first + i) % b->cells) * word_bytes, word_bytes);
}

int ladder_verify_blocks(ladder_case *c, const void *block, size_t block_bytes, ladder_verdict *v)
{
    const blocks b = { block, (int64_t)(block_bytes / dtype_bytes(c->type)) };
    return compare(c, c->out, c->out_cells, blocks_answer, &b, v);
}

int ladder_fetch(ladder_case *c, void *to, const void *from, size_t bytes)
{
    const int code = c->d->copy(c->d, to, from, bytes, c->stream);
    return code ? code : c->d->stream_sync(c->d, c->stream);
}

int ladder_compare_number(ladder_case *c, const char *what, const void *device_number, size_t bytes,
                          uint64_t wanted, ladder_verdict *v)
{
    uint64_t found = 0;
    const int code = ladder_fetch(c, &found, device_number, bytes);
    if (bytes == sizeof(uint32_t)) wanted = (uint32_t)wanted;
    if (found != wanted)
        ladder_wrong(v, "the %s is %llx, not %llx", what, (unsigned long long)found,
                     (unsigned long long)wanted);
    return code;
}

void ladder_wrong(ladder_verdict *v, const char *format, ...)
{
    va_list ap;
    v->right = false;
    va_start(ap, format);
    sentence_set_list(&v->why, format, ap);
    va_end(ap);
}
