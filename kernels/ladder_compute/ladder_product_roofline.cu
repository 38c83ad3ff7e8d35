/* The machine's balance, measured: how many flops per byte of memory traffic it takes until arithmetic is the limit. Below,
 * the rate is the copy's times the flops per byte; above, it is the peak; the bend between the two is the balance. */
#include "ladder/ladder_fma.cuh"
#include "ladder/ladder_kernel.cuh"
#include "ladder_compute/ladder_product.h"

namespace {

enum { THREADS = 256, GROUP = LADDER_FOUR, ROOFLINE_BYTES = 1 << 28 };

template <typename T> __global__ void fill_odd(T *to, int64_t cells, uint64_t seed)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < cells) to[i] = (T)ladder_product_cell(seed, (uint64_t)i);
}

/* x becomes x + fmas, by fma(x, 1, 1): exact, and told from any other number of steps. The compiler does not know that the
 * factor is 1. */
template <typename T>
__global__ void __launch_bounds__(THREADS) roofline(T *to, const T *from, int64_t fours, T factor, T summand, int fmas)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= fours) return;
    ladder_four<T> x = ((const ladder_four<T> *)from)[i];
#pragma unroll 16
    for (int step = 0; step < fmas; step++)
#pragma unroll
        for (int m = 0; m < GROUP; m++) x.u[m] = ladder_fma(x.u[m], factor, summand);
    ((ladder_four<T> *)to)[i] = x;
}

void roofline_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const int64_t fmas = ((const ladder_case *)context)->value[LADDER_PRODUCT_FMAS];
    for (int64_t i = 0; i < count; i++)
        ladder_put(t, out, i, (double)(ladder_product_cell(LADDER_PRODUCT_SEED_A, (uint64_t)(first + i)) + fmas));
}

} // namespace

int ladder_product_alloc(ladder_case *c, int64_t cells, uint64_t seed, void **out)
{
    const int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, ladder_bytes(c, cells), out);
    if (code) return code;
    const unsigned blocks = ladder_blocks(cells, THREADS);
    const cudaStream_t stream = device_cuda_stream(c->stream);
    switch (c->type) {
    case DTYPE_F32: fill_odd<<<blocks, THREADS, 0, stream>>>((float *)*out, cells, seed); break;
    case DTYPE_F64: fill_odd<<<blocks, THREADS, 0, stream>>>((double *)*out, cells, seed); break;
    }
    return cudaGetLastError();
}

int ladder_product_roofline_prepare(ladder_case *c)
{
    const double flops = 2.0 * (double)c->value[LADDER_PRODUCT_FMAS];
    c->out_cells = c->size = ROOFLINE_BYTES / (int64_t)dtype_bytes(c->type);
    c->work = flops * (double)c->size;
    c->predicted[0] = { "flop/byte of memory", flops / (2.0 * (double)dtype_bytes(c->type)) };
    const int code = ladder_product_alloc(c, c->size, LADDER_PRODUCT_SEED_A, &c->in);
    return code ? code : ladder_alloc_poisoned(c, ROOFLINE_BYTES, &c->out);
}

int ladder_product_roofline_enqueue(ladder_case *c)
{
    const int64_t fours = c->size / GROUP;
    return ladder_kernel(c, ladder_blocks(fours, THREADS), THREADS, 0, roofline<float>, roofline<double>, fours, 1.0, 1.0,
                         (int)c->value[LADDER_PRODUCT_FMAS]);
}

int ladder_product_roofline_verify(ladder_case *c, ladder_verdict *v) { return ladder_verify(c, roofline_answer, v); }
