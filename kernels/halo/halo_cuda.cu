/* Ghosts of a field on the GPU: the fill beyond the domain's sides, and boxes to and from message buffers.
 * Both take all boxes in one launch, cell by cell. */
#include "cuda/vector_cuda.cuh"
#include "device/device_cuda.h"

namespace {

/* ---- several boxes of any shape in one launch ----
 *
 * The units of a box (cells, or 16-byte vectors of cells) are counted row-major, one per thread. Full rows
 * and one-cell columns fill their blocks alike, and neighbouring threads have neighbouring units; the price
 * is one division per unit. One unit per thread, because the time of a halo is latency: with four, each load
 * waits for the store before it, and packing took 1.2 us more of 7.5. For the same reason the division is a
 * product with the width's reciprocal, and a block finds its box without a loop: .2 us of 6.4. Kernels that
 * pass over whole fields use tiles_cuda.cuh. */

enum { BOX_LIST_MAX = 8, BOX_LIST_THREADS = 128 };

struct box_list_entry {
    int64_t width, units; /* units in a row; units of the box */
    uint64_t reciprocal;  /* 2^64 / width rounded up, mod 2^64: i / width is the high word of the product
                           * while i width < 2^64 */
};

struct box_list {
    int count;
    unsigned blocks, first_block[BOX_LIST_MAX];
    box_list_entry entry[BOX_LIST_MAX];
};

/* Adds an entry for a box that is not empty. */
void box_list_add(box_list *list, int64_t width, int64_t height)
{
    assert(list->count < BOX_LIST_MAX && width > 0 && height > 0);
    const int64_t units = width * height, blocks = (units + BOX_LIST_THREADS - 1) / BOX_LIST_THREADS;
    assert(units <= INT64_MAX / width && blocks <= INT32_MAX - (int64_t)list->blocks);
    list->first_block[list->count] = list->blocks;
    list->entry[list->count++] = { width, units, UINT64_MAX / (uint64_t)width + 1 };
    list->blocks += (unsigned)blocks;
}

/* Calls work(e, i, x, y) for this thread's unit, if it has one: e is the entry, i the unit's number, (x, y)
 * its place relative to the box's first unit. */
template <typename WORK> __device__ __forceinline__ void box_list_run(const box_list &list, WORK work)
{
    int e = 0;
#pragma unroll
    for (int k = 1; k < BOX_LIST_MAX; k++) e += k < list.count && blockIdx.x >= list.first_block[k];
    const box_list_entry &box = list.entry[e];
    const int64_t i = (int64_t)(blockIdx.x - list.first_block[e]) * BOX_LIST_THREADS + threadIdx.x;
    if (i >= box.units) return;
    const int64_t y = box.reciprocal ? (int64_t)__umul64hi((uint64_t)i, box.reciprocal) : i;
    work(e, i, i - y * box.width, y);
}

static_assert((int)BOX_LIST_MAX >= (int)BOUNDARY_BOXES_MAX && (int)BOX_LIST_MAX >= (int)PACK_PIECES_MAX,
              "a launch takes all boxes");

/* ---- ghosts outside the domain ----
 *
 * The rules are those of boundary.h. A thread writes one ghost: it follows the ghost's coordinates to the
 * cell that they mirror, y outermost, so that a corner is mirror_y(mirror_x(u)). A coordinate inside, or
 * beyond a side of kind NONE (a neighbour's cells, brought by the halo), is read unchanged. No cell is both
 * read and written here. */

struct axis {
    int64_t n; /* own cells: 0 .. n-1 */
    boundary_side low, high;
};

struct fill_boxes {
    box cells[BOUNDARY_BOXES_MAX];
};

/* The value at coordinate i; read(j) gives that of a cell. The images are followed to the end of their chain.
 * Each rule is then applied from the inside out, and found by walking the chain again: a chain has more than
 * one step only if the ghosts are deeper than the axis is long. */
template <typename READ> __device__ __forceinline__ auto along(const axis &a, int64_t i, READ read)
{
    using T = decltype(read(i));
    int64_t at = i;
    int images = 0;
    double v = 0;
    const auto step = [&] { return boundary_step(a.n, a.low, a.high, &at, &v); };
    boundary_rule r = step();
    for (; r == BOUNDARY_IMAGE || r == BOUNDARY_MIRROR; r = step()) images++;
    T u = r == BOUNDARY_VALUE ? (T)v : read(at);
    for (; images > 0; images--) {
        at = i;
        for (int k = 0; k < images; k++) r = step();
        if (r == BOUNDARY_MIRROR) u = mirror((T)v, u);
    }
    return u;
}

template <typename T>
__global__ void __launch_bounds__(BOX_LIST_THREADS)
    fill_kernel(T *own, int64_t pitch, const axis ax, const axis ay,
                const __grid_constant__ fill_boxes boxes, const __grid_constant__ box_list all)
{
    box_list_run(all, [&](int e, int64_t, int64_t dx, int64_t dy) {
        const int64_t x = boxes.cells[e].x0 + dx, y = boxes.cells[e].y0 + dy;
        own[y * pitch + x] = along(ay, y, [&](int64_t yi) {
            return along(ax, x, [&](int64_t xi) { return own[yi * pitch + xi]; });
        });
    });
}

/* ---- boxes to and from dense message buffers ----
 *
 * Pieces whose rows start and end on 16 bytes, in the field and in the buffer, move as 16-byte vectors, all
 * others cell by cell. */

__device__ __forceinline__ float sum(float a, float b) { return a + b; }
__device__ __forceinline__ double sum(double a, double b) { return a + b; }
__device__ __forceinline__ float4 sum(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ __forceinline__ double2 sum(double2 a, double2 b) { return make_double2(a.x + b.x, a.y + b.y); }

/* The first unit of each entry of the box list, in the field and in the buffer. */
template <typename T> struct places {
    T *field[PACK_PIECES_MAX], *buffer[PACK_PIECES_MAX];
    bool vectors[PACK_PIECES_MAX];
};

enum direction { PACK, UNPACK, UNPACK_SUM };

template <direction DIRECTION, typename U> __device__ __forceinline__ void move(U *field, U *buffer)
{
    if (DIRECTION == PACK) *buffer = *field;
    if (DIRECTION == UNPACK) *field = *buffer;
    if (DIRECTION == UNPACK_SUM) *field = sum(*field, *buffer);
}

template <typename T, direction DIRECTION>
__global__ void __launch_bounds__(BOX_LIST_THREADS)
    move_kernel(int64_t pitch, const __grid_constant__ places<T> at, const __grid_constant__ box_list all)
{
    using vector = typename vector16<T>::type;
    constexpr int V = vector_cells<T>;
    box_list_run(all, [&](int e, int64_t i, int64_t x, int64_t y) {
        T *f = at.field[e] + y * pitch, *b = at.buffer[e];
        if (at.vectors[e])
            move<DIRECTION>(reinterpret_cast<vector *>(f + x * V), reinterpret_cast<vector *>(b + i * V));
        else
            move<DIRECTION>(f + x, b + i);
    });
}

template <direction DIRECTION>
cudaError_t move_pieces(const field_shape *f, void *field, void *buffer, const pack_piece *pieces, int count,
                        device_stream *s)
{
    assert(count <= PACK_PIECES_MAX);
    return by_type(f->type, [&](auto cell) {
        using T = decltype(cell);
        constexpr int64_t V = vector_cells<T>;
        const bool aligned = ((uintptr_t)field | (uintptr_t)buffer) % 16 == 0;
        places<T> at = {};
        box_list all = {};
        for (int i = 0; i < count; i++) {
            const box b = pieces[i].cells;
            if (box_empty(b)) continue;
            const int64_t first = field_index(f, b.x0, b.y0);
            const bool vectors = aligned && (first | pieces[i].offset | box_width(b) | f->pitch) % V == 0;
            at.field[all.count] = (T *)field + first;
            at.buffer[all.count] = (T *)buffer + pieces[i].offset;
            at.vectors[all.count] = vectors;
            box_list_add(&all, box_width(b) / (vectors ? V : 1), box_height(b));
        }
        if (all.blocks == 0) return cudaSuccess;
        move_kernel<T, DIRECTION>
            <<<all.blocks, BOX_LIST_THREADS, 0, device_cuda_stream(s)>>>(f->pitch, at, all);
        return cudaGetLastError();
    });
}

} // namespace

int boundary_fill_cuda(device *, const field_shape *f, void *field, const boundary *sides, const box *boxes,
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
    return by_type(f->type, [&](auto cell) {
        using T = decltype(cell);
        fill_kernel<T><<<all.blocks, BOX_LIST_THREADS, 0, device_cuda_stream(s)>>>(
            (T *)field_at(f, field, 0, 0), f->pitch, axis{ f->nx, sides->x_low, sides->x_high },
            axis{ f->ny, sides->y_low, sides->y_high }, copies, all);
        return cudaGetLastError();
    });
}

/* One kernel serves both directions: DIRECTION decides what is written, so const memory stays unwritten. */
int pack_cuda(device *, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
              int count, device_stream *s)
{
    return move_pieces<PACK>(f, (void *)field, buffer, pieces, count, s);
}

int unpack_cuda(device *, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
                int count, unpack_mode mode, device_stream *s)
{
    switch (mode) {
    case UNPACK_STORE: return move_pieces<UNPACK>(f, field, (void *)buffer, pieces, count, s);
    case UNPACK_ADD: return move_pieces<UNPACK_SUM>(f, field, (void *)buffer, pieces, count, s);
    }
    return cudaErrorInvalidValue;
}
