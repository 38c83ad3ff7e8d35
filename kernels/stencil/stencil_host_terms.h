/* Template: the terms of a chain of fma over `count` vectors side by side, u[j], for templates over cell type
 * and vector (stencil_host_block.h, temporal_host_block.h), whose macros it takes: CELL, VECTOR, DO(x),
 * CUT(a, b, k). Included before their functions, and after them with STENCIL_HOST_TERMS_END, which takes back
 * what it defined. In a function `count` and `first` are in scope, and with CUT `line`, count + 2 vectors. */
#ifndef STENCIL_HOST_TERMS_END

#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(CELL)))
#define EACH_VECTOR(STATEMENT)                     \
    do {                                           \
        _Pragma("GCC unroll 8")                    \
        for (int j = 0; j < count; j++) STATEMENT; \
    } while (0)

/* SUM = W * FROM, the first term, a product so that a sum of zeros keeps its sign, or += it. */
#define BEGIN(SUM, W, FROM)                           \
    do {                                              \
        const VECTOR weight_ = DO(set1)(W);           \
        EACH_VECTOR(SUM[j] = DO(mul)(weight_, FROM)); \
    } while (0)
#define ADD(SUM, W, FROM)                                       \
    do {                                                        \
        const VECTOR weight_ = DO(set1)(W);                     \
        EACH_VECTOR(SUM[j] = DO(fmadd)(weight_, FROM, SUM[j])); \
    } while (0)
#define TERM(W, FROM)                 \
    do {                              \
        if (first) BEGIN(u, W, FROM); \
        else ADD(u, W, FROM);         \
        first = false;                \
    } while (0)

/* Vector j of ROW, K cells to its side. Nearly every such load straddles two cache lines and costs two, four
 * where they are not in L1 yet; it is cut instead out of `line`, the vectors of the row that HOLD loaded
 * whole. */
#ifdef CUT
#define HOLD(ROW)                                                                   \
    do {                                                                            \
        _Pragma("GCC unroll 10")                                                    \
        for (int j = 0; j < count + 2; j++) line[j] = DO(loadu)((ROW) + (j - 1) * LANES); \
    } while (0)
#define BESIDE(ROW, K)                                   \
    ((K) == 0  ? line[j + 1]                             \
     : (K) < 0 ? CUT(line[j], line[j + 1], LANES + (K)) \
               : CUT(line[j + 1], line[j + 2], K))
#else
#define HOLD(ROW) (void)0
#define BESIDE(ROW, K) DO(loadu)((ROW) + j * LANES + (K))
#endif

#else
#undef LANES
#undef EACH_VECTOR
#undef BEGIN
#undef ADD
#undef TERM
#undef HOLD
#undef BESIDE
#undef STENCIL_HOST_TERMS_END
#endif
