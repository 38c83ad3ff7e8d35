/* The sweep on the host: next = sum_k weight_k * cur[k] (+ beta * prev), a chain of fma in the order of the weights.
 *
 * The code is a template over cell type and vector (stencil_host_row.h): AVX-512, AVX2, or one cell at a time for every
 * other processor, chosen at run time. All give the same bits, since an fma is exact by definition.
 *
 * A sweep that leaves the caches is bound by memory, so bytes are what counts: stores go past the caches (a plain store
 * reads the line that it overwrites: three words a cell instead of two), except where next is prev, whose lines were
 * read anyway, and the rows that will be read soon are prefetched by hand. Two orders of the work, by measurement:
 *   radius 1, 2   row by row, as far as the 2r+1 rows fit the core's own cache; sums gathered in L1 and streamed from
 *                 there
 *   beyond        16 rows at once, block by block, in narrow tiles: 2r+1 rows from L2 for every row of sums would take
 *                 longer than the memory, so a row of cur that is in L1 serves 16 rows of sums */
#include <assert.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cell.h"
#include "device_host.h"

#define ROW_INLINE inline __attribute__((always_inline))

enum {
    BLOCK_VECTORS = 8,
    TILE_CELLS_LEAST = 512,
    TILE_BYTES = 1 << 13,
    TILE_ROWS = 16,
    NARROW_CELLS = 128, /* boxes of fewer columns are ends of rows only: always many rows at once */
    LINE_AHEAD_BYTES = 1 << 15
};

typedef struct sweep {
    const stencil *op;
    const field_shape *shape;
    void *next;
    const void *cur, *prev, *weight; /* prev: NULL where the stencil has none; weight: in the field's type */
    int64_t tile_cells;
    ptrdiff_t ahead_bytes, prev_ahead_bytes; /* from a cell of cur, of prev, to the one to prefetch meanwhile */
    bool cuts;                               /* x neighbours are cut out of whole vectors, not loaded */
    bool streams;                            /* stores go past the caches */
    bool gathers;                            /* and come from L1, not from registers */
} sweep;

static ROW_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Asks for `bytes` at `from` + ahead; beyond the end of the field too, which no prefetch minds. */
static ROW_INLINE void prefetch(const void *from, ptrdiff_t ahead_bytes, size_t bytes)
{
    const uintptr_t at = (uintptr_t)from + (uintptr_t)ahead_bytes;
    for (size_t i = 0; i < bytes; i += DEVICE_HOST_LINE_BYTES) __builtin_prefetch((const void *)(at + i));
}

/* ---- one cell at a time ---- */

#define DEFINE_PLAIN(CELL, SUFFIX)                                                                       \
    static ROW_INLINE CELL plain_loadu##SUFFIX(const CELL *p) { return *p; }                             \
    static ROW_INLINE CELL plain_set1##SUFFIX(CELL u) { return u; }                                      \
    static ROW_INLINE CELL plain_fmadd##SUFFIX(CELL a, CELL b, CELL c) { return cell_fma##SUFFIX(a, b, c); } \
    static ROW_INLINE void plain_storeu##SUFFIX(CELL *p, CELL u) { *p = u; }                             \
    static ROW_INLINE void plain_stream##SUFFIX(CELL *p, CELL u) { *p = u; }
DEFINE_PLAIN(float, _f32)
DEFINE_PLAIN(double, _f64)

#define TARGET
#define CELL float
#define VECTOR float
#define DO(x) plain_##x##_f32
#define NAME(x) x##_plain_f32
#include "stencil_host_row.h"

#define CELL double
#define VECTOR double
#define DO(x) plain_##x##_f64
#define NAME(x) x##_plain_f64
#include "stencil_host_row.h"
#undef TARGET

#if defined(__x86_64__)

/* ---- AVX2 ---- */

#define TARGET __attribute__((target("avx2,fma")))
#define CELL float
#define VECTOR __m256
#define DO(x) _mm256_##x##_ps
#define NAME(x) x##_avx2_f32
#include "stencil_host_row.h"

#define CELL double
#define VECTOR __m256d
#define DO(x) _mm256_##x##_pd
#define NAME(x) x##_avx2_f64
#include "stencil_host_row.h"
#undef TARGET

/* ---- AVX-512 ---- */

#define TARGET __attribute__((target("avx512f")))
#define CELL float
#define VECTOR __m512
#define DO(x) _mm512_##x##_ps
#define SHIFT(k)                               \
    _mm512_add_epi32(_mm512_set1_epi32((int)(k)), \
                     _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0))
#define NAME(x) x##_avx512_f32
#include "stencil_host_row.h"

#define CELL double
#define VECTOR __m512d
#define DO(x) _mm512_##x##_pd
#define SHIFT(k) _mm512_add_epi64(_mm512_set1_epi64(k), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0))
#define NAME(x) x##_avx512_f64
#include "stencil_host_row.h"
#undef TARGET

#endif

/* ---- the choice ---- */

typedef void rows_function(const sweep *s, box b);

#define ROWS_OF(VECTORS)                                                                         \
    {                                                                                            \
        [DTYPE_F32] = { line_##VECTORS##_f32, star_##VECTORS##_f32, square_##VECTORS##_f32 },    \
        [DTYPE_F64] = { line_##VECTORS##_f64, star_##VECTORS##_f64, square_##VECTORS##_f64 },    \
    }

static rows_function *choose(dtype t, stencil_form form)
{
    static rows_function *const plain[2][3] = ROWS_OF(plain);
#if defined(__x86_64__)
    static rows_function *const avx2[2][3] = ROWS_OF(avx2), *const avx512[2][3] = ROWS_OF(avx512);
    if (__builtin_cpu_supports("avx512f")) return avx512[t][form];
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2[t][form];
#endif
    return plain[t][form];
}

/* On whole blocks. Row by row: what lets the rows that are read, and the ones on their way in and out, stay in the
 * core's own cache. */
static int64_t tile_cells(const device_host *h, const field_shape *f, bool row_by_row)
{
    const size_t rows = (size_t)(2 * h->op.radius + 3);
    const size_t fit_bytes = row_by_row ? h->near_cache_bytes / 4 * 3 / rows : TILE_BYTES;
    const int64_t fit_cells = (int64_t)(fit_bytes / dtype_bytes(f->type));
    if (h->op.form == STENCIL_LINE) return INT64_MAX / 4;
    return fit_cells < TILE_CELLS_LEAST ? TILE_CELLS_LEAST : fit_cells & -TILE_CELLS_LEAST;
}

int stencil_host_bind(device *d, const stencil *op)
{
    device_host *h = (device_host *)d;
    assert(op->radius >= 1 && op->radius <= STENCIL_RADIUS_MAX);
    h->op = *op;
    for (int k = 0; k < stencil_weights(op->form, op->radius); k++) h->weight_f32[k] = (float)op->weight[k];
    return 0;
}

int stencil_host_sweep(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                       const box *boxes, int count, device_stream *s)
{
    (void)s;
    const device_host *h = (const device_host *)d;
    const stencil *op = &h->op;
    assert(op->type == f->type && next != cur && (prev || !op->has_prev) && count <= STENCIL_BOXES_MAX);
    assert((uintptr_t)next % FIELD_ALIGN_BYTES == 0); /* or whole vectors cannot be streamed */
    const size_t working_bytes = (op->has_prev ? 3 : 2) * f->bytes;
    const ptrdiff_t row_bytes = f->pitch * (ptrdiff_t)dtype_bytes(f->type);
    const bool in_place = op->has_prev && next == prev;
    const bool line = op->form == STENCIL_LINE, row_by_row = line || op->radius <= 2;
    const int tile_rows = row_by_row ? 1 : TILE_ROWS;
    const sweep w = {
        .op = op,
        .shape = f,
        .next = next,
        .cur = cur,
        .prev = op->has_prev ? prev : NULL,
        .weight = f->type == DTYPE_F32 ? (const void *)h->weight_f32 : op->weight,
        .tile_cells = tile_cells(h, f, row_by_row),
        .ahead_bytes = line ? LINE_AHEAD_BYTES : (op->radius + tile_rows) * row_bytes,
        .prev_ahead_bytes = line ? LINE_AHEAD_BYTES : tile_rows * row_bytes,
        .cuts = op->radius > 2, /* fewer cuts than loads only then: at radius 1 the loads won by 5 to 10 % */
        .streams = !in_place && working_bytes > h->far_cache_bytes,
        .gathers = row_by_row,
    };
    rows_function *const rows = choose(f->type, op->form);
    int64_t cells = 0;
    for (int i = 0; i < count; i++) cells += box_cells(boxes[i]);
    const int team = device_host_team(d, cells);
#pragma omp parallel num_threads(team) if (team > 1)
    {
        for (int i = 0; i < count; i++) {
            const box part = device_host_part(boxes[i], omp_get_thread_num(), omp_get_num_threads());
            const int64_t at_once = box_width(part) < NARROW_CELLS ? TILE_ROWS : tile_rows;
            for (int64_t x = part.x0, end; x < part.x1; x = end) {
                end = least(part.x1, (x / w.tile_cells + 1) * w.tile_cells);
                for (int64_t y = part.y0; y < part.y1; y += at_once)
                    rows(&w, box_make(x, end, y, least(part.y1, y + at_once)));
            }
        }
        if (w.streams) device_host_stream_end();
    }
    return 0;
}
