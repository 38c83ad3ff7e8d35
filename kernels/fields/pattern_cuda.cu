/* Memory patterns on the GPU: a thread accesses words in pairs, 16 bytes at a time. Wrong words are rare, so
 * each thread that has one joins it by atomics, a sum and a minimum, which commute exactly. */
#include "core/pattern.h"
#include "device/device_cuda.h"

namespace {

enum { THREADS = 256, PAIRS = 8 }; /* pairs per thread, a block's width apart */
typedef unsigned long long word;   /* the type of atomics; 64 bits like uint64_t */

__global__ void __launch_bounds__(THREADS)
    write_kernel(ulonglong2 *to, int64_t pairs, const __grid_constant__ memory_pattern p)
{
    const int64_t first = (int64_t)blockIdx.x * THREADS * PAIRS + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        const int64_t i = first + k * THREADS;
        if (i < pairs) __stcs(to + i, make_ulonglong2(pattern_word(&p, 2 * i), pattern_word(&p, 2 * i + 1)));
    }
}

__device__ __forceinline__ void join_wrong(word index, word wrote, word read, word *words, word *first)
{
    if (wrote == read) return;
    ++*words;
    *first = min(*first, (word)pattern_first_half(index, wrote, read));
}

__global__ void __launch_bounds__(THREADS)
    check_kernel(const ulonglong2 *from, int64_t pairs, word *wrong_words, word *first_half,
                 const __grid_constant__ memory_pattern p)
{
    const int64_t first = (int64_t)blockIdx.x * THREADS * PAIRS + threadIdx.x;
    word words = 0, half = ~0ull;
    ulonglong2 read[PAIRS]; /* all are requested before the first is used */
#pragma unroll
    for (int k = 0; k < PAIRS; k++)
        if (first + k * THREADS < pairs) read[k] = __ldcs(from + first + k * THREADS);
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        const int64_t i = first + k * THREADS;
        if (i >= pairs) break;
        join_wrong(2 * i, pattern_word(&p, 2 * i), read[k].x, &words, &half);
        join_wrong(2 * i + 1, pattern_word(&p, 2 * i + 1), read[k].y, &words, &half);
    }
    if (words == 0) return;
    atomicAdd(wrong_words, words);
    atomicMin(first_half, half);
}

unsigned blocks_of(int64_t pairs) { return (unsigned)((pairs + THREADS * PAIRS - 1) / (THREADS * PAIRS)); }

} // namespace

int pattern_cuda_write(device *, uint64_t *to, int64_t words, const memory_pattern *p, device_stream *s)
{
    assert(words % 2 == 0 && words <= PATTERN_WORDS_MAX);
    if (words == 0) return cudaSuccess;
    write_kernel<<<blocks_of(words / 2), THREADS, 0, device_cuda_stream(s)>>>((ulonglong2 *)to, words / 2,
                                                                              *p);
    return cudaGetLastError();
}

int pattern_cuda_check(device *, const uint64_t *from, int64_t words, const memory_pattern *p,
                       pattern_wrong *result, device_stream *s)
{
    assert(words % 2 == 0 && words <= PATTERN_WORDS_MAX);
    const cudaStream_t stream = device_cuda_stream(s);
    cudaError_t e = cudaMemsetAsync(&result->words, 0, sizeof result->words, stream);
    if (e == cudaSuccess) e = cudaMemsetAsync(&result->first_half, 0xff, sizeof result->first_half, stream);
    if (e != cudaSuccess || words == 0) return e;
    check_kernel<<<blocks_of(words / 2), THREADS, 0, stream>>>(
        (const ulonglong2 *)from, words / 2, (word *)&result->words, (word *)&result->first_half, *p);
    return cudaGetLastError();
}
