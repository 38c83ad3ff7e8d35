/* Temporal blocking of f64 stars, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

TEMPORAL_UNIT(star_f64, STENCIL_STAR, false, double, temporal_star_f64)
