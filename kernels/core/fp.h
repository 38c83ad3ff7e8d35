/* The floating-point environment: IEEE 754's default (to nearest, with subnormal numbers, no traps), in which
 * all numbers of weft are computed. Each thread has its own, and a library may change it where it is loaded
 * or called: one linked with -ffast-math, say. Each thread sets the default where its part of a team's kernel
 * (device_host_part) or a job of the writer begins; the main thread where a launch that a team could share
 * (device_host_team), a step or a phase of a run begins, and after MPI_Init, exchanges, and HDF5's reads
 * through filters. A small kernel does not ask: to ask takes up to 10 ns, and a small step 4000. */
#pragma once

#include <fenv.h>
#include <stdbool.h>

#include "core/linkage.h"

LINKAGE_C_BEGIN

/* First of all in a program: a trap that a library sets inside one of its calls ends no process. */
void fp_begin(void);
void fp_set_default(void);

static inline bool fp_is_default(void)
{
#if defined(__x86_64__)
    unsigned sse;
    unsigned short x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse), "=m"(x87));
    return (sse & 0xffc0) == 0x1f80 && (x87 & 0xf3f) == 0x33f; /* exceptions that were raised left out */
#elif defined(__aarch64__)
    unsigned long control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control == 0;
#else
    return fesetenv(FE_DFL_ENV) == 0; /* now it is */
#endif
}

/* Makes it the default. Returns whether it is known to have been another. */
static inline bool fp_default(void)
{
    if (fp_is_default()) return false;
    fp_set_default();
    return true;
}

LINKAGE_C_END
