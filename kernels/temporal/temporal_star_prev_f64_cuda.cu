/* Temporal blocking of f64 stars of two levels, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

TEMPORAL_UNIT(star_prev_f64, STENCIL_STAR, true, double, temporal_star_prev_f64)
