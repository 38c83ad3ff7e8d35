/* launch: what does a launch cost, and what does its shape decide? The lesson: docs/teaching/launch.md. */
#include "ladder/ladder_kernel.cuh"

namespace {

enum { N, BLOCK_THREADS, BLOCK_X, BLOCKS_PER_SM, LOADS, PARAMETERS };
enum { SHAPE_THREADS = 256, ROW_CELLS = 8192, COUNTERS = 1 };

/* ---- launches ---- */

__global__ void count_kernel(uint32_t *counter) { ++*counter; }

int prepare_count(ladder_case *c)
{
    c->type = DTYPE_F32; /* a counter of 4 bytes */
    c->size = COUNTERS;
    c->work = 1;
    const int code = ladder_open(c, COUNTERS, COUNTERS);
    return code ? code : c->d->fill_bytes(c->d, c->out, 0, sizeof(uint32_t), c->stream);
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

/* ---- copies in all shapes ---- */

template <typename T> __global__ void copy_line(T *out, const T *in, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

template <typename T> __global__ void copy_plane(T *out, const T *in, int64_t n)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                  y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    const int64_t i = y * ROW_CELLS + x;
    if (x < ROW_CELLS && i < n) out[i] = in[i];
}

template <typename T> using kernel = void (*)(T *out, const T *in, int64_t n);

/* How many of an SM's warps the launch of the kernel of the case's type allows. */
int predict_occupancy(ladder_case *c, kernel<float> f32, kernel<double> f64, int threads, size_t shared_bytes)
{
    int blocks = 0, most = 0;
    cudaError_t e = c->type == DTYPE_F32
                        ? cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f32, threads, shared_bytes)
                        : cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f64, threads, shared_bytes);
    if (e == cudaSuccess)
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, c->d->ordinal);
    c->predicted[0] = { "occupancy", e == cudaSuccess ? (double)blocks * threads / most : 0 };
    return e;
}

/* The shared memory that a block must take for itself. */
size_t hoard_bytes(const ladder_case *c)
{
    int sm_bytes = 0, reserved_bytes = 0, block_bytes = 0;
    if (cudaDeviceGetAttribute(&sm_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, c->d->ordinal) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&reserved_bytes, cudaDevAttrReservedSharedMemoryPerBlock, c->d->ordinal) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&block_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, c->d->ordinal) !=
            cudaSuccess)
        return 0;
    const int bytes = (sm_bytes / (int)c->value[BLOCKS_PER_SM] - reserved_bytes) / 1024 * 1024;
    return (size_t)(bytes < block_bytes ? bytes : block_bytes);
}

int prepare_copy(ladder_case *c)
{
    ladder_moves(c, c->value[N], 2);
    return ladder_open(c, c->size, c->size);
}

int prepare_block(ladder_case *c)
{
    const int code = prepare_copy(c);
    return code ? code
                : predict_occupancy(c, copy_line<float>, copy_line<double>, (int)c->value[BLOCK_THREADS], 0);
}

int run_block(ladder_case *c)
{
    const unsigned threads = (unsigned)c->value[BLOCK_THREADS];
    return ladder_kernel(c, ladder_blocks(c->size, threads), threads, 0, copy_line<float>, copy_line<double>,
                         c->size);
}

int prepare_shape(ladder_case *c)
{
    const int code = prepare_copy(c);
    return code ? code : predict_occupancy(c, copy_plane<float>, copy_plane<double>, SHAPE_THREADS, 0);
}

int run_shape(ladder_case *c)
{
    const unsigned x = (unsigned)c->value[BLOCK_X], y = SHAPE_THREADS / x;
    const dim3 grid(ladder_blocks(ROW_CELLS, x), ladder_blocks(ladder_blocks(c->size, ROW_CELLS), y));
    return ladder_kernel(c, grid, dim3(x, y), 0, copy_plane<float>, copy_plane<double>, c->size);
}

/* More than 48 KB per block must be asked for, once for each kernel. */
int prepare_few(ladder_case *c)
{
    const kernel<float> f32 = ladder_copy_of<float>(c->value[LOADS]);
    const kernel<double> f64 = ladder_copy_of<double>(c->value[LOADS]);
    const size_t bytes = hoard_bytes(c);
    const cudaError_t e = cudaFuncSetAttribute(c->type == DTYPE_F32 ? (const void *)f32 : (const void *)f64,
                                               cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    const int code = prepare_copy(c);
    if (code || e != cudaSuccess) return code ? code : e;
    return predict_occupancy(c, f32, f64, LADDER_COPY_THREADS, bytes);
}

int run_few(ladder_case *c)
{
    const int64_t loads = ladder_copy_loads(c->value[LOADS]);
    return ladder_kernel(c, ladder_blocks(c->size, LADDER_COPY_THREADS * loads), LADDER_COPY_THREADS,
                         hoard_bytes(c), ladder_copy_of<float>(loads), ladder_copy_of<double>(loads),
                         c->size);
}

/* ---- the table ---- */

const int64_t threads[] = { 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024 };
const int64_t shapes[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 };
const int64_t few[] = { 1, 2, 3, 4, 6, 8 };
const int64_t loads[] = { 1, 2, 4, 8 };

template <int COUNT>
constexpr ladder_rung copies(const char *name, const char *why, int (*prepare)(ladder_case *),
                             int (*enqueue)(ladder_case *), int parameter, const int64_t (&values)[COUNT],
                             unsigned also)
{
    const ladder_rung r = ladder_row(name, why, { prepare, enqueue, ladder_verify_copy }, 0,
                                     ((1u << PARAMETERS) - 1) & ~(1u << N | 1u << parameter | also));
    return ladder_scanned(parameter, values, r);
}

constexpr ladder_rung counts(const char *name, const char *why, int (*enqueue)(ladder_case *),
                             ladder_clock clock)
{
    ladder_rung r = ladder_row(name, why, { prepare_count, enqueue, verify_count }, 0, (1u << PARAMETERS) - 1,
                               nullptr, LADDER_CALLS);
    r.clock = clock;
    return r;
}

const ladder_rung rungs[] = {
    counts("pipelined", "launch after launch on a stream", run_count, LADDER_CLOCK_DEVICE),
    counts("roundTrip", "launch, and wait for the end", run_count_and_wait, LADDER_CLOCK_HOST),
    copies("blockSize", "threads per block, one cell per thread", prepare_block, run_block, BLOCK_THREADS,
           threads, 0),
    copies("blockShape", "256 threads: a row's part of them", prepare_shape, run_shape, BLOCK_X, shapes, 0),
    copies("occupancy", "blocks per SM, one load per thread", prepare_few, run_few, BLOCKS_PER_SM, few,
           1u << LOADS),
    copies("ilp", "loads per thread at low occupancy", prepare_few, run_few, LOADS, loads,
           1u << BLOCKS_PER_SM),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 26, 1024, 1 << 29, "cells to copy" },
    { "block_threads", 256, 32, 1024, "threads of a block" },
    { "block_x", 32, 1, SHAPE_THREADS, "threads along x of 256 in a block: a power of two" },
    { "blocks_per_sm", 1, 1, 8, "of 256 threads that an SM may hold" },
    { "loads", 1, 1, 8, "per thread: 1, 2, 4 or 8" },
};

} // namespace

const ladder_family ladder_launch_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "launch", "what a launch costs, and what its shape decides", "f32", "f64", nullptr);
