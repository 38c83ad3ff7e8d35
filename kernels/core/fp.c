#include "core/fp.h"

#include <fenv.h>

enum { SSE_DEFAULT = 0x1f80 };

void fp_set_default(void)
{
    (void)fesetenv(FE_DFL_ENV);
    /* some C libraries leave these registers unchanged */
#if defined(__x86_64__)
    const unsigned sse = SSE_DEFAULT;
    __asm__ volatile("fninit\n\tldmxcsr %0" : : "m"(sse));
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(0UL));
#endif
}
