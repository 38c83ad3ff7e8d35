#include <string.h>

#include <cuda_pipeline.h>

#include "device/device_cuda.h"
#include "ladder/ladder_families.h"

static const char teaches[] =
    "Shared memory: 32 banks, each 4 bytes wide, each serving one address per clock.\n"
    "\n"
    "A warp's 32 accesses go through in one turn if they fall into 32 different banks (or into the same word, which is then "
    "broadcast). If two of them want different words of one bank they take two turns, if 32 do, 32. Word i lies in bank i mod "
    "32, so that the stride between neighbouring threads decides: the number of turns is the greatest common divisor of stride "
    "and 32 (for 8-byte words a warp goes in two halves, each over 16 pairs of banks: gcd of stride and 16). Odd strides never "
    "conflict, and that is why one padding column cures a square tile. A swizzle cures it without the padding: cell (row, "
    "column) is stored at column XOR row.\n"
    "\n"
    "The squares write a 32 x 32 tile one way and read it the other, many times over, so that nothing but shared memory counts. "
    "The ceiling is what conflict-free 16-byte reads were seen to deliver: 128 bytes per clock and SM, 33 TB/s on an H200. The "
    "tiles stay below it for a good reason: each of their accesses moves 4 bytes a thread, and every round has two barriers.\n"
    "\n"
    "The last rungs bring global memory into shared memory: through registers (load, wait, store), or by cp.async, which a "
    "thread only starts, so that several stages are on their way while one is computed upon. There the copy is the ceiling.\n"
    "\n"
    "Measured on one H200 (ceiling 32 TB/s): strides 1, 2, 4 ... 32 at .86, .48, .25, .13, .064, .032 of it, all odd ones at "
    ".86 (8-byte words: .95, .50, .25, .13, .064, .064), as gcd says; rowRow .43 (f32) and .82 (f64), rowColumn .06 and .12, "
    "columnColumn .03 and .06; padded and swizzled as rowRow, static and dynamic alike. A rectangle of 16 rows wants two "
    "columns of padding in f32 (a warp reads two columns at once), one in f64; the two turns that one column leaves in f32 do "
    "not show beside two barriers a round (.40 either way, .11 without padding). cp.async and registers alike reach .93 of the "
    "copy, whatever the stages: with eight blocks of 256 threads on each SM other blocks' loads hide what one block waits for; "
    "stages pay where shared memory leaves room for a block or two.\n";

namespace {

enum { N, STRIDE, STAGES, PARAMETERS };

const ladder_arrays *arrays(const ladder_case *c) { return (const ladder_arrays *)c->state; }

/* ---- conflicts by stride ---- */

enum { STRIDE_THREADS = 256, STRIDE_WORDS = 1024, STRIDE_ROUNDS = 512, STRIDE_BLOCKS = 1056 };

template <typename W> __global__ void __launch_bounds__(STRIDE_THREADS) strided(W *out, const W *in, int stride)
{
    __shared__ W tile[STRIDE_WORDS];
    for (int t = (int)threadIdx.x; t < STRIDE_WORDS; t += STRIDE_THREADS) tile[t] = in[t];
    __syncthreads();
    W sum = 0;
    const int first = (int)threadIdx.x * stride;
#pragma unroll 16
    for (int i = 0; i < STRIDE_ROUNDS; i++) sum += tile[(first + i) & (STRIDE_WORDS - 1)];
    out[(int64_t)blockIdx.x * STRIDE_THREADS + threadIdx.x] = sum;
}

int greatest_common_divisor(int a, int b) { return b == 0 ? a : greatest_common_divisor(b, a % b); }

int prepare_strided(ladder_case *c)
{
    c->type = c->rung->variant == 8 ? DTYPE_F64 : DTYPE_F32; /* the width of a word; it is added as an integer */
    c->size = (int64_t)STRIDE_BLOCKS * STRIDE_THREADS;
    c->work = (double)c->size * STRIDE_ROUNDS * (double)dtype_bytes(c->type);
    c->predicted[0] = { "turns", (double)greatest_common_divisor((int)c->value[STRIDE], c->type == DTYPE_F32 ? 32 : 16) };
    return ladder_arrays_prepare(c, STRIDE_WORDS, c->size);
}

int run_strided(ladder_case *c)
{
    const ladder_arrays *a = arrays(c);
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const int stride = (int)c->value[STRIDE];
    switch (c->type) {
    case DTYPE_F32:
        strided<<<STRIDE_BLOCKS, STRIDE_THREADS, 0, stream>>>((uint32_t *)a->out, (const uint32_t *)a->in, stride);
        break;
    case DTYPE_F64:
        strided<<<STRIDE_BLOCKS, STRIDE_THREADS, 0, stream>>>((unsigned long long *)a->out, (const unsigned long long *)a->in,
                                                              stride);
        break;
    }
    return cudaGetLastError();
}

/* The sums of one block, once; every block has the same. */
struct strided_sums {
    uint32_t of32[STRIDE_THREADS];
    uint64_t of64[STRIDE_THREADS];
};

void answer_strided(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const strided_sums *s = (const strided_sums *)context;
    for (int64_t i = 0; i < count; i++) {
        const int thread = (int)((first + i) % STRIDE_THREADS);
        if (t == DTYPE_F32) memcpy((char *)out + i * 4, &s->of32[thread], 4);
        else memcpy((char *)out + i * 8, &s->of64[thread], 8);
    }
}

int verify_strided(ladder_case *c, ladder_verdict *v)
{
    strided_sums s = {};
    uint32_t word32[STRIDE_WORDS];
    uint64_t word64[STRIDE_WORDS];
    ladder_random(DTYPE_F32, word32, 0, STRIDE_WORDS, LADDER_SEED);
    ladder_random(DTYPE_F64, word64, 0, STRIDE_WORDS, LADDER_SEED);
    for (int t = 0; t < STRIDE_THREADS; t++)
        for (int i = 0; i < STRIDE_ROUNDS; i++) {
            s.of32[t] += word32[(t * (int)c->value[STRIDE] + i) % STRIDE_WORDS];
            s.of64[t] += word64[(t * (int)c->value[STRIDE] + i) % STRIDE_WORDS];
        }
    return ladder_compare(c, arrays(c)->out, c->size, answer_strided, &s, v);
}

/* ---- tiles: written one way, read the other ---- */

/* LAYOUT says where cell (row, column) of the tile stands. The number of rounds is odd, so that a crossed one ends transposed. */
enum { ROUNDS = 33, MOST_COLUMNS = 32, TILE_BLOCKS = 1056 };

template <int COLUMNS, int PAD, bool SWIZZLED> struct layout {
    static __device__ __forceinline__ int at(int row, int column)
    {
        return row * (COLUMNS + PAD) + (SWIZZLED ? column ^ (row % COLUMNS) : column);
    }
};

/* ROWS x COLUMNS threads; the tile is written at (y, x), read at (r, c) where CROSSED takes thread number k down the
 * columns instead of along the rows. WRITE_CROSSED exchanges the two. */
template <typename T, int ROWS, int COLUMNS, typename LAYOUT, bool CROSS_WRITE, bool CROSS_READ>
__device__ __forceinline__ void exchange(T *tile, T *out, const T *in)
{
    const int k = (int)threadIdx.y * COLUMNS + (int)threadIdx.x, along_row = k / COLUMNS, along_column = k % COLUMNS;
    const int across_row = k % ROWS, across_column = k / ROWS;
    const int write = CROSS_WRITE ? LAYOUT::at(across_row, across_column) : LAYOUT::at(along_row, along_column);
    const int read = CROSS_READ ? LAYOUT::at(across_row, across_column) : LAYOUT::at(along_row, along_column);
    const int64_t cell = (int64_t)blockIdx.x * (ROWS * COLUMNS) + k;
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

template <typename T, int ROWS, int COLUMNS, int PAD, bool SWIZZLED, bool CROSS_WRITE, bool CROSS_READ>
__global__ void static_tile(T *out, const T *in)
{
    __shared__ T tile[ROWS * (COLUMNS + PAD)];
    exchange<T, ROWS, COLUMNS, layout<COLUMNS, PAD, SWIZZLED>, CROSS_WRITE, CROSS_READ>(tile, out, in);
}

template <typename T, int ROWS, int COLUMNS, int PAD, bool SWIZZLED, bool CROSS_WRITE, bool CROSS_READ>
__global__ void dynamic_tile(T *out, const T *in)
{
    extern __shared__ double memory[]; /* one name for all types */
    exchange<T, ROWS, COLUMNS, layout<COLUMNS, PAD, SWIZZLED>, CROSS_WRITE, CROSS_READ>((T *)memory, out, in);
}

template <typename T> using tile_kernel = void (*)(T *out, const T *in);

/* A rung's variant: the rows of its tile, and what goes down the columns. */
enum { FLAT = 16, TALL = 32, ROWS_MASK = 63, READ_CROSSED = 64, WRITE_CROSSED = 128 };

int tile_rows(const ladder_case *c) { return c->rung->variant & ROWS_MASK; }

int prepare_tile(ladder_case *c)
{
    c->size = (int64_t)TILE_BLOCKS * tile_rows(c) * MOST_COLUMNS;
    c->work = 2.0 * ROUNDS * (double)c->size * (double)dtype_bytes(c->type);
    return ladder_arrays_prepare(c, c->size, c->size);
}

int launch_tile(ladder_case *c, tile_kernel<float> f32, tile_kernel<double> f64, size_t dynamic_cells = 0)
{
    const ladder_arrays *a = arrays(c);
    const dim3 block(MOST_COLUMNS, (unsigned)tile_rows(c));
    const size_t bytes = dynamic_cells * dtype_bytes(c->type);
    const cudaStream_t stream = device_cuda_stream(c->stream);
    switch (c->type) {
    case DTYPE_F32: f32<<<TILE_BLOCKS, block, bytes, stream>>>((float *)a->out, (const float *)a->in); break;
    case DTYPE_F64: f64<<<TILE_BLOCKS, block, bytes, stream>>>((double *)a->out, (const double *)a->in); break;
    }
    return cudaGetLastError();
}

#define TILE(KERNEL, ...) KERNEL<float, __VA_ARGS__>, KERNEL<double, __VA_ARGS__>

int run_row_row(ladder_case *c) { return launch_tile(c, TILE(static_tile, 32, 32, 0, false, false, false)); }
int run_column_column(ladder_case *c) { return launch_tile(c, TILE(static_tile, 32, 32, 0, false, true, true)); }
int run_row_column(ladder_case *c) { return launch_tile(c, TILE(static_tile, 32, 32, 0, false, false, true)); }
int run_column_row(ladder_case *c) { return launch_tile(c, TILE(static_tile, 32, 32, 0, false, true, false)); }
int run_padded(ladder_case *c) { return launch_tile(c, TILE(static_tile, 32, 32, 1, false, false, true)); }
int run_swizzled(ladder_case *c) { return launch_tile(c, TILE(static_tile, 32, 32, 0, true, false, true)); }
int run_dynamic(ladder_case *c) { return launch_tile(c, TILE(dynamic_tile, 32, 32, 0, false, false, true), 32 * 32); }
int run_dynamic_padded(ladder_case *c) { return launch_tile(c, TILE(dynamic_tile, 32, 32, 1, false, false, true), 32 * 33); }
int run_rectangle(ladder_case *c) { return launch_tile(c, TILE(static_tile, 16, 32, 0, false, false, true)); }
int run_rectangle_padded1(ladder_case *c) { return launch_tile(c, TILE(static_tile, 16, 32, 1, false, false, true)); }
int run_rectangle_padded2(ladder_case *c) { return launch_tile(c, TILE(static_tile, 16, 32, 2, false, false, true)); }

/* Where cell k of a tile has gone after ROUNDS rounds: a permutation applied so often. */
void answer_tile(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = (const ladder_case *)context;
    const bool read_crossed = c->rung->variant & READ_CROSSED, write_crossed = c->rung->variant & WRITE_CROSSED;
    const int rows = tile_rows(c), cells = rows * MOST_COLUMNS;
    int from[TALL * MOST_COLUMNS], place[TALL * MOST_COLUMNS]; /* place: who writes at the spot that k reads */
    for (int k = 0; k < cells; k++) {
        if (read_crossed == write_crossed) place[k] = k;
        else if (read_crossed) place[k] = k % rows * MOST_COLUMNS + k / rows;
        else place[k] = k % MOST_COLUMNS * rows + k / MOST_COLUMNS;
    }
    for (int k = 0; k < cells; k++) {
        int at = k;
        for (int i = 0; i < ROUNDS; i++) at = place[at];
        from[k] = at;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t tile = (first + i) / cells, k = (first + i) % cells;
        ladder_random(t, (char *)out + (size_t)i * dtype_bytes(t), tile * cells + from[k], 1, LADDER_SEED);
    }
}

int verify_tile(ladder_case *c, ladder_verdict *v) { return ladder_arrays_compare(c, answer_tile, v); }

/* ---- from global memory into shared memory ---- */

/* Thread t writes out what thread t XOR 1 brought. */
enum { FLOW_THREADS = 256, CHUNKS = 16, STAGES_MOST = 4 };

__global__ void __launch_bounds__(FLOW_THREADS) through_registers(uint4 *out, const uint4 *in, int64_t vectors)
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

template <int S> __global__ void __launch_bounds__(FLOW_THREADS) in_stages(uint4 *out, const uint4 *in, int64_t vectors)
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
    c->size = c->value[N] / cells_a_vector * cells_a_vector;
    c->work = 2 * (double)c->size * (double)dtype_bytes(c->type);
    return ladder_arrays_prepare(c, c->size, c->size);
}

int run_flow(ladder_case *c)
{
    typedef void flow_kernel(uint4 *, const uint4 *, int64_t);
    static flow_kernel *const staged[STAGES_MOST] = { in_stages<1>, in_stages<2>, in_stages<3>, in_stages<4> };
    const int64_t vectors = c->size * (int64_t)dtype_bytes(c->type) / (int64_t)sizeof(uint4), block = FLOW_THREADS * CHUNKS;
    flow_kernel *k = c->rung->variant ? staged[c->value[STAGES] - 1] : through_registers;
    k<<<(unsigned)((vectors + block - 1) / block), FLOW_THREADS, 0, device_cuda_stream(c->stream)>>>(
        (uint4 *)arrays(c)->out, (const uint4 *)arrays(c)->in, vectors);
    return cudaGetLastError();
}

void answer_flow(const void *, dtype t, int64_t first, int64_t count, void *out)
{
    ladder_random(t, out, first, count, LADDER_SEED);
}
int verify_flow(ladder_case *c, ladder_verdict *v) { return ladder_arrays_compare(c, answer_flow, v); }

/* ---- the table ---- */

const int64_t strides[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                            17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
const int64_t stages[] = { 1, 2, 3, 4 };

constexpr ladder_rung tile(const char *name, const char *why, int (*enqueue)(ladder_case *), int variant)
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = prepare_tile;
    r.enqueue = enqueue;
    r.verify = verify_tile;
    r.destroy = ladder_arrays_destroy;
    r.unit = LADDER_BYTES;
    r.ceiling = "shared";
    r.variant = variant;
    r.ignores = (1u << PARAMETERS) - 1;
    return r;
}

constexpr ladder_rung by_stride(const char *name, const char *why, int word_bytes)
{
    ladder_rung r = tile(name, why, run_strided, word_bytes);
    r.prepare = prepare_strided;
    r.verify = verify_strided;
    r.ignores &= ~(1u << STRIDE);
    r.scan = STRIDE;
    r.scan_count = sizeof strides / sizeof strides[0];
    r.scan_values = strides;
    return r;
}

constexpr ladder_rung flow(const char *name, const char *why, int staged)
{
    ladder_rung r = tile(name, why, run_flow, staged);
    r.prepare = prepare_flow;
    r.verify = verify_flow;
    r.ceiling = "copy";
    r.ignores = 1u << STRIDE | (staged ? 0u : 1u << STAGES);
    r.scan = STAGES;
    r.scan_count = staged ? STAGES_MOST : 0;
    r.scan_values = stages;
    return r;
}

const ladder_rung rungs[] = {
    ladder_taught(by_stride("stride4", "4-byte words: gcd(stride, 32) turns", 4),
                  "Thread t of a block reads words t * stride + i of a tile, for 512 values of i. Adding i turns all banks "
                  "alike and changes no conflict."),
    ladder_taught(by_stride("stride8", "8-byte words: halves of a warp", 8),
                  "A word of 8 bytes takes two banks: each half of the warp goes by itself, in gcd(stride, 16) turns."),
    ladder_taught(tile("rowRow", "no conflict either way", run_row_row, TALL),
                  "Each thread keeps one cell. In every round it writes the cell into the tile and reads one, with a barrier "
                  "after each. Neighbouring threads mean neighbouring words here: the other squares compare with this."),
    ladder_taught(tile("columnColumn", "all 32 in one bank, twice", run_column_column, TALL | READ_CROSSED | WRITE_CROSSED),
                  "Neighbouring threads are a row of 32 words apart, which is the same bank: 32 turns to write and 32 to read."),
    ladder_taught(tile("rowColumn", "one way straight, one way 32 turns", run_row_column, TALL | READ_CROSSED),
                  "This is what a transpose does: a row goes in in one turn, and a column comes out in 32."),
    ladder_taught(tile("columnRow", "the same the other way round", run_column_row, TALL | WRITE_CROSSED),
                  "Loads and stores suffer alike from their conflicts."),
    ladder_taught(tile("padded", "one column more: no conflict", run_padded, TALL | READ_CROSSED),
                  "A row of 33 words begins one bank further on than the row before, so that the cells of a column lie in 32 "
                  "different banks."),
    ladder_taught(tile("swizzled", "column XOR row: no conflict, no padding", run_swizzled, TALL | READ_CROSSED),
                  "Each column is spread over all banks, as padding does it, and the tile stays a power of two. The price is an "
                  "XOR in each address."),
    ladder_taught(tile("dynamic", "sized at launch: as rowColumn", run_dynamic, TALL | READ_CROSSED),
                  "The same instructions as with a size that the compiler knows: the hardware knows a tile's address either "
                  "way."),
    ladder_taught(tile("dynamicPadded", "sized at launch: as padded", run_dynamic_padded, TALL | READ_CROSSED),
                  "Padding cures a tile whose size is chosen at launch as well."),
    ladder_taught(tile("rectangle", "16 rows of 32: 16 turns", run_rectangle, FLAT | READ_CROSSED),
                  "A warp that goes down columns of 16 cells takes two of them at once (f64: half a warp, one column)."),
    ladder_taught(tile("rectanglePadded1", "one column more: the cure of f64", run_rectangle_padded1, FLAT | READ_CROSSED),
                  "Rows begin one bank further on. In f32 the two columns of a warp still meet in 15 of their banks: two turns. "
                  "In f64 half a warp has one column, and nothing meets."),
    ladder_taught(tile("rectanglePadded2", "two columns more: the cure of f32", run_rectangle_padded2, FLAT | READ_CROSSED),
                  "Rows begin two banks further on, so that one column of f32 takes the even banks and its neighbour the odd "
                  "ones."),
    ladder_taught(flow("throughRegisters", "load, wait, store, barrier", 0),
                  "A block works through 16 pieces of 16 bytes per thread. Each piece is loaded, waited for and stored; between "
                  "its arrival and its way out lies a barrier, as it does wherever threads read each other's cells."),
    ladder_taught(flow("asyncStages", "cp.async: started, not waited for", 1),
                  "With s stages, piece k+s-1 is started before piece k is waited for. Each thread waits for its own pieces; a "
                  "barrier then tells that the others' are there too, and a second one that the stage may be overwritten."),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 26, 1024, (int64_t)1 << 33, "cells that flow through shared memory" },
    { "stride", 1, 1, 1024, "words from one thread's to the next one's" },
    { "stages", 4, 1, STAGES_MOST, "pieces on their way, the present one included" },
};

} // namespace

const ladder_family ladder_shared_cuda = {
    DEVICE_CUDA, "shared", "banks, conflicts, and the way in", { "f32", "f64" },
    parameters, PARAMETERS, rungs, sizeof rungs / sizeof rungs[0],
    teaches, nullptr,
};
