/* The floating-point environment: IEEE 754's default (round to nearest, subnormal numbers, no traps), in
 * which weft computes all numbers. Each thread has its own, and a library may change it when it is loaded or
 * called, e.g. one linked with -ffast-math. A thread sets the default at the start of its part of a team's
 * kernel (device_host_part) and of a job of the writer. The main thread also sets it at the start of a launch
 * that a team could share (device_host_team), of a step and of a phase of a run, and after MPI_Init,
 * exchanges, and HDF5 reads through filters. Small kernels do not check: a check takes up to 10 ns, a small
 * step 4000 ns. */
#pragma once

#include <stdbool.h>

#include "core/linkage.h"

LINKAGE_C_BEGIN

/* The first call of a program: then no trap that a library enables inside its calls ends the process. */
void fp_begin(void);
void fp_set_default(void);

static inline bool fp_is_default(void)
{
#if defined(__x86_64__)
    unsigned sse;
    unsigned short x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse), "=m"(x87));
    return (sse & 0xffc0) == 0x1f80 && (x87 & 0xf3f) == 0x33f; /* flags of raised exceptions do not count */
#elif defined(__aarch64__)
    unsigned long control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control == 0;
#else
    return false; /* unknown */
#endif
}

/* Sets the default where it is not set. */
static inline void fp_default(void)
{
    if (!fp_is_default()) fp_set_default();
}

LINKAGE_C_END
