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
#define CELL float
#define FMA(W, X, U) ((VECTOR){ fmaf((W)[0], (X)[0], (U)[0]) })
#define STREAM(TO, U) (*(TO) = (U)[0])
#define NAME(x) x##_plain_f32
#include "stencil/stencil_host_row.h"

#define CELL double
#define FMA(W, X, U) ((VECTOR){ fma((W)[0], (X)[0], (U)[0]) })
#define STREAM(TO, U) (*(TO) = (U)[0])
#define NAME(x) x##_plain_f64
#include "stencil/stencil_host_row.h"
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

#define CELL double
#define FMA(W, X, U) _mm256_fmadd_pd(W, X, U)
#define STREAM(TO, U) _mm256_stream_pd(TO, U)
#define NAME(x) x##_avx2_f64
#include "stencil/stencil_host_row.h"
#undef BYTES
#undef TARGET

/* ---- AVX-512 ---- */

#define TARGET __attribute__((target("avx512f")))
#define BYTES 64
#define CELL float
#define FMA(W, X, U) _mm512_fmadd_ps(W, X, U)
#define STREAM(TO, U) _mm512_stream_ps(TO, U)
#define NAME(x) x##_avx512_f32
#include "stencil/stencil_host_row.h"

#define CELL double
#define FMA(W, X, U) _mm512_fmadd_pd(W, X, U)
#define STREAM(TO, U) _mm512_stream_pd(TO, U)
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

#define CELL double
#define FMA(W, X, U) vfmaq_f64(U, W, X)
#define STREAM(TO, U) vst1q_f64(TO, U)
#define NAME(x) x##_neon_f64
#include "stencil/stencil_host_row.h"

#endif

/* [type][form] */
#define KERNELS(VECTORS)                                                             \
    {                                                                                \
        { line_##VECTORS##_f32, star_##VECTORS##_f32, square_##VECTORS##_f32 },      \
        { line_##VECTORS##_f64, star_##VECTORS##_f64, square_##VECTORS##_f64 },      \
    }

stencil_host_kernel *stencil_host_rows(dtype t, stencil_form form)
{
#if defined(__aarch64__)
    static stencil_host_kernel *const neon[2][STENCIL_FORMS] = KERNELS(neon);
    return neon[t][form];
#endif
#if defined(__x86_64__)
    static stencil_host_kernel *const avx2[2][STENCIL_FORMS] = KERNELS(avx2),
                                      *const avx512[2][STENCIL_FORMS] = KERNELS(avx512);
    if (__builtin_cpu_supports("avx512f")) return avx512[t][form];
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2[t][form];
#endif
    static stencil_host_kernel *const plain[2][STENCIL_FORMS] = KERNELS(plain);
    return plain[t][form];
}
