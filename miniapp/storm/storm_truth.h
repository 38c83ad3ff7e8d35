/* What every cell of a run ought to hold: the same problem on one processor, step by step, the whole grid on
 * each rank. */
#pragma once

#include "problem/problem.h"

typedef struct storm_truth storm_truth;

enum { STORM_TRUTH_LEVELS = 128 }; /* the last ones are kept */

/* NULL: the kind is no stencil that is applied to the whole plane at once. */
storm_truth *storm_truth_create(const config *c, const problem *p);
void storm_truth_destroy(storm_truth **t);
void storm_truth_advance(storm_truth *t, int64_t level);
/* The bits of a cell in global coordinates, beyond a side too, up to the stencil's radius. */
uint64_t storm_truth_bits(const storm_truth *t, int64_t level, int64_t x, int64_t y);
/* The last level kept before that one which has these bits there; -1: none. */
int64_t storm_truth_level_with(const storm_truth *t, int64_t before, uint64_t bits, int64_t x, int64_t y);
/* max |u - previous u| of that level. */
double storm_truth_change(storm_truth *t, int64_t level);
