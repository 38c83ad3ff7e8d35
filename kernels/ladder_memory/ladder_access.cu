#include "ladder/ladder_families.h"
#include "ladder_memory/ladder_access.cuh"

static const char teaches[] =
    "Access to global memory: what a warp asks for, and what the memory system has to move for it.\n"
    "\n"
    "The 32 threads of a warp load together. The hardware merges their addresses into requests for 32-byte sectors, and whole "
    "sectors travel: between L1, L2 and HBM, whether one byte of them is wanted or all. So the question about any access "
    "pattern is: how many sectors does one request of a warp touch? 32 neighbouring floats that start on a line touch 4; "
    "shifted by one float they touch 5; every second float, 8; every eighth or more, 32, of which seven eighths are thrown "
    "away. That number is printed beside every rate, for loads and for stores; ncu's l1tex__average_t_sectors_per_request shows "
    "the same ones (jobs/ncu_bench: none of 169 points off by 1 %).\n"
    "\n"
    "The second question is how many bytes are on their way at a time: HBM answers after about 0.7 us, so that full speed needs "
    "about 25 KB in flight on each SM. More threads, more loads per thread or wider loads all provide them.\n"
    "\n"
    "Measured on one H200, f32, as a fraction of the copy engine: one load of 4 bytes per thread .62, two .86, four or one of "
    "16 bytes .96; an offset .61, whatever it is (the neighbouring warp needs the same sector and finds it in L1 or L2); reads "
    "with a stride of 5, 9, 17, 33 cells .32, .19, .11, .09 (past 8 cells no more sectors are touched, but fewer share a line), "
    "writes with 4, 8, 16, 32 .22, .12, .09, .04: memory with error correction must read what it is to write in parts. Hints to "
    "the caches change nothing in a plain copy. What was measured of rows, windows and fields stands with their rungs.\n";

namespace {

enum {
    N = LADDER_ACCESS_N,
    OFFSET = LADDER_ACCESS_OFFSET,
    STRIDE = LADDER_ACCESS_STRIDE,
    UNROLL = LADDER_ACCESS_UNROLL,
    WIDTH_BYTES = LADDER_ACCESS_WIDTH_BYTES,
    PARAMETERS = LADDER_ACCESS_PARAMETERS,
    THREADS = LADDER_ACCESS_THREADS
};

/* ---- more bytes in flight: more loads per thread, or wider ones ---- */

template <typename T, int LOADS> __global__ void unrolled(T *out, const T *in, int64_t n, int64_t)
{
    const int64_t first = (int64_t)blockIdx.x * THREADS * LOADS + threadIdx.x;
    T u[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; k++)
        if (first + k * THREADS < n) u[k] = in[first + k * THREADS];
#pragma unroll
    for (int k = 0; k < LOADS; k++)
        if (first + k * THREADS < n) out[first + k * THREADS] = u[k];
}

int prepare_copy(ladder_case *c)
{
    const double sectors = ladder_access_sectors(c, 0, 1);
    c->size = c->value[N];
    c->work = 2 * (double)c->size * (double)dtype_bytes(c->type);
    ladder_access_predict(c, sectors, sectors);
    return ladder_arrays_prepare(c, c->size, c->size);
}

int run_unroll(ladder_case *c)
{
    const int64_t loads = c->value[UNROLL], threads = (c->size + loads - 1) / loads;
    switch (loads) {
    case 1: return ladder_access_launch(c, unrolled<float, 1>, unrolled<double, 1>, threads, 0);
    case 2: return ladder_access_launch(c, unrolled<float, 2>, unrolled<double, 2>, threads, 0);
    case 4: return ladder_access_launch(c, unrolled<float, 4>, unrolled<double, 4>, threads, 0);
    case 8: return ladder_access_launch(c, unrolled<float, 8>, unrolled<double, 8>, threads, 0);
    }
    return cudaErrorInvalidValue;
}

template <typename V> __global__ void vector_copy(V *out, const V *in, int64_t vectors)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < vectors) out[i] = in[i];
}

template <typename V> int launch_vectors(ladder_case *c)
{
    const int64_t vectors = c->size * (int64_t)dtype_bytes(c->type) / (int64_t)sizeof(V);
    vector_copy<V><<<ladder_access_blocks(vectors, THREADS), THREADS, 0, device_cuda_stream(c->stream)>>>(
        (V *)ladder_access_arrays(c)->out, (const V *)ladder_access_arrays(c)->in, vectors);
    return cudaGetLastError();
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
    const double sectors = (double)c->value[WIDTH_BYTES]; /* 32 threads, each a 32nd of its bytes in sectors */
    ladder_access_predict(c, sectors, sectors);
    return code;
}

void answer_straight(const void *, dtype t, int64_t first, int64_t count, void *out)
{
    ladder_random(t, out, first, count, LADDER_SEED);
}

int verify_copy(ladder_case *c, ladder_verdict *v) { return ladder_arrays_compare(c, answer_straight, v); }

/* ---- hints to the caches ---- */

enum { HINT_LOADS = 4 };
enum hint { CACHED, READ_ONLY, L2_ONLY, STREAMING };

template <typename T, int HINT> __global__ void hinted(T *out, const T *in, int64_t n, int64_t)
{
    const int64_t first = (int64_t)blockIdx.x * THREADS * HINT_LOADS + threadIdx.x;
    T u[HINT_LOADS];
#pragma unroll
    for (int k = 0; k < HINT_LOADS; k++) {
        const T *p = in + first + k * THREADS;
        if (first + k * THREADS < n)
            u[k] = HINT == READ_ONLY ? __ldg(p) : HINT == L2_ONLY ? __ldcg(p) : HINT == STREAMING ? __ldcs(p) : __ldca(p);
    }
#pragma unroll
    for (int k = 0; k < HINT_LOADS; k++)
        if (first + k * THREADS < n) {
            if (HINT == STREAMING) __stcs(out + first + k * THREADS, u[k]);
            else out[first + k * THREADS] = u[k];
        }
}

int run_hint(ladder_case *c)
{
    const int64_t threads = (c->size + HINT_LOADS - 1) / HINT_LOADS;
    switch ((hint)c->rung->variant) {
    case CACHED: return ladder_access_launch(c, hinted<float, CACHED>, hinted<double, CACHED>, threads, 0);
    case READ_ONLY: return ladder_access_launch(c, hinted<float, READ_ONLY>, hinted<double, READ_ONLY>, threads, 0);
    case L2_ONLY: return ladder_access_launch(c, hinted<float, L2_ONLY>, hinted<double, L2_ONLY>, threads, 0);
    case STREAMING: return ladder_access_launch(c, hinted<float, STREAMING>, hinted<double, STREAMING>, threads, 0);
    }
    return cudaErrorInvalidValue;
}

/* ---- the table ---- */

const int64_t offsets[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                            17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33 };
const int64_t loads[] = { 1, 2, 4, 8 };
const int64_t widths[] = { 4, 8, 16 };

constexpr ladder_rung rung(const char *name, const char *why, int (*prepare)(ladder_case *), int (*enqueue)(ladder_case *),
                           int (*verify)(ladder_case *, ladder_verdict *), int variant = 0)
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = prepare;
    r.enqueue = enqueue;
    r.verify = verify;
    r.destroy = ladder_arrays_destroy;
    r.unit = LADDER_BYTES;
    r.ceiling = "copy";
    r.variant = variant;
    r.ignores = (1u << PARAMETERS) - 2; /* all but n */
    return r;
}

constexpr ladder_rung scanned(ladder_rung r, int parameter, const int64_t *values, int count)
{
    r.scan = parameter;
    r.ignores &= ~(1u << parameter);
    r.scan_values = values;
    r.scan_count = count;
    return r;
}

constexpr ladder_rung rows(const char *name, const char *why, int layout)
{
    ladder_rung r = rung(name, why, ladder_access_rows_prepare, ladder_access_rows, ladder_access_rows_verify, layout);
    r.ignores &= ~(1u << LADDER_ACCESS_ROW_CELLS);
    return r;
}

constexpr ladder_rung window(const char *name, const char *why, int policy)
{
    ladder_rung r = rung(name, why, ladder_access_window_prepare, ladder_access_window, ladder_access_window_verify, policy);
    r.destroy = ladder_access_window_destroy;
    r.missing = ladder_access_window_missing;
    r.ignores &= ~(1u << LADDER_ACCESS_WINDOW_BYTES | 1u << LADDER_ACCESS_HIT_PERCENT);
    return r;
}

const int64_t windows[] = { 4 << 20, 8 << 20, 16 << 20, 24 << 20, 32 << 20, 40 << 20, 48 << 20, 64 << 20 };
const int64_t percents[] = { 100, 75, 50, 25 };

const ladder_rung rungs[] = {
    ladder_taught(scanned(rung("offsetRead", "a shifted warp touches one more sector", ladder_access_offset_prepare,
                               ladder_access_offset, ladder_access_offset_verify, LADDER_ACCESS_READ), OFFSET, offsets, 34),
                  "The warp's 128 bytes do not start on a line. Its neighbour needs the sector that both share as well, and "
                  "finds it in a cache."),
    ladder_taught(scanned(rung("offsetWrite", "partial sectors wait in L2", ladder_access_offset_prepare, ladder_access_offset,
                               ladder_access_offset_verify, LADDER_ACCESS_WRITE),
                          OFFSET, offsets, 34),
                  "Two warps write a part of the same sector each. L2 holds it until both have come, so that memory sees whole "
                  "sectors."),
    ladder_taught(scanned(rung("strideRead", "sectors read, cells used", ladder_access_stride_prepare, ladder_access_stride,
                               ladder_access_stride_verify, LADDER_ACCESS_READ),
                          STRIDE, offsets + 1, 33),
                  "The warp's cells lie apart. Only those that are used count as work; the array that is walked keeps its "
                  "length, so that it never fits into a cache."),
    ladder_taught(scanned(rung("strideWrite", "each partial sector costs a read too", ladder_access_stride_prepare,
                               ladder_access_stride, ladder_access_stride_verify, LADDER_ACCESS_WRITE), STRIDE, offsets + 1, 33),
                  "Memory with error correction cannot write a part of a sector: it is read, changed and written back."),
    ladder_taught(scanned(rung("unroll", "independent loads per thread", prepare_copy, run_unroll, verify_copy), UNROLL, loads, 4),
                  "All loads of a thread are on their way before its first store, so that the same number of warps has more "
                  "bytes in flight."),
    ladder_taught(scanned(rung("vector", "bytes per load", prepare_vector, run_vector, verify_copy), WIDTH_BYTES, widths, 3),
                  "One load and one store of that many bytes per thread; a request of 32 x 16 bytes is four whole lines."),
    ladder_taught(rung("loadCached", "through L1 and L2, the default", prepare_copy, run_hint, verify_copy, CACHED),
                  "__ldca keeps a line in both caches, for whoever reads it again."),
    ladder_taught(rung("loadReadOnly", "__ldg: the read-only path", prepare_copy, run_hint, verify_copy, READ_ONLY),
                  "It was a cache of its own on old GPUs; today it is a part of L1."),
    ladder_taught(rung("loadL2", "L1 left out", prepare_copy, run_hint, verify_copy, L2_ONLY),
                  "__ldcg, for data that other SMs write: L1 would not know that they changed."),
    ladder_taught(rung("loadStreaming", "first to leave the caches", prepare_copy, run_hint, verify_copy, STREAMING),
                  "__ldcs and __stcs: what is read once need not push out what is read twice. A plain copy reads nothing twice."),
    ladder_taught(rows("rowsPacked", "odd rows start anywhere in a line", LADDER_ACCESS_PACKED),
                  "Each warp touches one sector more, and no vector load is allowed, since it would have to start on a multiple "
                  "of its size. With rows of 1001 cells .63 of the copy (f32, one H200)."),
    ladder_taught(rows("rowsPitched", "every row on 512 bytes", LADDER_ACCESS_PITCHED),
                  "cudaMallocPitch lets every row start on a multiple of 512 bytes, for at most 511 bytes per row: .84 of the "
                  "copy."),
    ladder_taught(scanned(window("windowNormal", "a stream pushes a table out", LADDER_ACCESS_NORMAL), LADDER_ACCESS_WINDOW_BYTES,
                          windows, 8),
                  "L2 (50 MB on an H100, 60 on an H200) keeps what was used last, and cells that stream by once push out a "
                  "table that every cell needs. Its reads are counted, so that more than 1 is possible: windows of 4, 16, 32, "
                  "40 MB reach 1.38, 1.00, 1.00, 1.01 of the copy."),
    ladder_taught(scanned(window("windowPersisting", "stays, if half of L2 holds it", LADDER_ACCESS_PERSISTING),
                          LADDER_ACCESS_WINDOW_BYTES, windows, 8),
                  "The access policy of a stream names a window of addresses whose lines persist, in a part of L2 that is set "
                  "aside for them: the same windows reach 1.40, 1.13, .99, .69. It pays where the window begins not to survive "
                  "by itself, up to half of L2; beyond, what is set aside is missing for everything else."),
    ladder_taught(scanned(window("windowHitRatio", "set aside and left empty: lost", LADDER_ACCESS_PERSISTING),
                          LADDER_ACCESS_HIT_PERCENT, percents, 4),
                  "Only that part of the window's lines claims the right to stay. With 64 MB and 100, 50, 25 % .64, .58, .41 of "
                  "the copy, and a window of 4 MB with all of L2's part set aside fell to .44. Set aside what the window needs "
                  "and no more."),
    ladder_taught(rung("arrayOfStructures", "unwanted fields travel along", ladder_access_fields_prepare, ladder_access_fields,
                       ladder_access_fields_verify, LADDER_ACCESS_ARRAY_OF_STRUCTURES),
                  "Two fields of four are read and one result is written; the other two fields come with them in the same "
                  "sectors: .57 of the copy (f32, one H200)."),
    ladder_taught(rung("structureOfArrays", "each field dense", ladder_access_fields_prepare, ladder_access_fields,
                       ladder_access_fields_verify, LADDER_ACCESS_STRUCTURE_OF_ARRAYS),
                  "The fields that are not wanted stay where they are: .78."),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 25, 1024, (int64_t)1 << 32, "cells" },
    { "offset", 0, 0, LADDER_ACCESS_OFFSET_MOST, "cells between the start of a line and the first cell" },
    { "stride", 1, 1, 1024, "cells from one thread's to the next one's" },
    { "unroll", 4, 1, 8, "loads per thread: 1, 2, 4 or 8" },
    { "width_bytes", 16, 4, 16, "bytes per load: 4, 8 or 16" },
    { "row_cells", 1001, 1, 1 << 20, "cells of a row" },
    { "window_bytes", 64 << 20, 4096, (int64_t)1 << 32, "of the table that every cell needs again" },
    { "hit_percent", 100, 0, 100, "of the window's lines that may persist" },
};

} // namespace

const ladder_family ladder_access_cuda = {
    DEVICE_CUDA, "access", "sectors asked for, bytes in flight", { "f32", "f64" },
    parameters, PARAMETERS, rungs, sizeof rungs / sizeof rungs[0],
    teaches, nullptr,
};
