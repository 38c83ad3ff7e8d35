/* The kernels of line stencils, and the constant memory that holds their weights. */
#include "stencil/stencil_line_cuda.cuh"

template <typename T, int R, bool PREV> static cudaError_t launch_line(const stencil_call *c)
{
    constexpr int V = vector_cells<T>, ALIGN = FIELD_ALIGN_BYTES / (int)sizeof(T);
    const tiles boxes = tiles_make(c->boxes, c->count, ALIGN, LINE_ITEMS * LINE_THREADS * V, 1);
    if (boxes.blocks == 0) return cudaSuccess;
    line_kernel<T, R, PREV><<<boxes.blocks, LINE_THREADS, 0, c->stream>>>(
        (T *)c->next, (const T *)c->cur, (const T *)c->prev, c->pitch, boxes);
    return cudaGetLastError();
}

cudaError_t stencil_cuda_line(const stencil_call *c)
{
    return by_radius(c, [&](auto cell, auto radius) {
        using T = decltype(cell);
        constexpr int R = decltype(radius)::value;
        if (!c->variant) return cudaSuccess;
        return c->op->has_prev ? launch_line<T, R, true>(c) : launch_line<T, R, false>(c);
    });
}
