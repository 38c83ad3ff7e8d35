/* Temporal blocking of f32 stars of two levels, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

TEMPORAL_UNIT(star_prev_f32, STENCIL_STAR, true, float, temporal_star_prev_f32)
