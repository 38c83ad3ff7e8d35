/* Fault hooks of debug builds, for tests that must see a check fail: the environment's WEFT_FAULT = NAME or
 * NAME:NUMBER. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "ranks/timer.h"

/* The number, 0 where none is given; -1 without that fault, and in all other builds. */
static inline int fault_asked(const char *name)
{
#ifdef WEFT_DEBUG
    const char *asked = getenv("WEFT_FAULT");
    const size_t length = strlen(name);
    if (asked && strncmp(asked, name, length) == 0 && asked[length] == ':') return atoi(asked + length + 1);
    if (asked && strcmp(asked, name) == 0) return 0;
#endif
    return -1;
}

/* WEFT_FAULT_PERCENT; `usual` where it is not set. */
static inline double fault_percent(double usual)
{
    const char *percent = getenv("WEFT_FAULT_PERCENT");
    return percent ? atof(percent) : usual;
}

/* With that fault, asked of that number (-1: of none), what began at begin_s takes longer here by
 * WEFT_FAULT_PERCENT of it, 100 where that is not set: the caller is busy until then. */
static inline void fault_slows(const char *name, int number, double begin_s)
{
    if (number < 0 || fault_asked(name) != number) return;
    const double now_s = timer_now_s(), end_s = now_s + (now_s - begin_s) * fault_percent(100) / 100;
    while (timer_now_s() < end_s) continue;
}
