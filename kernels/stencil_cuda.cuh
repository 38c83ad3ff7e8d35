/* One stencil sweep: the kernel of lines, the choice of the kernel for a stencil, its launch, the upload of weights.
 * Stars and boxes are in stencil_ring_cuda.cuh.
 *
 * Which memory any of them may touch. A thread works only if its vector [x, x+V) begins left of its box's end, x a
 * multiple of V and not left of the line that holds the box's first cell; the box lies in the own cells: hence 0 <= x
 * and x+V <= up(nx), up() rounding up to V. Read are the cells [x - up(r), x + V + up(r)) of rows y-r .. y+r, y a row of
 * the box, and of prev only the thread's own vector. With lead = depth_x rounded up to a 128-byte line, line cells in it:
 *  - the lowest cell is origin - r pitch - up(r) >= lead - up(r) >= 0, because r <= depth_x, r <= depth_y (LINE: r rows
 *    do not enter) and V divides a line;
 *  - the highest ends at origin + (ny-1+r) pitch + up(nx) + up(r) <= allocation's end - line - pitch + nx + r + 2(V-1)
 *    <= allocation's end, because pitch >= nx + 2 depth_x and 2(V-1) < line.
 * Origin and pitch are whole lines, so every vector is aligned. Cells read outside the box may be written by others at
 * the same time (a halo that comes in); they reach no stored cell. Stores touch the box's own cells only.
 *
 * next may be prev: a thread has read its cells of prev before it stores, and nobody else reads them. */
#ifndef STENCIL_CUDA_CUH
#define STENCIL_CUDA_CUH

#include "stencil_ring_cuda.cuh"

/* ---- line: a thread's items lie a fixed distance apart, along x in wide boxes, else along y ----
 *
 * Straight line, no loop, no shared memory: a thread's neighbours come as aligned vectors of the same lines, from L1. */

enum { LINE_ITEMS = 2, LINE_THREADS = 128 };

template <typename T, int R, bool PREV>
static __global__ void __launch_bounds__(LINE_THREADS)
    line_kernel(T *next, const T *cur, const T *prev, int64_t pitch, const __grid_constant__ tiles boxes)
{
    constexpr int V = vector_cells<T>;
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    x += threadIdx.x * V;
    y += threadIdx.y;
    if (x >= cells.x1 || y >= cells.y1) return;
    const int step_x = blockDim.y == 1 ? (int)blockDim.x * V : 0, step_y = blockDim.y == 1 ? 0 : (int)blockDim.y;

    window<T, R> around[LINE_ITEMS];
    T old[LINE_ITEMS][V];
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
        const int64_t xi = x + i * step_x, yi = y + i * step_y;
        const int64_t at = xi < cells.x1 && yi < cells.y1 ? yi * pitch + xi : y * pitch + x;
        around[i].load(cur + at);
        if (PREV) load_once(old[i], prev + at);
    }
    T sum[LINE_ITEMS][V] = {};
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
#pragma unroll
        for (int v = 0; v < V; v++) {
#pragma unroll
            for (int k = R; k >= 1; k--) {
                sum[i][v] = term(2 * (R - k), around[i].at(v, -k), sum[i][v]);
                sum[i][v] = term(2 * (R - k) + 1, around[i].at(v, k), sum[i][v]);
            }
            sum[i][v] = term(2 * R, around[i].at(v, 0), sum[i][v]);
            if (PREV) sum[i][v] = term(STENCIL_CUDA_BETA, old[i][v], sum[i][v]);
        }
    }
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) { /* stores last: their branches would hold up the loads behind them */
        const int64_t xi = x + i * step_x, yi = y + i * step_y;
        if (yi < cells.y1) store(next + yi * pitch + xi, columns_of<T>(cells, xi), sum[i]);
    }
}

/* ---- host side: shape of the launch, choice of the instance ---- */

/* Fewer blocks than this cannot fill a GPU: then the tiles of a ring are made less tall. */
enum { FILLING_BLOCKS = 512, LEAST_HEIGHT = 16 };

/* call NULL: only what the instance needs once on each device. */
template <typename T, int R, bool PREV> static cudaError_t launch_line(const stencil_sweep_call *c)
{
    constexpr int V = vector_cells<T>, ALIGN = FIELD_ALIGN_BYTES / (int)sizeof(T);
    int64_t widest = 0;
    for (int i = 0; i < c->count; i++)
        if (box_width(c->boxes[i]) > widest) widest = box_width(c->boxes[i]);
    const bool wide = widest > 2 * 32 * V;
    const dim3 block = wide ? dim3(LINE_THREADS, 1) : dim3(32, LINE_THREADS / 32);
    const tiles boxes = tiles_make(c->boxes, c->count, ALIGN, (int)block.x * V * (wide ? LINE_ITEMS : 1),
                                   (int)block.y * (wide ? 1 : LINE_ITEMS));
    if (boxes.blocks == 0) return cudaSuccess;
    line_kernel<T, R, PREV><<<boxes.blocks, block, 0, c->stream>>>((T *)c->next, (const T *)c->cur, (const T *)c->prev,
                                                                   c->pitch, boxes);
    return cudaGetLastError();
}

template <stencil_form FORM, typename T, int R, bool PREV> static cudaError_t launch_ring(const stencil_sweep_call *c)
{
    using S = ring_shape<FORM, T, R>;
    constexpr int WIDTH = S::N * vector_cells<T>, ALIGN = FIELD_ALIGN_BYTES / (int)sizeof(T);
    int height = S::HEIGHT;
    tiles boxes = tiles_make(c->boxes, c->count, ALIGN, WIDTH, height);
    while (boxes.blocks < FILLING_BLOCKS && height / 2 >= LEAST_HEIGHT && height / 2 % (S::GROUPS * S::B) == 0) {
        height /= 2;
        boxes = tiles_make(c->boxes, c->count, ALIGN, WIDTH, height);
    }
    if (boxes.blocks == 0) return cudaSuccess;
    ring_kernel<FORM, T, R, PREV><<<boxes.blocks, dim3(S::N, S::GROUPS), S::BYTES, c->stream>>>(
        (T *)c->next, (const T *)c->cur, (const T *)c->prev, c->pitch, boxes);
    return cudaGetLastError();
}

/* What a kernel needs once on each device: leave to take so much shared memory. */
template <stencil_form FORM, typename T, int R, bool PREV> static cudaError_t prepare_ring()
{
    const auto kernel = ring_kernel<FORM, T, R, PREV>;
    const cudaError_t e =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ring_shape<FORM, T, R>::BYTES);
    if (e != cudaSuccess) return e;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
}

/* call NULL: prepares the instance, else launches it. */
template <stencil_form FORM, typename T, int R, bool PREV> static cudaError_t launch(const stencil_sweep_call *c)
{
    if constexpr (FORM == STENCIL_LINE) return c ? launch_line<T, R, PREV>(c) : cudaSuccess;
    else return c ? launch_ring<FORM, T, R, PREV>(c) : prepare_ring<FORM, T, R, PREV>();
}

template <stencil_form FORM, int R = 1> static cudaError_t instance(const stencil *op, const stencil_sweep_call *c)
{
    if constexpr (R < STENCIL_RADIUS_MAX)
        if (op->radius > R) return instance<FORM, R + 1>(op, c);
    switch (op->type) {
    case DTYPE_F32: return op->has_prev ? launch<FORM, float, R, true>(c) : launch<FORM, float, R, false>(c);
    case DTYPE_F64: return op->has_prev ? launch<FORM, double, R, true>(c) : launch<FORM, double, R, false>(c);
    }
    return cudaErrorInvalidValue;
}

template <stencil_form FORM> static cudaError_t sweep(const stencil_sweep_call *c) { return instance<FORM>(c->op, c); }

template <stencil_form FORM> static cudaError_t upload(const stencil *op, cudaStream_t stream)
{
    float f32[STENCIL_CUDA_CONSTANTS] = {};
    double f64[STENCIL_CUDA_CONSTANTS] = {};
    const int n = stencil_weights(op->form, op->radius);
    for (int i = 0; i < n; i++) f64[i] = op->weight[i];
    f64[STENCIL_CUDA_BETA] = op->beta;
    for (int i = 0; i < STENCIL_CUDA_CONSTANTS; i++) f32[i] = (float)f64[i];
    cudaError_t e = cudaMemcpyToSymbolAsync(weights_f32, f32, sizeof f32, 0, cudaMemcpyHostToDevice, stream);
    if (e == cudaSuccess)
        e = cudaMemcpyToSymbolAsync(weights_f64, f64, sizeof f64, 0, cudaMemcpyHostToDevice, stream);
    const cudaError_t done = cudaStreamSynchronize(stream); /* the arrays above end with this function */
    if (e != cudaSuccess || done != cudaSuccess) return e != cudaSuccess ? e : done;
    return instance<FORM>(op, nullptr);
}

#endif
