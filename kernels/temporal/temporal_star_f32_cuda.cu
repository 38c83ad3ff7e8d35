/* Temporal blocking of f32 stars, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

template <int I> using instance = temporal_strips_instance<STENCIL_STAR, false, float, temporal_star_f32, I>;
const temporal_unit temporal_cuda_star_f32 = temporal_unit_of<instance>(temporal_all<temporal_star_f32>);
