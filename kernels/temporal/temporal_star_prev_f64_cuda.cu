/* Temporal blocking of f64 stars of two levels, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_entry table[] = {
    TEMPORAL_STAR_PREV(double, 1, 12, 2, 3, 12, 2, 3), TEMPORAL_STAR_PREV(double, 1, 8, 4, 3, 8, 2, 3),
    TEMPORAL_STAR_PREV(double, 1, 4, 4, 3, 8, 2, 3), TEMPORAL_STAR_PREV(double, 1, 2, 4, 3, 8, 2, 3),
    TEMPORAL_STAR_PREV(double, 1, 1, 4, 3, 8, 2, 3),
    TEMPORAL_STAR_PREV(double, 2, 6, 4, 5, 8, 2, 5, 3), TEMPORAL_STAR_PREV(double, 2, 4, 4, 5, 8, 2, 5),
    TEMPORAL_STAR_PREV(double, 2, 2, 4, 5, 8, 2, 5), TEMPORAL_STAR_PREV(double, 2, 1, 4, 5, 8, 2, 5),
    TEMPORAL_STAR_PREV(double, 3, 4, 4, 7, 8, 2, 7), TEMPORAL_STAR_PREV(double, 3, 3, 4, 7, 8, 2, 7),
    TEMPORAL_STAR_PREV(double, 3, 2, 4, 7, 8, 2, 7), TEMPORAL_STAR_PREV(double, 3, 1, 4, 7, 8, 2, 7),
    TEMPORAL_STAR_PREV(double, 4, 3, 4, 9, 8, 2, 9, 0), TEMPORAL_STAR_PREV(double, 4, 2, 4, 9, 8, 2, 9),
    TEMPORAL_STAR_PREV(double, 4, 1, 4, 9, 8, 2, 9),
};
using functions = temporal_table<table, sizeof table / sizeof *table>;

const temporal_unit temporal_cuda_star_prev_f64 = functions::unit;
