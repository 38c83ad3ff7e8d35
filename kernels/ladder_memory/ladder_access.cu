/* access: how many sectors of 32 bytes does a warp's request touch, and how many bytes are on their way?
 * The lesson: docs/teaching/access.md. Beside each rate stands what ncu counts as
 * l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio, and op_st. */
#include "ladder/ladder_kernel.cuh"

namespace {

enum { N, OFFSET, STRIDE, UNROLL, WIDTH_BYTES, PARAMETERS };
enum { OFFSET_MOST = 1024, THREADS = 256, SECTOR_BYTES = 32, LANES = 32 };

/* Sectors per request where thread k of a warp takes cell first + k * stride: the mean of 32 warps. */
double sectors_of(const ladder_case *c, int64_t first, int64_t stride)
{
    const int64_t word_bytes = (int64_t)dtype_bytes(c->type), warps = 32;
    int64_t sectors = 0;
    for (int64_t w = 0; w < warps; w++) {
        int64_t last = -1;
        for (int64_t k = 0; k < LANES; k++) {
            const int64_t s = (first + (w * LANES + k) * stride) * word_bytes / SECTOR_BYTES;
            sectors += s != last;
            last = s;
        }
    }
    return (double)sectors / (double)warps;
}

void predict(ladder_case *c, double load_sectors, double store_sectors)
{
    c->predicted[0] = { "sectors per load", load_sectors };
    c->predicted[1] = { "sectors per store", store_sectors };
}

/* ---- one side lies straight, the other one is shifted against lines, or its cells lie apart. Only cells
 * that are used count as work ---- */

enum { OFFSET_READ, STRIDE_READ, STRIDE_WRITE }; /* a rung's variant */

template <typename T, int HOW> __global__ void displaced_copy(T *out, const T *in, int64_t n, int64_t by)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    const int64_t there = HOW == OFFSET_READ ? i + by : i * by;
    out[HOW == STRIDE_WRITE ? there : i] = in[HOW == STRIDE_WRITE ? i : there];
}

template <int HOW> int displaced_enqueue(ladder_case *c)
{
    const int64_t by = c->value[HOW == OFFSET_READ ? OFFSET : STRIDE];
    return ladder_kernel(c, ladder_blocks(c->size, THREADS), THREADS, 0, displaced_copy<float, HOW>,
                         displaced_copy<double, HOW>, c->size, by);
}

int displaced_prepare(ladder_case *c)
{
    const int how = c->rung->variant;
    const int64_t cells = c->value[N], stride = how == OFFSET_READ ? 1 : c->value[STRIDE];
    const double straight = sectors_of(c, 0, 1),
                 displaced = sectors_of(c, how == OFFSET_READ ? c->value[OFFSET] : 0, stride);
    ladder_moves(c, cells / stride, 2);
    predict(c, how == STRIDE_WRITE ? straight : displaced, how == STRIDE_WRITE ? displaced : straight);
    return ladder_open(c, cells + OFFSET_MOST, cells);
}

double displaced_answer(const ladder_case *c, int64_t i)
{
    const int64_t stride = c->value[STRIDE];
    switch (c->rung->variant) {
    case OFFSET_READ: return i < c->size ? ladder_cell(i + c->value[OFFSET]) : NAN;
    case STRIDE_READ: return i < c->size ? ladder_cell(i * stride) : NAN;
    default: return i % stride == 0 && i / stride < c->size ? ladder_cell(i / stride) : NAN;
    }
}

/* ---- more bytes on their way: more loads per thread, or wider ones ---- */

enum { MORE_LOADS, WIDER_LOADS }; /* a rung's variant */

int copy_prepare(ladder_case *c)
{
    const double straight = sectors_of(c, 0, 1),
                 wide = (double)c->value[WIDTH_BYTES]; /* 32 threads x width bytes / 32 bytes of a sector */
    const double sectors = c->rung->variant == WIDER_LOADS ? wide : straight;
    ladder_moves(c, c->value[N] & ~(int64_t)3, 2); /* whole vectors of the widest */
    predict(c, sectors, sectors);
    return ladder_open(c, c->size, c->size);
}

int unroll_enqueue(ladder_case *c)
{
    const int64_t loads = ladder_copy_loads(c->value[UNROLL]);
    return ladder_kernel(c, ladder_blocks(c->size, LADDER_COPY_THREADS * loads), LADDER_COPY_THREADS, 0,
                         ladder_copy_of<float>(loads), ladder_copy_of<double>(loads), c->size);
}

int vector_enqueue(ladder_case *c)
{
    switch (c->value[WIDTH_BYTES]) {
    case 4: return ladder_copy_vectors<unsigned>(c);
    case 8: return ladder_copy_vectors<uint2>(c);
    case 16: return ladder_copy_vectors<uint4>(c);
    }
    return cudaErrorInvalidValue;
}

/* ---- the table ---- */

const int64_t offsets[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                            17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33 };
const int64_t strides[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                            18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33 };
const int64_t loads[] = { 1, 2, 4, 8 }, widths[] = { 4, 8, 16 };

/* Beside n a rung takes one parameter. */
template <int HOW, int COUNT>
constexpr ladder_rung displaced(const char *name, const char *why, int parameter,
                                const int64_t (&values)[COUNT])
{
    return { LADDER_ROW(name, why, displaced_prepare, displaced_enqueue<HOW>, ladder_verify_cells, "copy"),
             .answer = displaced_answer, .variant = HOW,
             .ignores = ladder_all_but(PARAMETERS, 1u << parameter), LADDER_SCAN(parameter, values) };
}

const ladder_rung rungs[] = {
    displaced<OFFSET_READ>("offsetRead", "a shifted warp touches one more sector", OFFSET, offsets),
    displaced<STRIDE_READ>("strideRead", "sectors read, cells used", STRIDE, strides),
    displaced<STRIDE_WRITE>("strideWrite", "each partial sector costs a read too", STRIDE, strides),
    { LADDER_ROW("unroll", "independent loads per thread", copy_prepare, unroll_enqueue, ladder_verify_cells,
                 "copy"),
      .variant = MORE_LOADS, .ignores = ladder_all_but(PARAMETERS, 1u << UNROLL),
      LADDER_SCAN(UNROLL, loads) },
    { LADDER_ROW("vector", "bytes per load", copy_prepare, vector_enqueue, ladder_verify_cells, "copy"),
      .variant = WIDER_LOADS, .ignores = ladder_all_but(PARAMETERS, 1u << WIDTH_BYTES),
      LADDER_SCAN(WIDTH_BYTES, widths) },
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 25, 1024, (int64_t)1 << 32, "cells" },
    { "offset", 0, 0, OFFSET_MOST, "cells between the start of a line and the first cell" },
    { "stride", 1, 1, 1024, "cells from one thread's to the next one's" },
    { "unroll", 4, 1, 8, "loads per thread: 1, 2, 4 or 8" },
    { "width_bytes", 16, 4, 16, "bytes per load: 4, 8 or 16" },
};

} // namespace

const ladder_family ladder_access_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "access", "sectors asked for, bytes in flight", "f32", "f64", nullptr);
