/* The passes of stars and boxes, on the tiles of stencil_ring_cuda.cuh. Those of an in-kernel step
 * (inkernel.h): tiles beside an inbox first take the neighbours' ghosts from flag words; tiles along any side
 * store images at their end. Tiles in the middle, and passes without images, pay four comparisons.
 *
 * A waiting block holds its place on the GPU, but it waits only for the neighbour's launch before its own,
 * which waits for nothing later: no order of blocks can deadlock.
 *
 * If all rows of a tile are requested at once, ghosts from flag words bypass the field: they overwrite their
 * copies in shared memory while the rows are on their way. Put into the field first, as rings of rows still
 * need it, they delay every block beside a column by a trip to L2 and back: 266 us per step instead of 254
 * with columns cut (heat 16384^2 f32, two H200s).
 *
 * A step may follow another so closely that its blocks become resident, make their barriers and find their
 * work while the last blocks of the step before still run (programmatic launch, sm_90): programmatic_wait
 * precedes the first access to memory. programmatic_next follows the tile: with all blocks of the next step
 * resident from this step's beginning on, those along sides with neighbours lost their start before the
 * others (4096 x 512 cells on each of two H200s: .9 us per step more). */
#pragma once

#include "cuda/sync_cuda.cuh"
#include "inkernel/inkernel_image_cuda.cuh"
#include "stencil/stencil_ring_cuda.cuh"

/* Own cells of the rank. */
struct inkernel_size {
    int64_t nx, ny;
};

/* A cell from its flag words. */
static __device__ __forceinline__ float cell_of(const unsigned (&part)[1])
{
    return __uint_as_float(part[0]);
}
static __device__ __forceinline__ double cell_of(const unsigned (&part)[2])
{
    return __hiloint2double((int)part[1], (int)part[0]);
}

/* The ghosts of an inbox that the tile reads. Adjacent tiles of a box both read those near their border. */
template <stencil_form FORM, int R>
static __device__ __forceinline__ box part_for(const inkernel_inbox &in, const box &tile)
{
    const bool columns = in.ghosts.x1 <= 0 || in.ghosts.x0 >= tile.x1;
    const int reach_x = FORM == STENCIL_BOX || columns ? R : 0,
              reach_y = FORM == STENCIL_BOX || !columns ? R : 0;
    return box_intersect(in.ghosts, { tile.x0 - reach_x, tile.x1 + reach_x, tile.y0 - reach_y,
                                      tile.y1 + reach_y });
}

/* Waits for the flag words of all ghosts that the tile reads, and calls put(inbox, x, y, cell). All threads
 * take part, BATCH cells at a time, since each takes a trip to L2. */
template <stencil_form FORM, typename T, int R, int BATCH, typename PUT>
static __device__ __forceinline__ void take_ghosts(const inkernel_step &w, const box &tile, PUT put)
{
    constexpr int PARTS = flag_words_of<T>;
    const unsigned threads = blockDim.x * blockDim.y, me = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < w.inboxes; i++) {
        const inkernel_inbox &in = w.inbox[i];
        const box part = part_for<FORM, R>(in, tile);
        if (box_empty(part)) continue;
        const unsigned width = (unsigned)(part.x1 - part.x0), all = width * (unsigned)(part.y1 - part.y0);
        for (unsigned first = me; first < all; first += BATCH * threads) {
            uint64_t word[BATCH][PARTS];
            bool there;
            do {
                there = true;
#pragma unroll
                for (int j = 0; j < BATCH; j++) {
                    const unsigned k = first + j * threads, y = k / width, x = k - y * width;
                    if (k >= all) continue;
                    const int64_t at = (part.y0 - in.ghosts.y0 + y) * in.pitch + part.x0 - in.ghosts.x0 + x;
#pragma unroll
                    for (int p = 0; p < PARTS; p++) {
                        word[j][p] = flag_read(in.from + at * PARTS + p);
                        there &= word[j][p] >> FLAG_WORD_EPOCH_SHIFT == w.epoch;
                    }
                }
            } while (!there);
#pragma unroll
            for (int j = 0; j < BATCH; j++) {
                const unsigned k = first + j * threads, y = k / width, x = k - y * width;
                if (k >= all) continue;
                unsigned bits[PARTS];
#pragma unroll
                for (int p = 0; p < PARTS; p++) bits[p] = (unsigned)word[j][p];
                put(in, part.x0 + x, part.y0 + y, cell_of(bits));
            }
        }
    }
}

/* take_ghosts for rings of rows, which read ghosts in the field. A call, so that it costs no register. */
template <stencil_form FORM, typename T, int R>
static __device__ __noinline__ void take_into_field(const inkernel_step &w, const box &tile, int64_t pitch)
{
    take_ghosts<FORM, T, R, 4>(w, tile, [&](const inkernel_inbox &in, int64_t x, int64_t y, T u) {
        static_cast<T *>(in.to)[(y - in.ghosts.y0) * pitch + x - in.ghosts.x0] = u;
    });
}

/* A block's place and duties, in shared memory while it computes: in registers they cost a block per SM. */
struct inkernel_place {
    box tile;
    bool beside;     /* the tile reads ghosts that come through an inbox */
    unsigned images; /* bit i: the tile has cells of image i */
};

template <stencil_form FORM, typename T, int R>
static __device__ __forceinline__ inkernel_place place_of(const tiles &boxes, const inkernel_step &w,
                                                          const inkernel_size &own, const box &cells,
                                                          int64_t x, int64_t y)
{
    const box whole = { x, x + boxes.width_cells, y, y + boxes.height_cells };
    inkernel_place p = { box_intersect(cells, whole), false, 0 };
    const bool edge = p.tile.x0 < R || p.tile.y0 < R || p.tile.x1 > own.nx - R || p.tile.y1 > own.ny - R;
    for (int i = 0; edge && i < w.images; i++)
        if (!box_empty(box_intersect(p.tile, w.image[i].cells))) p.images |= 1u << i;
    for (int i = 0; edge && i < w.inboxes; i++) p.beside |= !box_empty(part_for<FORM, R>(w.inbox[i], p.tile));
    return p;
}

/* Stores the images of the tile. */
template <int BATCH, typename T>
static __device__ __forceinline__ void finish(const inkernel_place &p, const inkernel_step &w, const T *next,
                                              int64_t pitch)
{
    if (!p.images) return;
    __syncthreads(); /* the tile is in next */
    for (unsigned left = p.images; left != 0; left &= left - 1) {
        const inkernel_image &m = w.image[__ffs((int)left) - 1];
        store_image<BATCH>(m, next, pitch, box_intersect(p.tile, m.cells), (w.epoch + 1) % INKERNEL_EPOCHS);
    }
}

static __device__ __forceinline__ unsigned long long *norm_word(const inkernel_step &w)
{
    return reinterpret_cast<unsigned long long *>(w.change) +
           blockIdx.x % INKERNEL_NORM_WORDS * INKERNEL_NORM_STEP;
}

/* Converts a word of a norm back into a thread's change. */
template <typename T> static __device__ __forceinline__ change_word<T> change_of(unsigned long long norm)
{
    return change_larger(0, (T)change_value(norm), (T)0);
}

/* Joins only a change that exceeds the word's value at the block's beginning: atomics on one address take
 * turns, and one per warp halved the speed of the step. */
template <typename T>
static __device__ __forceinline__ void join_change(unsigned long long *norm, change_word<T> change,
                                                   change_word<T> known)
{
    if (__any_sync(~0u, change > known)) change_raise(norm, change);
}

/* Least number of blocks per SM: those of two levels hold more registers. */
template <stencil_form FORM, typename T, int R, bool PREV>
constexpr int inkernel_blocks = PREV ? (R <= 6 ? 3 : 2) : ring_shape<FORM, T, R>::TILING.blocks;

/* Actions around a tile (stencil_ring_cuda.cuh). */
template <stencil_form FORM, typename T, int R, bool CHANGE> struct inkernel_hooks {
    const inkernel_step &w;
    const inkernel_place &kept;
    change_word<T> &known_change; /* the block's word of the norm when the block began */
    int64_t x, y, pitch;
    bool beside; /* kept.beside, before a barrier shows kept */

    __device__ __forceinline__ void before() const
    {
        programmatic_wait();
        if (CHANGE && threadIdx.x < INKERNEL_NORM_WORDS && threadIdx.y == 0 && blockIdx.x == 0)
            w.clear[threadIdx.x * INKERNEL_NORM_STEP] = 0;
        if (CHANGE && threadIdx.x == 32 && threadIdx.y == 0) /* not by the warp that requests the rows */
            known_change = change_of<T>(__ldcg(norm_word(w)));
        if (ring_shape<FORM, T, R>::AT_ONCE || !beside) return;
        __syncthreads();
        take_into_field<FORM, T, R>(w, kept.tile, pitch);
        bulk_fence();
        __syncthreads();
        bulk_fence();
    }
    template <typename ROWS> __device__ __forceinline__ void amend(const ROWS &rows) const
    {
        if (!kept.beside) return;
        const auto put = [&](const inkernel_inbox &, int64_t gx, int64_t gy, T u) {
            rows.put((int)(gx - x), (int)(gy - y), u);
        };
        take_ghosts<FORM, T, R, 4 / flag_words_of<T>>(w, kept.tile, put);
        __syncthreads();
    }
};

template <stencil_form FORM, typename T, int R, bool PREV, bool CHANGE>
static __global__ void __launch_bounds__(ring_shape<FORM, T, R>::THREADS, inkernel_blocks<FORM, T, R, PREV>)
    inkernel_kernel(T *next, const T *cur, const T *prev, int64_t pitch, const __grid_constant__ tiles boxes,
                    const __grid_constant__ inkernel_step w, const inkernel_size own)
{
    __shared__ inkernel_place kept;
    __shared__ change_word<T> known_change;
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    const inkernel_place place = place_of<FORM, T, R>(boxes, w, own, cells, x, y);
    /* the tile's first barrier comes before any thread reads it */
    if (threadIdx.x == 0 && threadIdx.y == 0) kept = place;
    const inkernel_hooks<FORM, T, R, CHANGE> hooks = { w, kept, known_change, x, y, pitch, place.beside };
    const change_word<T> change = stencil_tile<FORM, T, R, PREV, CHANGE>(
        next, cur, prev, pitch, cells, x, y, boxes.height_cells, hooks);
    programmatic_next();
    if (CHANGE) join_change<T>(norm_word(w), change, known_change);
    finish<ring_shape<FORM, T, R>::AT_ONCE ? 1 : 4>(kept, w, next, pitch);
}

/* ---- host side ---- */

/* So few tiles begin all at once: five on each SM of an H200. */
enum { INKERNEL_FEW_TILES = 640 };

/* The single box of a step in parts: first whole rows of tiles along sides with neighbours, then the rest, in
 * which blocks beside columns are spread evenly: their flag words travel while the others compute. Without
 * such sides a launch of few tiles begins in the middle, so that tiles that store images of rows are neither
 * the last ones nor all at the beginning: 4096 x 512 cells on one H200 took 4.81 us, not 5.16. */
static inline int inkernel_boxes(const stencil_call *c, int64_t width, int64_t height,
                                 box boxes[TILES_BOXES_MAX])
{
    const int64_t nx = c->nx, ny = c->ny;
    box rest = c->boxes[0];
    int count = 0;
    bool above = false, below = false;
    for (int i = 0; i < c->step->inboxes; i++) {
        const box ghosts = c->step->inbox[i].ghosts;
        if (ghosts.x0 == 0 && box_width(ghosts) == nx) *(ghosts.y0 < 0 ? &above : &below) = true;
    }
    const auto take = [&](box b) {
        b = box_intersect(b, rest);
        if (!box_empty(b)) boxes[count++] = b;
    };
    const int64_t across = (nx + width - 1) / width, down = (ny + height - 1) / height;
    if (!above && !below && across * down <= INKERNEL_FEW_TILES) {
        const int64_t middle = ny / 2 / height * height;
        take(box_make(0, nx, middle, ny)), rest = box_intersect(rest, box_make(0, nx, 0, middle));
    }
    if (above) take(box_make(0, nx, 0, height)), rest = box_intersect(rest, box_make(0, nx, height, ny));
    if (below) {
        const int64_t last = ny - (ny > height ? height : ny);
        take(box_make(0, nx, last, ny)), rest = box_intersect(rest, box_make(0, nx, 0, last));
    }
    take(rest);
    return count;
}

template <stencil_form FORM, typename T, int R, bool PREV, bool CHANGE>
static cudaError_t inkernel_launch(const stencil_call *c)
{
    using S = ring_shape<FORM, T, R>;
    constexpr int WIDTH = S::N * vector_cells<T>, ALIGN = FIELD_ALIGN_BYTES / (int)sizeof(T);
    const auto kernel = inkernel_kernel<FORM, T, R, PREV, CHANGE>;
    if (!c->variant) return prepare_tiles(kernel, S::BYTES);
    const inkernel_step step = c->step ? *c->step : inkernel_step{};
    box parts[TILES_BOXES_MAX];
    tiles boxes = {};
    boxes.height_cells = c->variant->height;
    const bool in_parts = c->step && c->count == 1;
    do {
        const int count = in_parts ? inkernel_boxes(c, WIDTH, boxes.height_cells, parts) : c->count;
        boxes = tiles_make(in_parts ? parts : c->boxes, count, ALIGN, WIDTH, boxes.height_cells,
                           c->variant->wave);
    } while (lower<S>(&boxes));
    if (boxes.blocks == 0) return cudaSuccess;
    return programmatic_launch(c->follows, boxes.blocks, dim3(S::N, S::GROUPS), S::BYTES, c->stream, kernel,
                               (T *)c->next, (const T *)c->cur, (const T *)c->prev, c->pitch, boxes, step,
                               inkernel_size{ c->nx, c->ny });
}

template <stencil_form FORM> static cudaError_t inkernel_pass(const stencil_call *c)
{
    const bool prepares = !c->variant, change = c->step && c->step->change;
    return by_radius(c, [&](auto cell, auto radius) {
        using T = decltype(cell);
        constexpr int R = decltype(radius)::value;
        if constexpr (FORM == STENCIL_STAR)
            if (c->op->has_prev) return inkernel_launch<FORM, T, R, true, false>(c);
        if constexpr (FORM == STENCIL_STAR && R == 1) /* laplace, the kind that takes norms all the time */
            if (prepares || change) {
                const cudaError_t e = inkernel_launch<FORM, T, R, false, true>(c);
                if (change || e != cudaSuccess) return e;
            }
        if (change) return cudaErrorNotSupported;
        return inkernel_launch<FORM, T, R, false, false>(c);
    });
}
