/* Functions of family arith: the library's against the intrinsics. Each thread walks eight arguments through
 * the function's interval and keeps the xor of the results' bits, which costs an instruction and needs every
 * bit. A second kernel of the same source stores one block's results: each is held against the host's double,
 * and their xor against what the first kernel left. Bounds: CUDA C++ Programming Guide, "Mathematical
 * Functions", in ulp from the correctly rounded result. */
#include "ladder_compute/ladder_functions.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

namespace {

enum { THREADS = 256, ARGUMENTS = 8, ARGUMENT_STEPS = 256, FUNCTION_BLOCKS_PER_SM = 8 };
enum { FUNCTION_CELLS = THREADS * ARGUMENTS, RESULTS = FUNCTION_CELLS * ARGUMENT_STEPS };

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

const function functions[LADDER_FUNCTIONS] = {
    { -3.14159f, 3.14159f, sin, 2, 0, 0 },
    { -3.14159f, 3.14159f, sin, 0, 0, absolute_bound },
    { -8, 8, exp, 2, 0, 0 },
    { -8, 8, exp, 2, 1.173, 0 },
    { 0.01f, 100, exact_divide, 0, 0, 0 },
    { 0.01f, 100, exact_divide, 2, 0, 0 },
    { 0.01f, 100, exact_rsqrt, 2, 0, 0 },
    { 0.01f, 100, exact_rsqrt, 2, 0, 0 },
};

template <int F> __device__ __forceinline__ float apply(float x, float a)
{
    switch (F) {
    case LADDER_SIN: return sinf(x);
    case LADDER_SIN_FAST: return __sinf(x);
    case LADDER_EXP: return expf(x);
    case LADDER_EXP_FAST: return __expf(x);
    case LADDER_DIVIDE: return a / x;
    case LADDER_DIVIDE_FAST: return __fdividef(a, x);
    case LADDER_SQRT_DIVIDE: return 1.0f / sqrtf(x);
    case LADDER_RSQRT: return rsqrtf(x);
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

} // namespace

const ladder_way ladder_function_way[LADDER_FUNCTIONS] = {
    evaluated<LADDER_SIN>,         evaluated<LADDER_SIN_FAST>, evaluated<LADDER_EXP>,
    evaluated<LADDER_EXP_FAST>,    evaluated<LADDER_DIVIDE>,   evaluated<LADDER_DIVIDE_FAST>,
    evaluated<LADDER_SQRT_DIVIDE>, evaluated<LADDER_RSQRT>,
};
