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
    "ladder asks, in turn: which side is it cheaper to suffer on, can another shape of the blocks soften it, and how does one "
    "get rid of it (by turning the tile inside the chip, in shared memory).\n"
    "\n"
    "A is (ny,nx), B is (nx,ny), both dense; bytes are counted once in and once out, so the copy is the ceiling and a fraction "
    "of 1 is a perfect transpose.\n"
    "\n"
    "What was measured at 16384 x 16384 on one H200, as a fraction of the copy engine's 4.23 TB/s, f32 / f64: copyRow .50 / .84 "
    "and copyCol .13 / .25; naiveRow .13 / .22 and naiveCol .35 / .61; thin blocks .45 and, with scattered loads, .50; shared .23 / .44 with its conflicts, .40 / .66 without, .82 / .91 with four cells per thread. So what "
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

/* `row` kernels run over A's shape, `col` kernels over B's. A block has X x Y threads; with 32 x 16 a warp is a row of 32 cells. Each
 * thread moves CELLS cells of a row. */
template <kernel<float> F32, kernel<double> F64, int X = 32, int Y = 16, int CELLS = 1> int along_a(ladder_case *c)
{
    const dim3 grid(ladder_blocks(nx_of(c), X * CELLS), ladder_blocks(ny_of(c), Y));
    return ladder_kernel(c, grid, dim3(X, Y), 0, F32, F64, nx_of(c), ny_of(c));
}

template <kernel<float> F32, kernel<double> F64> int along_b(ladder_case *c)
{
    const dim3 grid(ladder_blocks(ny_of(c), 32), ladder_blocks(nx_of(c), 16));
    return ladder_kernel(c, grid, dim3(32, 16), 0, F32, F64, nx_of(c), ny_of(c));
}

template <kernel<float> F32, kernel<double> F64, int THREADS_Y> int tiles(ladder_case *c)
{
    const dim3 grid(ladder_blocks(nx_of(c), TILE), ladder_blocks(ny_of(c), TILE));
    return ladder_kernel(c, grid, dim3(TILE, THREADS_Y), 0, F32, F64, nx_of(c), ny_of(c));
}

/* A row-major (ny,nx) matrix is a column-major one of nx rows, so that B = 1 * A^T + 0 * B is said in BLAS's own order. */
template <typename T> int geam(ladder_case *c, const char *function)
{
    using geam_function = int (*)(void *handle, int op_a, int op_b, int m, int n, const T *alpha, const void *a, int lda,
                                  const T *beta, const void *b, int ldb, void *c, int ldc);
    const auto call = (geam_function)ladder_cublas_function(function);
    void *handle = ladder_cublas_handle(device_cuda_stream(c->stream));
    const T one = 1, zero = 0;
    const int nx = (int)nx_of(c), ny = (int)ny_of(c), as_it_is = 0, transposed = 1;
    if (!call || !handle) return cudaErrorUnknown;
    return call(handle, transposed, as_it_is, ny, nx, &one, c->in, nx, &zero, c->out, ny, c->out, ny) == 0 ? cudaSuccess
                                                                                                          : cudaErrorUnknown;
}

int run_geam(ladder_case *c) { return c->type == DTYPE_F32 ? geam<float>(c, "cublasSgeam") : geam<double>(c, "cublasDgeam"); }

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
    bound("copyRow", "rows in, rows out: the usual upper bound", along_a<copy_row<float>, copy_row<double>>,
          "Neighbouring threads, neighbouring cells, on both sides: nothing that moves every cell can be faster."),
    bound("copyRow4", "four cells per thread: the true bound", along_a<copy_row4<float>, copy_row4<double>, 32, 16, UNROLL>,
          "One load of 4 bytes per thread is not enough for HBM: by Little's law 4.8 TB/s times 0.7 us of latency want 25 KB on "
          "their way on each of 132 SMs, and 2048 threads with a float each have 8 (with a double 16). Four cells per thread: the "
          "true bound."),
    bound("copyCol", "columns in, columns out: lower bound", along_a<copy_col<float>, copy_col<double>>,
          "Neighbouring threads a whole row of ny cells apart, on both sides: the worst that a transpose can sink to."),
    rung("naiveRow", "whole lines read, single cells written", along_a<naive_row<float>, naive_row<double>>,
          "Loads whole lines, stores one cell into each of 32 lines. The stores wait in L2 for the rest of their sectors."),
    rung("naiveCol", "single cells read, whole lines written", along_b<naive_col<float>, naive_col<double>>,
          "The other way round: x runs along B. The scattered side is now the loads, and loads are cached in L1: the block's "
          "other warps find the rest of the sectors there, if they come soon enough."),
    rung("thinRow", "warps of 8 x 4: fuller sectors", along_a<naive_row<float>, naive_row<double>, 8, 32>,
          "naiveRow with blocks of 8 x 32 threads, whose warps are 8 cells wide and 4 high: four whole sectors are read, as "
          "before (f32), and the 32 scattered cells become 8 groups of four neighbours, half a sector each, whose other half the "
          "next warp of the block brings. Expect more than three times naiveRow: the shape of a block costs nothing."),
    rung("shared", "tile turned on chip, banks conflict", tiles<shared_tile<float, 0>, shared_tile<double, 0>, TILE>,
          "The block reads a 32 x 32 tile by rows into shared memory and writes it by columns of the tile, which are rows of B: "
          "whole lines on both sides. Without padding, the 32 cells of a tile's column lie in one and the same of the 32 banks, "
          "and the read of it takes 32 turns (f64: 16 lanes at a time, 16 turns each). One padding column shifts every row by one "
          "bank (padded)."),
    rung("padded", "one padding column: no conflicts", tiles<shared_tile<float, 1>, shared_tile<double, 1>, TILE>,
          "The tile's rows are 33 cells long, so that the 32 cells of a column lie in 32 banks and come in one turn. What is left "
          "is one load in flight per thread, as in copyRow, and a barrier at which a whole block of 1024 threads waits."),
    rung("paddedUnrolled", "four cells per thread, more blocks", tiles<shared_unrolled<float>, shared_unrolled<double>, TILE / UNROLL>,
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
