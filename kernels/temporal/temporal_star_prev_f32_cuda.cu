/* Temporal blocking of f32 stars of two levels, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_entry table[] = {
    TEMPORAL_STAR_PREV(float, 1, 16, 4, 3, 8, 4, 3), TEMPORAL_STAR_PREV(float, 1, 12, 4, 3, 8, 4, 3),
    TEMPORAL_STAR_PREV(float, 1, 8, 8, 3, 8, 4, 3), TEMPORAL_STAR_PREV(float, 1, 4, 8, 3, 8, 4, 3),
    TEMPORAL_STAR_PREV(float, 1, 2, 8, 3, 8, 4, 3), TEMPORAL_STAR_PREV(float, 1, 1, 4, 3, 8, 4, 3),
    TEMPORAL_STAR_PREV(float, 2, 8, 4, 5, 8, 4, 5), TEMPORAL_STAR_PREV(float, 2, 6, 4, 5, 8, 4, 5),
    TEMPORAL_STAR_PREV(float, 2, 4, 8, 5, 8, 4, 5), TEMPORAL_STAR_PREV(float, 2, 2, 8, 5, 8, 4, 5),
    TEMPORAL_STAR_PREV(float, 2, 1, 4, 5, 8, 4, 5),
    TEMPORAL_STAR_PREV(float, 3, 6, 4, 7, 8, 4, 7), TEMPORAL_STAR_PREV(float, 3, 4, 4, 7, 12, 4, 7),
    TEMPORAL_STAR_PREV(float, 3, 2, 4, 7, 12, 4, 7), TEMPORAL_STAR_PREV(float, 3, 1, 4, 7, 12, 4, 7),
    TEMPORAL_STAR_PREV(float, 4, 4, 4, 9, 8, 4, 9), TEMPORAL_STAR_PREV(float, 4, 3, 4, 9, 12, 4, 9),
    TEMPORAL_STAR_PREV(float, 4, 2, 4, 9, 12, 4, 9), TEMPORAL_STAR_PREV(float, 4, 1, 4, 9, 12, 4, 9),
};
using functions = temporal_table<table, sizeof table / sizeof *table>;

const temporal_unit temporal_cuda_star_prev_f32 = functions::unit;
