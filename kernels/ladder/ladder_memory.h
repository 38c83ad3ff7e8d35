/* What the parts of the family `memory` share: transfers (ladder_memory.cu), allocation, managed memory. CUDA device only. */
#ifndef LADDER_MEMORY_H
#define LADDER_MEMORY_H

#include <cuda_runtime_api.h>

#include "ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LADDER_MEMORY_BYTES }; /* the family's one parameter */

/* A rung's variant: what is allocated. */
typedef enum ladder_memory_allocation {
    LADDER_MEMORY_OF_DEVICE,
    LADDER_MEMORY_OF_POOL,
    LADDER_MEMORY_OF_PINNED,
    LADDER_MEMORY_OF_REGISTERED,
    LADDER_MEMORY_OF_MANAGED,
} ladder_memory_allocation;

int ladder_memory_managed(void **out, size_t bytes);
/* Moves its pages to a GPU, or to the host (cudaCpuDeviceId). */
int ladder_memory_prefetch(void *p, size_t bytes, int ordinal, cudaStream_t stream);
/* The GPU keeps a mapping of its pages, wherever they are. */
int ladder_memory_accessed_by(void *p, size_t bytes, int ordinal);

/* work: one allocation with its freeing */
int ladder_memory_allocation_prepare(ladder_case *c);
int ladder_memory_allocate(ladder_case *c); /* enqueue */
int ladder_memory_allocation_verify(ladder_case *c, ladder_verdict *v);
void ladder_memory_allocation_destroy(ladder_case *c);

#ifdef __cplusplus
}
#endif

#endif
