/* Transpose of a rectangle on the host, by square tiles through a small buffer.
 *
 * A tile is read along the rows of `from` and written along the rows of `to`, in runs of whole cache lines both times;
 * only the buffer, which stays in L1, is walked across. Its pitch is odd in lines' terms, so that a column of it
 * does not fall into one cache set. No prefetcher follows a column of tiles: the next one's rows are asked for by hand.
 * What is only stored, and is larger than the caches, goes past them. Threads share out the rows of `to`. */
#include "device_host.h"

enum { TILE_CELLS = 64, TILE_PITCH_CELLS = TILE_CELLS + 1 };

/* Asks for the cells of a tile's row; outside the matrix too, which no prefetch minds. */
static inline void prefetch(const void *from, int64_t ahead_cells, size_t cell_bytes)
{
    const uintptr_t row = (uintptr_t)from + (uintptr_t)ahead_cells * cell_bytes;
    for (size_t i = 0; i < TILE_CELLS * cell_bytes; i += DEVICE_HOST_LINE_BYTES)
        __builtin_prefetch((const void *)(row + i));
}

#define DEFINE_TRANSPOSE(CELL, SUFFIX)                                                                                 \
    static void tile##SUFFIX(CELL *restrict to, int64_t to_pitch, CELL *restrict from, int64_t from_pitch,             \
                             int64_t rows, int64_t cols, int flags, bool streams)                                      \
    {                                                                                                                  \
        CELL held[TILE_CELLS][TILE_PITCH_CELLS];                                                                       \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            CELL *in = from + r * from_pitch;                                                                          \
            prefetch(in, TILE_CELLS * from_pitch, sizeof *in);                                                         \
            for (int64_t c = 0; c < cols; c++) held[c][r] = in[c];                                                     \
            if (flags & TRANSPOSE_INCREMENT_SOURCE)                                                                    \
                for (int64_t c = 0; c < cols; c++) in[c] += 1;                                                         \
        }                                                                                                              \
        for (int64_t c = 0; c < cols; c++) {                                                                           \
            CELL *out = to + c * to_pitch;                                                                             \
            if (streams)                                                                                               \
                device_host_stream(out, held[c], (size_t)rows * sizeof *out);                                          \
            else if (flags & TRANSPOSE_ADD)                                                                            \
                for (int64_t r = 0; r < rows; r++) out[r] += held[c][r];                                               \
            else                                                                                                       \
                for (int64_t r = 0; r < rows; r++) out[r] = held[c][r];                                                \
        }                                                                                                              \
    }                                                                                                                  \
    /* b: x counts rows, y columns of `from`, that is, b is a box of `to`. */                                          \
    static void part##SUFFIX(CELL *to, int64_t to_pitch, CELL *from, int64_t from_pitch, box b, int flags,             \
                             bool streams)                                                                             \
    {                                                                                                                  \
        for (int64_t c = b.y0; c < b.y1; c += TILE_CELLS)                                                              \
            for (int64_t r = b.x0; r < b.x1; r += TILE_CELLS)                                                          \
                tile##SUFFIX(to + c * to_pitch + r, to_pitch, from + r * from_pitch + c, from_pitch,                   \
                             b.x1 - r < TILE_CELLS ? b.x1 - r : TILE_CELLS,                                            \
                             b.y1 - c < TILE_CELLS ? b.y1 - c : TILE_CELLS, flags, streams);                           \
    }

DEFINE_TRANSPOSE(float, _f32)
DEFINE_TRANSPOSE(double, _f64)

int transpose_host(device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch, int64_t rows,
                   int64_t cols, int flags, device_stream *s)
{
    (void)s;
    const device_host *h = (const device_host *)d;
    const size_t working_bytes = 2 * (size_t)rows * (size_t)cols * dtype_bytes(t);
    const bool streams = !(flags & TRANSPOSE_ADD) && working_bytes > h->far_cache_bytes;
    const box all = box_make(0, rows, 0, cols);
    const int team = device_host_team(d, box_cells(all));
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const box part = device_host_part(all, omp_get_thread_num(), omp_get_num_threads());
        switch (t) {
        case DTYPE_F32: part_f32(to, to_pitch, from, from_pitch, part, flags, streams); break;
        case DTYPE_F64: part_f64(to, to_pitch, from, from_pitch, part, flags, streams); break;
        }
        if (streams) device_host_stream_end();
    }
    return 0;
}
