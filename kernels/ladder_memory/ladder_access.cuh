/* What the parts of the family `access` share: parameters, the launch of a copy, and what theory predicts of
 * it. Bytes in flight and the table are in ladder_access.cu, what a warp asks for in
 * ladder_access_pattern.cuh, rows and the L2's window in ladder_access_l2.cuh. */
#pragma once

#include <string.h>

#include "ladder/ladder_kernel.cuh"

namespace
{

enum { N, OFFSET, STRIDE, UNROLL, WIDTH_BYTES, ROW_CELLS, WINDOW_BYTES, HIT_PERCENT, PARAMETERS };
enum { OFFSET_MOST = 1024, THREADS = 256 };

/* One thread, one cell (or one group of them), in order. */
template <typename T> using access_kernel = void (*)(T *out, const T *in, int64_t n, int64_t step);
int launch(ladder_case *c, access_kernel<float> f32, access_kernel<double> f64, int64_t threads, int64_t step)
{
    return ladder_kernel(c, ladder_blocks(threads, THREADS), THREADS, 0, f32, f64, c->size, step);
}

/* Sectors of 32 bytes that a request of a warp touches whose thread k takes cell first + k * stride of an
 * aligned array: the mean over 32 warps in a row. */
double sectors_of(const ladder_case *c, int64_t first, int64_t stride)
{
    const int64_t word_bytes = (int64_t)dtype_bytes(c->type), sector_bytes = 32, warps = 32;
    int64_t sectors = 0;
    for (int64_t w = 0; w < warps; w++) {
        int64_t last = -1;
        for (int64_t k = 0; k < 32; k++) {
            const int64_t s = (first + (w * 32 + k) * stride) * word_bytes / sector_bytes;
            sectors += s != last;
            last = s;
        }
    }
    return (double)sectors / (double)warps;
}

/* What ncu counts: l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio, and op_st. */
void predict(ladder_case *c, double load_sectors, double store_sectors)
{
    c->predicted[0] = { "sectors per load", load_sectors };
    c->predicted[1] = { "sectors per store", store_sectors };
}

} // namespace
