/* Several time steps of a plane, as families fused and streaming take them: where they start, the ghosts
 * between two of them, and the answer, which is as many single sweeps of the host device. */
#pragma once

#include "ladder/ladder.h"

/* The own cells: random, of the level that stands `level` levels before the first step. */
int ladder_steps_fill(device *d, const field_shape *f, void *field, int level, device_stream *s);
/* All ghosts that are at most `depth` cells away. */
int ladder_steps_ghosts(device *d, const field_shape *f, const boundary *sides, void *field, int64_t depth,
                        device_stream *s);
/* The own cells of `seen`, in the host's memory, against `steps` sweeps. f: ghosts at least as deep as the
 * radius. */
void ladder_steps_compare(const field_shape *f, const stencil *op, const boundary *sides, int steps,
                          const void *seen, ladder_verdict *v);
