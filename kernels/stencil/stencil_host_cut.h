/* The vector that starts k cells into a and continues in b, for AVX-512. */
#pragma once

#include <immintrin.h>

#include "stencil/stencil_host_pass.h"

/* valign needs its shift in the instruction: k is a constant wherever these are inlined. */
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
