/* Temporal blocking of lines, and the constant memory that holds their weights. */
#include "temporal/temporal_line_tilings_cuda.cuh"

const temporal_unit temporal_cuda_line_f32 = temporal_line_units<false>::f32;
const temporal_unit temporal_cuda_line_f64 = temporal_line_units<false>::f64;
