/* Temporal blocking of lines of one level and of two, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

template <int I> using f32 = temporal_line_instance<false, float, temporal_line_f32, I>;
template <int I> using f64 = temporal_line_instance<false, double, temporal_line_f64, I>;
template <int I> using prev_f32 = temporal_line_instance<true, float, temporal_line_f32, I>;
template <int I> using prev_f64 = temporal_line_instance<true, double, temporal_line_f64, I>;
const temporal_unit temporal_cuda_line_f32 = temporal_unit_of<f32>(temporal_all<temporal_line_f32>);
const temporal_unit temporal_cuda_line_f64 = temporal_unit_of<f64>(temporal_all<temporal_line_f64>);
const temporal_unit temporal_cuda_line_prev_f32 = temporal_unit_of<prev_f32>(temporal_all<temporal_line_f32>);
const temporal_unit temporal_cuda_line_prev_f64 = temporal_unit_of<prev_f64>(temporal_all<temporal_line_f64>);
