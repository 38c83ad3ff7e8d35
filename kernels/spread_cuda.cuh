/* Several boxes of any shape in one launch, cell by cell: a box's units (cells, or 16-byte vectors of cells) are
 * counted row-major, one a thread. Full rows and one-cell columns fill their blocks alike, and neighbouring threads have
 * neighbouring units; the price is one division a unit. One, because the time of a halo is latency: with four units a
 * thread, each load waits for the store before it, and packing took 1.2 us more of 7.5. For halos and ghosts; kernels
 * that sweep whole fields use tiles_cuda.cuh. */
#ifndef SPREAD_CUDA_CUH
#define SPREAD_CUDA_CUH

#include <assert.h>
#include <stdint.h>

enum { SPREAD_BOXES_MAX = 8, SPREAD_THREADS = 128 };

struct spread_entry {
    int64_t width, units; /* units in a row, in all */
    unsigned first_block;
    int source;           /* index in the caller's list */
};

struct spread {
    int count;
    unsigned blocks;
    spread_entry entry[SPREAD_BOXES_MAX];
};

static inline void spread_add(spread *s, int source, int64_t width, int64_t height)
{
    if (width <= 0 || height <= 0) return;
    assert(s->count < SPREAD_BOXES_MAX);
    const int64_t blocks = (width * height + SPREAD_THREADS - 1) / SPREAD_THREADS;
    assert(blocks <= INT32_MAX - (int64_t)s->blocks);
    s->entry[s->count++] = { width, width * height, s->blocks, source };
    s->blocks += (unsigned)blocks;
}

#ifdef __CUDACC__
/* Calls work(source, i, x, y) for this thread's unit, if it has one: i counts units, (x, y) from the box's first one. */
template <typename WORK> static __device__ __forceinline__ void spread_run(const spread &s, WORK work)
{
    int e = 0;
    while (e + 1 < s.count && blockIdx.x >= s.entry[e + 1].first_block) e++;
    const int64_t width = s.entry[e].width, units = s.entry[e].units;
    const int64_t i = (int64_t)(blockIdx.x - s.entry[e].first_block) * SPREAD_THREADS + threadIdx.x;
    if (i >= units) return;
    const int64_t y = units <= UINT32_MAX ? (int64_t)((uint32_t)i / (uint32_t)width) : i / width;
    work(s.entry[e].source, i, i - y * width, y);
}
#endif

#endif
