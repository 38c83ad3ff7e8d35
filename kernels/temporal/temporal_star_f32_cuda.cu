/* Temporal blocking of f32 stars, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

TEMPORAL_UNIT(star_f32, STENCIL_STAR, false, float, temporal_star_f32)
