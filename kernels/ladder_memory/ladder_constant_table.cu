/* Rungs of family constant: a table of 512 words, read at an index that each thread computes. */
#include <assert.h>
#include <stdlib.h>

#include "core/cell.h"
#include "device/device_cuda.h"
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

typedef struct lookups {
    void *table, *to;
    int blocks;
    uint32_t word[TABLE_WORDS];
    uint32_t answer[THREADS]; /* of one block; all do the same */
} lookups;

} // namespace

int ladder_constant_table_prepare(ladder_case *c)
{
    device *d = c->d;
    lookups *s = (lookups *)calloc(1, sizeof *s);
    int sms = 0;
    if (!s) abort();
    c->state = s;
    for (unsigned i = 0; i < TABLE_WORDS; i++) s->word[i] = (uint32_t)cell_fmix64(i + 1);
    int code = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->ordinal);
    s->blocks = sms * BLOCKS_PER_SM;
    c->size = (int64_t)s->blocks * THREADS;
    c->work = (double)c->size * LOOKUPS;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, sizeof s->word, &s->table);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, (size_t)c->size * sizeof(uint32_t), &s->to);
    if (!code) code = d->copy(d, s->table, s->word, sizeof s->word, c->stream);
    if (!code) code = cudaMemcpyToSymbolAsync(table_bank, s->word, sizeof s->word, 0, cudaMemcpyHostToDevice, stream);
    return code ? code : ladder_poison(c, s->to, (size_t)c->size * sizeof(uint32_t));
}

void ladder_constant_table_destroy(ladder_case *c)
{
    lookups *s = (lookups *)c->state;
    if (!s) return;
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->table);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->to);
    free(s);
    c->state = nullptr;
}

int ladder_constant_table_enqueue(ladder_case *c)
{
    const lookups *s = (const lookups *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const unsigned addresses = (unsigned)c->value[LADDER_CONSTANT_ADDRESSES];
    uint32_t *to = (uint32_t *)s->to;
    const uint32_t *table = (const uint32_t *)s->table;
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
    lookups *s = (lookups *)c->state;
    const size_t bytes = (size_t)c->size * sizeof(uint32_t);
    uint32_t *found = (uint32_t *)malloc(bytes);
    if (!found) abort();
    for (unsigned t = 0; t < THREADS; t++) {
        const uint32_t index = first_index(t, (unsigned)c->value[LADDER_CONSTANT_ADDRESSES]);
        s->answer[t] = 0;
        for (uint32_t i = 0; i < LOOKUPS; i++) s->answer[t] = s->answer[t] * 3 + s->word[(index + i) % TABLE_WORDS];
    }
    int code = c->d->copy(c->d, found, s->to, bytes, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    ladder_right(v);
    for (int64_t i = 0; !code && v->right && i < c->size; i++)
        if (found[i] != s->answer[i % THREADS])
            ladder_wrong(v, "thread %lld has %08x, not %08x", (long long)i, found[i], s->answer[i % THREADS]);
    free(found);
    return code;
}
