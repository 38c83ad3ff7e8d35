/* What a thread does, by name, for the time line of a profiler that is attached: NVIDIA's, by NVTX 3, where weft was built with
 * CUDA and its toolkit has that header. Ranges nest, and end in the thread in which they began. Without a profiler a call is a test
 * of a pointer or two; without the header there is nobody to tell. */
#ifndef RANGE_H
#define RANGE_H

#include <stddef.h>

typedef struct range_sink {
    void (*begin)(const char *name); /* which lives for ever; NULL: nobody listens */
    void (*end)(void);
} range_sink;
extern range_sink range_to; /* tests listen here */

static inline void range_begin(const char *name)
{
    if (range_to.begin) range_to.begin(name);
}
static inline void range_end(void)
{
    if (range_to.end) range_to.end();
}

#endif
