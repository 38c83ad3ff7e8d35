/* Temporal blocking of boxes, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

template <int I> using f32 = temporal_strips_instance<STENCIL_BOX, false, float, temporal_box_f32, I>;
template <int I> using f64 = temporal_strips_instance<STENCIL_BOX, false, double, temporal_box_f64, I>;
const temporal_unit temporal_cuda_box_f32 = temporal_unit_of<f32>(temporal_all<temporal_box_f32>);
const temporal_unit temporal_cuda_box_f64 = temporal_unit_of<f64>(temporal_all<temporal_box_f64>);
