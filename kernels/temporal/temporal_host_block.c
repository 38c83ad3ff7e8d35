/* Rows of levels by AVX-512: the sums of 4 vectors grow side by side, cells beside are cut out of vectors
 * that were loaded whole. From rows in L1 this is bound by FMA (docs/stencil-kernels.md), which the
 * compiler's loops, with two lines for each cell beside, are not. */
#include "stencil/stencil_host_cut.h"
#include "temporal/temporal_host_pass.h"

#if defined(__x86_64__)

enum { BLOCK_VECTORS = TEMPORAL_HOST_BLOCK_LINES };

#define TARGET STENCIL_HOST_AVX512
#define CELL float
#define VECTOR __m512
#define DO(x) _mm512_##x##_ps
#define CUT(a, b, k) stencil_host_cut_f32(a, b, k)
#define NAME(x) x##_f32
#include "temporal/temporal_host_block.h"

#define CELL double
#define VECTOR __m512d
#define DO(x) _mm512_##x##_pd
#define CUT(a, b, k) stencil_host_cut_f64(a, b, k)
#define NAME(x) x##_f64
#include "temporal/temporal_host_block.h"
#undef TARGET

temporal_host_kernel *temporal_host_block(const stencil *op)
{
    static temporal_host_kernels kernel = {
        [DTYPE_F32] = { [STENCIL_LINE] = TEMPORAL_HOST_KERNELS(line, _f32),
                        [STENCIL_STAR] = TEMPORAL_HOST_KERNELS(star, _f32),
                        [STENCIL_BOX] = TEMPORAL_HOST_BOXES(_f32) },
        [DTYPE_F64] = { [STENCIL_LINE] = TEMPORAL_HOST_KERNELS(line, _f64),
                        [STENCIL_STAR] = TEMPORAL_HOST_KERNELS(star, _f64),
                        [STENCIL_BOX] = TEMPORAL_HOST_BOXES(_f64) },
    };
    if (!__builtin_cpu_supports("avx512f")) return NULL;
    return kernel[op->type][op->form][op->has_prev][op->radius - 1];
}

#else

temporal_host_kernel *temporal_host_block(const stencil *op) { return NULL; }

#endif
