/* What a thread does, by name, for the time line of a profiler that is attached: NVIDIA's, by NVTX 3, where
 * weft was built with CUDA and its toolkit has that header. Ranges nest, and end in the thread in which they
 * began. Without a profiler a call is a test of a pointer or two; without the header ranges go nowhere. */
#pragma once

#include <stddef.h>

typedef struct nvtx_sink {
    void (*begin)(const char *name); /* which lives for ever; NULL: ranges go nowhere */
    void (*end)(void);
} nvtx_sink;
extern nvtx_sink nvtx_output; /* tests listen here */

static inline void nvtx_begin(const char *name)
{
    if (nvtx_output.begin) nvtx_output.begin(name);
}
static inline void nvtx_end(void)
{
    if (nvtx_output.end) nvtx_output.end();
}
