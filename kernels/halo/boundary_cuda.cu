/* Ghosts outside the domain (boundary.h has the rules). A thread writes one ghost: it follows the ghost's
 * coordinates to the cell that they mirror, y outermost, so that a corner is mirror_y(mirror_x(u)). A
 * coordinate inside, or beyond a side of kind NONE (a neighbour's cells, brought by the halo), is read
 * unchanged. No cell is both read and written here. */
#include "cuda/mirror_cuda.cuh"
#include "cuda/box_list_cuda.cuh"
#include "device/device_cuda.h"

static_assert((int)BOX_LIST_MAX >= (int)BOUNDARY_BOXES_MAX, "a launch takes all boxes");

namespace {

template <typename T> struct axis {
    int64_t n; /* own cells: 0 .. n-1 */
    boundary_kind low, high;
    T low_value, high_value;
};

/* Value at coordinate i of an axis: the cell itself, its image's value, V, or V + V - the image's value. */
enum rule { RULE_READ, RULE_IMAGE, RULE_VALUE, RULE_MIRROR };

struct fill_boxes {
    box cells[BOUNDARY_BOXES_MAX];
};

/* Replaces *i by its image, if it has one. */
template <typename T> __device__ __forceinline__ rule step(const axis<T> &a, int64_t *i, T *v)
{
    if (*i >= 0 && *i < a.n) return RULE_READ;
    const bool low = *i < 0;
    const int64_t depth = low ? -1 - *i : *i - a.n; /* 0 for the first ghost */
    switch (low ? a.low : a.high) {
    case BOUNDARY_NONE: return RULE_READ;
    case BOUNDARY_PERIODIC: *i = low ? *i + a.n : *i - a.n; return RULE_IMAGE;
    case BOUNDARY_NEUMANN: *i = low ? depth : a.n - 1 - depth; return RULE_IMAGE;
    case BOUNDARY_DIRICHLET:
        *v = low ? a.low_value : a.high_value;
        if (depth == 0) return RULE_VALUE;
        *i = low ? depth - 1 : a.n - depth;
        return RULE_MIRROR;
    }
    return RULE_READ;
}

/* The value at coordinate i; read(j) gives that of a cell. The images are followed to the end of their chain.
 * Each rule is then applied from the inside out, and found by walking the chain again: a chain has more than
 * one step only if the ghosts are deeper than the axis is long. */
template <typename T, typename READ>
__device__ __forceinline__ T along(const axis<T> &a, int64_t i, READ read)
{
    int64_t at = i;
    int images = 0;
    T v = 0;
    rule r = step(a, &at, &v);
    for (; r == RULE_IMAGE || r == RULE_MIRROR; r = step(a, &at, &v)) images++;
    T u = r == RULE_VALUE ? v : read(at);
    for (; images > 0; images--) {
        at = i;
        for (int k = 0; k < images; k++) r = step(a, &at, &v);
        if (r == RULE_MIRROR) u = mirror(v, u);
    }
    return u;
}

template <typename T>
__global__ void __launch_bounds__(BOX_LIST_THREADS)
    fill_kernel(T *own, int64_t pitch, const axis<T> ax, const axis<T> ay,
                const __grid_constant__ fill_boxes boxes, const __grid_constant__ box_list all)
{
    box_list_run(all, [&](int e, int64_t, int64_t dx, int64_t dy) {
        const int64_t x = boxes.cells[e].x0 + dx, y = boxes.cells[e].y0 + dy;
        own[y * pitch + x] = along(ay, y, [&](int64_t yi) {
            return along(ax, x, [&](int64_t xi) { return own[yi * pitch + xi]; });
        });
    });
}

template <typename T> axis<T> axis_of(int64_t n, const boundary_side &low, const boundary_side &high)
{
    return { n, low.kind, high.kind, (T)low.value, (T)high.value };
}

template <typename T>
cudaError_t launch(const field_shape *f, T *own, const boundary *s, const fill_boxes &boxes,
                   const box_list &all, cudaStream_t stream)
{
    fill_kernel<T>
        <<<all.blocks, BOX_LIST_THREADS, 0, stream>>>(own, f->pitch, axis_of<T>(f->nx, s->x_low, s->x_high),
                                                      axis_of<T>(f->ny, s->y_low, s->y_high), boxes, all);
    return cudaGetLastError();
}

} // namespace

int boundary_cuda_fill(device *, const field_shape *f, void *field, const boundary *sides, const box *boxes,
                       int count, device_stream *s)
{
    fill_boxes copies = {};
    box_list all = {};
    assert(count <= BOUNDARY_BOXES_MAX);
    for (int i = 0; i < count; i++) {
        if (box_empty(boxes[i])) continue;
        copies.cells[all.count] = boxes[i];
        box_list_add(&all, box_width(boxes[i]), box_height(boxes[i]));
    }
    if (all.blocks == 0) return cudaSuccess;
    void *own = field_at(f, field, 0, 0);
    switch (f->type) {
    case DTYPE_F32: return launch(f, (float *)own, sides, copies, all, device_cuda_stream(s));
    case DTYPE_F64: return launch(f, (double *)own, sides, copies, all, device_cuda_stream(s));
    }
    return cudaErrorInvalidValue;
}
