/* Temporal blocking of f64 stars, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

template <int I> using instance = temporal_strips_instance<STENCIL_STAR, false, double, temporal_star_f64, I>;
const temporal_unit temporal_cuda_star_f64 = temporal_unit_of<instance>(temporal_all<temporal_star_f64>);
