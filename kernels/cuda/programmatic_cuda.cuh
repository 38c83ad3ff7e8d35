/* Programmatic launches (sm_90 and newer): blocks of a kernel may become resident while the kernel before it
 * on the stream still runs, once all blocks of that kernel have called programmatic_next or ended. Before
 * sm_90 these functions do nothing. */
#pragma once

#include <cuda_runtime_api.h>

/* Waits until everything that the kernel before has written is visible. */
static __device__ __forceinline__ void programmatic_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void programmatic_next()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Host side. early: the kernel may begin before the one before it ends; it calls programmatic_wait itself. */
template <typename... PARAMETERS, typename... ARGUMENTS>
static cudaError_t programmatic_launch(bool early, dim3 blocks, dim3 threads, size_t shared_bytes,
                                       cudaStream_t stream, void (*kernel)(PARAMETERS...),
                                       const ARGUMENTS &...arguments)
{
    cudaLaunchAttribute serialization = {};
    serialization.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    serialization.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {
        blocks, threads, shared_bytes, stream, &serialization, early ? 1u : 0u
    };
    const cudaError_t e = cudaLaunchKernelEx(&config, kernel, arguments...);
    const cudaError_t last = cudaGetLastError();
    return e != cudaSuccess ? e : last;
}
