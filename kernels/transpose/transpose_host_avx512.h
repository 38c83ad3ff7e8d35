/* Squares of whole lines, transposed in registers, and copies past the caches by whole lines, for AVX-512. */
#pragma once

#include <immintrin.h>

#include "device/device_host.h"

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
