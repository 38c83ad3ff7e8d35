/* Named ranges on the time line of an attached profiler: NVIDIA's, by NVTX 3, if weft was built with CUDA and
 * its toolkit has that header. Ranges nest, and end in the thread in which they began. Without a profiler a
 * call tests a pointer or two; without the header ranges go nowhere. */
#pragma once

#include <stddef.h>

typedef struct nvtx_sink {
    void (*begin)(const char *name); /* name is never freed; NULL: ranges go nowhere */
    void (*end)(void);
} nvtx_sink;
extern nvtx_sink nvtx_output; /* tests put their own here */

static inline void nvtx_begin(const char *name)
{
    if (nvtx_output.begin) nvtx_output.begin(name);
}
static inline void nvtx_end(void)
{
    if (nvtx_output.end) nvtx_output.end();
}
