/* Transpose of a rectangle on the host, by tiles through a small buffer.
 *
 * A tile is read along the rows of `from` and written along the rows of `to`, in runs of several cache lines
 * both times; the buffer stays in L1. No hardware prefetcher follows a column of tiles: rows are prefetched
 * by hand some way ahead, less far if the pitch puts all of them into one set of the cache, and only into L2
 * where that is large. Cells that are only stored, and are more than the caches hold, go past them in whole
 * lines whatever the alignment of a row of `to`: a line streamed in two parts costs several times one.
 * Threads share out the rows of `to`. */
#include "device/device_host.h"

enum {
    TILE_BYTES = 256, /* of a row of `from`, and of a row of `to` */
    TILE_COLS_MAX = TILE_BYTES / sizeof(float),
    AHEAD_ROWS = 32,
    AHEAD_ROWS_ALIASED = 16,
    ALIAS_BYTES = 4096,
    LARGE_L2_BYTES = 1 << 21,
    BAND_ALIAS_BYTES = 1 << 14,
    BAND_ROWS = 512, /* as many pages as a processor's TLB has addresses of */
    BAND_PAGE_BYTES = 4096
};

/* A rectangle; pitches in bytes. */
typedef struct rectangle {
    char *to, *from;
    int64_t to_pitch, from_pitch;
    int flags;
    bool streams; /* stores go past the caches */
    bool to_l2;   /* prefetches end in L2 */
} rectangle;

#define INLINE static inline __attribute__((always_inline)) /* t is constant in each call */

/* Column c of rows x cols cells at `from` becomes a row at col[c], four cells at a time. */
INLINE void transpose_tile(dtype t, char *const *col, const char *from, int64_t pitch, int64_t rows,
                           int64_t cols)
{
    const int64_t cell = (int64_t)dtype_bytes(t);
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4, from += 4 * pitch)
        for (int64_t c = 0; c < cols; c++)
            for (int k = 0; k < 4; k++)
                memcpy(col[c] + (r + k) * cell, from + k * pitch + c * cell, (size_t)cell);
    for (; r < rows; r++, from += pitch)
        for (int64_t c = 0; c < cols; c++) memcpy(col[c] + r * cell, from + c * cell, (size_t)cell);
}

/* to[i] += more, or from[i] if there is one. */
INLINE void add_cells(dtype t, void *to, const void *from, int64_t cells)
{
    float *const f = to;
    double *const d = to;
    for (int64_t i = 0; i < cells; i++)
        if (t == DTYPE_F32) f[i] += from ? ((const float *)from)[i] : 1;
        else d[i] += from ? ((const double *)from)[i] : 1;
}

/* `rows` rows of `from` from r on, in at most a tile's columns from c on. The cells of an unfinished line of
 * `to` wait in front of col[i] for the next tile, so that only whole lines are streamed. */
INLINE void transpose_columns(dtype t, const rectangle *a, int64_t r, int64_t rows, int64_t c, int64_t cols)
{
    _Alignas(64) char held[TILE_COLS_MAX][TILE_BYTES + 2 * DEVICE_HOST_LINE_BYTES];
    char *col[TILE_COLS_MAX], *in = a->from + r * a->from_pitch + c * (int64_t)dtype_bytes(t),
                              *out = a->to + c * a->to_pitch + r * (int64_t)dtype_bytes(t);
    const int64_t cell = (int64_t)dtype_bytes(t), tile_rows = TILE_BYTES / cell;
    const int64_t ahead =
        a->from_pitch * (a->from_pitch % ALIAS_BYTES == 0 ? AHEAD_ROWS_ALIASED : AHEAD_ROWS);
    for (int64_t i = 0; i < cols; i++)
        col[i] = held[i] + (uintptr_t)(out + i * a->to_pitch) % DEVICE_HOST_LINE_BYTES;
    for (int64_t done = 0; done < rows;
         done += tile_rows, in += tile_rows * a->from_pitch, out += TILE_BYTES) {
        const int64_t n = rows - done < tile_rows ? rows - done : tile_rows, bytes = n * cell;
        for (int64_t k = 0; k < n; k++)
            device_host_prefetch(in + k * a->from_pitch, ahead, TILE_BYTES, a->to_l2);
        transpose_tile(t, col, in, a->from_pitch, n, cols);
        for (int64_t k = 0; k < n && a->flags & TRANSPOSE_INCREMENT_SOURCE; k++)
            add_cells(t, in + k * a->from_pitch, NULL, cols);
        for (int64_t i = 0; i < cols; i++) {
            char *const to = out + i * a->to_pitch;
            if (a->streams) {
                const int64_t waiting = col[i] - held[i], first = done == 0 ? waiting : 0;
                const int64_t last = done + n == rows ? waiting + bytes : bytes;
                device_host_stream(to - waiting + first, held[i] + first, (size_t)(last - first));
                if (done + n < rows) memcpy(held[i], held[i] + bytes, (size_t)waiting);
            } else if (a->flags & TRANSPOSE_ADD) {
                device_host_prefetch(to, TILE_BYTES, TILE_BYTES, false);
                add_cells(t, to, col[i], n);
            } else {
                memcpy(to, col[i], (size_t)bytes);
            }
        }
    }
}

/* b is a box of `to`: x counts rows, y columns of `from`. Where rows of `from` lie a power of two apart, a
 * page of which a tile needs a part comes back for the next columns of tiles: these go in bands of rows. */
INLINE void transpose_box(dtype t, const rectangle *a, box b)
{
    const int64_t cell = (int64_t)dtype_bytes(t), tile_cols = TILE_BYTES / cell;
    const bool banded = a->from_pitch % BAND_ALIAS_BYTES == 0;
    const int64_t strip = banded ? BAND_PAGE_BYTES / cell : tile_cols,
                  band = banded ? BAND_ROWS : box_width(b);
    for (int64_t s = b.y0; s < b.y1; s += strip)
        for (int64_t r = b.x0; r < b.x1; r += band)
            for (int64_t c = s; c < b.y1 && c < s + strip; c += tile_cols)
                transpose_columns(t, a, r, b.x1 - r < band ? b.x1 - r : band, c,
                                  b.y1 - c < tile_cols ? b.y1 - c : tile_cols);
}

int transpose_host(device *d, dtype t, matrix to, matrix from, int64_t rows, int64_t cols, int flags,
                   device_stream *s)
{
    const device_host *h = (const device_host *)d;
    const int64_t cell = (int64_t)dtype_bytes(t);
    const rectangle a = { .to = to.cells,
                          .from = from.cells,
                          .to_pitch = to.pitch * cell,
                          .from_pitch = from.pitch * cell,
                          .flags = flags,
                          .streams = !(flags & TRANSPOSE_ADD) &&
                                     2 * (size_t)(rows * cols * cell) > h->far_cache_bytes,
                          .to_l2 = h->near_cache_bytes >= LARGE_L2_BYTES };
    const box all = box_make(0, rows, 0, cols);
    const int words = 2 + !!(flags & TRANSPOSE_ADD) + !!(flags & TRANSPOSE_INCREMENT_SOURCE);
    const int team = device_host_team(d, box_cells(all), device_host_moved(t, words, box_cells(all)));
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const box part = device_host_part(all);
        switch (t) {
        case DTYPE_F32: transpose_box(DTYPE_F32, &a, part); break;
        case DTYPE_F64: transpose_box(DTYPE_F64, &a, part); break;
        }
        if (a.streams) device_host_stream_end();
    }
    return 0;
}
