/* What the families that all ranks climb together know of their world: ladder_case's `world` points at one. */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include "topology/topology.h"

typedef struct bench_world {
    const topology *top;  /* one device a rank */
    const char *self_exe; /* path of this program, for topology_probe_aware */
    const char *dir;      /* where files go */
} bench_world;

#define BENCH_WORLD_CANNOT_CUT_BOTH "needs at least 4 ranks, not a prime number"

/* The most even process grid that cuts both axes; false where there is none. */
static inline bool bench_world_cut_both(int ranks, int *ranks_x, int *ranks_y)
{
    *ranks_y = 0;
    for (int y = 2; y * y <= ranks; y++)
        if (ranks % y == 0) *ranks_y = y;
    if (*ranks_y == 0) return false;
    *ranks_x = ranks / *ranks_y;
    return true;
}

#endif
