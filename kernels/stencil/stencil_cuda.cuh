/* One pass of a stencil: the choice of the kernel for a stencil, its launch, the upload of weights. The
 * kernels are in stencil_ring_cuda.cuh (stars and boxes) with stencil_slide_cuda.cuh (boxes bound by
 * arithmetic), and stencil_line_cuda.cuh (lines).
 *
 * Memory that a kernel may touch. A thread works only if its vector [x, x+V) begins left of its box's end, x
 * a multiple of V and not left of the line that holds the box's first cell. The box lies in the own cells:
 * hence 0 <= x and x+V <= up(nx), up() rounding up to V. The thread reads the cells [x - up(r), x + V +
 * up(r)) of rows y-r .. y+r, y a row of the box, and of prev only its own vector. Lead is depth_x rounded up
 * to a 128-byte line, and line the number of cells in one:
 *  - the lowest cell is origin - r pitch - up(r) >= lead - up(r) >= 0, because r <= depth_x, r <= depth_y
 *    (LINE: r rows do not enter) and V divides a line;
 *  - the highest ends at origin + (ny-1+r) pitch + up(nx) + up(r) <= allocation's end - line - pitch + nx + r
 *    + 2(V-1) <= allocation's end, because pitch >= nx + 2 depth_x and 2(V-1) < line.
 * Origin and pitch are whole lines, so every vector is aligned. Cells read outside the box may be written by
 * others at the same time (a halo that arrives); they reach no stored cell. Stores touch only the box's own
 * cells.
 *
 * next may be prev: a thread has read its cells of prev before it stores, and no other thread reads them. */
#pragma once

#include "stencil/stencil_line_cuda.cuh"
#include "stencil/stencil_ring_cuda.cuh"

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

template <stencil_form FORM, typename T, int R, bool PREV>
static cudaError_t launch_ring(const stencil_call *c)
{
    using S = ring_shape<FORM, T, R>;
    constexpr int WIDTH = S::N * vector_cells<T>, ALIGN = FIELD_ALIGN_BYTES / (int)sizeof(T);
    tiles boxes = tiles_make(c->boxes, c->count, ALIGN, WIDTH, c->variant->height, c->variant->wave);
    while (lower<S>(&boxes))
        boxes = tiles_make(c->boxes, c->count, ALIGN, WIDTH, boxes.height_cells, c->variant->wave);
    if (boxes.blocks == 0) return cudaSuccess;
    ring_kernel<FORM, T, R, PREV><<<boxes.blocks, dim3(S::N, S::GROUPS), S::BYTES, c->stream>>>(
        (T *)c->next, (const T *)c->cur, (const T *)c->prev, c->pitch, boxes);
    return cudaGetLastError();
}

template <stencil_form FORM> static cudaError_t pass(const stencil_call *c)
{
    return by_radius(c, [&](auto cell, auto radius) {
        using T = decltype(cell);
        constexpr int R = decltype(radius)::value;
        constexpr bool PREV = FORM != STENCIL_BOX; /* the form may have prev */
        const bool prev = PREV && c->op->has_prev;
        if constexpr (FORM == STENCIL_LINE) {
            if (!c->variant) return cudaSuccess;
            return prev ? launch_line<T, R, PREV>(c) : launch_line<T, R, false>(c);
        } else {
            if (!c->variant)
                return prepare_tiles(prev ? ring_kernel<FORM, T, R, PREV> : ring_kernel<FORM, T, R, false>,
                                     ring_shape<FORM, T, R>::BYTES);
            return prev ? launch_ring<FORM, T, R, PREV>(c) : launch_ring<FORM, T, R, false>(c);
        }
    });
}
