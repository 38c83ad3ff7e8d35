/* The world of the families that all ranks climb together: ladder_case's `world` points at one.
 * */
#pragma once

#include <string.h>

#include "ladder/ladder.h"
#include "ranks/timer.h"
#include "topology/topology.h"

typedef struct bench_world {
    const topology *top; /* one device per rank */
    const char *dir;     /* where files go */
    MPI_Comm pairs;      /* ranks two by two; one for all exchanges of pairs: nccl keeps its own there */
} bench_world;

/* Collective, as is the next. top and dir are not owned. */
bench_world bench_world_create(const topology *top, const char *dir);
void bench_world_destroy(bench_world *w);

static inline const bench_world *bench_world_of(const ladder_case *c) { return c->world; }

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

/* The cell that tells its global place. */
static inline void bench_world_cell(dtype t, int64_t place, void *cell)
{
    const float f32 = (float)(place % 16777213);
    const double f64 = (double)place;
    memcpy(cell, t == DTYPE_F32 ? (const void *)&f32 : &f64, dtype_bytes(t));
}
static inline bool bench_world_is_cell(dtype t, int64_t place, const void *cell)
{
    double wanted;
    bench_world_cell(t, place, &wanted);
    return memcmp(cell, &wanted, dtype_bytes(t)) == 0;
}

/* Seconds of one of `runs` on the slowest rank, over several batches that last long enough. Collective. */
timer_percentiles bench_world_times(const bench_world *w, void (*run)(void *context, int runs),
                                    void *context);

/* Measured once for each subject, type and size; all 0 until the caller has filled it in. */
typedef struct bench_world_known {
    int subject;
    dtype type;
    int64_t bytes;
    double rate;
    const char *way;
} bench_world_known;
bench_world_known *bench_world_recall(int subject, dtype t, int64_t bytes);
