#include "device/nvtx.h"

#if WEFT_CUDA && __has_include(<nvtx3/nvToolsExt.h>)

/* NVTX's inline functions do not pass weft's warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <nvtx3/nvToolsExt.h>
#pragma GCC diagnostic pop

static void begin(const char *name) { (void)nvtxRangePushA(name); }
static void end(void) { (void)nvtxRangePop(); }

nvtx_sink nvtx_output = { begin, end };

#else

nvtx_sink nvtx_output = { NULL, NULL };

#endif
