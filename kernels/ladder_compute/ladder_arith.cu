/* arith: what can an SM do in a cycle when memory is out of the way, and what gets in its way?
 * The lesson: docs/teaching/arith.md. Every block computes the same from the same data: the host computes one
 * block's answer, and all blocks together fill the GPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_kernel.cuh"

namespace {

enum { GRANULARITY, SLOTS, BLOCKS, PARAMETERS };
enum { SLOTS_MOST = 1 << 20, THREADS = 256 };

/* ---- chains of multiply-adds in registers: x = x * factor + summand, again and again. The host does the
 * same operations in the same order: all of them are exact to the bit ---- */

enum { SEED = 21, CHAINS = 8, CHAIN_STEPS = 2048, CHAIN_BLOCKS_PER_SM = 8, CHAIN_CELLS = THREADS * CHAINS };
const double factor_even = 0.9990234375, summand_even = 0.0009765625; /* exact in both types */
const double factor_odd = 0.998046875, summand_odd = -0.001953125;

/* One step, the same on the device and on the host. */
template <typename T> struct step_fused { /* FFMA, DFMA */
    typedef T cell;
    static __host__ __device__ __forceinline__ T of(T x, T f, T s) { return ladder_fma(x, f, s); }
};

struct step_literal { /* F2F, DFMA, F2F */
    typedef float cell;
    static __host__ __device__ __forceinline__ float of(float x, float f, float s)
    {
        return (float)ladder_fma((double)x, (double)f, (double)s);
    }
};

struct step_separate {
    typedef float cell;
    static __host__ __device__ __forceinline__ float of(float x, float f, float s)
    {
#ifdef __CUDA_ARCH__
        return __fadd_rn(__fmul_rn(x, f), s); /* never contracted, whatever the flags */
#else
        return x * f + s; /* the host compiler is told not to contract */
#endif
    }
};

template <typename STEP, typename T = typename STEP::cell>
__global__ void __launch_bounds__(THREADS) chains(T *out, const T *in, T factor, T summand)
{
    ladder_chains<T, CHAINS, THREADS> cells;
    cells.load(in);
    cells.template run<CHAIN_STEPS>([=](T x) { return STEP::of(x, factor, summand); });
    cells.store(out);
}

int chains_open(ladder_case *c, dtype t, int cells, int steps)
{
    ladder_case own = *c; /* the rung's type, whatever was asked for */
    own.type = t;
    const size_t bytes = (size_t)cells * dtype_bytes(t);
    const int code = ladder_open_blocks(c, CHAIN_BLOCKS_PER_SM, bytes, bytes, cells);
    c->work *= 2.0 * steps;
    return code ? code : ladder_fill_random(&own, c->in, cells, SEED);
}

template <typename T> constexpr dtype type_of = sizeof(T) == sizeof(float) ? DTYPE_F32 : DTYPE_F64;

template <typename T> int chains_prepare(ladder_case *c)
{
    return chains_open(c, type_of<T>, CHAIN_CELLS, CHAIN_STEPS);
}

template <typename STEP, typename T = typename STEP::cell> int chains_enqueue(ladder_case *c)
{
    return ladder_words(c, (unsigned)c->blocks, THREADS, 0, chains<STEP>, (T)factor_even, (T)summand_even);
}

template <typename STEP, typename T = typename STEP::cell>
int chains_verify(ladder_case *c, ladder_verdict *v)
{
    T x[CHAIN_CELLS];
    ladder_random(type_of<T>, x, 0, CHAIN_CELLS, SEED);
    for (int k = 0; k < CHAIN_CELLS; k++)
        for (int i = 0; i < CHAIN_STEPS; i++) x[k] = STEP::of(x[k], (T)factor_even, (T)summand_even);
    return ladder_verify_blocks(c, x, v);
}

template <typename STEP>
constexpr ladder_way chained = { chains_prepare<typename STEP::cell>, chains_enqueue<STEP>,
                                 chains_verify<STEP> };

/* ---- threads of a warp that part, and operands that do ---- */

__host__ __device__ __forceinline__ bool is_odd(unsigned thread, unsigned granularity)
{
    return thread / granularity % 2 != 0;
}

__device__ __forceinline__ auto step_of(float2 line)
{
    return [=](float x) { return __fmaf_rn(x, line.x, line.y); };
}

__global__ void __launch_bounds__(THREADS)
    branch(float *out, const float *in, unsigned granularity, float2 even, float2 odd)
{
    ladder_chains<float, CHAINS, THREADS> cells;
    cells.load(in);
    if (is_odd(threadIdx.x, granularity)) cells.run<CHAIN_STEPS>(step_of(odd));
    else cells.run<CHAIN_STEPS>(step_of(even));
    cells.store(out);
}

__global__ void __launch_bounds__(THREADS)
    select(float *out, const float *in, unsigned granularity, float2 even, float2 odd)
{
    ladder_chains<float, CHAINS, THREADS> cells;
    cells.load(in);
    cells.run<CHAIN_STEPS>(step_of(is_odd(threadIdx.x, granularity) ? odd : even));
    cells.store(out);
}

template <void (*KERNEL)(float *, const float *, unsigned, float2, float2)> int branch_enqueue(ladder_case *c)
{
    const float2 even = make_float2((float)factor_even, (float)summand_even),
                 odd = make_float2((float)factor_odd, (float)summand_odd);
    return ladder_words(c, (unsigned)c->blocks, THREADS, 0, KERNEL, (unsigned)c->value[GRANULARITY], even,
                        odd);
}

int branch_verify(ladder_case *c, ladder_verdict *v)
{
    float x[CHAIN_CELLS];
    ladder_random(DTYPE_F32, x, 0, CHAIN_CELLS, SEED);
    for (int k = 0; k < CHAIN_CELLS; k++) {
        const bool odd = is_odd((unsigned)k % THREADS, (unsigned)c->value[GRANULARITY]);
        const float f = (float)(odd ? factor_odd : factor_even),
                    s = (float)(odd ? summand_odd : summand_even);
        for (int i = 0; i < CHAIN_STEPS; i++) x[k] = fmaf(x[k], f, s);
    }
    return ladder_verify_blocks(c, x, v);
}

template <void (*KERNEL)(float *, const float *, unsigned, float2, float2)>
constexpr ladder_way branched = { chains_prepare<float>, branch_enqueue<KERNEL>, branch_verify };

/* ---- registers that do not suffice ---- */

enum { LIVE = 96, SPILL_STEPS = 512, SPILL_CELLS = THREADS * LIVE };

template <int PER_SM>
__global__ void __launch_bounds__(THREADS, PER_SM) spill(float *out, const float *in, float factor)
{
    ladder_chains<float, LIVE, THREADS> cells;
    float *const x = cells.x;
    cells.load(in);
#pragma unroll 1
    for (int i = 0; i < SPILL_STEPS; i++)
#pragma unroll
        for (int k = 0; k < LIVE; k++) x[k] = __fmaf_rn(x[k], factor, x[(k + 1) % LIVE]);
    cells.store(out);
}

const float spill_factor = -0.015625f; /* small: nothing overflows in 512 steps */

typedef void (*spill_kernel)(float *, const float *, float);

/* The bound is known when compiled: the next one above what was asked for. */
spill_kernel spill_for(int64_t blocks_per_sm)
{
    if (blocks_per_sm <= 1) return spill<1>;
    if (blocks_per_sm <= 2) return spill<2>;
    if (blocks_per_sm <= 4) return spill<4>;
    return spill<6>;
}

int spill_prepare(ladder_case *c)
{
    cudaFuncAttributes is = {};
    const int code = chains_open(c, DTYPE_F32, SPILL_CELLS, SPILL_STEPS);
    const cudaError_t e = cudaFuncGetAttributes(&is, (const void *)spill_for(c->value[BLOCKS]));
    c->predicted[0] = { "bytes spilled per thread", (double)is.localSizeBytes };
    return code ? code : e;
}

int spill_enqueue(ladder_case *c)
{
    return ladder_words(c, (unsigned)c->blocks, THREADS, 0, spill_for(c->value[BLOCKS]), spill_factor);
}

int spill_verify(ladder_case *c, ladder_verdict *v)
{
    float x[SPILL_CELLS];
    ladder_random(DTYPE_F32, x, 0, SPILL_CELLS, SEED);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < SPILL_STEPS; i++)
            for (int k = 0; k < LIVE; k++)
                x[k * THREADS + t] = fmaf(x[k * THREADS + t], spill_factor, x[(k + 1) % LIVE * THREADS + t]);
    return ladder_verify_blocks(c, x, v);
}

constexpr ladder_way spilled = { spill_prepare, spill_enqueue, spill_verify };

/* ---- functions: the library's against the intrinsics. Each thread walks eight arguments through the
 * function's interval and keeps the xor of the results' bits, which costs an instruction and needs every bit.
 * A second kernel of the same source stores one block's results: each is held against the host's double, and
 * their xor against what the first kernel left. Bounds: CUDA C++ Programming Guide, "Mathematical Functions",
 * in ulp from the correctly rounded result ---- */

enum { ARGUMENTS = 8, ARGUMENT_STEPS = 256, FUNCTION_BLOCKS_PER_SM = 8 };
enum { FUNCTION_CELLS = THREADS * ARGUMENTS, RESULTS = FUNCTION_CELLS * ARGUMENT_STEPS };
enum { SIN, SIN_FAST, EXP, EXP_FAST, LOG, LOG_FAST, DIVIDE, DIVIDE_FAST, SQRT_DIVIDE, RSQRT, FUNCTIONS };

typedef struct function {
    float from, to; /* the interval */
    double (*exact)(double);
    double most_ulp;      /* from the rounded exact value; right is what is within this ... */
    double most_ulp_of_x; /* ... plus this times abs x, rounded down ... */
    double most_absolute; /* ... or within this of the exact value */
} function;

const double numerator = 1.7; /* of the divisions; rounded to float first */

double exact_divide(double x) { return (double)(float)numerator / x; }
double exact_rsqrt(double x) { return 1 / sqrt(x); }

const double absolute_bound = 3.6e-7; /* 2^-21.41 */

const function functions[FUNCTIONS] = {
    { -3.14159f, 3.14159f, sin, 2, 0, 0 },
    { -3.14159f, 3.14159f, sin, 0, 0, absolute_bound },
    { -8, 8, exp, 2, 0, 0 },
    { -8, 8, exp, 2, 1.173, 0 },
    { 0.5f, 2, log, 1, 0, 0 },
    { 0.5f, 2, log, 0, 0, absolute_bound },
    { 0.01f, 100, exact_divide, 0, 0, 0 },
    { 0.01f, 100, exact_divide, 2, 0, 0 },
    { 0.01f, 100, exact_rsqrt, 2, 0, 0 },
    { 0.01f, 100, exact_rsqrt, 2, 0, 0 },
};

template <int F> __device__ __forceinline__ float apply(float x, float a)
{
    switch (F) {
    case SIN: return sinf(x);
    case SIN_FAST: return __sinf(x);
    case EXP: return expf(x);
    case EXP_FAST: return __expf(x);
    case LOG: return logf(x);
    case LOG_FAST: return __logf(x);
    case DIVIDE: return a / x;
    case DIVIDE_FAST: return __fdividef(a, x);
    case SQRT_DIVIDE: return 1.0f / sqrtf(x);
    case RSQRT: return rsqrtf(x);
    }
    return x;
}

/* The same sums on both sides: argument number `cell` of a block before its first step, and the length of a
 * step. */
__host__ __device__ __forceinline__ float first_argument(int cell, float from, float to)
{
    return from + (to - from) / FUNCTION_CELLS * (float)cell;
}
__host__ __device__ __forceinline__ float step_length(float from, float to)
{
    return (to - from) / FUNCTION_CELLS / ARGUMENT_STEPS;
}

template <int F, bool KEEP>
__global__ void __launch_bounds__(THREADS)
    evaluate(uint32_t *out, float *results, float from, float to, float a)
{
    const float step = step_length(from, to);
    float x[ARGUMENTS];
    uint32_t all = 0;
#pragma unroll
    for (int k = 0; k < ARGUMENTS; k++) x[k] = first_argument(k * THREADS + (int)threadIdx.x, from, to);
#pragma unroll 2
    for (int i = 0; i < ARGUMENT_STEPS; i++)
#pragma unroll
        for (int k = 0; k < ARGUMENTS; k++) {
            const float y = apply<F>(x[k], a);
            if (KEEP) results[(i * ARGUMENTS + k) * THREADS + (int)threadIdx.x] = y;
            else all ^= __float_as_uint(y);
            x[k] += step;
        }
    if (!KEEP) out[(int64_t)blockIdx.x * THREADS + threadIdx.x] = all;
}

template <int F, bool KEEP> int launch(ladder_case *c, float *results)
{
    evaluate<F, KEEP><<<KEEP ? 1 : c->blocks, THREADS, 0, device_cuda_stream(c->stream)>>>(
        (uint32_t *)c->out, results, functions[F].from, functions[F].to, (float)numerator);
    return cudaGetLastError();
}

/* The distance between floats at the size of y. */
double ulp_of(double y)
{
    int exponent;
    (void)frexp(y, &exponent); /* abs y in [2^(exponent-1), 2^exponent) */
    return ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

/* One block's results, in the order in which the kernel stores them; *worst becomes the largest error in ulp.
 * */
void judge(const function *f, const float *result, double *worst, uint32_t *all, ladder_verdict *v)
{
    const float step = step_length(f->from, f->to);
    memset(all, 0, THREADS * sizeof *all);
    *worst = 0;
    for (int cell = 0; cell < FUNCTION_CELLS && v->right; cell++) {
        /* rounded after each step, as on the device */
        volatile float x = first_argument(cell, f->from, f->to);
        for (int i = 0; i < ARGUMENT_STEPS && v->right; i++) {
            const float y = result[(int64_t)i * FUNCTION_CELLS + cell];
            const double exact = f->exact((double)x), error = fabs((double)y - exact), ulp = ulp_of(exact);
            const double most_ulp = f->most_ulp + floor(f->most_ulp_of_x * fabs((double)x));
            const bool kept =
                fabs((double)y - (double)(float)exact) <= most_ulp * ulp || error <= f->most_absolute;
            uint32_t bits;
            memcpy(&bits, &y, sizeof bits);
            all[cell % THREADS] ^= bits;
            if (!kept)
                ladder_wrong(v, "at %.9g it is %.9g, %.3g ulp off, more than promised", (double)x, (double)y,
                             error / ulp);
            if (error / ulp > *worst) *worst = error / ulp;
            x = x + step;
        }
    }
}

int functions_prepare(ladder_case *c)
{
    return ladder_open_blocks(c, FUNCTION_BLOCKS_PER_SM, RESULTS * sizeof(float), THREADS * sizeof(uint32_t),
                              RESULTS);
}

template <int F> int functions_enqueue(ladder_case *c) { return launch<F, false>(c, nullptr); }

template <int F> int functions_verify(ladder_case *c, ladder_verdict *v)
{
    uint32_t all[THREADS];
    float *result = (float *)malloc(RESULTS * sizeof *result);
    if (!result) abort();
    int code = launch<F, true>(c, (float *)c->in);
    if (!code) code = ladder_fetch(c, result, c->in, RESULTS * sizeof *result);
    ladder_right(v);
    if (!code) judge(&functions[F], result, &c->predicted[0].value, all, v);
    c->predicted[0].what = "ulp at most, measured";
    free(result);
    return code || !v->right ? code : ladder_verify_blocks(c, all, v);
}

template <int F>
constexpr ladder_way evaluated = { functions_prepare, functions_enqueue<F>, functions_verify<F> };

/* ---- the sum of a warp: shared memory, shuffles, one instruction ---- */

enum { SUM_SHARED, SUM_SHUFFLE, SUM_REDUX };
enum { WARPS = THREADS / 32, LANES = 32, STEPS = 1024, SUM_BLOCKS_PER_SM = 8 };
const unsigned everyone = 0xffffffffu;

__host__ __device__ __forceinline__ uint32_t start_of(unsigned thread)
{
    return thread * 2654435761u + 12345u;
}

/* `own` is this warp's. */
__device__ __forceinline__ uint32_t sum_by_shared(uint32_t x, volatile uint32_t *own)
{
    const unsigned lane = threadIdx.x % LANES;
    own[lane] = x;
    __syncwarp();
#pragma unroll
    for (unsigned half = LANES / 2; half > 0; half /= 2) {
        if (lane < half) own[lane] += own[lane + half];
        __syncwarp();
    }
    const uint32_t sum = own[0];
    __syncwarp();
    return sum;
}

__device__ __forceinline__ uint32_t sum_by_shuffle(uint32_t x)
{
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(everyone, x, distance);
    return x;
}

template <int HOW> __global__ void __launch_bounds__(THREADS) sums(uint32_t *out, const uint32_t *)
{
    __shared__ uint32_t all[WARPS][LANES];
    uint32_t x = start_of(threadIdx.x);
#pragma unroll 8
    for (int i = 0; i < STEPS; i++) {
        uint32_t sum = 0;
        if (HOW == SUM_SHARED) sum = sum_by_shared(x, all[threadIdx.x / LANES]);
        if (HOW == SUM_SHUFFLE) sum = sum_by_shuffle(x);
        if (HOW == SUM_REDUX) sum = __reduce_add_sync(everyone, x);
        x = x * 3 + sum; /* the next sum needs this one: none can be left out */
    }
    out[(int64_t)blockIdx.x * THREADS + threadIdx.x] = x;
}

int sums_prepare(ladder_case *c)
{
    return ladder_open_blocks(c, SUM_BLOCKS_PER_SM, 0, THREADS * sizeof(uint32_t), WARPS * STEPS);
}

template <int HOW> int sums_enqueue(ladder_case *c)
{
    return ladder_words(c, (unsigned)c->blocks, THREADS, 0, sums<HOW>);
}

int sums_verify(ladder_case *c, ladder_verdict *v)
{
    uint32_t x[THREADS];
    for (unsigned t = 0; t < THREADS; t++) x[t] = start_of(t);
    for (int w = 0; w < WARPS; w++)
        for (int i = 0; i < STEPS; i++) {
            uint32_t sum = 0;
            for (int l = 0; l < LANES; l++) sum += x[w * LANES + l];
            for (int l = 0; l < LANES; l++) x[w * LANES + l] = x[w * LANES + l] * 3 + sum;
        }
    return ladder_verify_blocks(c, x, v);
}

template <int HOW> constexpr ladder_way warp_sums = { sums_prepare, sums_enqueue<HOW>, sums_verify };

/* ---- atomic additions to the same few words: by thread, by warp, by block ---- */

enum { IN_MEMORY, IN_SHARED }; /* a rung's variant: where a block collects them */
enum { PER_THREAD = 16, ATOMIC_BLOCKS_PER_SM = 32, SHARED_SLOTS_MOST = 4096 };

__host__ __device__ __forceinline__ uint32_t number_of(uint32_t i) { return (i * 2654435761u >> 28) + 1; }

/* Number i of a block goes to the word that its place in the grid says, mod the number of words, which is a
 * power of two: a division would cost more than the addition. */
__host__ __device__ __forceinline__ uint32_t slot_of(uint32_t block, uint32_t i, uint32_t mask)
{
    return (block * (THREADS * PER_THREAD) + i) & mask;
}

__global__ void __launch_bounds__(THREADS) atomic_each(uint32_t *out, uint32_t mask)
{
    for (uint32_t i = threadIdx.x; i < THREADS * PER_THREAD; i += THREADS)
        atomicAdd(out + slot_of(blockIdx.x, i, mask), number_of(i));
}

__global__ void __launch_bounds__(THREADS) atomic_aggregated(uint32_t *out, uint32_t mask)
{
    for (uint32_t i = threadIdx.x; i < THREADS * PER_THREAD; i += THREADS) {
        const uint32_t slot = slot_of(blockIdx.x, i, mask);
        const unsigned peers = mask == 0 ? everyone : __match_any_sync(everyone, slot);
        const uint32_t sum = __reduce_add_sync(peers, number_of(i));
        if (threadIdx.x % LANES == (unsigned)__ffs((int)peers) - 1) atomicAdd(out + slot, sum);
    }
}

__global__ void __launch_bounds__(THREADS) atomic_shared(uint32_t *out, uint32_t mask)
{
    extern __shared__ uint32_t own[];
    for (uint32_t j = threadIdx.x; j <= mask; j += THREADS) own[j] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < THREADS * PER_THREAD; i += THREADS)
        atomicAdd(own + slot_of(blockIdx.x, i, mask), number_of(i));
    __syncthreads();
    for (uint32_t j = threadIdx.x; j <= mask; j += THREADS)
        if (own[j] != 0) atomicAdd(out + j, own[j]);
}

/* c->in holds the out_cells words that all blocks add to, from 0 on. */
size_t slot_bytes(const ladder_case *c) { return (size_t)c->out_cells * sizeof(uint32_t); }

int atomics_prepare(ladder_case *c)
{
    const int64_t most = c->rung->variant == IN_SHARED ? (int)SHARED_SLOTS_MOST : (int)SLOTS_MOST;
    c->out_cells = 1;
    while (2 * c->out_cells <= c->value[SLOTS] && 2 * c->out_cells <= most) c->out_cells *= 2;
    const int code = ladder_open_blocks(c, ATOMIC_BLOCKS_PER_SM, slot_bytes(c), 0, THREADS * PER_THREAD);
    return code ? code : c->d->fill_bytes(c->d, c->in, 0, slot_bytes(c), c->stream);
}

template <void (*KERNEL)(uint32_t *, uint32_t)> int atomics_enqueue(ladder_case *c)
{
    const size_t own_bytes = c->rung->variant == IN_SHARED ? slot_bytes(c) : 0;
    KERNEL<<<c->blocks, THREADS, own_bytes, device_cuda_stream(c->stream)>>>((uint32_t *)c->in,
                                                                             (uint32_t)c->out_cells - 1);
    return cudaGetLastError();
}

int atomics_verify(ladder_case *c, ladder_verdict *v)
{
    const uint32_t slots = (uint32_t)c->out_cells;
    uint32_t *wanted = (uint32_t *)calloc(2 * (size_t)slots, sizeof *wanted), *found = wanted + slots;
    if (!wanted) abort();
    for (uint32_t b = 0; b < (uint32_t)c->blocks; b++)
        for (uint32_t i = 0; i < THREADS * PER_THREAD; i++) wanted[slot_of(b, i, slots - 1)] += number_of(i);
    const int code = ladder_fetch(c, found, c->in, slot_bytes(c));
    ladder_right(v);
    for (uint32_t j = 0; !code && v->right && j < slots; j++)
        if (found[j] != wanted[j]) ladder_wrong(v, "word %u is %u, not %u", j, found[j], wanted[j]);
    free(wanted);
    return code;
}

template <void (*KERNEL)(uint32_t *, uint32_t)>
constexpr ladder_way additions = { atomics_prepare, atomics_enqueue<KERNEL>, atomics_verify };

/* ---- the table ---- */

const int64_t group_sizes[] = { 1, 2, 4, 8, 16, 32, 64 }, blocks_of_sm[] = { 1, 2, 4, 6 };
const int64_t spread_slots[] = { 2, 4, 8, 16, 32, 128, 1024, 16384, 1 << 20 };

constexpr ladder_rung calls(const char *name, const char *why, ladder_way way, int variant)
{
    return ladder_row(name, why, way, variant, 0, nullptr, LADDER_CALLS);
}

constexpr ladder_rung flops(const char *name, const char *why, ladder_way way)
{
    ladder_rung r = calls(name, why, way, 0);
    r.unit = LADDER_FLOPS;
    r.ceiling = "fma";
    return r;
}

const ladder_rung rungs[] = {
    flops("float", "f32 multiply-adds, fused: fmad on", chained<step_fused<float>>),
    flops("double", "the same in f64", chained<step_fused<double>>),
    flops("literal", "f32 data, a constant without f", chained<step_literal>),
    flops("fmadOff", "product and sum rounded one by one", chained<step_separate>),
    ladder_scanned(GRANULARITY, group_sizes,
                   flops("branch", "threads part in groups of granularity", branched<branch>)),
    flops("select", "choose operands, not paths", branched<select>),
    calls("sin", "the library, exact to 2 ulp", evaluated<SIN>, 0),
    calls("sinFast", "__sinf: absolute error, bad near zeros", evaluated<SIN_FAST>, 0),
    calls("exp", "the library", evaluated<EXP>, 0),
    calls("expFast", "__expf: error grows with the argument", evaluated<EXP_FAST>, 0),
    calls("log", "the library", evaluated<LOG>, 0),
    calls("logFast", "__logf: absolute error, bad near one", evaluated<LOG_FAST>, 0),
    calls("divide", "a / x, correctly rounded", evaluated<DIVIDE>, 0),
    calls("divideFast", "__fdividef: reciprocal times a", evaluated<DIVIDE_FAST>, 0),
    calls("sqrtDivide", "1 / sqrtf: two correct roundings", evaluated<SQRT_DIVIDE>, 0),
    calls("rsqrt", "rsqrtf: one special instruction", evaluated<RSQRT>, 0),
    calls("sumShared", "a warp's sum through shared memory", warp_sums<SUM_SHARED>, 0),
    calls("sumShuffle", "five shuffles from register to register", warp_sums<SUM_SHUFFLE>, 0),
    calls("sumRedux", "one instruction, whole numbers only", warp_sums<SUM_REDUX>, 0),
    calls("atomicOne", "all threads add to one word", additions<atomic_each>, IN_MEMORY),
    ladder_scanned(
        SLOTS, spread_slots,
        calls("atomicSpread", "the same, spread over slots words", additions<atomic_each>, IN_MEMORY)),
    calls("atomicAggregated", "each warp adds up first", additions<atomic_aggregated>, IN_MEMORY),
    calls("atomicShared", "each block adds up first", additions<atomic_shared>, IN_SHARED),
    ladder_scanned(BLOCKS, blocks_of_sm, flops("spill", "launch bounds leave too few registers", spilled)),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "granularity", 16, 1, 256, "neighbouring threads that take the same branch" },
    { "slots", 1, 1, SLOTS_MOST, "words added to, rounded down to a power of two; shared: at most 4096" },
    { "blocks", 6, 1, 6, "blocks per SM that spill is bound to, rounded up to 1, 2, 4 or 6" },
};

} // namespace

const ladder_family ladder_arith_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "arith", "what an SM can do in a cycle, and what gets in its way", nullptr,
                  nullptr, nullptr);
