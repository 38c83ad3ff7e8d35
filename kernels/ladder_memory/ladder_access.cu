#include "ladder/ladder_families.h"
#include "ladder_memory/ladder_access_l2.cuh"
#include "ladder_memory/ladder_access_pattern.cuh"

static const char teaches[] =
    "Access to global memory: what a warp asks for, and what the memory system has to move for it.\n"
    "\n"
    "The 32 threads of a warp load together. The hardware merges their addresses into requests for 32-byte "
    "sectors, and whole "
    "sectors travel: between L1, L2 and HBM, whether one byte of them is wanted or all. So the question "
    "about any access "
    "pattern is: how many sectors does one request of a warp touch? 32 neighbouring floats that start on a "
    "line touch 4; "
    "shifted by one float they touch 5; every second float, 8; every eighth or more, 32, of which seven "
    "eighths are thrown "
    "away. That number is printed beside every rate, for loads and for stores; ncu's "
    "l1tex__average_t_sectors_per_request shows "
    "the same ones (jobs/ncu_bench: at 169 points they differ by less than 1 %).\n"
    "\n"
    "The second question is how many bytes are on their way at a time: HBM answers after about 0.7 us, so "
    "that full speed needs "
    "about 25 KB in flight on each SM. More threads, more loads per thread or wider loads all provide them.\n"
    "\n"
    "Measured on one H200, f32, as a fraction of the copy engine: one load of 4 bytes per thread .62, two "
    ".86, four or one of "
    "16 bytes .96; an offset .61, whatever it is (the neighbouring warp needs the same sector and finds it "
    "in L1 or L2); reads "
    "with a stride of 5, 9, 17, 33 cells .32, .19, .11, .09 (past 8 cells no more sectors are touched, but "
    "up to 16 memory "
    "still moves two of them together), "
    "writes with 4, 8, 16, 32 .22, .12, .09, .04: memory with error correction must read what it is to write "
    "in parts. Hints to "
    "the caches change nothing in a plain copy. What was measured of rows, windows and fields stands with "
    "their rungs.\n";

namespace {

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
constexpr ladder_rung rung(const char *name, const char *why, ladder_way way, int variant, unsigned takes,
                           const char *teaches)
{
    return { .name = name,
             .why = why,
             .teaches = teaches,
             .variant = variant,
             .prepare = way.prepare,
             .enqueue = way.enqueue,
             .verify = way.verify,
             .unit = LADDER_BYTES,
             .ceiling = "copy",
             .ignores = (1u << PARAMETERS) - 2 - takes };
}

template <int HINT> constexpr ladder_rung hints(const char *name, const char *why, const char *teaches)
{
    return rung(name, why, { prepare_copy, run_hint<HINT>, ladder_verify_copy }, 0, 0, teaches);
}

template <int COUNT>
constexpr ladder_rung scans(const char *name, const char *why, ladder_way way, int variant, int parameter,
                            const int64_t (&values)[COUNT], const char *teaches)
{
    return ladder_scanned(parameter, values, rung(name, why, way, variant, 1u << parameter, teaches));
}

template <int COUNT>
constexpr ladder_rung windowed(const char *name, const char *why, int policy, int parameter,
                               const int64_t (&values)[COUNT], const char *teaches)
{
    ladder_rung r = scans(name, why, window, policy, parameter, values, teaches);
    r.destroy = window_destroy;
    r.missing = window_missing;
    r.ignores &= ~(1u << WINDOW_BYTES | 1u << HIT_PERCENT);
    return r;
}

const ladder_rung rungs[] = {
    scans("offsetRead", "a shifted warp touches one more sector", offset, READ, OFFSET, offsets,
          "The warp's 128 bytes do not start on a line. Its neighbour needs the sector that both share as "
          "well, and finds it in a "
          "cache."),
    scans("offsetWrite", "partial sectors wait in L2", offset, WRITE, OFFSET, offsets,
          "Two warps write a part of the same sector each. L2 holds it until both have come, so that memory "
          "sees whole sectors."),
    scans("strideRead", "sectors read, cells used", stride, READ, STRIDE, strides,
          "The warp's cells lie apart. Only those that are used count as work; the array that is walked "
          "keeps its length, so that "
          "it never fits into a cache."),
    scans("strideWrite", "each partial sector costs a read too", stride, WRITE, STRIDE, strides,
          "Memory with error correction cannot write a part of a sector: it is read, changed and written "
          "back."),
    scans("unroll", "independent loads per thread", unroll, 0, UNROLL, loads,
          "All loads of a thread are on their way before its first store, so that the same number of warps "
          "has more bytes in "
          "flight."),
    scans("vector", "bytes per load", vector, 0, WIDTH_BYTES, widths,
          "One load and one store of that many bytes per thread; a request of 32 x 16 bytes is four whole "
          "lines."),
    hints<CACHED>("loadCached", "through L1 and L2, the default",
                  "__ldca keeps a line in both caches, for whoever reads it again."),
    hints<READ_ONLY>("loadReadOnly", "__ldg: the read-only path",
                     "It was a cache of its own on old GPUs; today it is a part of L1."),
    hints<L2_ONLY>("loadL2", "L1 left out",
                   "__ldcg, for data that other SMs write: L1 would not know that they changed."),
    hints<STREAMING>("loadStreaming", "first to leave the caches",
                     "__ldcs and __stcs: what is read once need not push out what is read twice. A plain "
                     "copy reads nothing twice."),
    rung("rowsPacked", "odd rows start anywhere in a line", rows, PACKED, 1u << ROW_CELLS,
         "Each warp touches one sector more, and no vector load is allowed, since it would have to start on "
         "a multiple of its "
         "size. With rows of 1001 cells .63 of the copy (f32, one H200)."),
    rung("rowsPitched", "every row on 512 bytes", rows, PITCHED, 1u << ROW_CELLS,
         "cudaMallocPitch lets every row start on a multiple of 512 bytes, for at most 511 bytes per row: "
         ".84 of the copy."),
    windowed("windowNormal", "a stream pushes a table out", NORMAL, WINDOW_BYTES, windows,
             "L2 (50 MB on an H100, 60 on an H200) keeps what was used last, and cells that stream by once "
             "push out a table that "
             "every cell needs. Its reads are counted, so that more than 1 is possible: windows of 4, 16, "
             "32, 40 MB reach 1.38, "
             "1.00, 1.00, 1.01 of the copy."),
    windowed("windowPersisting", "stays, if half of L2 holds it", PERSISTING, WINDOW_BYTES, windows,
             "The access policy of a stream names a window of addresses whose lines persist, in a part of L2 "
             "that is set aside for "
             "them: the same windows reach 1.40, 1.13, .99, .69. It pays where the window begins not to "
             "survive by itself, up to "
             "half of L2; beyond, what is set aside is missing for everything else."),
    windowed("windowHitRatio", "set aside and left empty: lost", PERSISTING, HIT_PERCENT, percents,
             "Only that part of the window's lines claims the right to stay. With 64 MB and 100, 50, 25 % "
             ".64, .58, .41 of the copy, "
             "and a window of 4 MB with all of L2's part set aside fell to .44. Set aside what the window "
             "needs and no more."),
    rung("arrayOfStructures", "unwanted fields travel along", fields, ARRAY_OF_STRUCTURES, 0,
         "Two fields of four are read and one result is written; the other two fields come with them in the "
         "same sectors: .57 of "
         "the copy (f32, one H200)."),
    rung("structureOfArrays", "each field dense", fields, STRUCTURE_OF_ARRAYS, 0,
         "The fields that are not wanted stay where they are: .78."),
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
