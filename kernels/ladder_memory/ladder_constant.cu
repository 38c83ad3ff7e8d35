/* constant: where are numbers kept that every thread reads? The lesson: docs/teaching/constant.md. */
#include <assert.h>

#include "ladder/ladder_kernel.cuh"

namespace {

enum { N, ADDRESSES, PARAMETERS };
enum { POINTS = 9, THREADS = 256 };

/* u + (D2 u) / 4, of order 8. A function, so that device code may have it as immediates. */
__host__ __device__ constexpr double weight_of(int k)
{
    constexpr double half[POINTS / 2 + 1] = { -1.0 / 2240, 2.0 / 315, -1.0 / 20, 2.0 / 5, 1 - 205.0 / 288 };
    return half[k < POINTS / 2 ? k : POINTS - 1 - k];
}

/* ---- the line: five ways to hand over the same nine numbers ---- */

/* Every kernel adds in the same order; what differs is where w[k] and u[i] come from. */
template <typename T, typename WEIGHTS, typename CELLS_OF>
__device__ __forceinline__ T line_of(WEIGHTS &w, CELLS_OF u, int64_t i)
{
    T sum = w[0] * u[i];
#pragma unroll
    for (int k = 1; k < POINTS; k++) sum = ladder_fma(w[k], u[i + k], sum);
    return sum;
}

__constant__ float bank_f32[POINTS];
__constant__ double bank_f64[POINTS];
template <typename T> struct bank {
    __device__ __forceinline__ T operator[](int k) const
    {
        return sizeof(T) == sizeof(float) ? (T)bank_f32[k] : (T)bank_f64[k];
    }
};

template <typename T> struct immediate {
    __device__ __forceinline__ T operator[](int k) const { return (T)weight_of(k); }
};

template <typename T> struct by_texture {
    cudaTextureObject_t t;
    __device__ __forceinline__ T operator[](int64_t i) const
    {
        if (sizeof(T) == sizeof(float)) return (T)tex1Dfetch<float>(t, (int)i);
        const int2 u = tex1Dfetch<int2>(t, (int)i);
        return (T)__hiloint2double(u.y, u.x);
    }
};

template <typename T, typename CELLS_OF, typename WEIGHTS>
__global__ void __launch_bounds__(THREADS) line_plain(T *to, CELLS_OF from, WEIGHTS w, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) to[i] = line_of<T>(w, from, i);
}

template <typename T>
__global__ void __launch_bounds__(THREADS) line_shared(T *to, const T *from, const T *w, int64_t n)
{
    __shared__ T own[POINTS];
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (threadIdx.x < POINTS) own[threadIdx.x] = w[threadIdx.x];
    __syncthreads();
    if (i < n) to[i] = line_of<T>(own, from, i);
}

enum { BANK, IMMEDIATE, POINTER, SHARED, TEXTURE }; /* where numbers are kept */

typedef struct line {
    void *weight;
    cudaTextureObject_t texture;
} line;

template <typename T> int upload(ladder_case *c, void *weight, const void *symbol)
{
    static T all[POINTS];
    const cudaStream_t stream = device_cuda_stream(c->stream);
    for (int k = 0; k < POINTS; k++) all[k] = (T)weight_of(k);
    int code = cudaMemcpyToSymbolAsync(symbol, all, sizeof all, 0, cudaMemcpyHostToDevice, stream);
    return code ? code : cudaMemcpyAsync(weight, all, sizeof all, cudaMemcpyHostToDevice, stream);
}

int make_texture(ladder_case *c, int64_t cells)
{
    cudaResourceDesc what = {};
    cudaTextureDesc how = {};
    what.resType = cudaResourceTypeLinear;
    what.res.linear.devPtr = c->in;
    what.res.linear.sizeInBytes = ladder_bytes(c, cells);
    what.res.linear.desc =
        c->type == DTYPE_F32 ? cudaCreateChannelDesc<float>() : cudaCreateChannelDesc<int2>();
    how.readMode = cudaReadModeElementType;
    return cudaCreateTextureObject(&((line *)c->state)->texture, &what, &how, nullptr);
}

int line_prepare(ladder_case *c)
{
    line *s = (line *)ladder_state(c, sizeof *s);
    ladder_moves(c, c->value[N], 2);
    const int64_t cells = c->size + POINTS - 1;
    int code = ladder_open(c, cells, c->size);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, ladder_bytes(c, POINTS), &s->weight);
    if (!code)
        code = c->type == DTYPE_F32 ? upload<float>(c, s->weight, bank_f32)
                                    : upload<double>(c, s->weight, bank_f64);
    return code || c->rung->variant != TEXTURE ? code : make_texture(c, cells);
}

void line_destroy(ladder_case *c)
{
    const line *s = (const line *)c->state;
    if (s && s->texture) (void)cudaDestroyTextureObject(s->texture);
}

template <typename T> int line_launch(ladder_case *c)
{
    const line *s = (const line *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const unsigned blocks = ladder_blocks(c->size, THREADS);
    T *to = (T *)c->out;
    const T *from = (const T *)c->in, *w = (const T *)s->weight;
    switch (c->rung->variant) {
    case BANK: line_plain<<<blocks, THREADS, 0, stream>>>(to, from, bank<T>(), c->size); break;
    case IMMEDIATE: line_plain<<<blocks, THREADS, 0, stream>>>(to, from, immediate<T>(), c->size); break;
    case POINTER: line_plain<<<blocks, THREADS, 0, stream>>>(to, from, w, c->size); break;
    case SHARED: line_shared<T><<<blocks, THREADS, 0, stream>>>(to, from, w, c->size); break;
    case TEXTURE:
        line_plain<<<blocks, THREADS, 0, stream>>>(to, by_texture<T>{ s->texture }, bank<T>(), c->size);
        break;
    default: assert(!"a variant without a kernel"); return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

int line_enqueue(ladder_case *c)
{
    return c->type == DTYPE_F32 ? line_launch<float>(c) : line_launch<double>(c);
}

/* The host's line, from a window of nine random cells that moves on by one. */
template <typename T> void line_answer_of(int64_t first, int64_t count, T *out)
{
    T u[POINTS];
    for (int k = 1; k < POINTS; k++) u[k] = (T)cell_random(LADDER_SEED, (uint64_t)(first + k - 1));
    for (int64_t i = 0; i < count; i++) {
        for (int k = 1; k < POINTS; k++) u[k - 1] = u[k];
        u[POINTS - 1] = (T)cell_random(LADDER_SEED, (uint64_t)(first + i + POINTS - 1));
        T sum = (T)weight_of(0) * u[0];
        for (int k = 1; k < POINTS; k++) sum = ladder_fma((T)weight_of(k), u[k], sum);
        out[i] = sum;
    }
}

void line_answer(const void *, dtype t, int64_t first, int64_t count, void *out)
{
    if (t == DTYPE_F32) line_answer_of(first, count, (float *)out);
    else line_answer_of(first, count, (double *)out);
}

/* ---- a table of 512 words, read at an index that each thread computes ---- */

enum { TABLE_WORDS = 512, LOOKUPS = 512, SPREAD = 17, BLOCKS_PER_SM = 8 };
/* Odd, so that 32 lanes land in 32 different banks of shared memory; 68 bytes, so that about every second
 * lane meets a line of its own. The table is 2 KiB: it fits the smallest of the constant caches. */

__constant__ uint32_t table_bank[TABLE_WORDS];

__host__ __device__ __forceinline__ uint32_t first_index(unsigned thread, unsigned addresses)
{
    return thread / 32 * 5 + thread % addresses * SPREAD;
}

template <int WHERE>
__global__ void __launch_bounds__(THREADS)
    lookup(uint32_t *to, const uint32_t *__restrict__ table, unsigned addresses)
{
    __shared__ uint32_t own[TABLE_WORDS];
    if (WHERE == SHARED) {
        for (unsigned i = threadIdx.x; i < TABLE_WORDS; i += THREADS) own[i] = table[i];
        __syncthreads();
    }
    const uint32_t *read = WHERE == SHARED ? own : WHERE == BANK ? table_bank : table;
    uint32_t index = first_index(threadIdx.x, addresses), sum = 0;
#pragma unroll 16
    for (int i = 0; i < LOOKUPS; i++) sum = sum * 3 + read[(index + (uint32_t)i) % TABLE_WORDS];
    to[(int64_t)blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* A case's state is the table on the host; c->in holds it on the device. */
uint32_t *words_of(const ladder_case *c) { return (uint32_t *)c->state; }

int table_prepare(ladder_case *c)
{
    const size_t bytes = TABLE_WORDS * sizeof(uint32_t);
    uint32_t *word = (uint32_t *)ladder_state(c, bytes);
    for (unsigned i = 0; i < TABLE_WORDS; i++) word[i] = (uint32_t)cell_fmix64(i + 1);
    int code = ladder_open_blocks(c, BLOCKS_PER_SM, bytes, THREADS * sizeof(uint32_t), THREADS);
    c->work *= LOOKUPS;
    if (!code) code = c->d->copy(c->d, c->in, word, bytes, c->stream);
    return code ? code
                : cudaMemcpyToSymbolAsync(table_bank, word, bytes, 0, cudaMemcpyHostToDevice,
                                          device_cuda_stream(c->stream));
}

template <int WHERE> int table_enqueue(ladder_case *c)
{
    return ladder_words(c, c->blocks, THREADS, 0, lookup<WHERE>, (unsigned)c->value[ADDRESSES]);
}

int table_verify(ladder_case *c, ladder_verdict *v)
{
    uint32_t block[THREADS] = {}; /* all do the same */
    for (unsigned t = 0; t < THREADS; t++) {
        const uint32_t index = first_index(t, (unsigned)c->value[ADDRESSES]);
        for (uint32_t i = 0; i < LOOKUPS; i++)
            block[t] = block[t] * 3 + words_of(c)[(index + i) % TABLE_WORDS];
    }
    return ladder_verify_blocks(c, block, v);
}

/* ---- the rungs ---- */

constexpr ladder_rung stencil_rung(const char *name, const char *why, int variant)
{
    ladder_rung r =
        ladder_row(name, why, { line_prepare, line_enqueue, ladder_by_answer<line_answer> }, variant);
    r.destroy = line_destroy;
    return r;
}

const int64_t address_counts[] = { 1, 2, 4, 8, 16, 32 }; /* uniform first, fully divergent last */

template <int WHERE> constexpr ladder_rung table_rung(const char *name, const char *why)
{
    const ladder_rung r = ladder_row(name, why, { table_prepare, table_enqueue<WHERE>, table_verify }, 0, 0,
                                     nullptr, LADDER_CALLS);
    return ladder_scanned(ADDRESSES, address_counts, r);
}

const ladder_rung rungs[] = {
    stencil_rung("pointer", "weights loaded through a plain pointer", POINTER),
    stencil_rung("shared", "weights broadcast from shared memory", SHARED),
    stencil_rung("bank", "weights as operands in __constant__", BANK),
    stencil_rung("immediate", "weights in the instruction, by template", IMMEDIATE),
    stencil_rung("texture", "data fetched through a texture object", TEXTURE),
    table_rung<BANK>("tableBank", "constant cache: one address per turn"),
    table_rung<POINTER>("tableLdg", "the same lookups through L1"),
    table_rung<SHARED>("tableShared", "the same from banks of shared memory"),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 26, 1, 1 << 27, "cells of the line" },
    { "addresses", 32, 1, 32, "different words that a warp asks for" },
};

} // namespace

const ladder_family ladder_constant_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "constant", "where to keep numbers that every thread reads", "f32", "f64", nullptr);
