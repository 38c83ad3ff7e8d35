/* Named ranges on the time line of an attached profiler: NVIDIA's, by NVTX 3, if weft was built with CUDA and
 * its toolkit has that header. Ranges nest, and end in the thread in which they began. Without a profiler a
 * call tests a pointer or two; without the header ranges go nowhere. */
#pragma once

void nvtx_begin(const char *name); /* name is never freed */
void nvtx_end(void);
