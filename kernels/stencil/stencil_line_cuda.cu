/* The kernels of line stencils, and the constant memory that holds their weights. */
#include "stencil/stencil_line_cuda.cuh"

template <typename T, int R, bool PREV> static cudaError_t launch_line(const stencil_call *c)
{
    constexpr int V = vector_cells<T>, ALIGN = FIELD_ALIGN_BYTES / (int)sizeof(T);
    int64_t widest = 0;
    for (int i = 0; i < c->count; i++)
        if (box_width(c->boxes[i]) > widest) widest = box_width(c->boxes[i]);
    const bool wide = widest > LINE_ITEMS * 32 * V;
    const dim3 block = wide ? dim3(LINE_THREADS, 1) : dim3(32, LINE_THREADS / 32);
    const tiles boxes =
        tiles_make(c->boxes, c->count, ALIGN, LINE_ITEMS * (int)block.x * V, (int)block.y);
    if (boxes.blocks == 0) return cudaSuccess;
    const auto kernel = wide ? line_kernel<T, R, PREV, LINE_THREADS> : line_kernel<T, R, PREV, 32>;
    kernel<<<boxes.blocks, block, 0, c->stream>>>((T *)c->next, (const T *)c->cur, (const T *)c->prev,
                                                  c->pitch, boxes);
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
