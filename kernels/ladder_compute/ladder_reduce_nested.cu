/* Nested: each level of the tree launches the next, and the CPU launches one kernel and hears of one.
 *
 * A kernel may launch kernels (CUDA dynamic parallelism). Since CUDA 12 it cannot wait for them; instead it
 * says when they run: what goes into the stream cudaStreamTailLaunch starts after the whole grid is done, and
 * sees all that it wrote, which is the very barrier between two levels of a tree. It pays where only the GPU
 * knows what is to be launched; where the CPU knows, as here, a second launch on the same stream costs less:
 * the tail launch takes some microseconds too.
 *
 * Device code that launches must be relocatable and linked with libcudadevrt: the Makefile does so with this
 * file alone. */
#include "ladder_compute/ladder_reduce.cuh"

#if defined(__CUDACC_RDC__) && CUDART_VERSION >= 12000

namespace {

enum { BLOCK = REDUCE_BLOCK, UNROLL = REDUCE_UNROLL, CHUNK = REDUCE_CHUNK };

__host__ __device__ __forceinline__ unsigned blocks_for(int64_t words)
{
    return (unsigned)((words + CHUNK - 1) / CHUNK);
}

/* `to` has room for this level's sums and all that follow. The level of one block leaves the result. */
template <typename W>
__global__ void __launch_bounds__(BLOCK) nested(W *result, W *to, const W *from, int64_t words)
{
    const int64_t first = (int64_t)blockIdx.x * CHUNK + threadIdx.x;
    W sum = 0;
#pragma unroll
    for (int k = 0; k < UNROLL; k++) sum += first + k * BLOCK < words ? from[first + k * BLOCK] : 0;
    sum = sum_of_block(sum);
    if (threadIdx.x > 0) return;
    *(gridDim.x == 1 ? result : to + blockIdx.x) = sum;
    if (gridDim.x > 1 && blockIdx.x == 0)
        nested<W><<<blocks_for(gridDim.x), BLOCK, 0, cudaStreamTailLaunch>>>(result, to + gridDim.x, to,
                                                                             gridDim.x);
}

template <typename W> int launch(ladder_case *c, void *partial, int64_t words)
{
    nested<W><<<blocks_for(words), BLOCK, 0, device_cuda_stream(c->stream)>>>((W *)c->out, (W *)partial,
                                                                              (const W *)c->in, words);
    return cudaGetLastError();
}

} // namespace

int ladder_reduce_nested(ladder_case *c, void *partial, int64_t words)
{
    return c->type == DTYPE_F32 ? launch<word32>(c, partial, words) : launch<word64>(c, partial, words);
}

/* What was linked for one architecture does not run on a later one: there is no PTX of it. */
const char *ladder_reduce_nested_missing(device *)
{
    cudaFuncAttributes is;
    if (cudaFuncGetAttributes(&is, (const void *)nested<word32>) == cudaSuccess) return nullptr;
    (void)cudaGetLastError();
    return "kernels that launch kernels were not compiled for this GPU's architecture";
}

#else

int ladder_reduce_nested(ladder_case *, void *, int64_t) { return cudaErrorNotSupported; }

const char *ladder_reduce_nested_missing(device *)
{
    return "kernels that launch kernels as this one does need CUDA 12 or later and its libcudadevrt";
}

#endif
