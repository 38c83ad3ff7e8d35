/* Lines, with neighbours along x only: a bulk copy brings a piece of a row into shared memory, where a thread
 * reads its x neighbours: at radius 8 in f64 a vector needs nine, which from L1 cost .70 of a copy and from
 * shared memory nothing. */
#pragma once

#include "cuda/async_copy_cuda.cuh"
#include "stencil/stencil_vector_cuda.cuh"

enum { LINE_ITEMS = 2, LINE_THREADS = 128 };

/* A tile is LINE_ITEMS * LINE_THREADS vectors of a row. */
template <typename T, int R, bool PREV>
static __global__ void __launch_bounds__(LINE_THREADS)
    line_kernel(T *next, const T *cur, const T *prev, int64_t pitch, const __grid_constant__ tiles boxes)
{
    constexpr int V = vector_cells<T>, SIDE = (R + V - 1) / V;
    constexpr int LEFT = FIELD_ALIGN_BYTES / 16, OWN = LINE_ITEMS * LINE_THREADS; /* vectors */
    __shared__ __align__(FIELD_ALIGN_BYTES) float4 row[LEFT + OWN + LEFT]; /* own cells on 128 bytes */
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    const int64_t end = min(x + OWN * V, (cells.x1 + V - 1) / V * V);
    const T *const from = cur + y * pitch + x - SIDE * V;
    const int vectors = (int)((end - x) / V) + 2 * SIDE;
#if __CUDA_ARCH__ >= 900
    __shared__ uint64_t there;
    const unsigned barrier = (unsigned)__cvta_generic_to_shared(&there);
    if (threadIdx.x == 0) {
        bulk_barrier_make(barrier);
        bulk_barriers_made();
        bulk_expect(barrier, 16 * (unsigned)vectors);
        bulk_copy((unsigned)__cvta_generic_to_shared(row + LEFT - SIDE), from, 16 * (unsigned)vectors,
                  barrier);
    }
#else
#pragma unroll
    for (int k = 0; k <= LINE_ITEMS; k++) {
        const int i = k * LINE_THREADS + (int)threadIdx.x;
        if (i < vectors) row[LEFT - SIDE + i] = reinterpret_cast<const float4 *>(from)[i];
    }
#endif
    __syncthreads();
    T old[LINE_ITEMS][V];
    span in[LINE_ITEMS];
    const int64_t at = y * pitch + x + threadIdx.x * V;
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
        in[i] = columns_of<T>(cells, x + (i * LINE_THREADS + (int)threadIdx.x) * V);
        if (PREV && in[i].from < in[i].to) load_once(old[i], prev + at + i * LINE_THREADS * V);
    }
#if __CUDA_ARCH__ >= 900
    bulk_wait(barrier, 0);
#endif
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
        if (in[i].from >= in[i].to) continue;
        window<T, R> around;
#pragma unroll
        for (int k = 0; k < 2 * SIDE + 1; k++)
            load_row(around.cell + k * V, row + LEFT - SIDE + i * LINE_THREADS + threadIdx.x + k);
        T sum[V] = {};
        sum_line<R>(around.row(), sum);
        if (PREV) add_term(STENCIL_CUDA_BETA, old[i], sum);
        store(next + at + i * LINE_THREADS * V, in[i], sum);
    }
}
