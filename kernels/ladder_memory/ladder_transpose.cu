/* transpose: on which side does a warp scatter, and how is that avoided?
 * The lesson: docs/teaching/transpose.md. */
#include "ladder/ladder_kernel.cuh"

namespace {

enum { TILE = 32, UNROLL = 4 };

/* ---- straight from memory to memory: on which side does a warp scatter? ---- */

/* A kernel's x and y: a column and a row of A (naiveRow: whole lines are read, single cells written)
 * or of B (naiveCol: the other way round). The copies go along rows, or along columns, on both sides; along
 * columns they take both arrays for nx rows of ny cells. */
enum order { COPY_ROW, COPY_COL, ALONG_A, ALONG_B };

/* Where cell (x + dx, y) lies. */
template <order ORDER>
__device__ __forceinline__ int64_t place_in_a(int64_t x, int64_t dx, int64_t y, int64_t nx, int64_t ny)
{
    return ORDER == ALONG_B ? (x + dx) * nx + y : ORDER == COPY_COL ? (x + dx) * ny + y : y * nx + x + dx;
}
template <order ORDER>
__device__ __forceinline__ int64_t place_in_b(int64_t x, int64_t dx, int64_t y, int64_t nx, int64_t ny)
{
    return ORDER == ALONG_B ? y * ny + x + dx : ORDER == COPY_ROW ? y * nx + x + dx : (x + dx) * ny + y;
}

/* One cell per thread. */
template <typename T, order ORDER> __global__ void one_cell(T *b, const T *a, int64_t nx, int64_t ny)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                  y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (x < (ORDER == ALONG_B ? ny : nx) && y < (ORDER == ALONG_B ? nx : ny))
        b[place_in_b<ORDER>(x, 0, y, nx, ny)] = a[place_in_a<ORDER>(x, 0, y, nx, ny)];
}

/* Four loads of a thread are in flight before its first store. */
template <typename T, order ORDER> __global__ void four_cells(T *b, const T *a, int64_t nx, int64_t ny)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    const int64_t y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    const int64_t width = ORDER == ALONG_B ? ny : nx, height = ORDER == ALONG_B ? nx : ny;
    T u[UNROLL];
    if (y >= height) return;
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (x + k * blockDim.x < width) u[k] = a[place_in_a<ORDER>(x, k * blockDim.x, y, nx, ny)];
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (x + k * blockDim.x < width) b[place_in_b<ORDER>(x, k * blockDim.x, y, nx, ny)] = u[k];
}

/* ---- turning the tile on the chip ---- */

/* A tile of TILE x TILE cells by TILE x TILE / CELLS threads, CELLS cells per thread. */
template <typename T, int PAD, int CELLS>
__global__ void shared_tile(T *b, const T *a, int64_t nx, int64_t ny)
{
    __shared__ T tile[TILE][TILE + PAD];
    const int64_t x0 = (int64_t)blockIdx.x * TILE, y0 = (int64_t)blockIdx.y * TILE;
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += TILE / CELLS)
        if (x0 + tx < nx && y0 + ty + j < ny) tile[ty + j][tx] = a[(y0 + ty + j) * nx + x0 + tx];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILE; j += TILE / CELLS)
        if (y0 + tx < ny && x0 + ty + j < nx) b[(x0 + ty + j) * ny + y0 + tx] = tile[tx][ty + j];
}

/* ---- launchers ---- */

template <typename T> using kernel = void (*)(T *b, const T *a, int64_t nx, int64_t ny);

int64_t nx_of(const ladder_case *c) { return c->value[LADDER_TRANSPOSE_NX]; }
int64_t ny_of(const ladder_case *c) { return c->value[LADDER_TRANSPOSE_NY]; }

/* Blocks of X x Y threads, CELLS cells per thread, over A's shape or over B's. A warp is a row of 32 cells,
 * or of 8 x 4: whole sectors then along the rows, half sectors across them (f32), none of one cell. */
template <kernel<float> F32, kernel<double> F64, order ORDER, int CELLS = 1, int X = 32, int Y = 16>
int along(ladder_case *c)
{
    const int64_t width = ORDER == ALONG_B ? ny_of(c) : nx_of(c),
                  height = ORDER == ALONG_B ? nx_of(c) : ny_of(c);
    const dim3 grid(ladder_blocks(width, X * CELLS), ladder_blocks(height, Y));
    return ladder_kernel(c, grid, dim3(X, Y), 0, F32, F64, nx_of(c), ny_of(c));
}

using run = int (*)(ladder_case *);
template <order ORDER, int X = 32, int Y = 16>
constexpr run run_one = along<one_cell<float, ORDER>, one_cell<double, ORDER>, ORDER, 1, X, Y>;
template <order ORDER>
constexpr run run_four = along<four_cells<float, ORDER>, four_cells<double, ORDER>, ORDER, UNROLL>;

template <int PAD, int CELLS = 1> int run_tiles(ladder_case *c)
{
    const dim3 grid(ladder_blocks(nx_of(c), TILE), ladder_blocks(ny_of(c), TILE));
    return ladder_kernel(c, grid, dim3(TILE, TILE / CELLS), 0, shared_tile<float, PAD, CELLS>,
                         shared_tile<double, PAD, CELLS>, nx_of(c), ny_of(c));
}

/* ---- the table ---- */

constexpr ladder_rung copies(const char *name, const char *why, run enqueue)
{
    return { LADDER_ROW(name, why, ladder_transpose_prepare, enqueue, ladder_verify_cells, "copy") };
}

constexpr ladder_rung turns(const char *name, const char *why, run enqueue)
{
    return { LADDER_ROW(name, why, ladder_transpose_prepare, enqueue, ladder_verify_cells, "copy"),
             .answer = ladder_transpose_answer };
}

const ladder_rung rungs[] = {
    copies("copyRow", "rows in, rows out: the usual upper bound", run_one<COPY_ROW>),
    copies("copyRow4", "four cells per thread: the true bound", run_four<COPY_ROW>),
    copies("copyCol", "columns in, columns out: lower bound", run_one<COPY_COL>),
    turns("naiveRow", "whole lines read, single cells written", run_one<ALONG_A>),
    turns("naiveCol", "single cells read, whole lines written", run_one<ALONG_B>),
    turns("unroll4Row", "four loads in flight per thread", run_four<ALONG_A>),
    turns("unroll4Col", "the same, scattered loads through L1", run_four<ALONG_B>),
    turns("thinRow", "warps of 8 x 4: fuller sectors", run_one<ALONG_A, 8, 32>),
    turns("thinCol", "the same, scattered loads", run_one<ALONG_B, 8, 32>),
    turns("shared", "tile turned on chip, banks conflict", run_tiles<0>),
    turns("padded", "one padding column: no conflicts", run_tiles<1>),
    turns("paddedUnrolled", "four cells per thread, more blocks", run_tiles<1, UNROLL>),
    turns("production", "weft's own: streaming hints, tiles' order", ladder_transpose_production),
};

const ladder_parameter parameters[LADDER_TRANSPOSE_PARAMETERS] = {
    { "nx", 16384, 1, 1000000, "columns of A" },
    { "ny", 16384, 1, 1000000, "rows of A" },
};

} // namespace

const ladder_family ladder_transpose_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "transpose", "who pays when loads and stores disagree on the order", "f32", "f64", nullptr);
