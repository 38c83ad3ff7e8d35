/* What a warp asks for: cells off the start of a line, cells that lie apart, fields among others that nobody wants. */
#include "ladder_memory/ladder_access.h"

#include <string.h>

namespace {

enum { THREADS = LADDER_ACCESS_THREADS };

double cell(dtype t, int64_t i)
{
    double u;
    ladder_random(t, &u, i, 1, LADDER_SEED);
    return ladder_get(t, &u, 0);
}

/* ---- offset ---- */

template <typename T, bool READS> __global__ void offset_copy(T *out, const T *in, int64_t n, int64_t offset)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[READS ? i : i + offset] = in[READS ? i + offset : i];
}

void offset_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = (const ladder_case *)context;
    ladder_random(t, out, first + (c->rung->variant == LADDER_ACCESS_READ ? c->value[LADDER_ACCESS_OFFSET] : 0), count,
                  LADDER_SEED);
}

/* ---- stride ---- */

template <typename T, bool READS> __global__ void stride_copy(T *out, const T *in, int64_t n, int64_t stride)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[READS ? i : i * stride] = in[READS ? i * stride : i];
}

void stride_read_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const int64_t stride = ((const ladder_case *)context)->value[LADDER_ACCESS_STRIDE];
    for (int64_t i = 0; i < count; i++) ladder_put(t, out, i, cell(t, (first + i) * stride));
}

/* Between the cells that were written stands the poison still. */
void stride_write_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = (const ladder_case *)context;
    const int64_t stride = c->value[LADDER_ACCESS_STRIDE];
    memset(out, 0xff, (size_t)count * dtype_bytes(t));
    for (int64_t i = (stride - first % stride) % stride; i < count; i += stride)
        if ((first + i) / stride < c->size) ladder_put(t, out, i, cell(t, (first + i) / stride));
}

/* ---- fields ---- */

enum { FIELDS = 4 };

template <typename T> __global__ void array_of_structures(T *out, const T *in, int64_t n, int64_t)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = in[FIELDS * i] + in[FIELDS * i + 1];
}

template <typename T> __global__ void structure_of_arrays(T *out, const T *in, int64_t n, int64_t)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = in[i] + in[n + i];
}

void fields_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = (const ladder_case *)context;
    const bool aos = c->rung->variant == LADDER_ACCESS_ARRAY_OF_STRUCTURES;
    for (int64_t i = 0; i < count; i++) {
        const int64_t x = aos ? FIELDS * (first + i) : first + i, y = aos ? x + 1 : c->size + x;
        ladder_put(t, out, i, t == DTYPE_F32 ? (double)((float)cell(t, x) + (float)cell(t, y)) : cell(t, x) + cell(t, y));
    }
}

/* One side lies straight, the other as the rung says. */
void predict_pattern(ladder_case *c, double sectors)
{
    const double straight = ladder_access_sectors(c, 0, 1);
    if (c->rung->variant == LADDER_ACCESS_READ) ladder_access_predict(c, sectors, straight);
    else ladder_access_predict(c, straight, sectors);
}

} // namespace

double ladder_access_sectors(const ladder_case *c, int64_t first, int64_t stride)
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

void ladder_access_predict(ladder_case *c, double load_sectors, double store_sectors)
{
    c->predicted[0] = { "sectors per load", load_sectors };
    c->predicted[1] = { "sectors per store", store_sectors };
}

int ladder_access_offset_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[LADDER_ACCESS_N], 2);
    predict_pattern(c, ladder_access_sectors(c, c->value[LADDER_ACCESS_OFFSET], 1));
    return ladder_open(c, c->size + LADDER_ACCESS_OFFSET_MOST, c->size + LADDER_ACCESS_OFFSET_MOST);
}

int ladder_access_offset(ladder_case *c)
{
    const int64_t offset = c->value[LADDER_ACCESS_OFFSET];
    return c->rung->variant == LADDER_ACCESS_READ
               ? ladder_access_launch(c, offset_copy<float, true>, offset_copy<double, true>, c->size, offset)
               : ladder_access_launch(c, offset_copy<float, false>, offset_copy<double, false>, c->size, offset);
}

int ladder_access_offset_verify(ladder_case *c, ladder_verdict *v)
{
    const int64_t first = c->rung->variant == LADDER_ACCESS_READ ? 0 : c->value[LADDER_ACCESS_OFFSET];
    const char *out = (const char *)c->out + (size_t)first * dtype_bytes(c->type);
    return ladder_compare(c, out, c->size, offset_answer, c, v);
}

int ladder_access_stride_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[LADDER_ACCESS_N] / c->value[LADDER_ACCESS_STRIDE], 2);
    predict_pattern(c, ladder_access_sectors(c, 0, c->value[LADDER_ACCESS_STRIDE]));
    return ladder_open(c, c->value[LADDER_ACCESS_N], c->value[LADDER_ACCESS_N]);
}

int ladder_access_stride(ladder_case *c)
{
    const int64_t stride = c->value[LADDER_ACCESS_STRIDE];
    return c->rung->variant == LADDER_ACCESS_READ
               ? ladder_access_launch(c, stride_copy<float, true>, stride_copy<double, true>, c->size, stride)
               : ladder_access_launch(c, stride_copy<float, false>, stride_copy<double, false>, c->size, stride);
}

int ladder_access_stride_verify(ladder_case *c, ladder_verdict *v)
{
    if (c->rung->variant == LADDER_ACCESS_WRITE) return ladder_verify(c, stride_write_answer, v);
    return ladder_compare(c, c->out, c->size, stride_read_answer, c, v);
}

int ladder_access_fields_prepare(ladder_case *c)
{
    const bool aos = c->rung->variant == LADDER_ACCESS_ARRAY_OF_STRUCTURES;
    ladder_moves(c, c->value[LADDER_ACCESS_N] / 2, 3);
    const double one = ladder_access_sectors(c, 0, aos ? FIELDS : 1);
    const double other = aos ? ladder_access_sectors(c, 1, FIELDS) : ladder_access_sectors(c, c->size, 1);
    ladder_access_predict(c, (one + other) / 2, ladder_access_sectors(c, 0, 1));
    return ladder_open(c, FIELDS * c->size, c->size);
}

int ladder_access_fields(ladder_case *c)
{
    return c->rung->variant == LADDER_ACCESS_ARRAY_OF_STRUCTURES
               ? ladder_access_launch(c, array_of_structures<float>, array_of_structures<double>, c->size, 0)
               : ladder_access_launch(c, structure_of_arrays<float>, structure_of_arrays<double>, c->size, 0);
}

int ladder_access_fields_verify(ladder_case *c, ladder_verdict *v) { return ladder_verify(c, fields_answer, v); }
