/* What the parts of the family `access` share: bytes in flight and the table (ladder_access.cu), what a warp asks for
 * (ladder_access_pattern.cu), rows and the L2's window (ladder_access_l2.cu). CUDA device only. */
#pragma once

#include "ladder/ladder_kernel.cuh"

enum { LADDER_ACCESS_N, LADDER_ACCESS_OFFSET, LADDER_ACCESS_STRIDE, LADDER_ACCESS_UNROLL, LADDER_ACCESS_WIDTH_BYTES,
       LADDER_ACCESS_ROW_CELLS, LADDER_ACCESS_WINDOW_BYTES, LADDER_ACCESS_HIT_PERCENT, LADDER_ACCESS_PARAMETERS };
enum { LADDER_ACCESS_OFFSET_MOST = 1024, LADDER_ACCESS_THREADS = 256 };

/* One thread, one cell (or one group of them), in order. */
template <typename T> using ladder_access_kernel = void (*)(T *out, const T *in, int64_t n, int64_t step);
static inline int ladder_access_launch(ladder_case *c, ladder_access_kernel<float> f32, ladder_access_kernel<double> f64,
                                       int64_t threads, int64_t step)
{
    const unsigned blocks = ladder_blocks(threads, LADDER_ACCESS_THREADS);
    return ladder_kernel(c, blocks, LADDER_ACCESS_THREADS, 0, f32, f64, c->size, step);
}

/* Sectors of 32 bytes that a request of a warp touches whose thread k takes cell first + k * stride of an aligned array: the
 * mean over 32 warps in a row. */
double ladder_access_sectors(const ladder_case *c, int64_t first, int64_t stride);
/* What ncu counts: l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio, and op_st. */
void ladder_access_predict(ladder_case *c, double load_sectors, double store_sectors);

/* Copies whose one side is shifted, or walked with a stride. A rung's variant: which side. work: cells used, both sides */
enum { LADDER_ACCESS_READ, LADDER_ACCESS_WRITE };
int ladder_access_offset_prepare(ladder_case *c);
int ladder_access_offset(ladder_case *c); /* enqueue */
int ladder_access_offset_verify(ladder_case *c, ladder_verdict *v);
int ladder_access_stride_prepare(ladder_case *c);
int ladder_access_stride(ladder_case *c); /* enqueue */
int ladder_access_stride_verify(ladder_case *c, ladder_verdict *v);

/* The sum of two fields of four. A rung's variant: how the fields lie. */
enum { LADDER_ACCESS_ARRAY_OF_STRUCTURES, LADDER_ACCESS_STRUCTURE_OF_ARRAYS };
int ladder_access_fields_prepare(ladder_case *c);
int ladder_access_fields(ladder_case *c); /* enqueue */
int ladder_access_fields_verify(ladder_case *c, ladder_verdict *v);

/* Rows copied cell by cell. A rung's variant: packed, or as cudaMallocPitch would lay them. work: own cells read and written */
enum { LADDER_ACCESS_PACKED, LADDER_ACCESS_PITCHED };
int ladder_access_rows_prepare(ladder_case *c);
int ladder_access_rows(ladder_case *c); /* enqueue */
int ladder_access_rows_verify(ladder_case *c, ladder_verdict *v);

/* A stream of cells, each added to a cell of a window that is read again and again. A rung's variant: whether the window is
 * declared persisting in L2. work: a cell and one of the window read, the sum written */
enum { LADDER_ACCESS_NORMAL, LADDER_ACCESS_PERSISTING };
int ladder_access_window_prepare(ladder_case *c);
int ladder_access_window(ladder_case *c); /* enqueue */
int ladder_access_window_verify(ladder_case *c, ladder_verdict *v);
void ladder_access_window_destroy(ladder_case *c);
const char *ladder_access_window_missing(device *d);
