/* Rungs of family constant: a table of 512 words, read at an index that each thread computes. */
#include <assert.h>

#include "core/cell.h"
#include "ladder/ladder_kernel.cuh"
#include "ladder_memory/ladder_constant.h"

namespace {

enum { THREADS = 256, TABLE_WORDS = 512, LOOKUPS = 512, SPREAD = 17, BLOCKS_PER_SM = 8 };
/* Odd, so that 32 lanes land in 32 different banks of shared memory; 68 bytes, so that about every second lane meets a line
 * of its own. The table is 2 KiB: it fits the smallest of the constant caches. */

__constant__ uint32_t table_bank[TABLE_WORDS];

__host__ __device__ __forceinline__ uint32_t first_index(unsigned thread, unsigned addresses)
{
    return thread / 32 * 5 + thread % addresses * SPREAD;
}

template <int WHERE>
__global__ void __launch_bounds__(THREADS) lookup(uint32_t *to, const uint32_t *__restrict__ table, unsigned addresses)
{
    __shared__ uint32_t own[TABLE_WORDS];
    if (WHERE == LADDER_CONSTANT_SHARED) {
        for (unsigned i = threadIdx.x; i < TABLE_WORDS; i += THREADS) own[i] = table[i];
        __syncthreads();
    }
    const uint32_t *read = WHERE == LADDER_CONSTANT_SHARED ? own : WHERE == LADDER_CONSTANT_BANK ? table_bank : table;
    uint32_t index = first_index(threadIdx.x, addresses), sum = 0;
#pragma unroll 16
    for (int i = 0; i < LOOKUPS; i++) sum = sum * 3 + read[(index + (uint32_t)i) % TABLE_WORDS];
    to[(int64_t)blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* The table on the host: `in` holds it on the device. */
typedef struct lookups {
    uint32_t word[TABLE_WORDS];
    int blocks;
} lookups;

} // namespace

int ladder_constant_table_prepare(ladder_case *c)
{
    lookups *s = (lookups *)ladder_state(c, sizeof *s);
    for (unsigned i = 0; i < TABLE_WORDS; i++) s->word[i] = (uint32_t)cell_fmix64(i + 1);
    int code = ladder_per_sm(c, BLOCKS_PER_SM, &s->blocks);
    c->size = (int64_t)s->blocks * THREADS;
    c->work = (double)c->size * LOOKUPS;
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, sizeof s->word, &c->in);
    if (!code) code = c->d->copy(c->d, c->in, s->word, sizeof s->word, c->stream);
    if (!code) code = cudaMemcpyToSymbolAsync(table_bank, s->word, sizeof s->word, 0, cudaMemcpyHostToDevice,
                                              device_cuda_stream(c->stream));
    return code ? code : ladder_alloc_poisoned(c, (size_t)c->size * sizeof(uint32_t), &c->out);
}

int ladder_constant_table_enqueue(ladder_case *c)
{
    const lookups *s = (const lookups *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const unsigned addresses = (unsigned)c->value[LADDER_CONSTANT_ADDRESSES];
    uint32_t *to = (uint32_t *)c->out;
    const uint32_t *table = (const uint32_t *)c->in;
    switch (c->rung->variant) {
    case LADDER_CONSTANT_BANK: lookup<LADDER_CONSTANT_BANK><<<s->blocks, THREADS, 0, stream>>>(to, table, addresses); break;
    case LADDER_CONSTANT_SHARED: lookup<LADDER_CONSTANT_SHARED><<<s->blocks, THREADS, 0, stream>>>(to, table, addresses); break;
    case LADDER_CONSTANT_LDG: lookup<LADDER_CONSTANT_LDG><<<s->blocks, THREADS, 0, stream>>>(to, table, addresses); break;
    default: assert(!"a variant without a kernel"); return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

int ladder_constant_table_verify(ladder_case *c, ladder_verdict *v)
{
    const lookups *s = (const lookups *)c->state;
    uint32_t block[THREADS] = {}; /* all do the same */
    for (unsigned t = 0; t < THREADS; t++) {
        const uint32_t index = first_index(t, (unsigned)c->value[LADDER_CONSTANT_ADDRESSES]);
        for (uint32_t i = 0; i < LOOKUPS; i++) block[t] = block[t] * 3 + s->word[(index + i) % TABLE_WORDS];
    }
    return ladder_compare_blocks(c, c->out, (size_t)c->size * sizeof(uint32_t), block, sizeof block, v);
}
