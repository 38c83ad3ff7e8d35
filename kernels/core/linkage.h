/* Headers for C and CUDA. Declarations between LINKAGE_C_BEGIN and _END have C linkage: functions of C that
 * .cu files call, or the reverse. LINKAGE_BOTH begins a function that both compilers build, nvcc also for the
 * device. */
#pragma once

#ifdef __cplusplus
#define LINKAGE_C_BEGIN extern "C" {
#define LINKAGE_C_END }
#else
#define LINKAGE_C_BEGIN
#define LINKAGE_C_END
#endif

#ifdef __CUDACC__
#define LINKAGE_BOTH static __host__ __device__ __forceinline__
#else
#define LINKAGE_BOTH static inline
#endif
