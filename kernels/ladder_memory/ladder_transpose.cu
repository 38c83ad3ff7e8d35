#include "ladder/ladder_cublas.h"
#include "ladder/ladder_families.h"
#include "ladder/ladder_kernel.cuh"
#include "ladder_memory/ladder_transpose.h"

static const char teaches[] =
    "Transposing a matrix: the shortest program that cannot read and write in the same order.\n"
    "\n"
    "A GPU moves memory in lines of 128 bytes, made of four 32-byte sectors, and a warp's 32 loads become as many requests as "
    "the sectors they touch. If the 32 threads read 32 neighbours of a row, four sectors serve them all (f32); when they read "
    "down a column, each of them pulls a whole sector for its own 4 bytes and 28 are thrown away, unless a neighbouring warp "
    "comes for them while the line is still in a cache. A transpose must do one or the other on one of its two sides. The "
    "ladder asks, in turn: which side is it cheaper to suffer on, can more work per thread or another order of the blocks "
    "soften it, and how does one get rid of it (by turning the tile inside the chip, in shared memory).\n"
    "\n"
    "A is (ny,nx), B is (nx,ny), both dense; bytes are counted once in and once out, so the copy is the ceiling and a fraction "
    "of 1 is a perfect transpose.\n"
    "\n"
    "What was measured at 16384 x 16384 on one H200, as a fraction of the copy engine's 4.23 TB/s, f32 / f64: copyRow .50 / .84 "
    "and copyCol .13 / .25; naiveRow .13 / .22 and naiveCol .35 / .61; four cells per thread make the first of them worse (.12 "
    "/ .18: more lines half written in L2 at once) and the second better (.45 / .84); diagonals change little (.13, .33); thin "
    "blocks .45 and .50; shared .23 / .44 with its conflicts, .40 / .66 without, .82 / .91 with four cells per thread. So what "
    "won most was, in turn: whole lines on both sides, no bank conflicts, and enough loads in flight. At 10007 x 9973 rows no "
    "longer start on a line and the tiles fall to .54.\n";

namespace {

enum { TILE = 32, UNROLL = 4 };

/* ---- the bounds ---- */

template <typename T> __global__ void copy_row(T *b, const T *a, int64_t nx, int64_t ny)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (x < nx && y < ny) b[y * nx + x] = a[y * nx + x];
}

template <typename T> __global__ void copy_row4(T *b, const T *a, int64_t nx, int64_t ny)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    const int64_t y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    T u[UNROLL];
    if (y >= ny) return;
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (x + k * blockDim.x < nx) u[k] = a[y * nx + x + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (x + k * blockDim.x < nx) b[y * nx + x + k * blockDim.x] = u[k];
}

template <typename T> __global__ void copy_col(T *b, const T *a, int64_t nx, int64_t ny)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (x < nx && y < ny) b[x * ny + y] = a[x * ny + y];
}

/* ---- one cell a thread: suffer on the stores, or on the loads ---- */

template <typename T> __global__ void naive_row(T *b, const T *a, int64_t nx, int64_t ny)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (x < nx && y < ny) b[x * ny + y] = a[y * nx + x];
}

template <typename T> __global__ void naive_col(T *b, const T *a, int64_t nx, int64_t ny)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (x < ny && y < nx) b[y * ny + x] = a[x * nx + y];
}

/* ---- four cells per thread: four loads in flight before the first store ---- */

template <typename T> __global__ void unroll4_row(T *b, const T *a, int64_t nx, int64_t ny)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    const int64_t y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    T u[UNROLL];
    if (y >= ny) return;
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (x + k * blockDim.x < nx) u[k] = a[y * nx + x + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (x + k * blockDim.x < nx) b[(x + k * blockDim.x) * ny + y] = u[k];
}

template <typename T> __global__ void unroll4_col(T *b, const T *a, int64_t nx, int64_t ny)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    const int64_t y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    T u[UNROLL];
    if (y >= nx) return;
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (x + k * blockDim.x < ny) u[k] = a[(x + k * blockDim.x) * nx + y];
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (x + k * blockDim.x < ny) b[y * ny + x + k * blockDim.x] = u[k];
}

/* ---- another order of the blocks ---- */

struct block_place {
    int64_t x, y;
};

__device__ __forceinline__ block_place along_diagonals()
{
    const unsigned linear = blockIdx.y * gridDim.x + blockIdx.x;
    const unsigned y = linear % gridDim.y, x = (linear / gridDim.y + y) % gridDim.x; /* each pair exactly once */
    return { (int64_t)x, (int64_t)y };
}

template <typename T> __global__ void diagonal_row(T *b, const T *a, int64_t nx, int64_t ny)
{
    const block_place p = along_diagonals();
    const int64_t x = p.x * blockDim.x + threadIdx.x, y = p.y * blockDim.y + threadIdx.y;
    if (x < nx && y < ny) b[x * ny + y] = a[y * nx + x];
}

template <typename T> __global__ void diagonal_col(T *b, const T *a, int64_t nx, int64_t ny)
{
    const block_place p = along_diagonals();
    const int64_t x = p.x * blockDim.x + threadIdx.x, y = p.y * blockDim.y + threadIdx.y;
    if (x < ny && y < nx) b[y * ny + x] = a[x * nx + y];
}

/* ---- turning the tile on the chip ---- */

template <typename T, int PAD> __global__ void shared_tile(T *b, const T *a, int64_t nx, int64_t ny)
{
    __shared__ T tile[TILE][TILE + PAD];
    const int64_t x0 = (int64_t)blockIdx.x * TILE, y0 = (int64_t)blockIdx.y * TILE;
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    if (x0 + tx < nx && y0 + ty < ny) tile[ty][tx] = a[(y0 + ty) * nx + x0 + tx];
    __syncthreads();
    if (y0 + tx < ny && x0 + ty < nx) b[(x0 + ty) * ny + y0 + tx] = tile[tx][ty];
}

template <typename T> __global__ void shared_unrolled(T *b, const T *a, int64_t nx, int64_t ny)
{
    __shared__ T tile[TILE][TILE + 1];
    const int64_t x0 = (int64_t)blockIdx.x * TILE, y0 = (int64_t)blockIdx.y * TILE;
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += TILE / UNROLL)
        if (x0 + tx < nx && y0 + ty + j < ny) tile[ty + j][tx] = a[(y0 + ty + j) * nx + x0 + tx];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILE; j += TILE / UNROLL)
        if (y0 + tx < ny && x0 + ty + j < nx) b[(x0 + ty + j) * ny + y0 + tx] = tile[tx][ty + j];
}

/* ---- launchers ---- */

template <typename T> using kernel = void (*)(T *b, const T *a, int64_t nx, int64_t ny);

int64_t nx_of(const ladder_case *c) { return c->value[LADDER_TRANSPOSE_NX]; }
int64_t ny_of(const ladder_case *c) { return c->value[LADDER_TRANSPOSE_NY]; }

/* `row` kernels run over A's shape, `col` kernels over B's. */
int along_a(ladder_case *c, kernel<float> f32, kernel<double> f64, dim3 block, int unroll)
{
    const dim3 grid(ladder_blocks(nx_of(c), (int64_t)block.x * unroll), ladder_blocks(ny_of(c), block.y));
    return ladder_kernel(c, grid, block, 0, f32, f64, nx_of(c), ny_of(c));
}

int along_b(ladder_case *c, kernel<float> f32, kernel<double> f64, dim3 block, int unroll)
{
    const dim3 grid(ladder_blocks(ny_of(c), (int64_t)block.x * unroll), ladder_blocks(nx_of(c), block.y));
    return ladder_kernel(c, grid, block, 0, f32, f64, nx_of(c), ny_of(c));
}

int tiles(ladder_case *c, kernel<float> f32, kernel<double> f64, int threads_y)
{
    const dim3 grid(ladder_blocks(nx_of(c), TILE), ladder_blocks(ny_of(c), TILE));
    return ladder_kernel(c, grid, dim3(TILE, (unsigned)threads_y), 0, f32, f64, nx_of(c), ny_of(c));
}

const dim3 wide(32, 16); /* a warp is a row of 32 cells */
const dim3 thin(8, 32);  /* a warp is 8 x 4 cells: whole sectors read, half sectors written, none of one cell */

int run_copy_row(ladder_case *c) { return along_a(c, copy_row<float>, copy_row<double>, wide, 1); }
int run_copy_row4(ladder_case *c) { return along_a(c, copy_row4<float>, copy_row4<double>, wide, UNROLL); }
int run_copy_col(ladder_case *c) { return along_a(c, copy_col<float>, copy_col<double>, wide, 1); }
int run_naive_row(ladder_case *c) { return along_a(c, naive_row<float>, naive_row<double>, wide, 1); }
int run_naive_col(ladder_case *c) { return along_b(c, naive_col<float>, naive_col<double>, wide, 1); }
int run_unroll4_row(ladder_case *c) { return along_a(c, unroll4_row<float>, unroll4_row<double>, wide, UNROLL); }
int run_unroll4_col(ladder_case *c) { return along_b(c, unroll4_col<float>, unroll4_col<double>, wide, UNROLL); }
int run_diagonal_row(ladder_case *c) { return along_a(c, diagonal_row<float>, diagonal_row<double>, wide, 1); }
int run_diagonal_col(ladder_case *c) { return along_b(c, diagonal_col<float>, diagonal_col<double>, wide, 1); }
int run_thin_row(ladder_case *c) { return along_a(c, naive_row<float>, naive_row<double>, thin, 1); }
int run_thin_col(ladder_case *c) { return along_b(c, naive_col<float>, naive_col<double>, thin, 1); }
int run_shared(ladder_case *c) { return tiles(c, shared_tile<float, 0>, shared_tile<double, 0>, TILE); }
int run_padded(ladder_case *c) { return tiles(c, shared_tile<float, 1>, shared_tile<double, 1>, TILE); }
int run_padded_unrolled(ladder_case *c) { return tiles(c, shared_unrolled<float>, shared_unrolled<double>, TILE / UNROLL); }

/* A row-major (ny,nx) matrix is a column-major one of nx rows, so that B = 1 * A^T + 0 * B is said in BLAS's own order. */
int run_geam(ladder_case *c)
{
    return ladder_cublas_transpose(c->type, c->out, c->in, (int)nx_of(c), (int)ny_of(c), device_cuda_stream(c->stream));
}

/* ---- the table ---- */

constexpr ladder_rung rung(const char *name, const char *why, int (*enqueue)(ladder_case *), const char *teaches)
{
    return { .name = name, .why = why, .teaches = teaches, .prepare = ladder_transpose_prepare, .enqueue = enqueue,
             .verify = ladder_transpose_verify, .unit = LADDER_BYTES, .ceiling = "copy" };
}

constexpr ladder_rung bound(const char *name, const char *why, int (*enqueue)(ladder_case *), const char *teaches)
{
    ladder_rung r = rung(name, why, enqueue, teaches);
    r.verify = ladder_verify_copy;
    return r;
}

constexpr ladder_rung library(const char *name, const char *why, int (*enqueue)(ladder_case *), const char *teaches)
{
    ladder_rung r = rung(name, why, enqueue, teaches);
    r.missing = ladder_cublas_missing;
    return r;
}

const ladder_rung rungs[] = {
    bound("copyRow", "rows in, rows out: the usual upper bound", run_copy_row,
          "Neighbouring threads, neighbouring cells, on both sides: nothing that moves every cell can be faster."),
    bound("copyRow4", "four cells per thread: the true bound", run_copy_row4,
          "One load of 4 bytes per thread is not enough for HBM: by Little's law 4.8 TB/s times 0.7 us of latency want 25 KB on "
          "their way on each of 132 SMs, and 2048 threads with a float each have 8 (with a double 16). Four cells per thread: the "
          "true bound."),
    bound("copyCol", "columns in, columns out: lower bound", run_copy_col,
          "Neighbouring threads a whole row of ny cells apart, on both sides: the worst that a transpose can sink to."),
    rung("naiveRow", "whole lines read, single cells written", run_naive_row,
          "Loads whole lines, stores one cell into each of 32 lines. The stores wait in L2 for the rest of their sectors."),
    rung("naiveCol", "single cells read, whole lines written", run_naive_col,
          "The other way round: x runs along B. The scattered side is now the loads, and loads are cached in L1: the block's "
          "other warps find the rest of the sectors there, if they come soon enough."),
    rung("unroll4Row", "four loads in flight per thread", run_unroll4_row,
          "A warp that waits for memory costs nothing as long as enough bytes are on their way; four independent loads per thread "
          "put four times as many on the way with the same number of warps. It helps where latency was the limit, and does "
          "nothing for the wasted sectors."),
    rung("unroll4Col", "the same, scattered loads through L1", run_unroll4_col,
          "Four cells per thread of naiveCol: a warp asks for 128 sectors at once, in 128 rows of A, and then stores four whole "
          "lines. Here the scattered side is the one that threads wait for, so that more loads in flight shorten the wait; where "
          "the stores are scattered (unroll4Row) they gain nothing."),
    rung("diagonalRow", "blocks along diagonals spread the channels", run_diagonal_row,
          "Blocks start roughly in the order of their numbers. Taken row by row, the ones that run together write addresses a "
          "multiple of the row's length apart; with a power of two those fall on few memory channels, and the others idle. Along "
          "the diagonals both sides spread. The address hash of modern GPUs spreads them anyway, so that today the order changes "
          "mainly what is still in L2."),
    rung("diagonalCol", "the same, scattered loads", run_diagonal_col,
          "naiveCol with its blocks taken along the diagonals. A block uses its own sectors entirely, in any order of the blocks; "
          "but blocks that run one after the other no longer write neighbouring lines of B. Expect a little less than naiveCol."),
    rung("thinRow", "warps of 8 x 4: fuller sectors", run_thin_row,
          "naiveRow with blocks of 8 x 32 threads, whose warps are 8 cells wide and 4 high: four whole sectors are read, as "
          "before (f32), and the 32 scattered cells become 8 groups of four neighbours, half a sector each, whose other half the "
          "next warp of the block brings. Expect more than three times naiveRow: the shape of a block costs nothing."),
    rung("thinCol", "the same, scattered loads", run_thin_col,
          "naiveCol with the same blocks: 8 half sectors are read per warp instead of 32 single cells, and the neighbouring warp "
          "finds the other halves in L1; four whole sectors are written. Expect less gain than thinRow, because L1 had softened "
          "the scattered loads already, but the better rate of the two."),
    rung("shared", "tile turned on chip, banks conflict", run_shared,
          "The block reads a 32 x 32 tile by rows into shared memory and writes it by columns of the tile, which are rows of B: "
          "whole lines on both sides. Without padding, the 32 cells of a tile's column lie in one and the same of the 32 banks, "
          "and the read of it takes 32 turns (f64: 16 lanes at a time, 16 turns each). One padding column shifts every row by one "
          "bank (padded)."),
    rung("padded", "one padding column: no conflicts", run_padded,
          "The tile's rows are 33 cells long, so that the 32 cells of a column lie in 32 banks and come in one turn. What is left "
          "is one load in flight per thread, as in copyRow, and a barrier at which a whole block of 1024 threads waits."),
    rung("paddedUnrolled", "four cells per thread, more blocks", run_padded_unrolled,
          "A quarter of the threads, four cells each: four loads in flight per thread, and eight blocks instead of two fit on an "
          "SM, so that while one waits at its barrier others load and store."),
    rung("production", "weft's own: streaming hints, tiles' order", ladder_transpose_production,
          "The same idea with what a GPU wants besides: tiles of 128 x 64 cells in f32 and 64 x 32 in f64, eight loads of 16 "
          "bytes per thread in f32 and four of 8 in f64; what is read leaves L2 last, and what is written does not stay in L1. "
          "Tiles follow each other along the rows of B, and where the rows of A lie a multiple of 128 KiB apart, several columns "
          "of tiles side by side keep all memory channels busy. Rows that start anywhere are written in whole sectors as well."),
    library("geam", "cuBLAS as the reference", run_geam,
          "cublasSgeam or cublasDgeam with alpha = 1 and beta = 0, which adds nothing and only transposes: what a library that is "
          "tuned for every matrix reaches with the same bytes. Without cuBLAS the rung is missing."),
};

const ladder_parameter parameters[LADDER_TRANSPOSE_PARAMETERS] = {
    { "nx", 16384, 1, 1000000, "columns of A" },
    { "ny", 16384, 1, 1000000, "rows of A" },
};

} // namespace

const ladder_family ladder_transpose_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "transpose", "who pays when loads and stores disagree on the order", "f32", "f64", nullptr);
