/* The kernels of stencil_host_row.h for each kind of processor. An fma is exact, so all give the same
 * bits. */
#include "stencil/stencil_host_pass.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* ---- any processor: a cell at a time ---- */

#define TARGET
#define BYTES sizeof(CELL)
#define STREAM(TO, U) (*(TO) = (U)[0])
#define CELL float
#define FMA(W, X, U) ((VECTOR){ fmaf((W)[0], (X)[0], (U)[0]) })
#define NAME(x) x##_plain_f32
#include "stencil/stencil_host_row.h"

#define CELL double
#define FMA(W, X, U) ((VECTOR){ fma((W)[0], (X)[0], (U)[0]) })
#define NAME(x) x##_plain_f64
#include "stencil/stencil_host_row.h"
#undef STREAM
#undef BYTES
#undef TARGET

#if defined(__x86_64__)

/* ---- AVX2 ---- */

#define TARGET __attribute__((target("avx2,fma")))
#define BYTES 32
#define CELL float
#define FMA(W, X, U) _mm256_fmadd_ps(W, X, U)
#define STREAM(TO, U) _mm256_stream_ps(TO, U)
#define NAME(x) x##_avx2_f32
#include "stencil/stencil_host_row.h"
#undef STREAM

#define CELL double
#define FMA(W, X, U) _mm256_fmadd_pd(W, X, U)
#define STREAM(TO, U) _mm256_stream_pd(TO, U)
#define NAME(x) x##_avx2_f64
#include "stencil/stencil_host_row.h"
#undef STREAM
#undef BYTES
#undef TARGET

/* ---- AVX-512 ---- */

#define TARGET __attribute__((target("avx512f")))

/* The vector that starts k cells into a and continues in b. valign needs its shift in the instruction: k is a
 * constant wherever these are inlined. */
#define CASE(K, TYPE, LANE)             \
    case K:                             \
        return _mm512_castsi512_##TYPE( \
            _mm512_alignr_##LANE(_mm512_cast##TYPE##_si512(b), _mm512_cast##TYPE##_si512(a), K));
#define CASES_1_TO_7(TYPE, LANE)                                                                        \
    CASE(1, TYPE, LANE)                                                                                 \
    CASE(2, TYPE, LANE) CASE(3, TYPE, LANE) CASE(4, TYPE, LANE) CASE(5, TYPE, LANE) CASE(6, TYPE, LANE) \
        CASE(7, TYPE, LANE)

static TARGET STENCIL_HOST_INLINE __m512 stencil_host_cut_f32(__m512 a, __m512 b, int64_t k)
{
    switch (k) {
        CASES_1_TO_7(ps, epi32)
        CASE(8, ps, epi32) CASE(9, ps, epi32) CASE(10, ps, epi32) CASE(11, ps, epi32)
        CASE(12, ps, epi32) CASE(13, ps, epi32) CASE(14, ps, epi32) CASE(15, ps, epi32)
    }
    return k == 0 ? a : b;
}

static TARGET STENCIL_HOST_INLINE __m512d stencil_host_cut_f64(__m512d a, __m512d b, int64_t k)
{
    switch (k) {
        CASES_1_TO_7(pd, epi64)
    }
    return k == 0 ? a : b;
}

#undef CASE
#undef CASES_1_TO_7

#define BYTES 64
#define CELL float
#define FMA(W, X, U) _mm512_fmadd_ps(W, X, U)
#define STREAM(TO, U) _mm512_stream_ps(TO, U)
#define CUT stencil_host_cut_f32
#define NAME(x) x##_avx512_f32
#include "stencil/stencil_host_row.h"
#undef STREAM

#define CELL double
#undef CUT
#define FMA(W, X, U) _mm512_fmadd_pd(W, X, U)
#define STREAM(TO, U) _mm512_stream_pd(TO, U)
#define CUT stencil_host_cut_f64
#define NAME(x) x##_avx512_f64
#include "stencil/stencil_host_row.h"

#elif defined(__aarch64__)

#define TARGET
#define BYTES 16
#define CELL float
#define FMA(W, X, U) vfmaq_f32(U, W, X)
#define STREAM(TO, U) vst1q_f32(TO, U)
#define NAME(x) x##_neon_f32
#include "stencil/stencil_host_row.h"
#undef STREAM

#define CELL double
#define FMA(W, X, U) vfmaq_f64(U, W, X)
#define STREAM(TO, U) vst1q_f64(TO, U)
#define NAME(x) x##_neon_f64
#include "stencil/stencil_host_row.h"

#endif

#define KERNELS(VECTORS)                                                                                 \
    {                                                                                                    \
        { line_##VECTORS##_f32, star_##VECTORS##_f32, square_##VECTORS##_f32 },                          \
        { line_##VECTORS##_f64, star_##VECTORS##_f64, square_##VECTORS##_f64 },                          \
    }
#define CONSTANTS(SUFFIX)                                                                     \
    {                                                                                         \
        { line_1##SUFFIX, line_2##SUFFIX, line_3##SUFFIX, line_4##SUFFIX },                   \
        { star_1##SUFFIX, star_2##SUFFIX, star_3##SUFFIX, star_4##SUFFIX },                   \
        { square_1##SUFFIX, square_2##SUFFIX }                                                \
    }

stencil_host_kernel *stencil_host_rows(dtype t, stencil_form form, int radius)
{
#if defined(__aarch64__)
    static stencil_host_kernel *const neon[2][STENCIL_FORMS] = KERNELS(neon);
    return neon[t][form];
#endif
#if defined(__x86_64__)
    static stencil_host_kernel *const avx2[2][STENCIL_FORMS] = KERNELS(avx2),
                                      *const avx512[2][STENCIL_FORMS] = KERNELS(avx512);
    static stencil_host_kernel *const of_radius[2][STENCIL_FORMS][STENCIL_HOST_CONSTANT_RADIUS] = {
        CONSTANTS(_avx512_f32), CONSTANTS(_avx512_f64)
    };
    if (__builtin_cpu_supports("avx512f")) {
        stencil_host_kernel *const constant =
            radius <= STENCIL_HOST_CONSTANT_RADIUS ? of_radius[t][form][radius - 1] : NULL;
        return constant ? constant : avx512[t][form];
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2[t][form];
#endif
    static stencil_host_kernel *const plain[2][STENCIL_FORMS] = KERNELS(plain);
    return plain[t][form];
}
