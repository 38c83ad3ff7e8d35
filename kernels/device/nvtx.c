#include "device/nvtx.h"

#if WEFT_CUDA && __has_include(<nvtx3/nvToolsExt.h>)

/* NVTX's inline functions do not pass weft's warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <nvtx3/nvToolsExt.h>
#pragma GCC diagnostic pop

void nvtx_begin(const char *name) { (void)nvtxRangePushA(name); }
void nvtx_end(void) { (void)nvtxRangePop(); }

#else

void nvtx_begin(const char *name) { (void)name; }
void nvtx_end(void) {}

#endif
