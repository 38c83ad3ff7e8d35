/* Temporal blocking of f64 stars of two levels, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

template <int I>
using instance = temporal_strips_instance<STENCIL_STAR, true, double, temporal_star_prev_f64, I>;
const temporal_unit temporal_cuda_star_prev_f64 =
    temporal_unit_of<instance>(temporal_all<temporal_star_prev_f64>);
