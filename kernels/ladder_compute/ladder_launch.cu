/* launch: what does a launch cost, and what does its shape decide? The lesson: docs/teaching/launch.md. */
#include "ladder/ladder_kernel.cuh"

namespace {

enum { N, BLOCK_THREADS, BLOCKS_PER_SM, LOADS, PARAMETERS };

/* ---- launches ---- */

__global__ void count_kernel(uint32_t *counter) { ++*counter; }

int prepare_count(ladder_case *c)
{
    c->type = DTYPE_F32; /* a counter of 4 bytes */
    c->size = 1;
    c->work = 1;
    return ladder_alloc_zeroed(c, sizeof(uint32_t), &c->out);
}

int run_count(ladder_case *c)
{
    count_kernel<<<1, 1, 0, device_cuda_stream(c->stream)>>>((uint32_t *)c->out);
    return cudaGetLastError();
}

int run_count_and_wait(ladder_case *c)
{
    const int code = run_count(c);
    return code ? code : c->d->stream_sync(c->d, c->stream);
}

int verify_count(ladder_case *c, ladder_verdict *v)
{
    return ladder_compare_number(c, "counter", c->out, sizeof(uint32_t), 1, v);
}

/* ---- copies: blocks of another size, fewer blocks, more loads ---- */

template <typename T> __global__ void copy_line(T *out, const T *in, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

enum { BLOCK_SIZE, FEW_BLOCKS }; /* a rung's variant */

typedef struct shape {
    void (*f32)(float *out, const float *in, int64_t n);
    void (*f64)(double *out, const double *in, int64_t n);
    unsigned grid, block;
    size_t shared_bytes;
} shape;

int attribute(const ladder_case *c, cudaDeviceAttr what)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, what, c->d->ordinal) == cudaSuccess ? value : 0;
}

/* The shared memory that a block must take for itself, so that no more than blocks_per_sm fit on an SM. */
size_t hoard_bytes(const ladder_case *c)
{
    const int sm_bytes = attribute(c, cudaDevAttrMaxSharedMemoryPerMultiprocessor),
              reserved_bytes = attribute(c, cudaDevAttrReservedSharedMemoryPerBlock),
              most_bytes = attribute(c, cudaDevAttrMaxSharedMemoryPerBlockOptin),
              bytes = (sm_bytes / (int)c->value[BLOCKS_PER_SM] - reserved_bytes) / 1024 * 1024;
    return (size_t)(bytes < most_bytes ? bytes : most_bytes);
}

shape shape_of(const ladder_case *c)
{
    const unsigned threads = (unsigned)c->value[BLOCK_THREADS];
    const int64_t loads = ladder_copy_loads(c->value[LOADS]);
    if (c->rung->variant == BLOCK_SIZE)
        return { copy_line<float>, copy_line<double>, ladder_blocks(c->size, threads), threads, 0 };
    return { ladder_copy_of<float>(loads), ladder_copy_of<double>(loads),
             ladder_blocks(c->size, LADDER_COPY_THREADS * loads), LADDER_COPY_THREADS, hoard_bytes(c) };
}

/* More than 48 KB per block must be asked for, once for each kernel. Predicts how many of an SM's warps the
 * launch allows. */
int prepare_copy(ladder_case *c)
{
    ladder_moves(c, c->value[N], 2);
    const shape s = shape_of(c);
    const void *const k = c->type == DTYPE_F32 ? (const void *)s.f32 : (const void *)s.f64;
    const int threads = (int)s.block;
    int blocks = 0;
    cudaError_t e = cudaSuccess;
    if (s.shared_bytes > 0)
        e = cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)s.shared_bytes);
    if (e == cudaSuccess)
        e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, threads, s.shared_bytes);
    c->predicted[0] = { "occupancy",
                        (double)blocks * threads / attribute(c, cudaDevAttrMaxThreadsPerMultiProcessor) };
    return e == cudaSuccess ? ladder_open(c, c->size, c->size) : e;
}

int run_copy(ladder_case *c)
{
    const shape s = shape_of(c);
    return ladder_kernel(c, s.grid, s.block, s.shared_bytes, s.f32, s.f64, c->size);
}

/* ---- the table ---- */

const int64_t threads[] = { 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024 };
const int64_t few[] = { 1, 2, 3, 4, 6, 8 }, loads[] = { 1, 2, 4, 8 };

template <int COUNT>
constexpr ladder_rung copies(const char *name, const char *why, int variant, int parameter,
                             const int64_t (&values)[COUNT], unsigned also = 0)
{
    return { LADDER_ROW(name, why, prepare_copy, run_copy, ladder_verify_cells, "copy"), .variant = variant,
             .ignores = ladder_all_but(PARAMETERS, 1u << parameter | also), LADDER_SCAN(parameter, values) };
}

constexpr ladder_rung counts(const char *name, const char *why, int (*enqueue)(ladder_case *),
                             ladder_clock clock)
{
    return { LADDER_ROW(name, why, prepare_count, enqueue, verify_count, nullptr), .unit = LADDER_CALLS,
             .clock = clock, .ignores = (1u << PARAMETERS) - 1 };
}

const ladder_rung rungs[] = {
    counts("pipelined", "launch after launch on a stream", run_count, LADDER_CLOCK_DEVICE),
    counts("roundTrip", "launch, and wait for the end", run_count_and_wait, LADDER_CLOCK_HOST),
    copies("blockSize", "threads per block, one cell per thread", BLOCK_SIZE, BLOCK_THREADS, threads),
    copies("occupancy", "blocks per SM, one load per thread", FEW_BLOCKS, BLOCKS_PER_SM, few, 1u << LOADS),
    copies("ilp", "loads per thread at low occupancy", FEW_BLOCKS, LOADS, loads, 1u << BLOCKS_PER_SM),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 26, 1024, 1 << 29, "cells to copy" },
    { "block_threads", 256, 32, 1024, "threads of a block" },
    { "blocks_per_sm", 1, 1, 8, "of 256 threads that an SM may hold" },
    { "loads", 1, 1, 8, "per thread: 1, 2, 4 or 8" },
};

} // namespace

const ladder_family ladder_launch_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "launch", "what a launch costs, and what its shape decides", "f32", "f64", nullptr);
