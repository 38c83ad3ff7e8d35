/* shared: when do banks conflict, and how do words come in? The lesson: docs/teaching/shared.md. */
#include <cuda_pipeline.h>
#include <numeric>

#include "ladder/ladder_kernel.cuh"

namespace {

enum { N, STRIDE, STAGES, PARAMETERS };

/* ---- conflicts by stride ---- */

enum { STRIDE_THREADS = 256, STRIDE_WORDS = 1024, STRIDE_ROUNDS = 512, STRIDE_BLOCKS = 1056 };

__global__ void __launch_bounds__(STRIDE_THREADS) strided(uint32_t *out, const uint32_t *in, int stride)
{
    __shared__ uint32_t tile[STRIDE_WORDS];
    for (int t = (int)threadIdx.x; t < STRIDE_WORDS; t += STRIDE_THREADS) tile[t] = in[t];
    __syncthreads();
    uint32_t sum = 0;
    const int first = (int)threadIdx.x * stride;
#pragma unroll 16
    for (int i = 0; i < STRIDE_ROUNDS; i++) sum += tile[(first + i) & (STRIDE_WORDS - 1)];
    out[(int64_t)blockIdx.x * STRIDE_THREADS + threadIdx.x] = sum;
}

int prepare_strided(ladder_case *c)
{
    c->type = DTYPE_F32; /* words of 4 bytes, added as integers */
    ladder_moves(c, (int64_t)STRIDE_BLOCKS * STRIDE_THREADS, STRIDE_ROUNDS);
    c->predicted[0] = { "turns", (double)std::gcd(c->value[STRIDE], 32) };
    return ladder_open(c, STRIDE_WORDS, c->size);
}

int run_strided(ladder_case *c)
{
    return ladder_words(c, STRIDE_BLOCKS, STRIDE_THREADS, 0, strided, (int)c->value[STRIDE]);
}

/* Every block has the same sums. */
int verify_strided(ladder_case *c, ladder_verdict *v)
{
    uint32_t word[STRIDE_WORDS], sum[STRIDE_THREADS] = {};
    ladder_random(DTYPE_F32, word, 0, STRIDE_WORDS);
    for (int t = 0; t < STRIDE_THREADS; t++)
        for (int i = 0; i < STRIDE_ROUNDS; i++)
            sum[t] += word[(t * (int)c->value[STRIDE] + i) % STRIDE_WORDS];
    return ladder_verify_blocks(c, sum, sizeof sum, v);
}

/* ---- a square tile: written along its rows, read along them or, as a transpose does, across ---- */

enum { ROUNDS = 33, SIDE = 32, TILE_CELLS = SIDE * SIDE, TILE_BLOCKS = 1056 };
enum { ALONG, CROSSED }; /* a rung's variant: how the tile is read */

int prepare_tile(ladder_case *c)
{
    ladder_moves(c, (int64_t)TILE_BLOCKS * TILE_CELLS, 2 * ROUNDS);
    return ladder_open(c, c->size, c->size);
}

/* The number of rounds is odd, so that a tile that is read crossed ends transposed. */
template <typename T, int HOW, int PAD, bool SWIZZLED> __global__ void exchange(T *out, const T *in)
{
    __shared__ T tile[SIDE * (SIDE + PAD)];
    const auto at = [](int row, int column) {
        return row * (SIDE + PAD) + (SWIZZLED ? column ^ (row % SIDE) : column);
    };
    const int k = (int)threadIdx.y * SIDE + (int)threadIdx.x;
    const int write = at(k / SIDE, k % SIDE), read = HOW == CROSSED ? at(k % SIDE, k / SIDE) : write;
    const int64_t cell = (int64_t)blockIdx.x * TILE_CELLS + k;
    T u = in[cell];
#pragma unroll 4
    for (int i = 0; i < ROUNDS; i++) {
        tile[write] = u;
        __syncthreads();
        u = tile[read];
        __syncthreads();
    }
    out[cell] = u;
}

template <int HOW, int PAD, bool SWIZZLED> int run_tile(ladder_case *c)
{
    return ladder_kernel(c, TILE_BLOCKS, dim3(SIDE, SIDE), 0, exchange<float, HOW, PAD, SWIZZLED>,
                         exchange<double, HOW, PAD, SWIZZLED>);
}

double tile_answer(const ladder_case *c, int64_t i)
{
    const int64_t k = i % TILE_CELLS;
    return ladder_cell(c->rung->variant == CROSSED ? i - k + k % SIDE * SIDE + k / SIDE : i);
}

/* ---- from global memory into shared memory ---- */

/* Thread t writes out what thread t XOR 1 brought. */
enum { FLOW_THREADS = 256, CHUNKS = 16, STAGES_MOST = 4 };

__global__ void __launch_bounds__(FLOW_THREADS)
    through_registers(uint4 *out, const uint4 *in, int64_t vectors)
{
    __shared__ uint4 tile[FLOW_THREADS];
    const int t = (int)threadIdx.x;
    const int64_t first = (int64_t)blockIdx.x * FLOW_THREADS * CHUNKS;
    for (int k = 0; k < CHUNKS; k++) {
        const int64_t at = first + k * FLOW_THREADS;
        if (at + t < vectors) tile[t] = in[at + t];
        __syncthreads();
        if (at + (t ^ 1) < vectors) out[at + (t ^ 1)] = tile[t ^ 1];
        __syncthreads();
    }
}

template <int S>
__global__ void __launch_bounds__(FLOW_THREADS) in_stages(uint4 *out, const uint4 *in, int64_t vectors)
{
    __shared__ uint4 tile[S][FLOW_THREADS];
    const int t = (int)threadIdx.x;
    const int64_t first = (int64_t)blockIdx.x * FLOW_THREADS * CHUNKS;
    auto start = [&](int k) {
        const int64_t at = first + k * FLOW_THREADS + t;
        if (k < CHUNKS && at < vectors) __pipeline_memcpy_async(&tile[k % S][t], in + at, sizeof(uint4));
        __pipeline_commit(); /* an empty one counts too: the numbers stay in step */
    };
#pragma unroll
    for (int k = 0; k < S - 1; k++) start(k);
    for (int k = 0; k < CHUNKS; k++) {
        start(k + S - 1);
        __pipeline_wait_prior(S - 1);
        __syncthreads();
        const int64_t at = first + k * FLOW_THREADS + (t ^ 1);
        if (at < vectors) out[at] = tile[k % S][t ^ 1];
        __syncthreads();
    }
}

int prepare_flow(ladder_case *c)
{
    const int64_t cells_a_vector = (int64_t)(sizeof(uint4) / dtype_bytes(c->type));
    ladder_moves(c, c->value[N] / cells_a_vector * cells_a_vector, 2);
    return ladder_open(c, c->size, c->size);
}

int run_flow(ladder_case *c)
{
    typedef void flow_kernel(uint4 *, const uint4 *, int64_t);
    static flow_kernel *const staged[STAGES_MOST] = { in_stages<1>, in_stages<2>, in_stages<3>,
                                                      in_stages<4> };
    const int64_t vectors = (int64_t)(ladder_bytes(c, c->size) / sizeof(uint4));
    flow_kernel *k = c->rung->variant ? staged[c->value[STAGES] - 1] : through_registers;
    return ladder_words(c, ladder_blocks(vectors, FLOW_THREADS * CHUNKS), FLOW_THREADS, 0, k, vectors);
}

/* ---- the table ---- */

const int64_t strides[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                            17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
const int64_t stages[] = { 1, 2, 3, 4 };

template <int HOW, int PAD = 0, bool SWIZZLED = false>
constexpr ladder_rung tile(const char *name, const char *why)
{
    int (*const run)(ladder_case *) = run_tile<HOW, PAD, SWIZZLED>;
    return { LADDER_ROW(name, why, prepare_tile, run, ladder_verify_cells, "shared"), .answer = tile_answer,
             .variant = HOW, .ignores = (1u << PARAMETERS) - 1 };
}

const ladder_rung rungs[] = {
    { LADDER_ROW("stride4", "4-byte words: gcd(stride, 32) turns", prepare_strided, run_strided,
                 verify_strided, "shared"),
      .ignores = 1u << N | 1u << STAGES, LADDER_SCAN(STRIDE, strides) },
    tile<ALONG>("rowRow", "no conflict either way"),
    tile<CROSSED>("rowColumn", "one way straight, one way 32 turns"),
    tile<CROSSED, 1>("padded", "one column more: no conflict"),
    tile<CROSSED, 0, true>("swizzled", "column XOR row: no conflict, no padding"),
    { LADDER_ROW("throughRegisters", "load, wait, store, barrier", prepare_flow, run_flow,
                 ladder_verify_cells, "copy"),
      .ignores = 1u << STRIDE | 1u << STAGES },
    { LADDER_ROW("asyncStages", "cp.async: started, not waited for", prepare_flow, run_flow,
                 ladder_verify_cells, "copy"),
      .variant = 1, .ignores = 1u << STRIDE, LADDER_SCAN(STAGES, stages) },
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 26, 1024, (int64_t)1 << 33, "cells that flow through shared memory" },
    { "stride", 1, 1, 1024, "words from one thread's to the next one's" },
    { "stages", 4, 1, STAGES_MOST, "pieces on their way, the present one included" },
};

} // namespace

const ladder_family ladder_shared_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "shared", "banks, conflicts, and the way in", "f32", "f64", nullptr);
