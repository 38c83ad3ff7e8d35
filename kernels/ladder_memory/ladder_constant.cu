/* constant: where are numbers kept that every thread reads? The lesson: docs/teaching/constant.md. */
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

/* ---- the line: three ways to hand over the same nine numbers ---- */

template <typename T> __constant__ T weights[POINTS];
template <typename T> struct bank {
    __device__ __forceinline__ T operator[](int k) const { return weights<T>[k]; }
};

template <typename T> struct immediate {
    __device__ __forceinline__ T operator[](int k) const { return (T)weight_of(k); }
};

/* Every way adds in the same order; what differs is where w[k] comes from. */
template <typename T, typename WEIGHTS>
__global__ void __launch_bounds__(THREADS) line(T *to, const T *from, WEIGHTS w, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    T sum = w[0] * from[i];
#pragma unroll
    for (int k = 1; k < POINTS; k++) sum = fma_of(w[k], from[i + k], sum);
    to[i] = sum;
}

enum { BANK, IMMEDIATE, POINTER }; /* a rung's variant: where weights are kept */

/* c->in: the line's cells, with those beyond its ends, and behind them the weights for a pointer. */
int64_t cells_of(const ladder_case *c) { return c->size + POINTS - 1; }

int line_prepare(ladder_case *c)
{
    double f64[POINTS], behind[POINTS];
    for (int k = 0; k < POINTS; k++) f64[k] = weight_of(k);
    for (int k = 0; k < POINTS; k++) cell_set(c->type, behind, k, weight_of(k));
    ladder_moves(c, c->value[N], 2);
    int code = ladder_open(c, cells_of(c) + POINTS, c->size);
    if (!code) code = ladder_upload(c, f64, weights<float>, weights<double>);
    if (code) return code;
    return ladder_fetch(c, (char *)c->in + ladder_bytes(c, cells_of(c)), behind, ladder_bytes(c, POINTS));
}

template <typename T> int line_launch(ladder_case *c)
{
    const unsigned blocks = ladder_blocks(c->size, THREADS);
    const T *const behind = (const T *)c->in + cells_of(c);
    switch (c->rung->variant) {
    case BANK: return ladder_words(c, blocks, THREADS, 0, line<T, bank<T>>, bank<T>(), c->size);
    case IMMEDIATE:
        return ladder_words(c, blocks, THREADS, 0, line<T, immediate<T>>, immediate<T>(), c->size);
    case POINTER: return ladder_words(c, blocks, THREADS, 0, line<T, const T *>, behind, c->size);
    }
    return cudaErrorInvalidValue;
}

int line_enqueue(ladder_case *c)
{
    return c->type == DTYPE_F32 ? line_launch<float>(c) : line_launch<double>(c);
}

/* The first term is a product: onto -0. */
double line_answer(const ladder_case *c, int64_t i)
{
    double sum = -0.0;
    for (int k = 0; k < POINTS; k++) sum = ladder_fma_of(c->type, weight_of(k), ladder_cell(i + k), sum);
    return sum;
}

/* ---- a table of 512 words in __constant__, read at an index that each thread computes ---- */

/* 2 KiB fit the smallest of the constant caches. Lanes are 68 bytes apart, so that about every second one
 * meets a line of its own. */
enum { TABLE_WORDS = 512, LOOKUPS = 512, SPREAD = 17, BLOCKS_PER_SM = 8 };

__constant__ uint32_t table_bank[TABLE_WORDS];

__host__ __device__ __forceinline__ uint32_t first_index(unsigned thread, unsigned addresses)
{
    return thread / 32 * 5 + thread % addresses * SPREAD;
}

__global__ void __launch_bounds__(THREADS) lookup(uint32_t *to, unsigned addresses)
{
    const uint32_t index = first_index(threadIdx.x, addresses);
    uint32_t sum = 0;
#pragma unroll 16
    for (int i = 0; i < LOOKUPS; i++) sum = sum * 3 + table_bank[(index + (uint32_t)i) % TABLE_WORDS];
    to[(int64_t)blockIdx.x * THREADS + threadIdx.x] = sum;
}

uint32_t word_of(uint32_t i) { return (uint32_t)cell_fmix64(i % TABLE_WORDS + 1); }

int table_prepare(ladder_case *c)
{
    uint32_t word[TABLE_WORDS];
    for (uint32_t i = 0; i < TABLE_WORDS; i++) word[i] = word_of(i);
    c->blocks = BLOCKS_PER_SM * ladder_sms(c);
    c->size = (int64_t)c->blocks * THREADS;
    c->work = (double)c->size * LOOKUPS;
    c->out_cells = c->size * (int64_t)sizeof(uint32_t) / (int64_t)dtype_bytes(c->type);
    int code = ladder_alloc_poisoned(c, ladder_bytes(c, c->out_cells), &c->out);
    if (!code)
        code = cudaMemcpyToSymbolAsync(table_bank, word, sizeof word, 0, cudaMemcpyHostToDevice,
                                       device_cuda_stream(c->stream));
    return code ? code : c->d->stream_sync(c->d, c->stream);
}

int table_enqueue(ladder_case *c)
{
    lookup<<<c->blocks, THREADS, 0, device_cuda_stream(c->stream)>>>((uint32_t *)c->out,
                                                                     (unsigned)c->value[ADDRESSES]);
    return cudaGetLastError();
}

int table_verify(ladder_case *c, ladder_verdict *v)
{
    uint32_t block[THREADS] = {}; /* all do the same */
    for (unsigned t = 0; t < THREADS; t++) {
        const uint32_t index = first_index(t, (unsigned)c->value[ADDRESSES]);
        for (uint32_t i = 0; i < LOOKUPS; i++) block[t] = block[t] * 3 + word_of(index + i);
    }
    return ladder_verify_blocks(c, block, sizeof block, v);
}

/* ---- the rungs ---- */

const int64_t address_counts[] = { 1, 2, 4, 8, 16, 32 }; /* uniform first, fully divergent last */

constexpr ladder_rung on_a_line(const char *name, const char *why, int variant)
{
    return { LADDER_ROW(name, why, line_prepare, line_enqueue, ladder_verify_cells, "copy"),
             .answer = line_answer, .variant = variant };
}

const ladder_rung rungs[] = {
    on_a_line("pointer", "weights loaded through a plain pointer", POINTER),
    on_a_line("bank", "weights as operands in __constant__", BANK),
    on_a_line("immediate", "weights in the instruction, by template", IMMEDIATE),
    { LADDER_ROW("tableBank", "constant cache: one address per turn", table_prepare, table_enqueue,
                 table_verify, nullptr),
      .unit = LADDER_CALLS, LADDER_SCAN(ADDRESSES, address_counts) },
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 26, 1, 1 << 27, "cells of the line" },
    { "addresses", 32, 1, 32, "different words that a warp asks for" },
};

} // namespace

const ladder_family ladder_constant_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "constant", "where to keep numbers that every thread reads", "f32", "f64", nullptr);
