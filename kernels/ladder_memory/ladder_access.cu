#include "ladder/ladder_families.h"
#include "ladder_memory/ladder_access_l2.cuh"
#include "ladder_memory/ladder_access_pattern.cuh"

namespace
{

/* ---- more bytes in flight: more loads per thread, or wider ones ---- */

int prepare_copy(ladder_case *c)
{
    const double sectors = sectors_of(c, 0, 1);
    ladder_moves(c, c->value[N], 2);
    predict(c, sectors, sectors);
    return ladder_open(c, c->size, c->size);
}

template <int LOADS> int launch_unrolled(ladder_case *c)
{
    return ladder_kernel(c, ladder_blocks(c->size, LADDER_COPY_THREADS * LOADS), LADDER_COPY_THREADS, 0,
                         ladder_copy_kernel<float, LOADS>, ladder_copy_kernel<double, LOADS>, c->size);
}

int run_unroll(ladder_case *c)
{
    switch (c->value[UNROLL]) {
    case 1: return launch_unrolled<1>(c);
    case 2: return launch_unrolled<2>(c);
    case 4: return launch_unrolled<4>(c);
    case 8: return launch_unrolled<8>(c);
    }
    return cudaErrorInvalidValue;
}

template <typename V> int launch_vectors(ladder_case *c)
{
    const int64_t vectors = c->size * (int64_t)dtype_bytes(c->type) / (int64_t)sizeof(V);
    return ladder_words(c, ladder_blocks(vectors, LADDER_COPY_THREADS), LADDER_COPY_THREADS, 0,
                        ladder_copy_kernel<V, 1>, vectors);
}

int run_vector(ladder_case *c)
{
    switch (c->value[WIDTH_BYTES]) {
    case 4: return launch_vectors<unsigned>(c);
    case 8: return launch_vectors<uint2>(c);
    case 16: return launch_vectors<uint4>(c);
    }
    return cudaErrorInvalidValue;
}

int prepare_vector(ladder_case *c) /* whole vectors of the widest */
{
    c->value[N] &= ~(int64_t)3;
    const int code = prepare_copy(c);
    const double sectors = (double)c->value[WIDTH_BYTES]; /* 32 threads, each a 32nd of its bytes in
                                                           * sectors */
    predict(c, sectors, sectors);
    return code;
}

/* ---- hints to the caches ---- */

enum { HINT_LOADS = 4 };
enum { CACHED, READ_ONLY, L2_ONLY, STREAMING };

template <typename T, int HINT> __global__ void hinted(T *out, const T *in, int64_t n, int64_t)
{
    const int64_t first = (int64_t)blockIdx.x * THREADS * HINT_LOADS + threadIdx.x;
    T u[HINT_LOADS];
#pragma unroll
    for (int k = 0; k < HINT_LOADS; k++) {
        const T *p = in + first + k * THREADS;
        if (first + k * THREADS < n)
            u[k] = HINT == READ_ONLY   ? __ldg(p)
                   : HINT == L2_ONLY   ? __ldcg(p)
                   : HINT == STREAMING ? __ldcs(p)
                                       : __ldca(p);
    }
#pragma unroll
    for (int k = 0; k < HINT_LOADS; k++)
        if (first + k * THREADS < n) {
            if (HINT == STREAMING) __stcs(out + first + k * THREADS, u[k]);
            else out[first + k * THREADS] = u[k];
        }
}

template <int HINT> int run_hint(ladder_case *c)
{
    return launch(c, hinted<float, HINT>, hinted<double, HINT>, (c->size + HINT_LOADS - 1) / HINT_LOADS, 0);
}

/* ---- the table ---- */

const int64_t offsets[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                            17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33 };
const int64_t strides[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                            18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33 };
const int64_t loads[] = { 1, 2, 4, 8 };
const int64_t widths[] = { 4, 8, 16 };

const int64_t windows[] = { 4 << 20, 8 << 20, 16 << 20, 24 << 20, 32 << 20, 40 << 20, 48 << 20, 64 << 20 };
const int64_t percents[] = { 100, 75, 50, 25 };

constexpr ladder_way offset = { offset_prepare, offset_enqueue, offset_verify },
                     stride = { stride_prepare, stride_enqueue, stride_verify },
                     unroll = { prepare_copy, run_unroll, ladder_verify_copy },
                     vector = { prepare_vector, run_vector, ladder_verify_copy },
                     rows = { rows_prepare, rows_enqueue, rows_verify },
                     window = { window_prepare, window_enqueue, window_verify },
                     fields = { fields_prepare, fields_enqueue, fields_verify };

/* takes: bits of the parameters that it takes beside n. */
constexpr ladder_rung rung(const char *name, const char *why, ladder_way way, int variant, unsigned takes)
{
    return { .name = name,
             .why = why,
             .variant = variant,
             .prepare = way.prepare,
             .enqueue = way.enqueue,
             .verify = way.verify,
             .unit = LADDER_BYTES,
             .ceiling = "copy",
             .ignores = (1u << PARAMETERS) - 2 - takes };
}

template <int HINT> constexpr ladder_rung hints(const char *name, const char *why)
{
    return rung(name, why, { prepare_copy, run_hint<HINT>, ladder_verify_copy }, 0, 0);
}

template <int COUNT>
constexpr ladder_rung scans(const char *name, const char *why, ladder_way way, int variant, int parameter,
                            const int64_t (&values)[COUNT])
{
    return ladder_scanned(parameter, values, rung(name, why, way, variant, 1u << parameter));
}

template <int COUNT>
constexpr ladder_rung windowed(const char *name, const char *why, int policy, int parameter,
                               const int64_t (&values)[COUNT])
{
    ladder_rung r = scans(name, why, window, policy, parameter, values);
    r.destroy = window_destroy;
    r.missing = window_missing;
    r.ignores &= ~(1u << WINDOW_BYTES | 1u << HIT_PERCENT);
    return r;
}

const ladder_rung rungs[] = {
    scans("offsetRead", "a shifted warp touches one more sector", offset, READ, OFFSET, offsets),
    scans("offsetWrite", "partial sectors wait in L2", offset, WRITE, OFFSET, offsets),
    scans("strideRead", "sectors read, cells used", stride, READ, STRIDE, strides),
    scans("strideWrite", "each partial sector costs a read too", stride, WRITE, STRIDE, strides),
    scans("unroll", "independent loads per thread", unroll, 0, UNROLL, loads),
    scans("vector", "bytes per load", vector, 0, WIDTH_BYTES, widths),
    hints<CACHED>("loadCached", "through L1 and L2, the default"),
    hints<READ_ONLY>("loadReadOnly", "__ldg: the read-only path"),
    hints<L2_ONLY>("loadL2", "L1 left out"),
    hints<STREAMING>("loadStreaming", "first to leave the caches"),
    rung("rowsPacked", "odd rows start anywhere in a line", rows, PACKED, 1u << ROW_CELLS),
    rung("rowsPitched", "every row on 512 bytes", rows, PITCHED, 1u << ROW_CELLS),
    windowed("windowNormal", "a stream pushes a table out", NORMAL, WINDOW_BYTES, windows),
    windowed("windowPersisting", "stays, if half of L2 holds it", PERSISTING, WINDOW_BYTES, windows),
    windowed("windowHitRatio", "set aside and left empty: lost", PERSISTING, HIT_PERCENT, percents),
    rung("arrayOfStructures", "unwanted fields travel along", fields, ARRAY_OF_STRUCTURES, 0),
    rung("structureOfArrays", "each field dense", fields, STRUCTURE_OF_ARRAYS, 0),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 25, 1024, (int64_t)1 << 32, "cells" },
    { "offset", 0, 0, OFFSET_MOST, "cells between the start of a line and the first cell" },
    { "stride", 1, 1, 1024, "cells from one thread's to the next one's" },
    { "unroll", 4, 1, 8, "loads per thread: 1, 2, 4 or 8" },
    { "width_bytes", 16, 4, 16, "bytes per load: 4, 8 or 16" },
    { "row_cells", 1001, 1, 1 << 20, "cells of a row" },
    { "window_bytes", 64 << 20, 4096, (int64_t)1 << 32, "of the table that every cell needs again" },
    { "hit_percent", 100, 0, 100, "of the window's lines that may persist" },
};

} // namespace

const ladder_family ladder_access_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "access", "sectors asked for, bytes in flight", "f32", "f64", nullptr);
