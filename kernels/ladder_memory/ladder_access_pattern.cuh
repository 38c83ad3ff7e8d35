/* What a warp asks for: cells off the start of a line, cells that lie apart, fields among others that nobody
 * wants. */
#pragma once

#include "ladder_memory/ladder_access.cuh"

namespace
{

double cell(dtype t, int64_t i)
{
    double u;
    ladder_random(t, &u, i, 1, LADDER_SEED);
    return ladder_get(t, &u, 0);
}

/* ---- copies whose one side is shifted, or walked with a stride. A rung's variant: which side. work: cells
 * used on both ---- */

enum { READ, WRITE };

template <typename T, bool READS> __global__ void offset_copy(T *out, const T *in, int64_t n, int64_t offset)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[READS ? i : i + offset] = in[READS ? i + offset : i];
}

void offset_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = (const ladder_case *)context;
    ladder_random(t, out, first + (c->rung->variant == READ ? c->value[OFFSET] : 0), count, LADDER_SEED);
}

template <typename T, bool READS> __global__ void stride_copy(T *out, const T *in, int64_t n, int64_t stride)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[READS ? i : i * stride] = in[READS ? i * stride : i];
}

void stride_read_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const int64_t stride = ((const ladder_case *)context)->value[STRIDE];
    for (int64_t i = 0; i < count; i++) ladder_put(t, out, i, cell(t, (first + i) * stride));
}

/* Between the cells that were written stands the poison still. */
void stride_write_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = (const ladder_case *)context;
    const int64_t stride = c->value[STRIDE];
    memset(out, 0xff, (size_t)count * dtype_bytes(t));
    for (int64_t i = (stride - first % stride) % stride; i < count; i += stride)
        if ((first + i) / stride < c->size) ladder_put(t, out, i, cell(t, (first + i) / stride));
}

/* ---- the sum of two fields of four; a rung's variant: how the fields lie ---- */

enum { ARRAY_OF_STRUCTURES, STRUCTURE_OF_ARRAYS };
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
    const bool aos = c->rung->variant == ARRAY_OF_STRUCTURES;
    for (int64_t i = 0; i < count; i++) {
        const int64_t x = aos ? FIELDS * (first + i) : first + i, y = aos ? x + 1 : c->size + x;
        ladder_put(t, out, i,
                   t == DTYPE_F32 ? (double)((float)cell(t, x) + (float)cell(t, y))
                                  : cell(t, x) + cell(t, y));
    }
}

/* One side lies straight, the other as the rung says. */
void predict_pattern(ladder_case *c, double sectors)
{
    const double straight = sectors_of(c, 0, 1);
    if (c->rung->variant == READ) predict(c, sectors, straight);
    else predict(c, straight, sectors);
}

int offset_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[N], 2);
    predict_pattern(c, sectors_of(c, c->value[OFFSET], 1));
    return ladder_open(c, c->size + OFFSET_MOST, c->size + OFFSET_MOST);
}

int offset_enqueue(ladder_case *c)
{
    const int64_t offset = c->value[OFFSET];
    return c->rung->variant == READ
               ? launch(c, offset_copy<float, true>, offset_copy<double, true>, c->size, offset)
               : launch(c, offset_copy<float, false>, offset_copy<double, false>, c->size, offset);
}

int offset_verify(ladder_case *c, ladder_verdict *v)
{
    const int64_t first = c->rung->variant == READ ? 0 : c->value[OFFSET];
    const char *out = (const char *)c->out + (size_t)first * dtype_bytes(c->type);
    return ladder_compare(c, out, c->size, offset_answer, c, v);
}

int stride_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[N] / c->value[STRIDE], 2);
    predict_pattern(c, sectors_of(c, 0, c->value[STRIDE]));
    return ladder_open(c, c->value[N], c->value[N]);
}

int stride_enqueue(ladder_case *c)
{
    const int64_t stride = c->value[STRIDE];
    return c->rung->variant == READ
               ? launch(c, stride_copy<float, true>, stride_copy<double, true>, c->size, stride)
               : launch(c, stride_copy<float, false>, stride_copy<double, false>, c->size, stride);
}

int stride_verify(ladder_case *c, ladder_verdict *v)
{
    if (c->rung->variant == WRITE) return ladder_verify(c, stride_write_answer, v);
    return ladder_compare(c, c->out, c->size, stride_read_answer, c, v);
}

int fields_prepare(ladder_case *c)
{
    const bool aos = c->rung->variant == ARRAY_OF_STRUCTURES;
    ladder_moves(c, c->value[N] / 2, 3);
    const double one = sectors_of(c, 0, aos ? FIELDS : 1);
    const double other = aos ? sectors_of(c, 1, FIELDS) : sectors_of(c, c->size, 1);
    predict(c, (one + other) / 2, sectors_of(c, 0, 1));
    return ladder_open(c, FIELDS * c->size, c->size);
}

int fields_enqueue(ladder_case *c)
{
    return c->rung->variant == ARRAY_OF_STRUCTURES
               ? launch(c, array_of_structures<float>, array_of_structures<double>, c->size, 0)
               : launch(c, structure_of_arrays<float>, structure_of_arrays<double>, c->size, 0);
}

int fields_verify(ladder_case *c, ladder_verdict *v) { return ladder_verify(c, fields_answer, v); }

} // namespace
