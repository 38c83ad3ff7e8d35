/* Temporal blocking of lines of two levels, and the constant memory that holds their weights. */
#include "temporal/temporal_line_tilings_cuda.cuh"

const temporal_unit temporal_cuda_line_prev_f32 = temporal_line_units<true>::f32;
const temporal_unit temporal_cuda_line_prev_f64 = temporal_line_units<true>::f64;
