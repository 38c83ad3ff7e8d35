/* The ceilings on the chip: how many multiply-adds its pipes do in a second, and how many bytes its shared memory gives. */
#include "ladder_memory/ladder_ceiling.h"

#include "ladder/ladder_chains.cuh"
#include "ladder/ladder_fma.cuh"
#include "ladder/ladder_kernel.cuh"

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

const double fma_factor = 0.9990234375, fma_summand = 0.0009765625; /* exact in both types */

/* The host's answer for one block. */
template <typename T> int fma_compare(ladder_case *c, ladder_verdict *v)
{
    T x[FMA_CELLS];
    ladder_random(c->type, x, 0, FMA_CELLS, LADDER_SEED);
    for (int k = 0; k < FMA_CELLS; k++)
        for (int i = 0; i < FMA_STEPS; i++) x[k] = ladder_fma(x[k], (T)fma_factor, (T)fma_summand);
    return ladder_compare_blocks(c, c->out, ladder_bytes(c, c->size), x, sizeof x, v);
}

} // namespace

int ladder_ceiling_fma_prepare(ladder_case *c)
{
    int blocks = 0;
    const int code = ladder_per_sm(c, FMA_BLOCKS_PER_SM, &blocks);
    c->size = (int64_t)blocks * FMA_CELLS;
    c->work = 2.0 * (double)c->size * FMA_STEPS;
    return code ? code : ladder_open(c, FMA_CELLS, c->size);
}

int ladder_ceiling_fma_enqueue(ladder_case *c)
{
    return ladder_kernel(c, (unsigned)(c->size / FMA_CELLS), FMA_THREADS, 0, fma_kernel<float>, fma_kernel<double>, fma_factor,
                         fma_summand);
}

int ladder_ceiling_fma_verify(ladder_case *c, ladder_verdict *v)
{
    return c->type == DTYPE_F32 ? fma_compare<float>(c, v) : fma_compare<double>(c, v);
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

} // namespace

int ladder_ceiling_shared_prepare(ladder_case *c)
{
    int blocks = 0;
    const int code = ladder_per_sm(c, SHARED_BLOCKS_PER_SM, &blocks);
    c->type = DTYPE_F32; /* words of 4 bytes */
    c->size = (int64_t)blocks * SHARED_THREADS;
    c->work = (double)c->size * SHARED_ROUNDS * sizeof(uint4);
    return code ? code : ladder_open(c, SHARED_VECTORS * 4, c->size);
}

int ladder_ceiling_shared_enqueue(ladder_case *c)
{
    shared_kernel<<<(unsigned)(c->size / SHARED_THREADS), SHARED_THREADS, 0, device_cuda_stream(c->stream)>>>((uint32_t *)c->out,
                                                                                                             (const uint4 *)c->in);
    return cudaGetLastError();
}

int ladder_ceiling_shared_verify(ladder_case *c, ladder_verdict *v)
{
    uint32_t word[SHARED_VECTORS * 4], of_thread[SHARED_THREADS] = { 0 };
    ladder_random(DTYPE_F32, word, 0, SHARED_VECTORS * 4, LADDER_SEED);
    for (int t = 0; t < SHARED_THREADS; t++)
        for (int i = 0; i < SHARED_ROUNDS; i++) {
            const uint32_t *u = word + (t + 32 * i) % SHARED_VECTORS * 4;
            of_thread[t] += (u[0] ^ u[1]) + (u[2] ^ u[3]);
        }
    return ladder_compare_blocks(c, c->out, ladder_bytes(c, c->size), of_thread, sizeof of_thread, v);
}
