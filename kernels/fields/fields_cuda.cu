/* Whole fields on the GPU: given by a formula, reduced to norms and the fingerprint; memory patterns. */
#include "core/cell.h"
#include "core/pattern.h"
#include "cuda/tiles_cuda.cuh"
#include "cuda/vector_cuda.cuh"
#include "device/device_cuda.h"

namespace {

/* ---- fields given by a formula: cell_value in double, rounded once to the field's type ---- */

enum { FILL_THREADS = 128, FILL_ROWS = 8 };

template <typename T>
__global__ void __launch_bounds__(FILL_THREADS)
    fill_kernel(T *own, int64_t pitch, const __grid_constant__ value v, const __grid_constant__ tiles boxes)
{
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    x += threadIdx.x;
    if (x >= cells.x1) return;
    for (int j = 0; j < FILL_ROWS && y + j < cells.y1; j++)
        own[(y + j) * pitch + x] = (T)cell_value(&v, x, y + j);
}

/* ---- norms: a block reduces one tile, through its warps by shuffles and through shared memory, and joins
 * the result by one atomic. Both joins, the maximum of bit patterns and the sum mod 2^64, commute exactly, so
 * the result does not depend on the order of the blocks ---- */

enum { THREADS = 256, ROWS = 32, WARP = 32 };
typedef unsigned long long word; /* the type of atomics; 64 bits like uint64_t */

__device__ __forceinline__ uint64_t bits_of(float u) { return cell_bits_f32(u); }
__device__ __forceinline__ uint64_t bits_of(double u) { return cell_bits_f64(u); }

struct largest {
    static __device__ word join(word a, word b) { return max(a, b); }
    static __device__ void atomic(word *to, word a) { atomicMax(to, a); }
};

/* The value of a cell in the two norms. */
template <typename T> struct error_of {
    const T *own;
    int64_t pitch;
    value v;
    __device__ word cell(int64_t x, int64_t y) const
    {
        return cell_abs_bits((double)own[y * pitch + x] - cell_value(&v, x, y));
    }
};

template <typename T> struct change_of {
    const T *a, *b;
    int64_t pitch;
    __device__ word cell(int64_t x, int64_t y) const
    {
        return cell_abs_bits((double)(a[y * pitch + x] - b[y * pitch + x]));
    }
};

/* Joins one word per thread, all threads of the block, into *result. */
template <typename OF> __device__ __forceinline__ void join_block(word all, word *result)
{
    __shared__ word of_warp[THREADS / WARP];
    for (int step = WARP / 2; step > 0; step /= 2) all = OF::join(all, __shfl_down_sync(~0u, all, step));
    if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = all;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < THREADS / WARP; w++) all = OF::join(all, of_warp[w]);
        OF::atomic(result, all);
    }
}

/* 0 is neutral in both joins. */
template <typename OF>
__global__ void __launch_bounds__(THREADS)
    reduce_kernel(const __grid_constant__ OF of, word *result, const __grid_constant__ tiles boxes)
{
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    x += threadIdx.x;
    word all = 0;
    if (x < cells.x1) {
        const int rows = (int)min(cells.y1 - y, (int64_t)ROWS);
#pragma unroll 8
        for (int j = 0; j < rows; j++) all = largest::join(all, of.cell(x, y + j));
    }
    join_block<largest>(all, result);
}

/* ---- the fingerprint ----
 *
 * In f32 integer arithmetic is the bound, so arithmetic is saved: the index times the golden ratio advances
 * by additions, cells come as vectors, and a cell costs one comparison for NaN. A thread that saw a NaN
 * starts over cell by cell, as do threads at the ragged ends. In f64 reading is the bound: PRINT_AT_ONCE rows
 * are requested before the first is used. The 1 in the launch bounds lets the compiler take the registers for
 * them; without it, it requests few rows at a time, to fit more blocks on an SM. */

enum { PRINT_ROWS = 16, PRINT_AT_ONCE = 8 };

constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15ull; /* the factor of the index in cell_fingerprint */

struct sum_of {
    static __device__ word join(word a, word b) { return a + b; }
    static __device__ void atomic(word *to, word a) { atomicAdd(to, a); }
};

__device__ __forceinline__ uint64_t pattern(float u) { return __float_as_uint(u); } /* NaN unchanged */
__device__ __forceinline__ uint64_t pattern(double u) { return (uint64_t)__double_as_longlong(u); }

/* linear: the index of own cell (0,0). A block reads THREADS vectors of PRINT_ROWS rows. */
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
    fingerprint_kernel(const T *own, int64_t pitch, uint64_t nx_global, uint64_t linear, word *result,
                       const __grid_constant__ tiles boxes)
{
    constexpr int V = vector_cells<T>;
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    x += threadIdx.x * V;
    const T *const first = own + y * pitch + x;
    const uint64_t index = linear + (uint64_t)y * nx_global + (uint64_t)x;
    word all = 0;
    bool by_cell = true;
    if (x + V <= cells.x1 && y + PRINT_ROWS <= cells.y1) {
        const uint64_t row_step = GOLDEN * nx_global;
        uint64_t k = (index + 1) * GOLDEN;
        const T *row = first;
        by_cell = false;
#pragma unroll 1
        for (int j = 0; j < PRINT_ROWS; j += PRINT_AT_ONCE) {
            T u[PRINT_AT_ONCE][V];
#pragma unroll
            for (int i = 0; i < PRINT_AT_ONCE; i++, row += pitch) load_once(u[i], row);
#pragma unroll
            for (int i = 0; i < PRINT_AT_ONCE; i++, k += row_step)
#pragma unroll
                for (int v = 0; v < V; v++) {
                    by_cell |= u[i][v] != u[i][v];
                    all += cell_fmix64(k + v * GOLDEN + pattern(u[i][v]));
                }
        }
    }
    if (by_cell) {
        all = 0;
        for (int j = 0; j < PRINT_ROWS && y + j < cells.y1; j++)
            for (int v = 0; v < V && x + v < cells.x1; v++)
                all += cell_fingerprint(bits_of(first[j * pitch + v]), index + j * nx_global + v);
    }
    join_block<sum_of>(all, result);
}

template <typename OF> cudaError_t launch(const OF &of, box cells, uint64_t *result, cudaStream_t stream)
{
    const cudaError_t zeroed = cudaMemsetAsync(result, 0, sizeof *result, stream);
    const tiles all = tiles_make(&cells, 1, 1, THREADS, ROWS);
    if (zeroed != cudaSuccess || all.blocks == 0) return zeroed;
    reduce_kernel<<<all.blocks, THREADS, 0, stream>>>(of, (word *)result, all);
    return cudaGetLastError();
}

template <typename T> const T *own_of(const field_shape *f, const void *field)
{
    return (const T *)field_at_const(f, field, 0, 0);
}

/* ---- memory patterns: a thread accesses words in pairs, 16 bytes at a time. Wrong words are rare, so each
 * thread that has one joins it by atomics, a sum and a minimum, which commute exactly ---- */

enum { PAIRS = 8 }; /* pairs per thread, a block's width apart */

__global__ void __launch_bounds__(THREADS)
    write_kernel(ulonglong2 *to, int64_t pairs, const __grid_constant__ memory_pattern p)
{
    const int64_t first = (int64_t)blockIdx.x * THREADS * PAIRS + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        const int64_t i = first + k * THREADS;
        if (i < pairs) __stcs(to + i, make_ulonglong2(pattern_word(&p, 2 * i), pattern_word(&p, 2 * i + 1)));
    }
}

__device__ __forceinline__ void join_wrong(word index, word wrote, word read, word *words, word *first)
{
    if (wrote == read) return;
    ++*words;
    *first = min(*first, (word)pattern_first_half(index, wrote, read));
}

__global__ void __launch_bounds__(THREADS)
    check_kernel(const ulonglong2 *from, int64_t pairs, word *wrong_words, word *first_half,
                 const __grid_constant__ memory_pattern p)
{
    const int64_t first = (int64_t)blockIdx.x * THREADS * PAIRS + threadIdx.x;
    word words = 0, half = ~0ull;
    ulonglong2 read[PAIRS]; /* all are requested before the first is used */
#pragma unroll
    for (int k = 0; k < PAIRS; k++)
        if (first + k * THREADS < pairs) read[k] = __ldcs(from + first + k * THREADS);
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        const int64_t i = first + k * THREADS;
        if (i >= pairs) break;
        join_wrong(2 * i, pattern_word(&p, 2 * i), read[k].x, &words, &half);
        join_wrong(2 * i + 1, pattern_word(&p, 2 * i + 1), read[k].y, &words, &half);
    }
    if (words == 0) return;
    atomicAdd(wrong_words, words);
    atomicMin(first_half, half);
}

unsigned blocks_of(int64_t pairs) { return (unsigned)((pairs + THREADS * PAIRS - 1) / (THREADS * PAIRS)); }

} // namespace

int value_fill_cuda(device *, const field_shape *f, void *field, const value *v, box cells, device_stream *s)
{
    const tiles all = tiles_make(&cells, 1, 1, FILL_THREADS, FILL_ROWS);
    if (all.blocks == 0) return cudaSuccess;
    return by_type(f->type, [&](auto cell) {
        auto *const own = (decltype(cell) *)field_at(f, field, 0, 0);
        fill_kernel<<<all.blocks, FILL_THREADS, 0, device_cuda_stream(s)>>>(own, f->pitch, *v, all);
        return cudaGetLastError();
    });
}

int max_error_cuda(device *, const field_shape *f, const void *field, const value *v, box cells,
                          uint64_t *result, device_stream *s)
{
    return by_type(f->type, [&](auto cell) {
        using T = decltype(cell);
        return launch(error_of<T>{ own_of<T>(f, field), f->pitch, *v }, cells, result, device_cuda_stream(s));
    });
}

int max_change_cuda(device *, const field_shape *f, const void *a, const void *b, box cells,
                           uint64_t *result, device_stream *s)
{
    return by_type(f->type, [&](auto cell) {
        using T = decltype(cell);
        return launch(change_of<T>{ own_of<T>(f, a), own_of<T>(f, b), f->pitch }, cells, result,
                      device_cuda_stream(s));
    });
}

int fingerprint_cuda(device *, const field_shape *f, const void *field, int64_t nx_global,
                            int64_t x_first, int64_t y_first, uint64_t *result, device_stream *s)
{
    const uint64_t linear = (uint64_t)y_first * (uint64_t)nx_global + (uint64_t)x_first;
    const box own = field_own(f);
    const cudaStream_t stream = device_cuda_stream(s);
    const cudaError_t zeroed = cudaMemsetAsync(result, 0, sizeof *result, stream);
    return by_type(f->type, [&](auto cell) {
        using T = decltype(cell);
        constexpr int V = vector_cells<T>;
        const tiles all = tiles_make(&own, 1, V, THREADS * V, PRINT_ROWS); /* 4 KiB of a row at once */
        if (zeroed != cudaSuccess || all.blocks == 0) return zeroed;
        fingerprint_kernel<<<all.blocks, THREADS, 0, stream>>>(
            own_of<T>(f, field), f->pitch, (uint64_t)nx_global, linear, (word *)result, all);
        return cudaGetLastError();
    });
}

int pattern_write_cuda(device *, uint64_t *to, int64_t words, const memory_pattern *p, device_stream *s)
{
    assert(words % 2 == 0 && words <= PATTERN_WORDS_MAX);
    if (words == 0) return cudaSuccess;
    write_kernel<<<blocks_of(words / 2), THREADS, 0, device_cuda_stream(s)>>>((ulonglong2 *)to, words / 2,
                                                                              *p);
    return cudaGetLastError();
}

int pattern_check_cuda(device *, const uint64_t *from, int64_t words, const memory_pattern *p,
                       pattern_wrong *result, device_stream *s)
{
    assert(words % 2 == 0 && words <= PATTERN_WORDS_MAX);
    const cudaStream_t stream = device_cuda_stream(s);
    cudaError_t e = cudaMemsetAsync(&result->words, 0, sizeof result->words, stream);
    if (e == cudaSuccess) e = cudaMemsetAsync(&result->first_half, 0xff, sizeof result->first_half, stream);
    if (e != cudaSuccess || words == 0) return e;
    check_kernel<<<blocks_of(words / 2), THREADS, 0, stream>>>(
        (const ulonglong2 *)from, words / 2, (word *)&result->words, (word *)&result->first_half, *p);
    return cudaGetLastError();
}
