#include "ladder/ladder_cublas.h"
#include "ladder/ladder_families.h"
#include "ladder/ladder_kernel.cuh"
#include "ladder_memory/ladder_transpose.h"

static const char teaches[] =
    "Transposing a matrix: the shortest program that cannot read and write in the same order.\n"
    "\n"
    "A GPU moves memory in lines of 128 bytes, made of four 32-byte sectors, and a warp's 32 loads become as "
    "many requests as "
    "the sectors they touch. If the 32 threads read 32 neighbours of a row, four sectors serve them all "
    "(f32); when they read "
    "down a column, each of them pulls a whole sector for its own 4 bytes and 28 are thrown away, unless a "
    "neighbouring warp "
    "comes for them while the line is still in a cache. A transpose must do one or the other on one of its "
    "two sides. The "
    "ladder asks, in turn: which side is it cheaper to suffer on, can more work per thread or another order "
    "of the blocks "
    "soften it, and how does one get rid of it (by turning the tile inside the chip, in shared memory).\n"
    "\n"
    "A is (ny,nx), B is (nx,ny), both dense; bytes are counted once in and once out, so the copy is the "
    "ceiling and a fraction "
    "of 1 is a perfect transpose.\n"
    "\n"
    "What was measured at 16384 x 16384 on one H200, as a fraction of the copy engine's 4.23 TB/s, f32 / "
    "f64: copyRow .50 / .84 "
    "and copyCol .13 / .25; naiveRow .13 / .22 and naiveCol .35 / .61; four cells per thread make the first "
    "of them worse (.12 "
    "/ .18: more lines half written in L2 at once) and the second better (.45 / .84); diagonals change "
    "little (.13, .33); thin "
    "blocks .45 and .50; shared .23 / .44 with its conflicts, .40 / .66 without, .82 / .91 with four cells "
    "per thread. So what "
    "won most was, in turn: whole lines on both sides, no bank conflicts, and enough loads in flight. At "
    "10007 x 9973 rows no "
    "longer start on a line and the tiles fall to .54.\n";

namespace {

enum { TILE = 32, UNROLL = 4 };

/* ---- straight from memory to memory: on which side does a warp scatter? ---- */

/* What a kernel's x and y are: a column and a row of A, or of B. The copies go along rows, or along columns,
 * on both sides. */
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

/* One cell per thread. DIAGONAL: the blocks in another order, each pair (x, y) exactly once. */
template <typename T, order ORDER, bool DIAGONAL = false>
__global__ void one_cell(T *b, const T *a, int64_t nx, int64_t ny)
{
    const unsigned linear = blockIdx.y * gridDim.x + blockIdx.x, down = linear % gridDim.y;
    const unsigned block_x = DIAGONAL ? (linear / gridDim.y + down) % gridDim.x : blockIdx.x;
    const unsigned block_y = DIAGONAL ? down : blockIdx.y;
    const int64_t x = (int64_t)block_x * blockDim.x + threadIdx.x,
                  y = (int64_t)block_y * blockDim.y + threadIdx.y;
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

/* A square of TILE x TILE / CELLS threads, CELLS cells per thread. */
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
 * or of 8 x 4: whole sectors read then, half sectors written, none of one cell. */
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
constexpr run run_diagonal = along<one_cell<float, ORDER, true>, one_cell<double, ORDER, true>, ORDER>;
template <order ORDER>
constexpr run run_four = along<four_cells<float, ORDER>, four_cells<double, ORDER>, ORDER, UNROLL>;

template <int PAD, int CELLS = 1> int run_tiles(ladder_case *c)
{
    const dim3 grid(ladder_blocks(nx_of(c), TILE), ladder_blocks(ny_of(c), TILE));
    return ladder_kernel(c, grid, dim3(TILE, TILE / CELLS), 0, shared_tile<float, PAD, CELLS>,
                         shared_tile<double, PAD, CELLS>, nx_of(c), ny_of(c));
}

/* A row-major (ny,nx) matrix is a column-major one of nx rows, so that B = 1 * A^T + 0 * B is said in BLAS's
 * own order. */
int run_geam(ladder_case *c)
{
    return ladder_cublas_transpose(c->type, c->out, c->in, (int)nx_of(c), (int)ny_of(c),
                                   device_cuda_stream(c->stream));
}

/* ---- the table ---- */

constexpr ladder_rung rung(const char *name, const char *why, run enqueue, const char *teaches,
                           bool copies = false)
{
    return { .name = name,
             .why = why,
             .teaches = teaches,
             .prepare = ladder_transpose_prepare,
             .enqueue = enqueue,
             .verify = copies ? ladder_verify_copy : ladder_transpose_verify,
             .missing = enqueue == run_geam ? ladder_cublas_missing : nullptr,
             .unit = LADDER_BYTES,
             .ceiling = "copy" };
}

constexpr ladder_rung bound(const char *name, const char *why, run enqueue, const char *teaches)
{
    return rung(name, why, enqueue, teaches, true);
}

const ladder_rung rungs[] = {
    bound("copyRow", "rows in, rows out: the usual upper bound", run_one<COPY_ROW>,
          "Neighbouring threads, neighbouring cells, on both sides: nothing that moves every cell can be "
          "faster."),
    bound("copyRow4", "four cells per thread: the true bound", run_four<COPY_ROW>,
          "One load of 4 bytes per thread is not enough for HBM: by Little's law 4.8 TB/s times 0.7 us of "
          "latency want 25 KB on "
          "their way on each of 132 SMs, and 2048 threads with a float each have 8 (with a double 16). Four "
          "cells per thread: the "
          "true bound."),
    bound("copyCol", "columns in, columns out: lower bound", run_one<COPY_COL>,
          "Neighbouring threads a whole row of ny cells apart, on both sides: the worst that a transpose can "
          "sink to."),
    rung("naiveRow", "whole lines read, single cells written", run_one<ALONG_A>,
         "Loads whole lines, stores one cell into each of 32 lines. The stores wait in L2 for the rest of "
         "their sectors."),
    rung("naiveCol", "single cells read, whole lines written", run_one<ALONG_B>,
         "The other way round: x runs along B. The scattered side is now the loads, and loads are cached in "
         "L1: the block's "
         "other warps find the rest of the sectors there, if they come soon enough."),
    rung("unroll4Row", "four loads in flight per thread", run_four<ALONG_A>,
         "A warp that waits for memory costs nothing as long as enough bytes are on their way; four "
         "independent loads per thread "
         "put four times as many on the way with the same number of warps. It helps where latency was the "
         "limit, and does "
         "nothing for the wasted sectors."),
    rung("unroll4Col", "the same, scattered loads through L1", run_four<ALONG_B>,
         "Four cells per thread of naiveCol: a warp asks for 128 sectors at once, in 128 rows of A, and then "
         "stores four whole "
         "lines. Here the scattered side is the one that threads wait for, so that more loads in flight "
         "shorten the wait; where "
         "the stores are scattered (unroll4Row) they gain nothing."),
    rung("diagonalRow", "blocks along diagonals spread the channels", run_diagonal<ALONG_A>,
         "Blocks start roughly in the order of their numbers. Taken row by row, the ones that run together "
         "write addresses a "
         "multiple of the row's length apart; with a power of two those fall on few memory channels, and the "
         "others idle. Along "
         "the diagonals both sides spread. The address hash of modern GPUs spreads them anyway, so that "
         "today the order changes "
         "mainly what is still in L2."),
    rung("diagonalCol", "the same, scattered loads", run_diagonal<ALONG_B>,
         "naiveCol with its blocks taken along the diagonals. A block uses its own sectors entirely, in any "
         "order of the blocks; "
         "but blocks that run one after the other no longer write neighbouring lines of B. Expect a little "
         "less than naiveCol."),
    rung("thinRow", "warps of 8 x 4: fuller sectors", run_one<ALONG_A, 8, 32>,
         "naiveRow with blocks of 8 x 32 threads, whose warps are 8 cells wide and 4 high: four whole "
         "sectors are read, as "
         "before (f32), and the 32 scattered cells become 8 groups of four neighbours, half a sector each, "
         "whose other half the "
         "next warp of the block brings. Expect more than three times naiveRow: the shape of a block costs "
         "nothing."),
    rung("thinCol", "the same, scattered loads", run_one<ALONG_B, 8, 32>,
         "naiveCol with the same blocks: 8 half sectors are read per warp instead of 32 single cells, and "
         "the neighbouring warp "
         "finds the other halves in L1; four whole sectors are written. Expect less gain than thinRow, "
         "because L1 had softened "
         "the scattered loads already, but the better rate of the two."),
    rung("shared", "tile turned on chip, banks conflict", run_tiles<0>,
         "The block reads a 32 x 32 tile by rows into shared memory and writes it by columns of the tile, "
         "which are rows of B: "
         "whole lines on both sides. Without padding, the 32 cells of a tile's column lie in one and the "
         "same of the 32 banks, "
         "and the read of it takes 32 turns (f64: 16 lanes at a time, 16 turns each). One padding column "
         "shifts every row by one "
         "bank (padded)."),
    rung("padded", "one padding column: no conflicts", run_tiles<1>,
         "The tile's rows are 33 cells long, so that the 32 cells of a column lie in 32 banks and come in "
         "one turn. What is left "
         "is one load in flight per thread, as in copyRow, and a barrier at which a whole block of 1024 "
         "threads waits."),
    rung("paddedUnrolled", "four cells per thread, more blocks", run_tiles<1, UNROLL>,
         "A quarter of the threads, four cells each: four loads in flight per thread, and eight blocks "
         "instead of two fit on an "
         "SM, so that while one waits at its barrier others load and store."),
    rung("production", "weft's own: streaming hints, tiles' order", ladder_transpose_production,
         "The same idea with what a GPU wants besides: tiles of 128 x 64 cells in f32 and 64 x 32 in f64, "
         "eight loads of 16 "
         "bytes per thread in f32 and four of 8 in f64; what is read leaves L2 last, and what is written "
         "does not stay in L1. "
         "Tiles follow each other along the rows of B, and where the rows of A lie a multiple of 128 KiB "
         "apart, several columns "
         "of tiles side by side keep all memory channels busy. Rows that start anywhere are written in whole "
         "sectors as well."),
    rung("geam", "cuBLAS as the reference", run_geam,
         "cublasSgeam or cublasDgeam with alpha = 1 and beta = 0, which adds nothing and only transposes: "
         "what a library that is "
         "tuned for every matrix reaches with the same bytes. Without cuBLAS the rung is missing."),
};

const ladder_parameter parameters[LADDER_TRANSPOSE_PARAMETERS] = {
    { "nx", 16384, 1, 1000000, "columns of A" },
    { "ny", 16384, 1, 1000000, "rows of A" },
};

} // namespace

const ladder_family ladder_transpose_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "transpose", "who pays when loads and stores disagree on the order", "f32", "f64", nullptr);
