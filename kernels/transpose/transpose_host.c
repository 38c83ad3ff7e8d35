/* Transpose of a rectangle on the host, by tiles through a small buffer.
 *
 * A tile is read along the rows of `from` and written along the rows of `to`, in runs of several cache lines
 * both times; squares are transposed in registers on the way into the buffer, which stays in L1. No hardware
 * prefetcher follows a column of tiles: rows are prefetched by hand some way ahead, less far if the pitch
 * puts all of them into one set of the cache. Cells that are only stored, and are more than the caches hold,
 * go past them, in whole lines whatever the alignment of a row of `to`: a line streamed in two parts costs
 * several times one. Threads share out the rows of `to`.
 *
 * Two measures pay with a large L2 (measured on an Intel Xeon; docs/stencil-kernels.md) and not with a small
 * one. Prefetches stop in L2. And if the rows of a tile share their sets and evict each other, wide pieces of
 * rows, which the hardware's prefetchers do follow, are copied to a better place before they are transposed.
 * With a small L2 the copies pay in f32 if squares are whole lines (AVX-512), with fewer rows at a time. */
#include "device/device_host.h"

enum {
    TILE_READ_BYTES = 256, /* of a row of `from` */
    TILE_RUN_BYTES = 256,  /* of a row of `to` */
    AHEAD_ROWS = 32,
    AHEAD_ROWS_ALIASED = 16,
    ALIAS_BYTES = 4096,
    LARGE_L2_BYTES = 1 << 21,
    PIECE_ALIAS_BYTES = 1 << 14,
    PIECE_READ_BYTES = 1 << 11, /* of a row of `from`, in pieces of rows that are copied together */
    PIECE_RUN_BYTES = 1 << 9,   /* of a row of `to`, with a large L2 */
    PIECE_RUN_BYTES_SMALL_L2 = 1 << 8,
    PIECE_AHEAD_ROWS = 2,
    BAND_ROWS = 512,
    BAND_PAGE_BYTES = 4096
};

typedef struct plan {
    int flags;
    bool streams; /* stores go past the caches */
    bool large_l2;
} plan;

static inline void transpose_square_f32(float *const *col, int64_t r, const float *in, int64_t pitch)
{
#if defined(__SSE2__)
    __m128 a = _mm_loadu_ps(in), b = _mm_loadu_ps(in + pitch), c = _mm_loadu_ps(in + 2 * pitch),
           d = _mm_loadu_ps(in + 3 * pitch);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(col[0] + r, a);
    _mm_storeu_ps(col[1] + r, b);
    _mm_storeu_ps(col[2] + r, c);
    _mm_storeu_ps(col[3] + r, d);
#else
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 4; k++) col[c][r + k] = in[k * pitch + c];
#endif
}

static inline void transpose_square_f64(double *const *col, int64_t r, const double *in, int64_t pitch)
{
#if defined(__SSE2__)
    const __m128d a = _mm_loadu_pd(in), b = _mm_loadu_pd(in + pitch);
    _mm_storeu_pd(col[0] + r, _mm_unpacklo_pd(a, b));
    _mm_storeu_pd(col[1] + r, _mm_unpackhi_pd(a, b));
#else
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 2; k++) col[c][r + k] = in[k * pitch + c];
#endif
}

#define CELL float
#define SQUARE 4
#define TRANSPOSE_SQUARE transpose_square_f32
#define STREAM device_host_stream
#define TARGET
#define NAME(x) x##_f32
#include "transpose/transpose_host_tile.h"

#define CELL double
#define SQUARE 2
#define TRANSPOSE_SQUARE transpose_square_f64
#define STREAM device_host_stream
#define TARGET
#define NAME(x) x##_f64
#include "transpose/transpose_host_tile.h"

#if defined(__x86_64__)

/* ---- AVX-512: squares of whole lines, transposed in registers, and copies past the caches by whole lines
 * ---- */

#include <immintrin.h>

#define TRANSPOSE_HOST_AVX512 __attribute__((target("avx512f")))

/* v[k] becomes quarter k of the four vectors, one after the other. */
#define QUARTERS(TYPE, VECTOR, SHUFFLE)                                                     \
    static inline TRANSPOSE_HOST_AVX512 void transpose_host_quarters_##TYPE(VECTOR v[4])    \
    {                                                                                       \
        const VECTOR a = SHUFFLE(v[0], v[1], 0x88), b = SHUFFLE(v[2], v[3], 0x88);          \
        const VECTOR c = SHUFFLE(v[0], v[1], 0xdd), d = SHUFFLE(v[2], v[3], 0xdd);          \
        v[0] = SHUFFLE(a, b, 0x88), v[1] = SHUFFLE(c, d, 0x88), v[2] = SHUFFLE(a, b, 0xdd), \
        v[3] = SHUFFLE(c, d, 0xdd);                                                         \
    }
QUARTERS(f32, __m512, _mm512_shuffle_f32x4)
QUARTERS(f64, __m512d, _mm512_shuffle_f64x2)
#undef QUARTERS

/* 16 x 16: pairs, then fours, within quarters; then the quarters. */
static inline TRANSPOSE_HOST_AVX512 void transpose_host_square_f32(float *const *col, int64_t r,
                                                                   const float *in, int64_t pitch)
{
    __m512d pair[16];
    _Pragma("GCC unroll 8")
    for (int k = 0; k < 16; k += 2) {
        const __m512 a = _mm512_loadu_ps(in + k * pitch), b = _mm512_loadu_ps(in + (k + 1) * pitch);
        pair[k] = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)),
        pair[k + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
    }
    _Pragma("GCC unroll 4")
    for (int c = 0; c < 4; c++) { /* columns c, c + 4, c + 8, c + 12 */
        __m512 v[4];
        _Pragma("GCC unroll 4")
        for (int k = 0; k < 4; k++) {
            const __m512d a = pair[4 * k + c / 2], b = pair[4 * k + 2 + c / 2];
            v[k] = _mm512_castpd_ps(c % 2 ? _mm512_unpackhi_pd(a, b) : _mm512_unpacklo_pd(a, b));
        }
        transpose_host_quarters_f32(v);
        _Pragma("GCC unroll 4")
        for (int k = 0; k < 4; k++) _mm512_storeu_ps(col[4 * k + c] + r, v[k]);
    }
}

/* 8 x 8 */
static inline TRANSPOSE_HOST_AVX512 void transpose_host_square_f64(double *const *col, int64_t r,
                                                                   const double *in, int64_t pitch)
{
    _Pragma("GCC unroll 2")
    for (int c = 0; c < 2; c++) { /* columns c, c + 2, c + 4, c + 6 */
        __m512d v[4];
        _Pragma("GCC unroll 4")
        for (int k = 0; k < 4; k++) {
            const __m512d a = _mm512_loadu_pd(in + 2 * k * pitch),
                          b = _mm512_loadu_pd(in + (2 * k + 1) * pitch);
            v[k] = c ? _mm512_unpackhi_pd(a, b) : _mm512_unpacklo_pd(a, b);
        }
        transpose_host_quarters_f64(v);
        _Pragma("GCC unroll 4")
        for (int k = 0; k < 4; k++) _mm512_storeu_pd(col[2 * k + c] + r, v[k]);
    }
}

static inline TRANSPOSE_HOST_AVX512 void transpose_host_stream_line(char *to, const char *from)
{
    _mm512_stream_si512((void *)to, _mm512_loadu_si512((const void *)from));
}

/* device_host_stream with AVX-512. */
static inline TRANSPOSE_HOST_AVX512 void transpose_host_stream(void *restrict to, const void *restrict from,
                                                               size_t bytes)
{
    device_host_stream_lines(to, from, bytes, transpose_host_stream_line);
}

#define CELL float
#define SQUARE 16
#define TRANSPOSE_SQUARE transpose_host_square_f32
#define STREAM transpose_host_stream
#define TARGET TRANSPOSE_HOST_AVX512
#define NAME(x) x##_avx512_f32
#include "transpose/transpose_host_tile.h"

#define CELL double
#define SQUARE 8
#define TRANSPOSE_SQUARE transpose_host_square_f64
#define STREAM transpose_host_stream
#define TARGET TRANSPOSE_HOST_AVX512
#define NAME(x) x##_avx512_f64
#include "transpose/transpose_host_tile.h"
#endif

/* Squares of f64 by AVX-512 read 8 rows at once, which are too many if all share their sets. */
static void transpose_part(dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch, box part,
                           const plan *p)
{
#if defined(__x86_64__)
    const bool avx512 = __builtin_cpu_supports("avx512f");
    const bool crowded = !p->large_l2 && (size_t)from_pitch * dtype_bytes(t) % PIECE_ALIAS_BYTES == 0;
    if (avx512 && t == DTYPE_F32) {
        part_avx512_f32(to, to_pitch, from, from_pitch, part, p);
        return;
    }
    if (avx512 && !crowded) {
        part_avx512_f64(to, to_pitch, from, from_pitch, part, p);
        return;
    }
#endif
    switch (t) {
    case DTYPE_F32: part_f32(to, to_pitch, from, from_pitch, part, p); break;
    case DTYPE_F64: part_f64(to, to_pitch, from, from_pitch, part, p); break;
    }
}

int transpose_host(device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch,
                   int64_t rows, int64_t cols, int flags, device_stream *s)
{
    const device_host *h = (const device_host *)d;
    const size_t working_bytes = 2 * (size_t)rows * (size_t)cols * dtype_bytes(t);
    const plan p = {
        .flags = flags,
        .streams = !(flags & TRANSPOSE_ADD) && working_bytes > h->far_cache_bytes,
        .large_l2 = h->near_cache_bytes >= LARGE_L2_BYTES,
    };
    const box all = box_make(0, rows, 0, cols);
    const int team = device_host_team(d, box_cells(all));
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const box part = device_host_part(all, omp_get_thread_num(), omp_get_num_threads());
        transpose_part(t, to, to_pitch, from, from_pitch, part, &p);
        if (p.streams) device_host_stream_end();
    }
    return 0;
}
