/* The rows of a tile in shared memory: how the tiles of stars and boxes are built, and the bulk copies that
 * bring their rows, a step of B rows at a time, with one mbarrier per step. STEPS steps are kept; step s lies
 * in slot s % STEPS. If they hold the whole tile, all of it is requested at once. Otherwise they are a ring:
 * a slot is requested again when all threads have left it.
 *
 * A shared row has its own cells on 128 bytes and each 32-byte sector at the same phase as in the field: a
 * halo packed without that padding cost 8 %, since each sector then needed two writes into shared memory. */
#pragma once

#include "cuda/async_copy_cuda.cuh"
#include "stencil/stencil_vector_cuda.cuh"

template <stencil_form FORM, typename T, int R> struct ring_shape {
    static constexpr bool BOX = FORM == STENCIL_BOX, STAR = FORM == STENCIL_STAR;
    static constexpr ring_tiling TILING = ring_tilings[BOX][sizeof(T) == 8][R - 1];
    static constexpr int COLUMNS = TILING.columns, GROUPS = TILING.groups, B = TILING.step_rows,
                         AHEAD = TILING.ahead;
    static constexpr bool AT_ONCE = AHEAD == 0;
    /* those of stencil_slide_cuda.cuh; the others are stencil_ring_cuda.cuh's */
    static constexpr bool SLIDES = BOX && (R == 3 || R == 4);
    /* steps still read besides the newest */
    static constexpr int BACK = ((SLIDES ? 2 * R : STAR ? R : 0) + B - 1) / B;
    static constexpr int STEPS = AT_ONCE ? (TILING.height + 2 * R + B - 1) / B : BACK + 1 + AHEAD;
    /* steps requested at once */
    static constexpr int FIRST = AT_ONCE ? STEPS : SLIDES ? BACK + AHEAD : AHEAD;
    static constexpr int N = 32 * COLUMNS, THREADS = N * GROUPS;
    static constexpr int SIDE = (R + vector_cells<T> - 1) / vector_cells<T>;
    /* Vectors of a shared row. If it brings one more block onto an SM, the halo right of a row and the one
     * left of the next share their padding. */
    static constexpr int LEFT = FIELD_ALIGN_BYTES / 16, PITCH = N + (SLIDES ? LEFT : 2 * LEFT);
    static constexpr int BARRIERS_AT = (STEPS * B * PITCH + (SLIDES ? LEFT : 0)) * 16,
                         BYTES = BARRIERS_AT + STEPS * 8;
    static_assert(2 * SIDE <= PITCH - N && STEPS <= 32 && TILING.height % (GROUPS * B) == 0 &&
                      (!STAR || B <= R + 1),
                  "");
    static_assert(AT_ONCE || GROUPS == 1, "the barriers of a ring are the whole block's");
    static_assert(!SLIDES || (!AT_ONCE && (N & (N - 1)) == 0), "the warps take turns");
};

/* The copies of a block. Rows and steps count from the tile's first halo row; step s lies in slot s %
 * STEPS. */
template <typename S> struct ring_rows {
    unsigned shared;     /* address of slot 0, first vector copied */
    unsigned barriers;
    const char *from;    /* first byte copied of row 0 */
    int64_t pitch_bytes;
    unsigned row_bytes;
    int rows;            /* of the tile and its halo */

#if __CUDA_ARCH__ >= 900
    __device__ __forceinline__ void expect(int slot, int count) const
    {
        bulk_expect(barriers + 8 * slot, row_bytes * (unsigned)count);
    }
    __device__ __forceinline__ void copy(int slot, int b, const char *row) const
    {
        bulk_copy(shared + (slot * S::B + b) * S::PITCH * 16, row, row_bytes, barriers + 8 * slot);
    }
    /* Comes first, by all threads. */
    __device__ __forceinline__ void make_barriers() const
    {
        if (threadIdx.y != 0 || threadIdx.x >= 32) return;
        if (threadIdx.x < S::STEPS) bulk_barrier_make(barriers + 8 * threadIdx.x);
        bulk_barriers_made();
        __syncwarp(); /* each lane expects on the barrier that it made itself; racecheck cannot tell that
                       * from a race */
    }
    /* Requests the first steps, by all threads. */
    __device__ __forceinline__ void start() const
    {
        if (threadIdx.y == 0 && threadIdx.x < 32) {
            const int lane = (int)threadIdx.x;
            if (lane < S::FIRST) expect(lane, max(min(rows - lane * S::B, S::B), 0));
            __syncwarp();
#pragma unroll 1
            for (int r = lane; r < min(rows, S::FIRST * S::B); r += 32)
                copy(r / S::B, r % S::B, from + r * pitch_bytes);
        }
        __syncthreads();
    }
    /* Requests one more step into its slot, by the block's thread `asker`; `row` is its first row. A step
     * beyond the last row is complete at once. */
    __device__ __forceinline__ void ask(int step, int slot, const char *row, unsigned asker = 0) const
    {
        const int left = rows - step * S::B;
        if (threadIdx.x != asker) return;
        expect(slot, max(min(left, S::B), 0));
#pragma unroll
        for (int b = 0; b < S::B; b++)
            if (b < left) copy(slot, b, row + b * pitch_bytes);
    }
    /* Waits until the rows of a step have arrived. */
    __device__ __forceinline__ void wait_rows(int slot, unsigned lap) const
    {
        bulk_wait(barriers + 8 * slot, lap);
    }
    /* wait_rows; in a ring, also a wait until all threads have left the step before. */
    __device__ __forceinline__ void wait(int slot, unsigned lap) const
    {
        wait_rows(slot, lap);
        if (!S::AT_ONCE) __syncthreads();
    }
#else /* without bulk copies: groups of 16-byte copies by all threads of the first row */
    __device__ __forceinline__ void make_barriers() const {}
    __device__ __forceinline__ void start() const
    {
        if (threadIdx.y == 0)
            for (int s = 0; s < S::FIRST; s++) ask(s, s, from + s * S::B * pitch_bytes);
        if (!S::AT_ONCE) return;
        async_copy_wait<0>();
        __syncthreads();
    }
    __device__ __forceinline__ void ask(int step, int slot, const char *row, unsigned = 0) const
    {
        for (int b = 0; b < S::B && step * S::B + b < rows; b++, row += pitch_bytes)
            for (unsigned k = 16 * threadIdx.x; k < row_bytes; k += 16 * S::N)
                async_copy16(shared + (slot * S::B + b) * S::PITCH * 16 + k, row + k);
        async_copy_commit();
    }
    __device__ __forceinline__ void wait_rows(int, unsigned) const {} /* start or wait covers them */
    __device__ __forceinline__ void wait(int, unsigned) const
    {
        if (S::AT_ONCE) return;
        async_copy_wait<S::AHEAD - 1>();
        __syncthreads();
    }
#endif
};
