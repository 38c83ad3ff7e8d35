/* What the parts of the family `memory` share: the table (ladder_memory.cu), transfers, allocation, managed memory. CUDA
 * device only. */
#ifndef LADDER_MEMORY_H
#define LADDER_MEMORY_H

#include "ladder/ladder.h"

enum { LADDER_MEMORY_BYTES }; /* the family's one parameter */

/* A transfer's variant: where its far buffer lies, and its direction. */
typedef enum ladder_memory_kind {
    LADDER_MEMORY_PAGEABLE,
    LADDER_MEMORY_PINNED,
    LADDER_MEMORY_PORTABLE,
    LADDER_MEMORY_REGISTERED,
    LADDER_MEMORY_WRITE_COMBINED,
    LADDER_MEMORY_MANAGED,
    LADDER_MEMORY_PEER,
} ladder_memory_kind;
enum { LADDER_MEMORY_TO_HOST = 16 }; /* added to one of these; else the bytes go to the GPU */

/* work: the bytes that arrive in `out` */
int ladder_memory_prepare(ladder_case *c);
int ladder_memory_kernel(ladder_case *c); /* enqueue: a kernel does the moving */
void ladder_memory_destroy(ladder_case *c);
/* Half of the bytes in, half out, at the same time. */
int ladder_memory_both_prepare(ladder_case *c);
int ladder_memory_both(ladder_case *c);
int ladder_memory_both_verify(ladder_case *c, ladder_verdict *v);
/* The CPU reads the far buffer. */
int ladder_memory_host_read(ladder_case *c);
int ladder_memory_host_read_verify(ladder_case *c, ladder_verdict *v);
/* Managed memory. */
const char *ladder_memory_managed_missing(device *d);
int ladder_memory_send_home(ladder_case *c); /* before */
int ladder_memory_prefetch_in(ladder_case *c);
int ladder_memory_accessed_by_prepare(ladder_case *c);

/* A rung's variant: what is allocated. */
typedef enum ladder_memory_allocation {
    LADDER_MEMORY_OF_DEVICE,
    LADDER_MEMORY_OF_POOL,
    LADDER_MEMORY_OF_PINNED,
    LADDER_MEMORY_OF_REGISTERED,
    LADDER_MEMORY_OF_MANAGED,
} ladder_memory_allocation;

int ladder_memory_managed(void **out, size_t bytes);
/* work: one allocation with its freeing */
int ladder_memory_allocation_prepare(ladder_case *c);
int ladder_memory_allocate(ladder_case *c); /* enqueue */
int ladder_memory_allocation_verify(ladder_case *c, ladder_verdict *v);
void ladder_memory_allocation_destroy(ladder_case *c);

#endif
