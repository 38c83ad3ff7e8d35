/* product: how often is a word used before it is fetched again? The lesson: docs/teaching/product.md.
 *
 * A, B and C = A B are n x n, dense and row-major. Cell (i, j) of A and of B is a factor of the row times a
 * factor of the column, so that C is known cell by cell: the two outer factors times the sum over k of the
 * two inner ones. Factors are -1, 1, 3 and 5, by chance: that sum grows as 4 n and is never 0. All sums,
 * partial ones too, are whole numbers below 2^24 up to the largest n, exact in both types in whatever order
 * they are taken: C has one bit pattern, also from a library that adds in its own order. */
#include "core/cell.h"
#include "ladder/ladder_cublas.h"
#include "ladder/ladder_kernel.cuh"

namespace {

enum { N, PARAMETERS };
enum { ROWS_OF_A = 11, COLUMNS_OF_A, ROWS_OF_B, COLUMNS_OF_B }; /* seeds of factors */
enum { TILE = 32, EDGE = 128, GROUP = LADDER_FOUR, NAIVE_ROWS = 8, THREADS = 256, SECTOR_BYTES = 32 };

__host__ __device__ __forceinline__ int factor(uint64_t seed, int64_t i)
{
    return 2 * (int)(cell_fmix64(((uint64_t)i + 1) * 0x9E3779B97F4A7C15ull + seed) >> 62) - 1;
}

/* The seed is that of the rows, the columns' follows. */
template <typename T> __global__ void fill_factors(T *to, int64_t n, uint64_t seed)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n * n) to[i] = (T)(factor(seed, i / n) * factor(seed + 1, i % n));
}

int alloc_factors(ladder_case *c, int64_t n, uint64_t seed, void **out)
{
    const int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, ladder_bytes(c, n * n), out);
    if (code) return code;
    const unsigned blocks = ladder_blocks(n * n, THREADS);
    const cudaStream_t stream = device_cuda_stream(c->stream);
    if (c->type == DTYPE_F32) fill_factors<<<blocks, THREADS, 0, stream>>>((float *)*out, n, seed);
    else fill_factors<<<blocks, THREADS, 0, stream>>>((double *)*out, n, seed);
    return cudaGetLastError();
}

/* ---- C = A B: what all ways share ---- */

/* A rung's variant: what is fetched through L1, by a warp for one k, or by a block for its tiles. */
enum { COALESCED, SCATTERED, TILE_OF_A, TWO_TILES, FOR_REGISTERS, BY_LIBRARY };

/* Flops for each byte of it, sectors counted whole. */
double flops_of_byte(int fetched, double word)
{
    const double warp_flops = 2 * TILE, line = TILE * word;
    switch (fetched) {
    case COALESCED: return warp_flops / (line + SECTOR_BYTES);
    case SCATTERED: return warp_flops / (TILE * SECTOR_BYTES + SECTOR_BYTES);
    case TILE_OF_A: return warp_flops / (line + line / TILE);
    case FOR_REGISTERS: return 2.0 * EDGE * EDGE / (2 * EDGE * word);
    default: return 2.0 * TILE * TILE / (2 * TILE * word);
    }
}

/* A is c->in, C is c->out. */
typedef struct matrices {
    void *b;
    int64_t n;
    double inner; /* the sum over k of the factors of A's columns and B's rows */
} matrices;

const matrices *product_of(const ladder_case *c) { return (const matrices *)c->state; }

int product_prepare(ladder_case *c)
{
    matrices *s = (matrices *)ladder_state(c, sizeof *s);
    s->n = c->value[N] / EDGE * EDGE;
    c->out_cells = c->size = s->n * s->n;
    c->work = 2 * (double)s->n * (double)c->size;
    for (int64_t k = 0; k < s->n; k++) s->inner += factor(COLUMNS_OF_A, k) * factor(ROWS_OF_B, k);
    if (c->rung->variant != BY_LIBRARY)
        c->predicted[0] = { "flop/byte in L1",
                            flops_of_byte(c->rung->variant, (double)dtype_bytes(c->type)) };
    int code = alloc_factors(c, s->n, ROWS_OF_A, &c->in);
    if (!code) code = alloc_factors(c, s->n, ROWS_OF_B, &s->b);
    return code ? code : ladder_alloc_poisoned(c, ladder_bytes(c, c->size), &c->out);
}

void product_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const matrices *s = product_of((const ladder_case *)context);
    for (int64_t i = 0; i < count; i++)
        ladder_put(t, out, i,
                   factor(ROWS_OF_A, (first + i) / s->n) * s->inner *
                       factor(COLUMNS_OF_B, (first + i) % s->n));
}

template <typename T, typename COUNT>
int launch(const ladder_case *c, void (*kernel)(T *, const T *, const T *, COUNT), dim3 grid, dim3 block)
{
    kernel<<<grid, block, 0, device_cuda_stream(c->stream)>>>(
        (T *)c->out, (const T *)c->in, (const T *)product_of(c)->b, (COUNT)product_of(c)->n);
    return cudaGetLastError();
}

/* A thread for each cell of C, in blocks of TILE x ROWS. */
template <typename T> using kernel = void (*)(T *c, const T *a, const T *b, int64_t n);
using run = int (*)(ladder_case *);
template <kernel<float> F32, kernel<double> F64, int ROWS> int by_cells(ladder_case *c)
{
    const unsigned n = (unsigned)product_of(c)->n;
    const dim3 grid(n / TILE, n / ROWS), block(TILE, ROWS);
    return c->type == DTYPE_F32 ? launch(c, F32, grid, block) : launch(c, F64, grid, block);
}

/* ---- one cell of C per thread, straight from memory ---- */

enum { BY_COLUMNS, BY_ROWS };

template <typename T, int HOW> __global__ void naive(T *c, const T *a, const T *b, int64_t n)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                  y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    const int64_t i = HOW == BY_COLUMNS ? x : y, j = HOW == BY_COLUMNS ? y : x;
    T sum = 0;
    for (int64_t k = 0; k < n; k++) sum = ladder_fma(a[i * n + k], b[k * n + j], sum);
    c[i * n + j] = sum;
}

template <int HOW> constexpr run run_naive = by_cells<naive<float, HOW>, naive<double, HOW>, NAIVE_ROWS>;

/* ---- tiles in shared memory ---- */

template <typename T>
__global__ void __launch_bounds__(TILE *TILE) tiled_a(T *c, const T *a, const T *b, int64_t n)
{
    __shared__ T of_a[TILE][TILE];
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    const int64_t j = (int64_t)blockIdx.x * TILE + tx, i = (int64_t)blockIdx.y * TILE + ty;
    T sum = 0;
    for (int64_t k0 = 0; k0 < n; k0 += TILE) {
        of_a[ty][tx] = a[i * n + k0 + tx];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum = ladder_fma(of_a[ty][k], b[(k0 + k) * n + j], sum);
        __syncwarp();
    }
    c[i * n + j] = sum;
}

template <typename T>
__global__ void __launch_bounds__(TILE *TILE) tiled_both(T *c, const T *a, const T *b, int64_t n)
{
    __shared__ T of_a[TILE][TILE], of_b[TILE][TILE];
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    const int64_t i = (int64_t)blockIdx.y * TILE + ty, j = (int64_t)blockIdx.x * TILE + tx;
    T sum = 0;
    for (int64_t k0 = 0; k0 < n; k0 += TILE) {
        of_a[ty][tx] = a[i * n + k0 + tx];
        of_b[ty][tx] = b[(k0 + ty) * n + j];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum = ladder_fma(of_a[ty][k], of_b[k][tx], sum);
        __syncthreads();
    }
    c[i * n + j] = sum;
}

constexpr run run_tiled_a = by_cells<tiled_a<float>, tiled_a<double>, TILE>;
constexpr run run_tiled = by_cells<tiled_both<float>, tiled_both<double>, TILE>;

/* ---- tiles in registers ---- */

/* The block makes 128 x 128 cells of C, a thread 8 x 8 of them: two groups of four rows and of four columns,
 * 64 apart, so that eight neighbouring threads read 128 bytes of B side by side and the threads of a warp few
 * different words of A. Two tiles of each matrix: while one is used the next is on its way, and one barrier
 * per step is enough. */
enum { DEPTH = 8, MICRO = 8, SIDE = EDGE / MICRO, GAP = EDGE / 2 };

template <typename T> struct tiles {
    T a[2][DEPTH][EDGE + GROUP]; /* turned: a column of A's tile is a row here. Padded for the stores that
                                  * turn it */
    T b[2][DEPTH][EDGE];
};

template <typename T>
__device__ __forceinline__ void keep(tiles<T> &own, int which, int t, const ladder_four<T> &of_a,
                                     const ladder_four<T> &of_b)
{
#pragma unroll
    for (int m = 0; m < GROUP; m++) own.a[which][t % 2 * GROUP + m][t / 2] = of_a.u[m];
    *(ladder_four<T> *)&own.b[which][t / 32][t % 32 * GROUP] = of_b;
}

template <typename T> __device__ __forceinline__ void eight(T *u, const T *row, int at)
{
    const ladder_four<T> low = *(const ladder_four<T> *)(row + at),
                         high = *(const ladder_four<T> *)(row + GAP + at);
#pragma unroll
    for (int m = 0; m < GROUP; m++) {
        u[m] = low.u[m];
        u[GROUP + m] = high.u[m];
    }
}

template <typename T>
__global__ void __launch_bounds__(THREADS, sizeof(T) == sizeof(float) ? 2 : 1)
    registers(T *c, const T *a, const T *b, int n)
{
    __shared__ tiles<T> own;
    const int t = (int)threadIdx.x, row = t / SIDE * GROUP, column = t % SIDE * GROUP;
    const int i0 = (int)blockIdx.y * EDGE, j0 = (int)blockIdx.x * EDGE;
    a += (int64_t)(i0 + t / 2) * n + t % 2 * GROUP; /* where this thread fetches its four cells of each
                                                     * tile */
    b += t / 32 * n + j0 + t % 32 * GROUP;
    T sum[MICRO][MICRO] = {};
    keep(own, 0, t, *(const ladder_four<T> *)a, *(const ladder_four<T> *)b);
    __syncthreads();
    for (int k0 = DEPTH; k0 <= n; k0 += DEPTH) {
        const int which = k0 / DEPTH % 2 ^ 1;
        ladder_four<T> next_a, next_b;
        a += DEPTH;
        b += DEPTH * n;
        if (k0 < n) {
            next_a = *(const ladder_four<T> *)a;
            next_b = *(const ladder_four<T> *)b;
        }
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            T u[MICRO], w[MICRO];
            eight(u, own.a[which][k], row);
            eight(w, own.b[which][k], column);
#pragma unroll
            for (int y = 0; y < MICRO; y++)
#pragma unroll
                for (int x = 0; x < MICRO; x++) sum[y][x] = ladder_fma(u[y], w[x], sum[y][x]);
        }
        if (k0 < n) keep(own, 1 - which, t, next_a, next_b);
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < MICRO; y++)
#pragma unroll
        for (int x = 0; x < MICRO; x += GROUP) {
            const int i = i0 + row + y % GROUP + y / GROUP * GAP, j = j0 + column + x / GROUP * GAP;
            *(ladder_four<T> *)(c + (int64_t)i * n +
                                j) = { { sum[y][x], sum[y][x + 1], sum[y][x + 2], sum[y][x + 3] } };
        }
}

int run_registers(ladder_case *c)
{
    const unsigned edges = (unsigned)(product_of(c)->n / EDGE);
    return c->type == DTYPE_F32 ? launch(c, registers<float>, dim3(edges, edges), THREADS)
                                : launch(c, registers<double>, dim3(edges, edges), THREADS);
}

/* ---- the library ---- */

/* Row-major C = A B is column-major C^T = B^T A^T: the matrices change places and nothing is transposed. */
template <typename T> int gemm(ladder_case *c, const char *function)
{
    using gemm_function =
        int (*)(void *handle, int op_a, int op_b, int m, int n, int k, const T *alpha, const void *a, int lda,
                const void *b, int ldb, const T *beta, void *c, int ldc);
    const matrices *s = product_of(c);
    const auto call = (gemm_function)ladder_cublas_function(function);
    void *handle = ladder_cublas_handle(device_cuda_stream(c->stream));
    const T one = 1, zero = 0;
    const int n = (int)s->n, as_it_is = 0;
    if (!call || !handle) return cudaErrorUnknown;
    return call(handle, as_it_is, as_it_is, n, n, n, &one, s->b, n, c->in, n, &zero, c->out, n) == 0
               ? cudaSuccess
               : cudaErrorUnknown;
}

int run_cublas(ladder_case *c)
{
    return c->type == DTYPE_F32 ? gemm<float>(c, "cublasSgemm_v2") : gemm<double>(c, "cublasDgemm_v2");
}

/* ---- the table ---- */

constexpr ladder_rung rung(const char *name, const char *why, int fetched, run enqueue)
{
    const ladder_way way = { product_prepare, enqueue, ladder_by_answer<product_answer> };
    ladder_rung r = ladder_row(name, why, way, fetched, 0, "fma", LADDER_FLOPS);
    r.missing = fetched == BY_LIBRARY ? ladder_cublas_missing : nullptr;
    return r;
}

const ladder_rung rungs[] = {
    rung("naiveCol", "a warp down a column: uncoalesced", SCATTERED, run_naive<BY_COLUMNS>),
    rung("naiveRow", "a warp along a row: coalesced", COALESCED, run_naive<BY_ROWS>),
    rung("tiledA", "A's tile read once, B's lines anew", TILE_OF_A, run_tiled_a),
    rung("tiledAB", "each fetched word used 32 times", TWO_TILES, run_tiled),
    rung("registers", "8 x 8 cells of C per thread", FOR_REGISTERS, run_registers),
    rung("cublas", "cuBLAS as the reference", BY_LIBRARY, run_cublas),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 4096, EDGE, 32768, "rows and columns, rounded down to 128" },
};

} // namespace

const ladder_family ladder_product_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "product", "how often a word is used before it is fetched again", "f32", "f64", nullptr);
