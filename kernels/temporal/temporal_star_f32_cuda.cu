/* Temporal blocking of f32 stars, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_entry table[] = {
    TEMPORAL_STAR(float, 1, 12, 8, 4, 8, 4, 2), TEMPORAL_STAR(float, 1, 8, 8, 4, 8, 4, 2), TEMPORAL_STAR(float, 1, 4, 8, 4, 8, 4, 2),
    TEMPORAL_STAR(float, 1, 2, 8, 4, 8, 4, 2),  TEMPORAL_STAR(float, 1, 1, 4, 4, 8, 4, 2),
    TEMPORAL_STAR_NARROW(float, 1, 12, 4, 4, 12, 4, 2), TEMPORAL_STAR_NARROW(float, 1, 8, 4, 4, 12, 4, 2),
    TEMPORAL_STAR_CHANGE(float, 1, 12, 4, 4, 12, 4, 2), TEMPORAL_STAR_CHANGE(float, 1, 8, 8, 4, 8, 4, 2),
    TEMPORAL_STAR_CHANGE(float, 1, 4, 8, 4, 8, 4, 2),
    TEMPORAL_STAR(float, 2, 6, 8, 4, 8, 4, 4),  TEMPORAL_STAR(float, 2, 4, 8, 4, 8, 4, 4), TEMPORAL_STAR(float, 2, 2, 8, 4, 8, 4, 4),
    TEMPORAL_STAR(float, 2, 1, 4, 4, 8, 4, 4),  TEMPORAL_STAR_NARROW(float, 2, 6, 4, 4, 12, 4, 4),
    TEMPORAL_STAR(float, 3, 4, 4, 6, 12, 4, 6), TEMPORAL_STAR(float, 3, 2, 4, 6, 12, 4, 6), TEMPORAL_STAR(float, 3, 1, 4, 6, 12, 4, 6),
    TEMPORAL_STAR(float, 4, 3, 4, 8, 12, 4, 8), TEMPORAL_STAR(float, 4, 2, 4, 8, 12, 4, 8), TEMPORAL_STAR(float, 4, 1, 4, 8, 12, 4, 8),
};
using functions = temporal_table<table, sizeof table / sizeof *table>;

const temporal_unit temporal_cuda_star_f32 = functions::unit;
