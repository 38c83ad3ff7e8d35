/* Register blocks: the sums of 8 vectors along a row grow side by side, since a chain of fma by itself is all
 * latency, and a weight is loaded once for all of them.
 *
 * The code is a template over cell type and vector (stencil_host_block.h): AVX-512, AVX2, or one cell at a
 * time for every other processor, chosen at run time. All give the same bits, since an fma is exact by
 * definition. */
#include "stencil/stencil_host_cut.h"
#include "stencil/stencil_host_pass.h"

enum { BLOCK_VECTORS = 8 };

/* ---- one cell at a time ---- */

#define DEFINE_PLAIN(CELL, SUFFIX)                                                      \
    static STENCIL_HOST_INLINE CELL plain_loadu##SUFFIX(const CELL *p) { return *p; }   \
    static STENCIL_HOST_INLINE CELL plain_set1##SUFFIX(CELL u) { return u; }            \
    static STENCIL_HOST_INLINE CELL plain_mul##SUFFIX(CELL a, CELL b) { return a * b; } \
    static STENCIL_HOST_INLINE CELL plain_fmadd##SUFFIX(CELL a, CELL b, CELL c)         \
    {                                                                                   \
        return cell_fma##SUFFIX(a, b, c);                                               \
    }                                                                                   \
    static STENCIL_HOST_INLINE void plain_storeu##SUFFIX(CELL *p, CELL u) { *p = u; }   \
    static STENCIL_HOST_INLINE void plain_stream##SUFFIX(CELL *p, CELL u) { *p = u; }
DEFINE_PLAIN(float, _f32)
DEFINE_PLAIN(double, _f64)

#define TARGET
#define CELL float
#define VECTOR float
#define DO(x) plain_##x##_f32
#define NAME(x) x##_plain_f32
#include "stencil/stencil_host_block.h"

#define CELL double
#define VECTOR double
#define DO(x) plain_##x##_f64
#define NAME(x) x##_plain_f64
#include "stencil/stencil_host_block.h"
#undef TARGET

#if defined(__x86_64__)

/* ---- AVX2 ---- */

#define TARGET __attribute__((target("avx2,fma")))
#define CELL float
#define VECTOR __m256
#define DO(x) _mm256_##x##_ps
#define NAME(x) x##_avx2_f32
#include "stencil/stencil_host_block.h"

#define CELL double
#define VECTOR __m256d
#define DO(x) _mm256_##x##_pd
#define NAME(x) x##_avx2_f64
#include "stencil/stencil_host_block.h"
#undef TARGET

/* ---- AVX-512 ---- */

#define TARGET STENCIL_HOST_AVX512
#define CELL float
#define VECTOR __m512
#define DO(x) _mm512_##x##_ps
#define CUT(a, b, k) stencil_host_cut_f32(a, b, k)
#define NAME(x) x##_avx512_f32
#include "stencil/stencil_host_block.h"

#define CELL double
#define VECTOR __m512d
#define DO(x) _mm512_##x##_pd
#define CUT(a, b, k) stencil_host_cut_f64(a, b, k)
#define NAME(x) x##_avx512_f64
#include "stencil/stencil_host_block.h"
#undef TARGET

#endif

/* ---- the choice ---- */

#define KERNELS_OF(VECTORS)                                                                      \
    {                                                                                            \
        [DTYPE_F32] = { line_##VECTORS##_f32, star_##VECTORS##_f32, square_##VECTORS##_f32,      \
                        separable_##VECTORS##_f32, separable_sum_##VECTORS##_f32 },              \
        [DTYPE_F64] = { line_##VECTORS##_f64, star_##VECTORS##_f64, square_##VECTORS##_f64,      \
                        separable_##VECTORS##_f64, separable_sum_##VECTORS##_f64 },              \
    }

stencil_host_kernel *stencil_host_block(dtype t, stencil_form form)
{
    static stencil_host_kernel *const plain[2][STENCIL_FORMS] = KERNELS_OF(plain);
#if defined(__x86_64__)
    static stencil_host_kernel *const avx2[2][STENCIL_FORMS] = KERNELS_OF(avx2),
                                      *const avx512[2][STENCIL_FORMS] = KERNELS_OF(avx512);
    if (__builtin_cpu_supports("avx512f")) return avx512[t][form];
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2[t][form];
#endif
    return plain[t][form];
}
