/* The whole step (whole.h) of stars and boxes: the tiles of stencil_ring_cuda.cuh, with a wait before the tiles along a
 * linked side, and images and flags after those along any side. Blocks in the middle pay four comparisons.
 *
 * A block that waits holds its place on the GPU, but what it waits for is done by a kernel that the neighbour has already
 * started, never by a block behind it: no order of blocks can deadlock.
 *
 * Memory order: images are stored, then the block's barrier, one thread's fence at system scope, the count of the link, and by
 * the last block a fence once more and the flag; the wait acquires it at system scope and orders the bulk copies, which go through
 * the async proxy, behind it.
 *
 * A step may follow another step so closely that its blocks are put in place, and find their place and the neighbours' flags, while
 * the last blocks of the one before still run (programmatic launch, sm_90): step_before_done then stands before the first
 * access to memory besides. next_step_may_come stands behind the tile: with all blocks of the next step in place from this
 * step's beginning on, those along linked sides lost their start before the others (4096 x 512 cells on each of two H200s:
 * 9.0 us a step, instead of 8.2). */
#ifndef STENCIL_WHOLE_CUDA_CUH
#define STENCIL_WHOLE_CUDA_CUH

#include "flag_cuda.cuh"
#include "reflect_cuda.cuh"
#include "stencil_ring_cuda.cuh"
#include "whole.h"

/* Own cells of the rank, and how near to a side is near. */
struct whole_sides {
    int64_t nx, ny;
    int radius;
};

struct whole_counts { /* blocks along each link */
    unsigned of[WHOLE_LINKS_MAX];
};

static __host__ __device__ __forceinline__ bool touches(int64_t from, int64_t to, int64_t n, int radius, int d)
{
    return d < 0 ? from < radius : to > n - radius;
}

/* Of a cell of 32 or 64 bits. */
template <typename T> constexpr int word_parts = sizeof(T) / WHOLE_WORD_CELL_BYTES;
static __device__ __forceinline__ unsigned word_part(float u, int) { return __float_as_uint(u); }
static __device__ __forceinline__ unsigned word_part(double u, int part)
{
    return (unsigned)(part == 0 ? __double2loint(u) : __double2hiint(u));
}
static __device__ __forceinline__ float cell_of(const unsigned (&part)[1]) { return __uint_as_float(part[0]); }
static __device__ __forceinline__ double cell_of(const unsigned (&part)[2]) { return __hiloint2double((int)part[1], (int)part[0]); }

/* next's beat: of the words, where it goes in words. */
template <typename T>
static __device__ __forceinline__ void store_image(const whole_image &m, const T *next, int64_t pitch, box part, uint64_t beat)
{
    const int parts = m.words ? word_parts<T> : 1, width = (int)(part.x1 - part.x0);
    const int all = width * (int)(part.y1 - part.y0) * parts, threads = (int)(blockDim.x * blockDim.y);
    for (int i = (int)(threadIdx.y * blockDim.x + threadIdx.x); i < all; i += threads) {
        const int k = i / parts;
        const int64_t x = part.x0 + k % width, y = part.y0 + k / width;
        T u = __ldcg(next + y * pitch + x);
        if (m.odd_x) u = reflect((T)m.value_x, u);
        if (m.odd_y) u = reflect((T)m.value_y, u);
        const int64_t at = (y - m.cells.y0) * m.step_y + (x - m.cells.x0) * m.step_x;
        const uint64_t word = beat << WHOLE_WORD_BEAT_SHIFT | word_part(u, i % parts);
        if (m.words) flag_set(static_cast<uint64_t *>(m.to) + at * parts + i % parts, word);
        else static_cast<T *>(m.to)[at] = u;
    }
}

static __device__ __forceinline__ box cut(const box &a, const box &b)
{
    return { max(a.x0, b.x0), min(a.x1, b.x1), max(a.y0, b.y0), min(a.y1, b.y1) };
}

/* The ghosts of an inbox that the tile reads. Tiles one above the other read the same corners. */
template <stencil_form FORM, int R> static __device__ __forceinline__ box part_for(const whole_inbox &in, const box &tile)
{
    constexpr int ROWS = FORM == STENCIL_BOX ? R : 0;
    return cut(in.ghosts, { tile.x0 - R, tile.x1 + R, tile.y0 - ROWS, tile.y1 + ROWS });
}

/* Waits for them and puts them down, by all threads. */
template <stencil_form FORM, typename T, int R>
static __device__ __forceinline__ void take_columns(const whole_step &w, const box &tile, int64_t pitch)
{
    constexpr int PARTS = word_parts<T>;
    const int threads = (int)(blockDim.x * blockDim.y), me = (int)(threadIdx.y * blockDim.x + threadIdx.x);
    for (int i = 0; i < w.inboxes; i++) {
        const whole_inbox &in = w.inbox[i];
        const box part = part_for<FORM, R>(in, tile);
        if (part.x0 >= part.x1) continue;
        const int64_t row = part.y0 - in.ghosts.y0;
        for (int k = me; k < (int)(part.y1 - part.y0) * R; k += threads) {
            unsigned bits[PARTS];
            for (int p = 0; p < PARTS; p++) {
                uint64_t word;
                do word = flag_read(in.from + (row * R + k) * PARTS + p);
                while (word >> WHOLE_WORD_BEAT_SHIFT != w.beat);
                bits[p] = (unsigned)word;
            }
            static_cast<T *>(in.to)[(row + k / R) * pitch + k % R] = cell_of(bits);
        }
    }
}

/* What a block knows of its place, in shared memory while it computes: kept in registers it cost a block an SM. */
struct whole_place {
    box tile;
    bool edge;     /* near a side: it has images */
    bool beside;   /* it reads ghosts that come through an inbox */
    unsigned near; /* bit k: along the side of link k */
};

template <stencil_form FORM, int R>
static __device__ __forceinline__ whole_place place_of(const tiles &boxes, const whole_step &w, const whole_sides &own,
                                                       const box &cells, int64_t x, int64_t y)
{
    whole_place p = { cut(cells, { x, x + boxes.width_cells, y, y + boxes.height_cells }), false, false, 0 };
    p.edge = p.tile.x0 < R || p.tile.y0 < R || p.tile.x1 > own.nx - R || p.tile.y1 > own.ny - R;
    for (int k = 0; p.edge && k < w.links; k++)
        if (touches(p.tile.y0, p.tile.y1, own.ny, R, w.link[k].dy)) p.near |= 1u << k;
    for (int i = 0; p.edge && i < w.inboxes; i++) {
        const box part = part_for<FORM, R>(w.inbox[i], p.tile);
        p.beside |= part.x0 < part.x1 && part.y0 < part.y1;
    }
    return p;
}

/* Waits until all that the step before has written is there. */
static __device__ __forceinline__ void step_before_done()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* The next step's blocks are put in place when all blocks of this one have come here. */
static __device__ __forceinline__ void next_step_may_come()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Bulk copies come after the thread's other accesses to memory. */
static __device__ __forceinline__ void order_bulk_copies()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
}

/* After the tile: its images, then what the neighbours wait for. */
template <typename T>
static __device__ __forceinline__ void finish(const whole_place &p, const whole_step &w, const whole_counts &counts, const T *next,
                                              int64_t pitch)
{
    if (!p.edge) return;
    __syncthreads(); /* the tile is in next */
    for (int i = 0; i < w.images; i++) {
        const box part = cut(p.tile, w.image[i].cells);
        if (part.x0 < part.x1 && part.y0 < part.y1) store_image(w.image[i], next, pitch, part, (w.beat + 1) % WHOLE_BEATS);
    }
    if (!p.near) return;
    __syncthreads();
    if (threadIdx.x != 0 || threadIdx.y != 0) return;
    flag_fence(); /* one for all stores of the block, which the barrier put before it */
    for (int k = 0; k < w.links; k++) {
        if (!(p.near >> k & 1)) continue;
        unsigned long long *const done = reinterpret_cast<unsigned long long *>(w.link[k].done);
        if (atomicAdd(done, 1ull) + 1 < counts.of[k]) continue;
        *done = 0; /* nobody else of this step, and the next step comes after this kernel */
        flag_fence();
        flag_set(w.link[k].theirs, (w.beat + 1) % WHOLE_BEATS);
    }
}

/* The largest of a warp. */
static __device__ __forceinline__ unsigned largest_of(unsigned bits) { return __reduce_max_sync(~0u, bits); }
static __device__ __forceinline__ unsigned long long largest_of(unsigned long long bits)
{
    for (int step = 16; step > 0; step /= 2) bits = max(bits, __shfl_xor_sync(~0u, bits, step));
    return bits;
}
static __device__ __forceinline__ double double_of(unsigned bits) { return (double)__uint_as_float(bits); }
static __device__ __forceinline__ double double_of(unsigned long long bits) { return __longlong_as_double((long long)bits); }

static __device__ __forceinline__ unsigned long long *norm_word(const whole_step &w)
{
    return reinterpret_cast<unsigned long long *>(w.change) + blockIdx.x % WHOLE_NORM_WORDS * WHOLE_NORM_STEP;
}

/* The word of a norm as a thread's change, which it was. */
template <typename T> static __device__ __forceinline__ change_word<T> change_of(unsigned long long norm)
{
    return larger_change(0, (T)double_of(norm), (T)0);
}

/* Atomics on one address take turns, and one a warp halved the speed of the step: so only what passes the word as it was when the
 * block began is joined. */
template <typename T>
static __device__ __forceinline__ void join_change(unsigned long long *norm, change_word<T> change, change_word<T> known)
{
    if (!__any_sync(~0u, change > known)) return;
    const unsigned long long mine = cell_abs_bits(double_of(largest_of(change)));
    if (threadIdx.x % 32 == 0) atomicMax(norm, mine);
}

/* As many blocks an SM as the tiles' kernel has. */
template <stencil_form FORM, typename T, int R, bool PREV> constexpr int whole_blocks()
{
    constexpr ring_choice C = ring_shape<FORM, T, R>::CHOICE;
    if (FORM == STENCIL_BOX) return PREV ? 1 : C.blocks;
    if (C.groups == 2) return PREV ? 3 : R == 1 ? 5 : 4;
    return PREV ? (R <= 6 ? 3 : 2) : C.blocks > 1 ? C.blocks : 4;
}

template <stencil_form FORM, typename T, int R, bool PREV, bool CHANGE>
static __global__ void __launch_bounds__(ring_shape<FORM, T, R>::THREADS, whole_blocks<FORM, T, R, PREV>())
    whole_kernel(T *next, const T *cur, const T *prev, int64_t pitch, const __grid_constant__ tiles boxes,
                 const __grid_constant__ whole_step w, const __grid_constant__ whole_counts counts, const whole_sides own)
{
    __shared__ whole_place kept;
    __shared__ change_word<T> known_change; /* what the block's word of the norm was when it began */
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    const whole_place place = place_of<FORM, R>(boxes, w, own, cells, x, y);
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        kept = place; /* the tile's first barrier comes before anybody reads it */
        for (int k = 0; k < w.links; k++)
            if (place.near >> k & 1)
                while ((flag_acquire(w.link[k].mine) + 1) % WHOLE_BEATS == w.beat) {}
    }
    step_before_done();
    if (CHANGE && threadIdx.x < WHOLE_NORM_WORDS && threadIdx.y == 0 && blockIdx.x == 0) w.clear[threadIdx.x * WHOLE_NORM_STEP] = 0;
    if (CHANGE && threadIdx.x == 32 && threadIdx.y == 0) /* not the warp that asks for the rows */
        known_change = change_of<T>(__ldcg(norm_word(w)));
    if (place.beside) {
        take_columns<FORM, T, R>(w, place.tile, pitch);
        order_bulk_copies();
    }
    if (place.near || place.beside) {
        __syncthreads();
        order_bulk_copies();
    }
    const change_word<T> change = stencil_tile<FORM, T, R, PREV, CHANGE>(next, cur, prev, pitch, cells, x, y, boxes.height_cells);
    next_step_may_come();
    if (CHANGE) join_change<T>(norm_word(w), change, known_change);
    finish(kept, w, counts, next, pitch);
}

/* ---- host side ---- */

/* The own cells in boxes: whole rows of tiles along linked sides first, then the rest, in which blocks beside columns are spread
 * evenly: their words travel while the others compute. */
static inline int whole_boxes(const whole_step *w, int64_t nx, int64_t ny, int64_t height, box boxes[TILES_BOXES_MAX])
{
    bool above = false, below = false;
    for (int k = 0; k < w->links; k++) *(w->link[k].dy < 0 ? &above : &below) = true;
    box rest = box_make(0, nx, 0, ny);
    int count = 0;
    const auto take = [&](box b) {
        b = box_intersect(b, rest);
        if (!box_empty(b)) boxes[count++] = b;
    };
    if (above) take(box_make(0, nx, 0, height)), rest.y0 += height;
    if (below) {
        const int64_t last = ny - (ny > height ? height : ny);
        take(box_make(0, nx, last, ny)), rest.y1 = last;
    }
    take(rest);
    return count;
}

/* Of `count` tiles of `size` rows from `first` on, cut to end at `high`: those that touch side d, which follow each other from that
 * side inwards. */
static inline unsigned count_touching(int64_t first, int64_t size, unsigned count, int64_t high, int64_t n, int radius, int d)
{
    unsigned near = 0;
    for (; near < count; near++) {
        const int64_t from = first + (int64_t)(d < 0 ? near : count - 1 - near) * size, to = from + size;
        if (!touches(from, to > high ? high : to, n, radius, d)) break;
    }
    return near;
}

static inline unsigned whole_count(const tiles *t, const whole_link *l, int64_t ny, int radius)
{
    unsigned all = 0;
    for (int i = 0; i < t->count; i++) {
        const tiles_entry *e = &t->entry[i];
        all += e->columns * count_touching(e->cells.y0, t->height_cells, e->rows, e->cells.y1, ny, radius, l->dy);
    }
    return all;
}

/* step NULL: prepares the instance. */
template <stencil_form FORM, typename T, int R, bool PREV, bool CHANGE>
static cudaError_t launch_whole(const stencil_sweep_call *c, const whole_step *step, int64_t nx, int64_t ny)
{
    using S = ring_shape<FORM, T, R>;
    constexpr int WIDTH = S::N * vector_cells<T>, ALIGN = FIELD_ALIGN_BYTES / (int)sizeof(T);
    const auto kernel = whole_kernel<FORM, T, R, PREV, CHANGE>;
    if (!step) return prepare_tiles(kernel, S::BYTES);
    const bool tiled = c->variant->kernel == STENCIL_KERNEL_TILED;
    const int wave = tiled ? c->variant->wave : S::CHOICE.wave;
    box all[TILES_BOXES_MAX];
    tiles boxes = {};
    boxes.height_cells = tiled ? c->variant->height : S::CHOICE.height;
    do
        boxes = tiles_make(all, whole_boxes(step, nx, ny, boxes.height_cells, all), ALIGN, WIDTH, boxes.height_cells, wave);
    while (lower<S>(&boxes));
    whole_counts counts = {};
    for (int k = 0; k < step->links; k++) counts.of[k] = whole_count(&boxes, &step->link[k], ny, R);
    if (boxes.blocks == 0) return cudaSuccess;
    cudaLaunchAttribute follow = {};
    follow.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    follow.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t launch = { boxes.blocks, dim3(S::N, S::GROUPS), S::BYTES, c->stream, &follow, c->follows ? 1u : 0u };
    return cudaLaunchKernelEx(&launch, kernel, (T *)c->next, (const T *)c->cur, (const T *)c->prev, c->pitch, boxes, *step, counts,
                              whole_sides{ nx, ny, R });
}

template <stencil_form FORM, typename T, int R>
static cudaError_t whole_by_kind(const stencil *op, const stencil_sweep_call *c, const whole_step *step, int64_t nx, int64_t ny)
{
    if (op->has_prev) return launch_whole<FORM, T, R, true, false>(c, step, nx, ny);
    if constexpr (FORM == STENCIL_STAR && R == 1) { /* laplace, the kind that asks for norms all the time */
        const cudaError_t prepared = step ? cudaSuccess : launch_whole<FORM, T, R, false, true>(c, step, nx, ny);
        if (prepared != cudaSuccess) return prepared;
        if (step && step->change) return launch_whole<FORM, T, R, false, true>(c, step, nx, ny);
    }
    if (step && step->change) return cudaErrorNotSupported;
    return launch_whole<FORM, T, R, false, false>(c, step, nx, ny);
}

template <stencil_form FORM, int R = 1>
static cudaError_t whole_instance(const stencil *op, const stencil_sweep_call *c, const whole_step *step, int64_t nx, int64_t ny)
{
    if constexpr (R < STENCIL_RADIUS_MAX)
        if (op->radius > R) return whole_instance<FORM, R + 1>(op, c, step, nx, ny);
    switch (op->type) {
    case DTYPE_F32: return whole_by_kind<FORM, float, R>(op, c, step, nx, ny);
    case DTYPE_F64: return whole_by_kind<FORM, double, R>(op, c, step, nx, ny);
    }
    return cudaErrorInvalidValue;
}

template <stencil_form FORM> static cudaError_t whole(const stencil_sweep_call *c, const whole_step *step, int64_t nx, int64_t ny)
{
    return whole_instance<FORM>(c->op, c, step, nx, ny);
}

template <stencil_form FORM> static cudaError_t upload_whole(const stencil *op, cudaStream_t stream)
{
    const cudaError_t e = upload_weights(op, stream);
    return e != cudaSuccess ? e : whole_instance<FORM>(op, nullptr, nullptr, 0, 0);
}

#endif
