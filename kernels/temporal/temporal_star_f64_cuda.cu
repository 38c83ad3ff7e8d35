/* Temporal blocking of f64 stars, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_entry table[] = {
    TEMPORAL_STAR(double, 1, 12, 4, 4, 8, 2, 2), TEMPORAL_STAR(double, 1, 8, 4, 4, 8, 2, 2), TEMPORAL_STAR(double, 1, 4, 4, 4, 8, 2, 2),
    TEMPORAL_STAR(double, 1, 2, 4, 4, 8, 2, 2),  TEMPORAL_STAR(double, 1, 1, 4, 4, 8, 2, 2),
    TEMPORAL_STAR_CHANGE(double, 1, 12, 4, 4, 8, 2, 2, 2), TEMPORAL_STAR_CHANGE(double, 1, 8, 4, 4, 8, 2, 2),
    TEMPORAL_STAR_CHANGE(double, 1, 4, 4, 4, 8, 2, 2),
    TEMPORAL_STAR(double, 2, 6, 4, 4, 8, 2, 4),  TEMPORAL_STAR(double, 2, 4, 4, 4, 8, 2, 4),
    TEMPORAL_STAR(double, 2, 2, 4, 4, 8, 2, 4),  TEMPORAL_STAR(double, 2, 1, 4, 4, 8, 2, 4),
    TEMPORAL_STAR(double, 3, 4, 4, 6, 8, 2, 6, 2), TEMPORAL_STAR(double, 3, 3, 4, 6, 8, 2, 6), TEMPORAL_STAR(double, 3, 1, 4, 6, 8, 2, 6),
    TEMPORAL_STAR(double, 4, 3, 4, 8, 8, 2, 8), TEMPORAL_STAR(double, 4, 2, 4, 8, 8, 2, 8), TEMPORAL_STAR(double, 4, 1, 4, 8, 8, 2, 8),
};
using functions = temporal_table<table, sizeof table / sizeof *table>;

const temporal_unit temporal_cuda_star_f64 = functions::unit;
