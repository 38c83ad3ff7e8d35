/* The ceilings on the chip: how many multiply-adds its pipes do in a second, and how many bytes its shared memory gives. */
#include "ladder_memory/ladder_ceiling.h"

#include <stdlib.h>
#include <string.h>

#include "core/cell.h"
#include "device/device_cuda.h"
#include "ladder/ladder_chains.cuh"
#include "ladder/ladder_fma.cuh"

/* ---- arithmetic: nothing but fma, in registers ---- */

namespace {

/* Eight independent chains a thread and full SMs. The multiplier is just below 1, so that the values neither vanish nor
 * overflow. All blocks compute the same. */
enum { FMA_THREADS = 256, FMA_CHAINS = 8, FMA_STEPS = 4096, FMA_BLOCKS_PER_SM = 8 };

template <typename T> __global__ void __launch_bounds__(FMA_THREADS) fma_kernel(T *out, const T *in, T factor, T summand)
{
    ladder_chains<T, FMA_CHAINS, FMA_THREADS> cells;
    cells.load(in);
    cells.template run<FMA_STEPS>([=](T x) { return ladder_fma(x, factor, summand); });
    cells.store(out);
}

enum { FMA_CELLS = FMA_CHAINS * FMA_THREADS }; /* of one block */

typedef struct chains {
    void *in, *out;
    int blocks;
    float f32[FMA_CELLS]; /* the host's answer for one block */
    double f64[FMA_CELLS];
} chains;

const double fma_factor = 0.9990234375, fma_summand = 0.0009765625; /* exact in both types */

void chain_ends(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const chains *s = (const chains *)context;
    for (int64_t i = 0; i < count; i++) {
        if (t == DTYPE_F32) ((float *)out)[i] = s->f32[(first + i) % FMA_CELLS];
        else ((double *)out)[i] = s->f64[(first + i) % FMA_CELLS];
    }
}

} // namespace

int ladder_ceiling_fma_prepare(ladder_case *c)
{
    device *d = c->d;
    chains *s = (chains *)calloc(1, sizeof *s);
    int sms = 0;
    if (!s) abort();
    c->state = s;
    int code = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->ordinal);
    s->blocks = sms * FMA_BLOCKS_PER_SM;
    c->size = (int64_t)s->blocks * FMA_CELLS;
    c->work = 2.0 * (double)c->size * FMA_STEPS;
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, FMA_CELLS * dtype_bytes(c->type), &s->in);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, (size_t)c->size * dtype_bytes(c->type), &s->out);
    return code ? code : ladder_fill_random(c, s->in, FMA_CELLS, LADDER_SEED);
}

void ladder_ceiling_fma_destroy(ladder_case *c)
{
    chains *s = (chains *)c->state;
    if (!s) return;
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->in);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->out);
    free(s);
    c->state = nullptr;
}

int ladder_ceiling_fma_enqueue(ladder_case *c)
{
    const chains *s = (const chains *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    switch (c->type) {
    case DTYPE_F32:
        fma_kernel<<<s->blocks, FMA_THREADS, 0, stream>>>((float *)s->out, (const float *)s->in, (float)fma_factor,
                                                          (float)fma_summand);
        break;
    case DTYPE_F64:
        fma_kernel<<<s->blocks, FMA_THREADS, 0, stream>>>((double *)s->out, (const double *)s->in, fma_factor, fma_summand);
        break;
    }
    return cudaGetLastError();
}

int ladder_ceiling_fma_verify(ladder_case *c, ladder_verdict *v)
{
    chains *s = (chains *)c->state;
    ladder_random(DTYPE_F32, s->f32, 0, FMA_CELLS, LADDER_SEED);
    ladder_random(DTYPE_F64, s->f64, 0, FMA_CELLS, LADDER_SEED);
    for (int k = 0; k < FMA_CELLS; k++)
        for (int i = 0; i < FMA_STEPS; i++) {
            if (c->type == DTYPE_F32) s->f32[k] = cell_fma_f32(s->f32[k], (float)fma_factor, (float)fma_summand);
            else s->f64[k] = cell_fma_f64(s->f64[k], fma_factor, fma_summand);
        }
    return ladder_compare(c, s->out, c->size, chain_ends, s, v);
}

/* ---- shared memory: 16-byte reads without conflicts ---- */

namespace {

/* A warp's 32 x 16 bytes are all 32 banks four times over: four turns, none wasted. The words are added, as integers. */
enum { SHARED_THREADS = 256, SHARED_VECTORS = 1024, SHARED_ROUNDS = 1024, SHARED_BLOCKS_PER_SM = 8 };

__global__ void __launch_bounds__(SHARED_THREADS) shared_kernel(uint32_t *out, const uint4 *in)
{
    __shared__ uint4 tile[SHARED_VECTORS];
    for (int t = (int)threadIdx.x; t < SHARED_VECTORS; t += SHARED_THREADS) tile[t] = in[t];
    __syncthreads();
    uint32_t sum = 0;
#pragma unroll 16
    for (int i = 0; i < SHARED_ROUNDS; i++) {
        const uint4 u = tile[(threadIdx.x + 32 * i) % SHARED_VECTORS];
        sum += (u.x ^ u.y) + (u.z ^ u.w);
    }
    out[(int64_t)blockIdx.x * SHARED_THREADS + threadIdx.x] = sum;
}

void shared_sums(const void *context, dtype, int64_t first, int64_t count, void *out)
{
    const uint32_t *of_thread = (const uint32_t *)context;
    for (int64_t i = 0; i < count; i++) memcpy((char *)out + 4 * i, &of_thread[(first + i) % SHARED_THREADS], 4);
}

} // namespace

int ladder_ceiling_shared_prepare(ladder_case *c)
{
    int sms = 0;
    const int code = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, c->d->ordinal);
    c->type = DTYPE_F32; /* words of 4 bytes */
    c->size = (int64_t)sms * SHARED_BLOCKS_PER_SM * SHARED_THREADS;
    c->work = (double)c->size * SHARED_ROUNDS * sizeof(uint4);
    return code ? code : ladder_arrays_prepare(c, SHARED_VECTORS * 4, c->size);
}

int ladder_ceiling_shared_enqueue(ladder_case *c)
{
    const ladder_arrays *a = (const ladder_arrays *)c->state;
    shared_kernel<<<(unsigned)(c->size / SHARED_THREADS), SHARED_THREADS, 0, device_cuda_stream(c->stream)>>>((uint32_t *)a->out,
                                                                                                             (const uint4 *)a->in);
    return cudaGetLastError();
}

int ladder_ceiling_shared_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_arrays *a = (const ladder_arrays *)c->state;
    uint32_t word[SHARED_VECTORS * 4], of_thread[SHARED_THREADS] = { 0 };
    ladder_random(DTYPE_F32, word, 0, SHARED_VECTORS * 4, LADDER_SEED);
    for (int t = 0; t < SHARED_THREADS; t++)
        for (int i = 0; i < SHARED_ROUNDS; i++) {
            const uint32_t *u = word + (t + 32 * i) % SHARED_VECTORS * 4;
            of_thread[t] += (u[0] ^ u[1]) + (u[2] ^ u[3]);
        }
    return ladder_compare(c, a->out, c->size, shared_sums, of_thread, v);
}
