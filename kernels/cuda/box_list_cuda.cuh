/* Several boxes of any shape in one launch, cell by cell: the units of a box (cells, or 16-byte vectors of
 * cells) are counted row-major, one per thread. Full rows and one-cell columns fill their blocks alike, and
 * neighbouring threads have neighbouring units; the price is one division per unit. One unit per thread,
 * because the time of a halo is latency: with four, each load waits for the store before it, and packing took
 * 1.2 us more of 7.5. For the same reason the division is a product with the width's reciprocal, and a block
 * finds its box without a loop: .2 us of 6.4. For halos and ghosts; kernels that pass over whole fields use
 * tiles_cuda.cuh. */
#pragma once

#include <assert.h>
#include <stdint.h>

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
static inline void box_list_add(box_list *list, int64_t width, int64_t height)
{
    assert(list->count < BOX_LIST_MAX && width > 0 && height > 0);
    const int64_t units = width * height, blocks = (units + BOX_LIST_THREADS - 1) / BOX_LIST_THREADS;
    assert(units <= INT64_MAX / width && blocks <= INT32_MAX - (int64_t)list->blocks);
    list->first_block[list->count] = list->blocks;
    list->entry[list->count++] = { width, units, UINT64_MAX / (uint64_t)width + 1 };
    list->blocks += (unsigned)blocks;
}

#ifdef __CUDACC__
/* Calls work(e, i, x, y) for this thread's unit, if it has one: e is the entry, i the unit's number, (x, y)
 * its place relative to the box's first unit. */
template <typename WORK> static __device__ __forceinline__ void box_list_run(const box_list &list, WORK work)
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
#endif
