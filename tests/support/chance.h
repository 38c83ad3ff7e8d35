/* Numbers by chance, the same ones from the same state (splitmix64). */
#pragma once

#include <math.h>
#include <stdint.h>

static inline double uniform(uint64_t *state) /* (0, 1) */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static inline double normal(uint64_t *state)
{
    const double r = sqrt(-2 * log(uniform(state)));
    return r * cos(6.283185307179586 * uniform(state));
}
