/* Temporal blocking of f64 boxes, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

template <int I> using instance = temporal_strips_instance<STENCIL_BOX, false, double, temporal_box_f64, I>;
const temporal_unit temporal_cuda_box_f64 = temporal_unit_of<instance>(temporal_all<temporal_box_f64>);
