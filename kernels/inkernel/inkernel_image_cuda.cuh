/* The images of inkernel.h: own cells are stored where they appear again as ghosts. */
#pragma once

#include "core/inkernel.h"
#include "cuda/sync_cuda.cuh"
#include "cuda/vector_cuda.cuh"

/* Flag words of a cell of 32 or 64 bits. */
template <typename T> constexpr int flag_words_of = sizeof(T) / FLAG_WORD_CELL_BYTES;

static __device__ __forceinline__ void store_flag_words(uint64_t *to, float u, uint64_t epoch)
{
    flag_set(to, epoch << FLAG_WORD_EPOCH_SHIFT | __float_as_uint(u));
}
static __device__ __forceinline__ void store_flag_words(uint64_t *to, double u, uint64_t epoch)
{
    flag_set_pair(to, epoch << FLAG_WORD_EPOCH_SHIFT | (unsigned)__double2loint(u),
                  epoch << FLAG_WORD_EPOCH_SHIFT | (unsigned)__double2hiint(u));
}

/* Stores the images of the cells `part` (not empty) of a level with that epoch, by all threads of the block,
 * BATCH cells at a time, because a read takes a trip to L2. A block that has few images waits for its
 * instructions, which no other block has just used, and short code is then faster: 4 cells at a time took .2
 * us more of 5.7 at 4096 x 512 cells on each of two H200s. */
template <int BATCH, typename T>
static __device__ __forceinline__ void store_image(const inkernel_image &m, const T *level, int64_t pitch,
                                                   const box &part, uint64_t epoch)
{
    const unsigned width = (unsigned)(part.x1 - part.x0), all = width * (unsigned)(part.y1 - part.y0);
    const unsigned threads = blockDim.x * blockDim.y;
#pragma unroll 1
    for (unsigned first = threadIdx.y * blockDim.x + threadIdx.x; first < all; first += BATCH * threads) {
        T u[BATCH];
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            const unsigned k = first + j * threads, y = k / width, x = k - y * width;
            if (k < all) u[j] = __ldcg(level + (part.y0 + y) * pitch + part.x0 + x);
        }
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            const unsigned k = first + j * threads, y = k / width, x = k - y * width;
            if (k >= all) break;
            if (m.odd_x) u[j] = mirror((T)m.value_x, u[j]);
            if (m.odd_y) u[j] = mirror((T)m.value_y, u[j]);
            const int64_t at = (part.y0 + y - m.cells.y0) * m.step_y + (part.x0 + x - m.cells.x0) * m.step_x;
            if (m.flag_words)
                store_flag_words(static_cast<uint64_t *>(m.to) + at * flag_words_of<T>, u[j], epoch);
            else static_cast<T *>(m.to)[at] = u[j];
        }
    }
}
