/* Time on the device, and how to let it pass: for whoever is late on purpose. */
#pragma once

#include <stdint.h>

static __device__ __forceinline__ uint64_t now_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

static __device__ __forceinline__ void hold_ns(uint64_t ns)
{
    const uint64_t begin_ns = now_ns();
    while (now_ns() - begin_ns < ns) __nanosleep(500);
}
