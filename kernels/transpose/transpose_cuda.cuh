/* One tile of a transpose, through shared memory: a block reads a tile along the rows of `from` and writes it
 * along the rows of `to`; one padding column spreads a tile's column over the banks. On an H200 the bound is
 * less the DRAM than the link between the two halves of L2: a 32-byte sector that is requested twice, or
 * written in two parts, costs time. Hence vectors where all rows start on sectors, but f64 read one cell a
 * lane; and cells where rows start anywhere, as only parts of a matrix that go into messages do, which take
 * longer themselves. What leaves L2 last, what streams, and what that gains: docs/transpose-rings.md. */
#pragma once

#include <stdint.h>

#include "core/box.h"
#include "cuda/vector_cuda.cuh"

namespace {

/* How rows of `to` are written: in vectors, as all rows of both matrices start on sectors, or by cells. */
enum way { ALIGNED, CELLS };

/* The longer side of a tile is the one along which neighbouring tiles share sectors or rows. */
template <typename T, way WAY> struct tile_shape {
    static constexpr bool F32 = sizeof(T) == 4, STREAMS = F32 && WAY == ALIGNED;
    static constexpr int ROWS = (WAY == ALIGNED ? 512 : 256) / (int)sizeof(T); /* cells */
    static constexpr int COLS = (WAY == ALIGNED ? 256 : 512) / (int)sizeof(T);
    static constexpr int V_IN = STREAMS ? vector_cells<T> : 1, V_OUT = WAY == CELLS ? 1 : vector_cells<T>;
    static constexpr int THREADS = F32 == (WAY == ALIGNED) ? 256 : 512;
    /* least number of blocks of a plain transpose on an SM, for which registers are capped */
    static constexpr int BLOCKS = WAY == ALIGNED ? (F32 ? 5 : 4) : 3;
};

/* Accesses whose lines leave L2 last. */
enum kept {
    KEPT_NONE,
    KEPT_READ, /* loads, except of a source that is incremented cell by cell: its lines are in the way */
    KEPT_ALL,  /* loads and stores */
};

__device__ __forceinline__ void load_last(double (&u)[1], const double *p)
{
    asm volatile("ld.global.L2::cache_hint.f64 %0, [%1], %2;" : "=d"(u[0]) : "l"(p), "l"(evict_last()));
}
__device__ __forceinline__ void load_last(float (&u)[4], const float *p)
{
    asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(u[0]), "=f"(u[1]), "=f"(u[2]), "=f"(u[3]) : "l"(p), "l"(evict_last()));
}
__device__ __forceinline__ void load_last(double (&u)[2], const double *p)
{
    asm volatile("ld.global.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;"
                 : "=d"(u[0]), "=d"(u[1])
                 : "l"(p), "l"(evict_last()));
}
__device__ __forceinline__ void store_last(double *p, const double (&u)[1])
{
    asm volatile("st.global.L2::cache_hint.f64 [%0], %1, %2;" ::"l"(p), "d"(u[0]), "l"(evict_last())
                 : "memory");
}
__device__ __forceinline__ void store_last(float *p, const float (&u)[4])
{
    asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;"
                 :: "l"(p), "f"(u[0]), "f"(u[1]), "f"(u[2]), "f"(u[3]), "l"(evict_last()) : "memory");
}
__device__ __forceinline__ void store_last(double *p, const double (&u)[2])
{
    asm volatile("st.global.L2::cache_hint.v2.f64 [%0], {%1, %2}, %3;" ::"l"(p), "d"(u[0]), "d"(u[1]),
                 "l"(evict_last())
                 : "memory");
}

/* V cells to and from registers. LAST: with the policy above; otherwise STREAMS decides. */
template <bool LAST, bool STREAMS, int V, typename T>
__device__ __forceinline__ void load(T (&u)[V], const T *p)
{
    if constexpr (LAST) load_last(u, p);
    else if constexpr (V == 1) u[0] = *p;
    else if (STREAMS) load_once(u, p);
    else unpack16(*reinterpret_cast<const typename vector16<T>::type *>(p), u);
}

template <bool LAST, bool STREAMS, int V, typename T>
__device__ __forceinline__ void store(T *p, const T (&u)[V])
{
    if constexpr (LAST) store_last(p, u);
    else if constexpr (V == 1) *p = u[0];
    else if (STREAMS) store_once(p, u);
    else __stcg(reinterpret_cast<typename vector16<T>::type *>(p), pack16(u));
}

struct at_once {
    __device__ void operator()() const {}
};

/* The tile whose corner is row r0, column c0 of `from`. matrix: the columns (x) and rows (y) of `from` that
 * are transposed. EDGE: the tile may stick out of them. may_store: called by all threads when the loads are
 * on their way; no thread stores into `to` before all have returned from it. */
template <typename T, way WAY, bool ADD, bool INCREMENT, bool EDGE, kept KEPT, typename TILE,
          typename WAIT = at_once>
__device__ __forceinline__ void transpose_tile(T *to, int64_t to_pitch, T *from, int64_t from_pitch,
                                               const box &matrix, int64_t r0, int64_t c0, TILE &tile,
                                               WAIT may_store = {})
{
    using shape = tile_shape<T, WAY>;
    constexpr int V_IN = shape::V_IN, V = shape::V_OUT;
    constexpr int IN = shape::COLS / V_IN, DOWN = shape::THREADS / IN, LOADS = shape::ROWS / DOWN;
    constexpr int OUT = shape::ROWS / V, ACROSS = shape::THREADS / OUT, STORES = shape::COLS / ACROSS;
    static_assert(shape::THREADS % IN == 0 && shape::THREADS % OUT == 0 && shape::COLS % ACROSS == 0 &&
                      shape::ROWS % DOWN == 0,
                  "no thread idle");

    /* this thread's first cells in the tile */
    const int x = (int)threadIdx.x % IN * V_IN, y = (int)threadIdx.x / IN;
    T *const corner = from + (r0 + y) * from_pitch + c0 + x;
    /* the part of the tile that lies in the matrix: columns from c0 and rows from r0 on */
    const int low_x = EDGE ? (int)max(matrix.x0 - c0, (int64_t)0) : 0;
    const int high_x = EDGE ? (int)min(matrix.x1 - c0, (int64_t)shape::COLS) : shape::COLS;
    const int low_y = EDGE ? (int)max(matrix.y0 - r0, (int64_t)0) : 0;
    const int high_y = EDGE ? (int)min(matrix.y1 - r0, (int64_t)shape::ROWS) : shape::ROWS;
    constexpr bool ALL = KEPT == KEPT_ALL, LAST_IN = ALL || (KEPT == KEPT_READ && !(INCREMENT && V_IN == 1));
    const auto inside = [&](int j, int v) { /* is cell (x + v, j) in the matrix? */
        return !EDGE || (j >= low_y && j < high_y && x + v >= low_x && x + v < high_x);
    };
    T u[LOADS][V_IN];
    const T *in = corner;
#pragma unroll
    for (int l = 0; l < LOADS; l++, in += DOWN * from_pitch)
        if (inside(y + l * DOWN, 0) && (V_IN == 1 || inside(y + l * DOWN, V_IN - 1)))
            load<LAST_IN, shape::STREAMS>(u[l], in);
        else if (EDGE && V_IN > 1)
#pragma unroll
            for (int v = 0; v < V_IN; v++)
                if (inside(y + l * DOWN, v)) u[l][v] = in[v];
    __syncwarp(); /* keeps the compiler from waiting for the first loads before it requests the last */
    may_store();
    T *changed = corner;
    int64_t down = DOWN * from_pitch;
    /* otherwise the loads' addresses stay in registers all the while */
    if (INCREMENT) asm("" : "+l"(changed), "+l"(down));
#pragma unroll
    for (int l = 0; l < LOADS; l++, changed += down) {
        T more[V_IN];
#pragma unroll
        for (int v = 0; v < V_IN; v++)
            if (inside(y + l * DOWN, v)) {
                tile[y + l * DOWN][x + v] = u[l][v];
                more[v] = u[l][v] + (T)1;
                if (INCREMENT && EDGE) changed[v] = more[v];
            }
        if (INCREMENT && !EDGE && inside(y + l * DOWN, 0)) store<ALL, shape::STREAMS>(changed, more);
    }
    __syncthreads();

    T *out = to + (c0 + threadIdx.x / OUT) * to_pitch + r0;
    T before[ADD && ALL ? STORES : 1][V]; /* requested at once: a load would wait for the last store */
    if constexpr (ADD && ALL) {
        const int j = (int)threadIdx.x % OUT * V;
        const T *sum = out + j;
#pragma unroll
        for (int s = 0; s < STORES; s++, sum += ACROSS * to_pitch) {
            const int column = (int)threadIdx.x / OUT + s * ACROSS;
            if (!EDGE || (column >= low_x && column < high_x && j >= low_y && j + V <= high_y))
                load<true, shape::STREAMS>(before[s], sum);
        }
        __syncwarp();
    }
#pragma unroll
    for (int s = 0; s < STORES; s++, out += ACROSS * to_pitch) {
        const int column = (int)threadIdx.x / OUT + s * ACROSS;
        if (EDGE && (column < low_x || column >= high_x)) continue;
        const int j = (int)threadIdx.x % OUT * V; /* rows from r0 */
        T w[V];
#pragma unroll
        for (int v = 0; v < V; v++) w[v] = tile[j + v][column];
        if (!EDGE || (j >= low_y && j + V <= high_y)) {
            if (ADD) {
                if (!ALL) load<KEPT == KEPT_READ, shape::STREAMS>(before[0], out + j);
#pragma unroll
                for (int v = 0; v < V; v++) w[v] = before[ALL ? s : 0][v] + w[v];
            }
            store<ALL, shape::STREAMS>(out + j, w);
        } else if (V > 1) {
#pragma unroll
            for (int v = 0; v < V; v++)
                if (j + v >= low_y && j + v < high_y) out[j + v] = ADD ? out[j + v] + w[v] : w[v];
        }
    }
}

} // namespace
